//! Kernels against each other to the bit, and against decoded weights.

use super::*;
use crate::float::input::prepared;
use proptest::prelude::*;

/// Rows of whole blocks, scales and weights finite, and a vector whose elements differ widely in size.
fn rows_and_x() -> impl Strategy<Value = (Format, usize, Vec<u8>, Vec<f32>)> {
    (0..Format::ALL.len(), 1usize..40, 1usize..20).prop_flat_map(move |(f, rows, blocks)| {
        let format = Format::ALL[f];
        let block = format.block_len() as usize;
        let columns = if block == 1 { 7 * blocks } else { block * blocks };
        let bytes = rows * format.row_bytes(columns as u64) as usize;
        let x = (-30i32..30).prop_flat_map(|e| (-1f32..1.0).prop_map(move |v| v * 2f32.powi(e)));
        (prop::collection::vec(any::<u8>(), bytes), prop::collection::vec(x, columns)).prop_map(
            move |(mut bytes, x)| {
                for block in bytes.chunks_mut(format.block_bytes() as usize) {
                    let exponent = if block.len() > 4 { 1 } else { block.len() - 1 };
                    block[exponent] &= 0xBB;
                }
                (format, columns, bytes, x)
            },
        )
    })
}

/// W * x.
fn product(kernel: Kernel, w: Weights<'_>, x: &[f32]) -> Vec<f32> {
    let mut y = vec![0.0; w.matrix.rows().len()];
    let mut products = [Product { x, y: &mut y }];
    let mut inputs = Vec::new();
    let inputs = prepared(&mut inputs, &products, w.matrix.format.is_quantised());
    gemv(kernel, w, inputs, &mut products, false);
    y
}

fn bits(y: &[f32]) -> Vec<u32> {
    y.iter().map(|y| y.to_bits()).collect()
}

proptest! {
    #[test]
    fn kernels_and_copies_give_the_same_bits((format, columns, bytes, x) in rows_and_x()) {
        let matrix = Matrix { bytes: &bytes, format, columns };
        let want = bits(&product(Kernel::Portable, matrix.into(), &x));
        let packed = PackedMatrix::new(matrix);
        for packed in [None, packed.as_ref()] {
            prop_assert_eq!(&bits(&product(Kernel::default(), Weights { matrix, packed }, &x)), &want);
        }
    }

    #[test]
    fn sums_are_those_of_decoded_weights((format, columns, bytes, x) in rows_and_x()) {
        let matrix = Matrix { bytes: &bytes, format, columns };
        let wide: Vec<f64> = x.iter().copied().map(f64::from).collect();
        for (row, got) in matrix.rows().zip(product(Kernel::default(), matrix.into(), &x)) {
            let want = plain::dot(format, row, &wide);
            let mut weights = vec![0.0; columns];
            format.decode_row(row, &mut weights).unwrap();
            // Elements lose up to 2^-21 of themselves, or 2^-44 of the largest in their block; the result 2^-24.
            let mut lost = 0.0;
            for (w, x) in weights.chunks(32).zip(wide.chunks(32)) {
                let largest = x.iter().fold(0f64, |m, v| m.max(v.abs()));
                let of = |x: f64| (x.abs() * 2f64.powi(-21)).max(largest * 2f64.powi(-43));
                lost += w.iter().zip(x).map(|(&w, &x)| f64::from(w.abs()) * of(x)).sum::<f64>();
            }
            let error = (f64::from(got) - want).abs();
            prop_assert!(error <= lost + want.abs() * 6.1e-8, "{}: {} is not {}", format, got, want);
        }
    }
}

#[test]
fn what_is_not_finite_is_what_decoded_weights_give() {
    for format in [Format::Q8_0, Format::Q4_0] {
        let mut bytes = vec![0x11; format.row_bytes(64) as usize];
        let mut x = [1.0f32; 64];
        let by = |bytes: &[u8], x: &[f32]| {
            product(Kernel::default(), Matrix { bytes, format, columns: 64 }.into(), x)[0]
        };
        assert!(by(&bytes, &x).is_finite());
        x[40] = f32::INFINITY;
        assert_eq!(by(&bytes, &x).abs(), f32::INFINITY);
        x[41] = f32::NAN;
        assert!(by(&bytes, &x).is_nan());
        x = [1.0; 64];
        bytes[..2].copy_from_slice(&[0x00, 0x7C]);
        assert_eq!(by(&bytes, &x).abs(), f32::INFINITY, "every weight of the block is infinite");
    }
}
