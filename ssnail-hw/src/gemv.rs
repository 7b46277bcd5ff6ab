//! Matrix times vector, row by row.
//!
//! - **Q8_0, Q4_0**: x quantised ([`crate::quantise`]). Per row, blocks ascending: isum = the exact integer sum of
//!   q_w * q_x; s = F32(d_w) * F32(d_x), exact unless infinite or NaN; term = F32(isum) * s; acc starts as the first
//!   term (so -0 can be a result), then acc = acc + term. Source: `ggml_vec_dot_q8_0_q8_0_generic` (ggml-cpu/quants.c),
//!   equal but for the sign of zero. `ggml_vec_dot_q4_0_q8_0_generic` multiplies (isum * d_w) * d_x, which has one
//!   more rounding where isum * d_w needs more than 24 bits.
//! - **F32, F16, BF16**: x as it is; the row's sum is exact and rounded once ([`crate::exact`]).
//!
//! Accumulating adds the old y to that result, one rounding. GEMV's F16 flag is [`crate::vector::cvt16`] of the result.

use crate::exact::ExactSum;
use crate::operand::{Matrix, float_weight};
use crate::quantise::{BLOCK, Q8Block, quantise};
use crate::scalar::{add, canonical, f16_to_f32};
use ssnail_isa::Format;

/// Bytes of a block of Q8_0 weights: the scale, then a signed byte each.
pub(crate) const Q8_0_BYTES: usize = 2 + BLOCK;
/// Bytes of a block of Q4_0 weights: the scale, then two weights a byte.
pub(crate) const Q4_0_BYTES: usize = 2 + BLOCK / 2;

/// y = W * x, or y += W * x. `x` has `w.columns` elements, `y` one for each row.
pub fn gemv(w: Matrix<'_>, x: &[f32], y: &mut [f32], accumulate: bool) {
    let mut quantised = Vec::new();
    if w.format.is_quantised() {
        quantise(x, &mut quantised);
    }
    for (row, y) in w.rows().zip(y) {
        let dot = match w.format {
            Format::Q8_0 => dot_q8_0(row, &quantised),
            Format::Q4_0 => dot_q4_0(row, &quantised),
            format => dot_float(format, row, x),
        };
        *y = if accumulate { add(*y, dot) } else { dot };
    }
}

/// A row of Q8_0 times a quantised vector of as many blocks.
pub fn dot_q8_0(row: &[u8], x: &[Q8Block]) -> f32 {
    let blocks = row.as_chunks::<Q8_0_BYTES>().0;
    sum_terms(blocks.iter().zip(x).map(|(w, x)| {
        let isum = x.q.iter().zip(&w[2..]).map(|(&x, &w)| i32::from(w as i8) * i32::from(x)).sum();
        term(isum, u16::from_le_bytes([w[0], w[1]]), x.d)
    }))
}

/// A row of Q4_0 times a quantised vector of as many blocks. Element i < 16 is the low nibble of byte i, element
/// i + 16 the high one, minus 8.
pub fn dot_q4_0(row: &[u8], x: &[Q8Block]) -> f32 {
    let blocks = row.as_chunks::<Q4_0_BYTES>().0;
    sum_terms(blocks.iter().zip(x).map(|(w, x)| {
        let (low, high) = x.q.split_at(BLOCK / 2);
        let pair = |((&w, &low), &high): ((&u8, &i8), &i8)| {
            (i32::from(w & 15) - 8) * i32::from(low) + (i32::from(w >> 4) - 8) * i32::from(high)
        };
        let isum = w[2..].iter().zip(low).zip(high).map(pair).sum();
        term(isum, u16::from_le_bytes([w[0], w[1]]), x.d)
    }))
}

/// A row of F32, F16 or BF16 times x.
pub fn dot_float(format: Format, row: &[u8], x: &[f32]) -> f32 {
    let mut sum = ExactSum::new();
    for (i, &x) in x.iter().enumerate() {
        sum.add_product(float_weight(format, row, i), x);
    }
    sum.round()
}

/// What a block adds: |isum| is at most 32 * 128 * 127, so F32 holds it exactly.
fn term(isum: i32, d_w: u16, d_x: u16) -> f32 {
    isum as f32 * (f16_to_f32(d_w) * f16_to_f32(d_x))
}

/// acc = the first term, then acc + term. Of no terms +0.
fn sum_terms(terms: impl Iterator<Item = f32>) -> f32 {
    canonical(terms.reduce(|acc, term| acc + term).unwrap_or(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_of_each_format_by_hand() {
        let mut x = [0.0; BLOCK];
        (x[0], x[1], x[16]) = (127.0, -2.0, 3.0);
        let mut q8 = [0u8; Q8_0_BYTES];
        q8[..4].copy_from_slice(&[0x00, 0x40, 5, 0xFF]);
        let mut q4 = [0x88u8; Q4_0_BYTES];
        q4[..4].copy_from_slice(&[0x00, 0xBC, 0xF0, 0x89]);
        let mut y = [1.0];
        gemv(Matrix { bytes: &q8, format: Format::Q8_0, columns: BLOCK }, &x, &mut y, false);
        assert_eq!(y, [2.0 * (5.0 * 127.0 + 2.0)]);
        // -8 * 127 + 7 * 3 + 1 * -2, scale -1.
        gemv(Matrix { bytes: &q4, format: Format::Q4_0, columns: BLOCK }, &x, &mut y, true);
        assert_eq!(y, [1274.0 + 997.0]);
    }

    #[test]
    fn the_first_term_may_be_minus_zero() {
        let x = [Q8Block { d: 0x3C00, q: [0; BLOCK] }];
        let mut row = [0u8; Q8_0_BYTES];
        row[1] = 0xBC;
        assert_eq!(dot_q8_0(&row, &x).to_bits(), 0x8000_0000);
        assert_eq!(dot_q8_0(&[row, row].concat(), &[x[0], x[0]]).to_bits(), 0x8000_0000);
    }

    #[test]
    fn halves_and_bfloats_are_exact() {
        let x = [1e10, 1.0, -1e10];
        for (format, one) in [(Format::F16, 0x3C00u16), (Format::Bf16, 0x3F80)] {
            let row: Vec<u8> = [one; 3].iter().flat_map(|b| b.to_le_bytes()).collect();
            assert_eq!(dot_float(format, &row, &x), 1.0, "{format}");
        }
    }
}
