//! The input vector of a GEMV as the kernels want it.

use super::simd::LANES;
use crate::quantise::{BLOCK, Q8Block, quantise};
use crate::scalar::f16_to_f32;
use ssnail_isa::Format;

/// A block of the quantised vector, with what kernels need of it more than once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block {
    /// The elements.
    pub(super) q: [i8; BLOCK],
    /// The scale.
    pub(super) d: f32,
    /// 8 times the sum of the elements: what Q4_0's offset takes off.
    pub(super) eight_sums: i32,
}

/// An input vector, prepared for a kind of weights. Preparing the same bits again costs a comparison.
#[derive(Debug, Default)]
pub struct Input {
    x: Vec<f32>,
    /// x as Q8_0, and the same for kernels; empty unless prepared for quantised weights.
    quantised: Vec<Q8Block>,
    blocks: Vec<Block>,
    /// x as F64, and zeros to the end of a vector; empty unless prepared for others.
    wide: Vec<[f64; LANES]>,
    /// The sum of magnitudes of `wide`, to within a relative error of as many units as there are elements.
    magnitudes: f64,
}

impl Input {
    /// Nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes this the vector `x`, for weights of `format`.
    ///
    /// # Panics
    /// If `x` has a part of a block and the format is a quantised one.
    pub fn prepare(&mut self, format: Format, x: &[f32]) {
        let same = self.x.len() == x.len() && self.x.iter().zip(x).all(|(a, b)| a.to_bits() == b.to_bits());
        if !same {
            self.x.clear();
            self.x.extend_from_slice(x);
            self.quantised.clear();
            self.blocks.clear();
            self.wide.clear();
        }
        if format.is_quantised() {
            if self.blocks.is_empty() {
                quantise(x, &mut self.quantised);
                self.blocks.extend(self.quantised.iter().map(|b| Block {
                    q: b.q,
                    d: f16_to_f32(b.d),
                    eight_sums: 8 * b.q.iter().map(|&q| i32::from(q)).sum::<i32>(),
                }));
            }
        } else if self.wide.is_empty() {
            self.wide.extend(x.chunks(LANES).map(|x| {
                let mut wide = [0.0; LANES];
                wide.iter_mut().zip(x).for_each(|(wide, &x)| *wide = f64::from(x));
                wide
            }));
            self.magnitudes = self.wide.as_flattened().iter().map(|x| x.abs()).sum();
        }
    }

    /// Elements.
    pub(super) fn len(&self) -> usize {
        self.x.len()
    }

    /// The vector itself.
    pub(super) fn values(&self) -> &[f32] {
        &self.x
    }

    /// The vector as F64, with zeros to the end of the last 16.
    pub(super) fn wide(&self) -> &[[f64; LANES]] {
        assert_eq!(
            self.wide.len(),
            self.x.len().div_ceil(LANES),
            "the input was not prepared for weights that are not quantised"
        );
        &self.wide
    }

    /// The sum of magnitudes: NaN or infinite where an element is.
    pub(super) fn magnitudes(&self) -> f64 {
        self.magnitudes
    }

    /// The vector as Q8_0, for kernels.
    pub(super) fn blocks(&self) -> &[Block] {
        assert_eq!(
            self.blocks.len() * BLOCK,
            self.x.len(),
            "the input was not prepared for quantised weights"
        );
        &self.blocks
    }
}
