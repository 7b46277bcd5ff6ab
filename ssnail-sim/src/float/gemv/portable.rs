//! Sums of rows without instructions that some processors lack.

use super::super::input::{BLOCK, Block, PLANE_BITS, PLANES, THIRD_BITS};
use super::super::lanes::{LANES, Sum, add_products};
use half::f16;
use ssnail_hw::fast::GROUP;
use ssnail_hw::fast::packed::{SCALES, STEP};
use ssnail_isa::Format;

/// The lanes of an unquantised row's sum.
pub(super) fn row(format: Format, row: &[u8], x: &[f64]) -> Sum {
    match format {
        Format::F16 => floats::<2>(row, x, |b| f16::from_le_bytes(*b).to_f32()),
        Format::Bf16 => floats::<2>(row, x, |b| f32::from_bits(u32::from(u16::from_le_bytes(*b)) << 16)),
        _ => floats::<4>(row, x, |b| f32::from_le_bytes(*b)),
    }
}

/// Of weights of `BYTES` bytes each.
fn floats<const BYTES: usize>(row: &[u8], x: &[f64], weight: impl Fn(&[u8; BYTES]) -> f32) -> Sum {
    let mut sum = Sum::default();
    let mut weights = [0f32; LANES];
    for (w, x) in row.as_chunks::<BYTES>().0.chunks(LANES).zip(x.chunks(LANES)) {
        weights.iter_mut().zip(w).for_each(|(f, w)| *f = weight(w));
        add_products(&mut sum, &weights[..x.len()], x);
    }
    sum
}

/// See [`super::Kernel::group`].
pub(super) fn group(format: Format, group: &[u8], x: &[Block]) -> [f64; GROUP] {
    let mut sums = [0.0; GROUP];
    for (block, x) in group.chunks_exact(GROUP * format.block_bytes() as usize).zip(x) {
        let (scales, steps) = block.split_at(SCALES);
        let mut planes = [[0i32; GROUP]; PLANES];
        for i in 0..BLOCK {
            for r in 0..GROUP {
                let w = weight(format, steps, r, i);
                for (sums, x) in planes.iter_mut().zip(&x.planes) {
                    sums[r] += w * i32::from(x[i / 4 * 2 + i % 2][i % 4 / 2]);
                }
            }
        }
        for (r, (sum, d)) in sums.iter_mut().zip(scales.as_chunks::<2>().0).enumerate() {
            let [high, middle, low] = planes.map(|p| f64::from(p[r]));
            let whole = high * f64::from(1 << PLANE_BITS) + middle + low / f64::from(1 << THIRD_BITS);
            *sum += whole * (f64::from(f16::from_le_bytes(*d).to_f32()) * x.unit);
        }
    }
    sums
}

/// Weight `i` of row `r` of a packed block.
fn weight(format: Format, steps: &[u8], r: usize, i: usize) -> i32 {
    let byte = |i: usize| steps[i / 4 * STEP + 4 * r + i % 4];
    match format {
        Format::Q4_0 => i32::from(byte(i % 16) >> (i / 16 * 4) & 15) - 8,
        _ => i32::from(byte(i) as i8),
    }
}
