//! Element by element: VADD, VMUL, SILUMUL, GELU, ROPE, CVT16, DEQROW; and ARGMAX.

use crate::gemv::{Q4_0_BYTES, Q8_0_BYTES};
use crate::operand::float_weight;
use crate::quantise::BLOCK;
use crate::scalar::{add, canonical, f16_to_f32, f32_to_f16, mul};
use crate::tables::{GELU, SILU};
use ssnail_isa::Format;

/// z = x + y.
pub fn vadd(x: &[f32], y: &[f32], z: &mut [f32]) {
    zip(x, y, z, add);
}

/// z = x * y.
pub fn vmul(x: &[f32], y: &[f32], z: &mut [f32]) {
    zip(x, y, z, mul);
}

/// z = SILU(x) * y, SILU from its table.
pub fn silumul(x: &[f32], y: &[f32], z: &mut [f32]) {
    zip(x, y, z, |x, y| mul(SILU.eval(x), y));
}

/// z = GELU(x) from its table.
pub fn gelu(x: &[f32], z: &mut [f32]) {
    z.iter_mut().zip(x).for_each(|(z, &x)| *z = GELU.eval(x));
}

/// Rotates adjacent pairs of `x`: (v0, v1) -> (v0*c - v1*s, v0*s + v1*c), each product rounded, then the difference or
/// sum. `table` holds (c, s) pairs and repeats along `x`.
pub fn rope(x: &mut [f32], table: &[f32]) {
    for x in x.chunks_exact_mut(table.len()) {
        for (v, cs) in x.as_chunks_mut::<2>().0.iter_mut().zip(table.as_chunks::<2>().0) {
            let ([v0, v1], [c, s]) = (*v, *cs);
            *v = [canonical(v0 * c - v1 * s), canonical(v0 * s + v1 * c)];
        }
    }
}

/// z = the bits of x as F16: nearest even, subnormals kept, overflow to infinity.
pub fn cvt16(x: &[f32], z: &mut [u16]) {
    z.iter_mut().zip(x).for_each(|(z, &x)| *z = f32_to_f16(x));
}

/// The weights of one row: F32(q) * F32(d), one rounding, for Q8_0 and Q4_0; exact for the others.
pub fn deqrow(format: Format, row: &[u8], z: &mut [f32]) {
    match format {
        Format::Q8_0 => {
            for (block, z) in row.as_chunks::<Q8_0_BYTES>().0.iter().zip(z.as_chunks_mut::<BLOCK>().0) {
                let d = f16_to_f32(u16::from_le_bytes([block[0], block[1]]));
                *z = std::array::from_fn(|i| mul(f32::from(block[2 + i] as i8), d));
            }
        }
        Format::Q4_0 => {
            for (block, z) in row.as_chunks::<Q4_0_BYTES>().0.iter().zip(z.as_chunks_mut::<BLOCK>().0) {
                let d = f16_to_f32(u16::from_le_bytes([block[0], block[1]]));
                let nibble = |i: usize| block[2 + i % 16] >> (i / 16 * 4) & 15;
                *z = std::array::from_fn(|i| mul(f32::from(nibble(i) as i8 - 8), d));
            }
        }
        format => z.iter_mut().enumerate().for_each(|(i, z)| *z = float_weight(format, row, i)),
    }
}

/// Index of the largest element, the first of equals. A NaN is never the largest; where all are NaN, 0.
pub fn argmax(x: &[f32]) -> u32 {
    let mut best: Option<(usize, f32)> = None;
    for (i, &v) in x.iter().enumerate() {
        if !v.is_nan() && best.is_none_or(|(_, b)| v > b) {
            best = Some((i, v));
        }
    }
    best.map_or(0, |(i, _)| i as u32)
}

fn zip(x: &[f32], y: &[f32], z: &mut [f32], f: impl Fn(f32, f32) -> f32) {
    z.iter_mut().zip(x).zip(y).for_each(|((z, &x), &y)| *z = f(x, y));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rope_repeats_its_table_along_the_vector() {
        let mut x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
        rope(&mut x, &[0.0, 1.0, 1.0, 0.0]);
        assert_eq!(x, [-2.0, 1.0, 3.0, 4.0, -6.0, 5.0, 7.0, 8.0]);
    }

    #[test]
    fn argmax_takes_the_first_of_equals_and_no_nan() {
        let nan = f32::NAN;
        for (x, want) in [
            (&[1.0, 3.0, 3.0][..], 1),
            (&[nan, -1.0, nan, 2.0], 3),
            (&[nan, f32::NEG_INFINITY], 1),
            (&[nan, nan], 0),
            (&[-0.0, 0.0], 0),
            (&[5.0], 0),
        ] {
            assert_eq!(argmax(x), want, "{x:?}");
        }
    }
}
