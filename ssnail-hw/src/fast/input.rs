//! The input vector of a GEMV as the kernels want it.

use super::Kernel;
use super::simd::{LANES, Simd, Work};
use crate::quantise::BLOCK;
use crate::scalar::{canonical, recip};
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

impl Default for Input {
    fn default() -> Self {
        Self::new()
    }
}

/// An input vector, prepared for a kind of weights. Preparing the same bits again costs a comparison.
#[derive(Debug)]
pub struct Input {
    /// What it is prepared with.
    kernel: Kernel,
    x: Vec<f32>,
    /// x as Q8_0; empty unless prepared for quantised weights.
    blocks: Vec<Block>,
    /// x as F64, and zeros to the end of a vector; empty unless prepared for others.
    wide: Vec<[f64; LANES]>,
    /// The sum of magnitudes of `wide`, to within a relative error of as many units as there are elements.
    magnitudes: f64,
}

impl Input {
    /// Nothing yet; prepared with the best kernel.
    pub fn new() -> Self {
        Self::with(Kernel::best())
    }

    /// Nothing yet; prepared with this kernel.
    pub fn with(kernel: Kernel) -> Self {
        Self { kernel, x: Vec::new(), blocks: Vec::new(), wide: Vec::new(), magnitudes: 0.0 }
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
            self.blocks.clear();
            self.wide.clear();
        }
        if format.is_quantised() {
            assert!(x.len().is_multiple_of(BLOCK), "{} elements are no whole number of blocks", x.len());
            if self.blocks.is_empty() {
                self.kernel.run(Quantise { x, blocks: &mut self.blocks });
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

/// The blocks of x: the bits of [`crate::quantise::quantise_block`].
struct Quantise<'a> {
    x: &'a [f32],
    blocks: &'a mut Vec<Block>,
}

impl Work for Quantise<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        for x in self.x.as_chunks::<BLOCK>().0 {
            let x = x.as_chunks().0;
            let x = [s.load(&x[0]), s.load(&x[1])];
            let magnitude = s.splat_i(0x7FFF_FFFF);
            let largest = s.max_i(s.and(s.bits(x[0]), magnitude), s.and(s.bits(x[1]), magnitude));
            let d = canonical(f32::from_bits(s.largest(largest) as u32) / 127.0);
            let id = s.splat(if d == 0.0 { 0.0 } else { recip(d) });
            let q = [round(s, s.mul(x[0], id)), round(s, s.mul(x[1], id))];
            let mut half = [0; LANES];
            s.store_f16(s.splat(d), &mut half);
            let mut scale = [0.0; LANES];
            s.store(s.canonical(s.load_f16(&half)), &mut scale);
            let mut block =
                Block { q: [0; BLOCK], d: scale[0], eight_sums: 8 * s.sum_i(s.add_i(q[0], q[1])) };
            s.store_i8(q, &mut block.q);
            self.blocks.push(block);
        }
    }
}

/// To integers, halves away from zero; 0 for what is not finite.
#[inline(always)]
fn round<S: Simd>(s: S, x: S::F) -> S::I {
    let magnitude = s.with_bits(s.and(s.bits(x), s.splat_i(0x7FFF_FFFF)));
    let x = s.select(s.lt(magnitude, s.splat(f32::INFINITY)), x, s.splat(0.0));
    // Truncating x plus the number below a half, with the sign of x, is how LLVM expands `round` where there is no
    // instruction for it: adding a half itself would take the number below a half to 1.
    let sign = s.and(s.bits(x), s.splat_i(i32::MIN));
    let half = s.with_bits(s.or(sign, s.splat_i(0.5f32.next_down().to_bits() as i32)));
    s.truncate(s.add(x, half))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantise::quantise_block;
    use crate::scalar::f16_to_f32;

    fn check(x: [f32; BLOCK]) {
        let want = quantise_block(&x);
        for kernel in Kernel::all() {
            let mut input = Input::with(kernel);
            input.prepare(Format::Q8_0, &x);
            let got = input.blocks()[0];
            let sum: i32 = want.q.iter().map(|&q| i32::from(q)).sum();
            assert_eq!((got.q, got.eight_sums), (want.q, 8 * sum), "{} {x:?}", kernel.name());
            assert_eq!(got.d.to_bits(), f16_to_f32(want.d).to_bits(), "{} {x:?}", kernel.name());
        }
    }

    /// With 127 in a block nothing is scaled.
    #[test]
    fn blocks_around_halves() {
        for n in -127..127 {
            let half = n as f32 + 0.5;
            let mut x = [127.0; BLOCK];
            x[..3].copy_from_slice(&[half.next_down(), half, half.next_up()]);
            check(x);
        }
        let half = 0.5f32;
        let mut x = [127.0; BLOCK];
        x[..4].copy_from_slice(&[half.next_down(), -half.next_down(), f32::from_bits(1), -0.0]);
        check(x);
    }

    #[test]
    fn blocks_of_what_is_not_finite() {
        for odd in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::from_bits(0xFF80_0001), 0.0, f32::MAX] {
            for even in [1.0, -0.0, f32::MAX, f32::from_bits(1), 2f32.powi(-128) * 127.0] {
                check(std::array::from_fn(|i| if i % 7 == 3 { odd } else { even }));
            }
        }
    }
}
