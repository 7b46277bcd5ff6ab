//! The arithmetic that a machine is given: one method an arithmetic instruction, on plain slices. Float numerics are
//! [`crate::float`], hardware numerics [`crate::hardware`]; others plug in the same way.
//!
//! The machine has checked every operand and copies results into RAM itself, so that sources and destination of a
//! method never overlap, and an operation on nothing never gets here.

use ssnail_hw::fast::{PackedMatrix, Pages};
pub use ssnail_hw::vector::argmax;
pub use ssnail_hw::{Attention, Cache, Matrix};
use ssnail_isa::Format;

/// The weights of a GEMV.
#[derive(Debug, Clone, Copy)]
pub struct Weights<'a> {
    /// As they stand in RAM.
    pub matrix: Matrix<'a>,
    /// The same as [`Numerics::pack`] made it; a copy that the machine has found current.
    pub packed: Option<&'a PackedMatrix>,
}

impl<'a> From<Matrix<'a>> for Weights<'a> {
    fn from(matrix: Matrix<'a>) -> Self {
        Weights { matrix, packed: None }
    }
}

/// A vector that weights are multiplied with, and the result.
#[derive(Debug)]
pub struct Product<'a> {
    /// A column's worth of elements.
    pub x: &'a [f32],
    /// One element a row; holds what is accumulated to.
    pub y: &'a mut [f32],
}

/// The arithmetic of a machine. Vectors of one call have the same length unless said otherwise.
pub trait Numerics: Sync {
    /// Name for people.
    fn name(&self) -> &'static str;

    /// How many turns of a loop the machine may run side by side, where that changes no result; 1 for none. Methods
    /// are then called from several threads.
    fn look_ahead(&self) -> usize {
        1
    }

    /// Weights that are used again and again, in the order in which [`Numerics::gemv`] wants to read them; `None`
    /// where they are best read where they stand.
    fn pack(&self, _matrix: Matrix<'_>, _pages: &mut Pages) -> Option<PackedMatrix> {
        None
    }

    /// y = W * x, or y += W * x, for each of the products.
    fn gemv(&mut self, w: Weights<'_>, products: &mut [Product<'_>], accumulate: bool);
    /// The weights of one row.
    fn deqrow(&self, format: Format, row: &[u8], z: &mut [f32]);
    /// Index of the largest; see [`argmax`], which no numerics may deviate from.
    fn argmax(&self, x: &[f32]) -> u32 {
        argmax(x)
    }
    /// z = x + y.
    fn vadd(&self, x: &[f32], y: &[f32], z: &mut [f32]);
    /// z = x * y.
    fn vmul(&self, x: &[f32], y: &[f32], z: &mut [f32]);
    /// z = x * rsqrt(mean(x^2) + eps) * gain.
    fn rmsnorm(&self, x: &[f32], gain: &[f32], eps: f32, z: &mut [f32]);
    /// z = silu(x) * y.
    fn silumul(&self, x: &[f32], y: &[f32], z: &mut [f32]);
    /// Rotates adjacent pairs of `x` by the (cos, sin) pairs of `table`, which repeats along `x`.
    fn rope(&self, x: &mut [f32], table: &[f32]);
    /// Attention of the heads of `q`; `out` is as long.
    fn attn(&self, a: Attention<'_>, q: &[f32], out: &mut [f32]);
    /// z = (x - mean) * rsqrt(var + eps) * gain + bias.
    fn layernorm(&self, x: &[f32], gain: &[f32], bias: &[f32], eps: f32, z: &mut [f32]);
    /// z = gelu(x), tanh form.
    fn gelu(&self, x: &[f32], z: &mut [f32]);
    /// z = mean of the rows of `x`, each as long as z.
    fn meanrows(&self, x: &[f32], z: &mut [f32]);
    /// z = the bits of x as F16, nearest even.
    fn cvt16(&self, x: &[f32], z: &mut [u16]);
}
