//! The vector of a GEMV as float numerics want it: F64, or integers for quantised weights.
//!
//! Quantised weights are small integers, so a block's dot product can be computed exactly in integers, once x is a
//! whole number of some power of two: 31 bits with the sign, as two planes of 16 bits. So no element loses more than
//! 2^-30 of the largest in its block. Where that is more than 2^-22 of some element, a third plane keeps 15 bits more.

use super::lanes::vectorised;
use crate::numerics::Product;

/// Elements of a block.
pub(super) const BLOCK: usize = 32;
/// Planes of a block.
pub(super) const PLANES: usize = 3;
/// Bits that the first plane counts for more than the second.
pub(super) const PLANE_BITS: u32 = 16;
/// Bits that the second plane counts for more than the third.
pub(super) const THIRD_BITS: u32 = 15;

/// A plane of a block: for each four elements, the first and third, then the second and fourth: the order in which
/// 16-bit parts of packed weights come.
pub(super) type Plane = [[i16; 2]; BLOCK / 2];

/// A block of x: (plane 0 * 2^16 + plane 1 + plane 2 * 2^-15) * unit.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Block {
    pub(super) planes: [Plane; PLANES],
    /// Per plane 8 times the sum of its elements: what Q4_0's offset takes off.
    pub(super) eight_sums: [i32; PLANES],
    /// A power of two.
    pub(super) unit: f64,
    /// Whether the third plane counts; it holds nothing otherwise.
    pub(super) third: bool,
}

/// A vector, prepared for a kind of weights. Preparing the same bits again costs a comparison.
#[derive(Debug, Default)]
pub(super) struct Input {
    x: Vec<f32>,
    /// x as F64; empty unless it is wanted.
    wide: Vec<f64>,
    /// x in blocks; empty unless it is wanted, or where x has an infinity or a NaN.
    blocks: Vec<Block>,
}

impl Input {
    /// Makes this the vector `x`, for quantised weights or others.
    pub(super) fn prepare(&mut self, x: &[f32], quantised: bool) {
        let same = self.x.len() == x.len() && self.x.iter().zip(x).all(|(a, b)| a.to_bits() == b.to_bits());
        if !same {
            self.x.clear();
            self.x.extend_from_slice(x);
            self.wide.clear();
            self.blocks.clear();
        }
        if self.wide.is_empty() {
            self.wide.extend(x.iter().copied().map(f64::from));
        }
        if quantised && self.blocks.is_empty() && x.iter().all(|v| v.is_finite()) {
            vectorised(|| self.blocks.extend(x.as_chunks::<BLOCK>().0.iter().map(block)));
        }
    }

    /// x as F64.
    pub(super) fn wide(&self) -> &[f64] {
        &self.wide
    }

    /// x in blocks, if it was prepared for quantised weights and is finite.
    pub(super) fn blocks(&self) -> Option<&[Block]> {
        (!self.blocks.is_empty()).then_some(&self.blocks)
    }
}

/// The vectors of some products, prepared in buffers that are kept.
pub(super) fn prepared<'a>(
    inputs: &'a mut Vec<Input>,
    products: &[Product<'_>],
    quantised: bool,
) -> &'a [Input] {
    inputs.resize_with(inputs.len().max(products.len()), Input::default);
    inputs.iter_mut().zip(products).for_each(|(input, p)| input.prepare(p.x, quantised));
    &inputs[..products.len()]
}

#[inline(always)]
fn block(x: &[f32; BLOCK]) -> Block {
    let largest = x.iter().fold(0f32, |m, v| m.max(v.abs()));
    // 2^exponent <= largest < 2^(exponent + 1); subnormal numbers count as the smallest normal one.
    let exponent = (largest.to_bits() >> 23) as i32 - 127;
    let power = |e: i32| f64::from_bits(((e + 1023) as u64) << 52);
    let third_unit = power(29 - exponent + THIRD_BITS as i32);
    let mut out = Block {
        planes: [[[0; 2]; BLOCK / 2]; PLANES],
        eight_sums: [0; PLANES],
        unit: power(exponent - 29),
        third: false,
    };
    // All of these are integers below 2^45, which F64 computes with exactly.
    let (third, upper) = (f64::from(1 << THIRD_BITS), f64::from(1 << PLANE_BITS));
    let whole = x.map(|x| round(f64::from(x) * third_unit));
    let uppers = whole.map(|w| round(w / third));
    // Halves go up, for the digit below is then -2^15 and not 2^15.
    let highs = uppers.map(|w| round((w + 0.5) / upper));
    let mut digits = [[0i32; BLOCK]; PLANES];
    for i in 0..BLOCK {
        let rest = whole[i] - uppers[i] * third;
        out.third |= rest.abs() * f64::from(1 << 22) > whole[i].abs();
        digits[0][i] = highs[i] as i32;
        digits[1][i] = (uppers[i] - highs[i] * upper) as i32;
        digits[2][i] = rest as i32;
    }
    if !out.third {
        digits[2] = [0; BLOCK];
    }
    for ((plane, sum), digits) in out.planes.iter_mut().zip(&mut out.eight_sums).zip(&digits) {
        *sum = 8 * digits.iter().sum::<i32>();
        for (pairs, &[a, b, c, d]) in plane.as_chunks_mut::<2>().0.iter_mut().zip(digits.as_chunks().0) {
            *pairs = [[a as i16, c as i16], [b as i16, d as i16]];
        }
    }
    out
}

/// To the nearest integer, of a number below 2^51.
#[inline(always)]
fn round(x: f64) -> f64 {
    // 1.5 * 2^52: what is added to it loses its fraction.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    x + ROUND - ROUND
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Element i by its digits.
    fn value(b: &Block, i: usize) -> f64 {
        let [high, middle, low] = b.planes.map(|p| f64::from(p[i / 4 * 2 + i % 2][i % 4 / 2]));
        (high * f64::from(1 << PLANE_BITS) + middle + low / f64::from(1 << THIRD_BITS)) * b.unit
    }

    #[test]
    fn elements_keep_what_is_above_a_unit() {
        for scale in [1.0f32, 3.7e-3, 1e30, 1.2e-38, 1e-44, 0.0, f32::MAX] {
            for outlier in [1.0, 1e-2, 1e-4, 1e-7, 0.0] {
                let mut x: [f32; BLOCK] =
                    std::array::from_fn(|i| ((i * i) as f32 / 961.0 - 0.3) / 0.7 * scale * outlier);
                x[7] = scale;
                let b = block(&x);
                for (i, &x) in x.iter().enumerate() {
                    let value = value(&b, i);
                    let lost = f64::from(x.abs()) * 2f64.powi(-21);
                    let lost = lost.max(f64::from(scale) * 2f64.powi(-44));
                    assert!((value - f64::from(x)).abs() <= lost, "{value} is not {x}");
                }
                let of_plane =
                    |p: usize| b.planes[p].iter().flatten().map(|&d| 8 * i32::from(d)).sum::<i32>();
                assert_eq!(b.eight_sums, [0, 1, 2].map(of_plane));
            }
        }
    }
}
