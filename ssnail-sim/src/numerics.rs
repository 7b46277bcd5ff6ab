//! The arithmetic that a machine is given: one method an arithmetic instruction, on plain slices. Float numerics are
//! [`crate::float`]; others plug in the same way.
//!
//! The machine has checked every operand and copies results into RAM itself, so that sources and destination of a
//! method never overlap, and an operation on nothing never gets here.

use ssnail_isa::Format;

/// A weight matrix as it stands in RAM.
#[derive(Debug, Clone, Copy)]
pub struct Matrix<'a> {
    /// The rows, one after the other.
    pub bytes: &'a [u8],
    /// How weights are stored.
    pub format: Format,
    /// Elements of a row: not 0, a multiple of the format's block.
    pub columns: usize,
}

impl<'a> Matrix<'a> {
    /// Bytes of a row.
    pub fn row_bytes(&self) -> usize {
        self.format.row_bytes(self.columns as u64) as usize
    }

    /// The rows in order.
    pub fn rows(&self) -> std::slice::ChunksExact<'a, u8> {
        self.bytes.chunks_exact(self.row_bytes())
    }
}

/// A K or V cache: rows of `n_kv_heads * head_dim` elements, position after position.
#[derive(Debug, Clone, Copy)]
pub enum Cache<'a> {
    /// F32.
    F32(&'a [f32]),
    /// The bits of F16.
    F16(&'a [u16]),
}

/// What ATTN attends to.
#[derive(Debug, Clone, Copy)]
pub struct Attention<'a> {
    /// Query heads, a multiple of `n_kv_heads`; query head h uses KV head `h / (n_heads / n_kv_heads)`.
    pub n_heads: usize,
    /// KV heads.
    pub n_kv_heads: usize,
    /// Elements of a head.
    pub head_dim: usize,
    /// Positions, at least one.
    pub positions: usize,
    /// K, `positions` rows.
    pub k: Cache<'a>,
    /// V, `positions` rows.
    pub v: Cache<'a>,
}

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

#[cfg(test)]
mod tests {
    use super::argmax;

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
