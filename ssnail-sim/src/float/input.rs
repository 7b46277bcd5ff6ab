//! The vector of a GEMV as float numerics want it: F64, or integers for quantised weights.
//!
//! Quantised weights are small integers, so a block's dot product can be computed exactly in integers, once x is a
//! whole number of some power of two: 45 bits with the sign, of which no element loses more than 2^-44 of the largest
//! in its block. Three planes of 16 bits multiply with 16-bit weights.

use crate::numerics::Product;

/// Elements of a block.
pub(super) const BLOCK: usize = 32;
/// Planes of a block.
pub(super) const PLANES: usize = 3;
/// Bits that a plane counts for less than the one before.
pub(super) const PLANE_BITS: u32 = 15;

/// A block of x: ((plane 0 * 2^15 + plane 1) * 2^15 + plane 2) * unit, each plane between -2^14 and 2^14.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Block {
    /// Per plane, for each four elements, the first and third, then the second and fourth: the order in which 16-bit
    /// parts of packed weights come.
    pub(super) planes: [[[i16; 2]; BLOCK / 2]; PLANES],
    /// Per plane 8 times the sum of its elements: what Q4_0's offset takes off.
    pub(super) eight_sums: [i32; PLANES],
    /// A power of two.
    pub(super) unit: f64,
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
            self.blocks.extend(x.as_chunks::<BLOCK>().0.iter().map(block));
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

fn block(x: &[f32; BLOCK]) -> Block {
    let largest = x.iter().fold(0f32, |m, v| m.max(v.abs()));
    // 2^exponent <= largest < 2^(exponent + 1); subnormal numbers count as the smallest normal one.
    let exponent = (largest.to_bits() >> 23) as i32 - 127;
    let power = |e: i32| f64::from_bits(((e + 1023) as u64) << 52);
    let per_unit = power(43 - exponent);
    let mut out =
        Block { planes: [[[0; 2]; BLOCK / 2]; PLANES], eight_sums: [0; PLANES], unit: power(exponent - 43) };
    for (i, &x) in x.iter().enumerate() {
        // Adding and taking off this rounds to an integer, nearest even, as |x / unit| < 2^44.
        const ROUND: f64 = 6_755_399_441_055_744.0;
        let mut rest = (f64::from(x) * per_unit + ROUND - ROUND) as i64;
        for plane in (0..PLANES).rev() {
            // The last plane is what is left; others round to nearest.
            let half = 1i64 << (PLANE_BITS - 1);
            let upper = if plane == 0 { 0 } else { (rest + half) >> PLANE_BITS };
            let digit = (rest - (upper << PLANE_BITS)) as i16;
            rest = upper;
            out.planes[plane][i / 4 * 2 + i % 2][i % 4 / 2] = digit;
            out.eight_sums[plane] += 8 * i32::from(digit);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_keep_what_is_above_a_unit() {
        for scale in [1.0f32, 3.7e-3, 1e30, 1.2e-38, 1e-44, 0.0, f32::MAX] {
            let x: [f32; BLOCK] = std::array::from_fn(|i| ((i * i) as f32 / 961.0 - 0.3) / 0.7 * scale);
            let b = block(&x);
            let largest = x.iter().fold(0f64, |m, &v| m.max(f64::from(v).abs()));
            for (i, &x) in x.iter().enumerate() {
                let digits = b.planes.map(|p| i64::from(p[i / 4 * 2 + i % 2][i % 4 / 2]));
                assert!(digits.iter().all(|d| d.abs() <= 1 << 14));
                let whole = digits.iter().fold(0, |sum, d| (sum << PLANE_BITS) + d);
                let value = whole as f64 * b.unit;
                assert!((value - f64::from(x)).abs() <= largest * 2f64.powi(-44), "{value} is not {x}");
            }
            let of_plane = |p: usize| b.planes[p].iter().flatten().map(|&d| 8 * i32::from(d)).sum::<i32>();
            assert_eq!(b.eight_sums, [0, 1, 2].map(of_plane));
        }
    }
}
