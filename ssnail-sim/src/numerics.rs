//! The arithmetic that a machine is given: one method an arithmetic instruction, on plain slices. Float numerics are
//! [`crate::float`], hardware numerics [`crate::hardware`]; others plug in the same way.
//!
//! The machine has checked every operand and copies results into RAM itself, so that sources and destination of a
//! method never overlap, and an operation on nothing never gets here.

pub use ssnail_hw::vector::argmax;
pub use ssnail_hw::{Attention, Cache, Matrix};
use ssnail_isa::Format;

/// The arithmetic of a machine. Vectors of one call have the same length unless said otherwise.
pub trait Numerics {
    /// Name for people.
    fn name(&self) -> &'static str;

    /// y = W * x, or y += W * x. `x` has a column's worth of elements, `y` one a row.
    fn gemv(&mut self, w: Matrix<'_>, x: &[f32], y: &mut [f32], accumulate: bool);
    /// The weights of one row.
    fn deqrow(&mut self, format: Format, row: &[u8], z: &mut [f32]);
    /// Index of the largest; see [`argmax`], which no numerics may deviate from.
    fn argmax(&mut self, x: &[f32]) -> u32 {
        argmax(x)
    }
    /// z = x + y.
    fn vadd(&mut self, x: &[f32], y: &[f32], z: &mut [f32]);
    /// z = x * y.
    fn vmul(&mut self, x: &[f32], y: &[f32], z: &mut [f32]);
    /// z = x * rsqrt(mean(x^2) + eps) * gain.
    fn rmsnorm(&mut self, x: &[f32], gain: &[f32], eps: f32, z: &mut [f32]);
    /// z = silu(x) * y.
    fn silumul(&mut self, x: &[f32], y: &[f32], z: &mut [f32]);
    /// Rotates adjacent pairs of `x` by the (cos, sin) pairs of `table`, which repeats along `x`.
    fn rope(&mut self, x: &mut [f32], table: &[f32]);
    /// Attention of the heads of `q`; `out` is as long.
    fn attn(&mut self, a: Attention<'_>, q: &[f32], out: &mut [f32]);
    /// z = (x - mean) * rsqrt(var + eps) * gain + bias.
    fn layernorm(&mut self, x: &[f32], gain: &[f32], bias: &[f32], eps: f32, z: &mut [f32]);
    /// z = gelu(x), tanh form.
    fn gelu(&mut self, x: &[f32], z: &mut [f32]);
    /// z = mean of the rows of `x`, each as long as z.
    fn meanrows(&mut self, x: &[f32], z: &mut [f32]);
    /// z = the bits of x as F16, nearest even.
    fn cvt16(&mut self, x: &[f32], z: &mut [u16]);
}
