//! The input vector of a GEMV over quantised weights, as Q8_0: 32 elements to a block.
//!
//! In order, per block: amax = max |x|; d = amax / 127; id = 1 / d, or 0 if d = 0; q = x * id rounded to an integer,
//! halves away from zero; the scale kept is d as F16. Source: ggml's `quantize_row_q8_0_ref` (ggml-quants.c), whose
//! bits these are wherever C defines them.
//!
//! Where numerics.md is silent:
//! - amax compares the 31 bits below the sign as integers, so NaN > infinity > every number.
//! - q = 0 where x * id is infinite or NaN (its exponent field is all ones). |x * id| is never above 127 otherwise.
//!
//! It follows that a NaN among the 32 makes d NaN; an infinity and no NaN makes d infinite, id = 0 and all q = 0; and
//! that either makes every row's result NaN (0 * infinity). When 1 / d overflows (d <= 2^-128), all q are 0, like
//! the scale.

use crate::scalar::{canonical, f32_to_f16, recip};

/// Elements of a block.
pub const BLOCK: usize = 32;

/// A block of the quantised vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Q8Block {
    /// The scale: bits of an F16.
    pub d: u16,
    /// The elements, -127 to 127.
    pub q: [i8; BLOCK],
}

/// One block of x.
pub fn quantise_block(x: &[f32; BLOCK]) -> Q8Block {
    let magnitude = |v: f32| v.to_bits() & 0x7FFF_FFFF;
    let amax = f32::from_bits(x.iter().map(|&v| magnitude(v)).max().unwrap_or(0));
    let d = canonical(amax / 127.0);
    let id = if d == 0.0 { 0.0 } else { recip(d) };
    let quant = |v: f32| {
        let scaled = v * id;
        if scaled.is_finite() { scaled.round() as i8 } else { 0 }
    };
    Q8Block { d: f32_to_f16(d), q: x.map(quant) }
}

/// All of x, a whole number of blocks, in place of what `out` held.
///
/// # Panics
/// If x has a part of a block.
pub fn quantise(x: &[f32], out: &mut Vec<Q8Block>) {
    let (blocks, rest) = x.as_chunks::<BLOCK>();
    assert!(rest.is_empty(), "{} elements are no whole number of blocks", x.len());
    out.clear();
    out.extend(blocks.iter().map(quantise_block));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(values: &[f32]) -> Q8Block {
        let mut x = [0.0; BLOCK];
        x[..values.len()].copy_from_slice(values);
        quantise_block(&x)
    }

    #[test]
    fn halves_round_away_from_zero() {
        let b = block(&[127.0, 0.5, -0.5, 1.5, -126.5]);
        assert_eq!((b.d, &b.q[..6]), (0x3C00, &[127, 1, -1, 2, -127, 0][..]));
    }

    #[test]
    fn what_is_not_a_number_is_in_the_scale() {
        let b = block(&[1.0, f32::NAN, f32::INFINITY]);
        assert_eq!((b.d, b.q), (0x7E00, [0; BLOCK]));
        let b = block(&[1.0, f32::NEG_INFINITY]);
        assert_eq!((b.d, b.q), (0x7C00, [0; BLOCK]));
    }

    #[test]
    fn scales_outside_f16_round_as_f16_does() {
        let b = block(&[127.0 * 65520.0, -127.0 * 65520.0]);
        assert_eq!((b.d, &b.q[..3]), (0x7C00, &[127, -127, 0][..]));
        // 2^-128 has no finite reciprocal, the next number has.
        assert_eq!(block(&[127.0 * 2f32.powi(-128)]), Q8Block { d: 0, q: [0; BLOCK] });
        assert_eq!(block(&[127.0 * 2f32.powi(-128).next_up()]).q[..2], [127, 0]);
    }
}
