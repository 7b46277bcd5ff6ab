//! RMSNORM, LAYERNORM and MEANROWS with vectors: the bits of [`crate::norm`]. Sums along a vector stay sequential; all
//! else has elements or columns in lanes.

use super::Kernel;
use super::simd::{LANES, Simd, Work};
use super::vector::{load_part, store_part};
use crate::scalar::{recip, rsqrt, sequential_sum};

/// ss = seqsum(x*x); m = ss * recip(N); r = rsqrt(m + eps); z = (x*r) * gain.
///
/// # Panics
/// If lengths differ.
pub fn rmsnorm(kernel: Kernel, x: &[f32], gain: &[f32], eps: f32, z: &mut [f32]) {
    let m = sequential_sum(x.iter().map(|v| v * v)) * recip(x.len() as f32);
    kernel.run(Scale { x, mean: None, r: rsqrt(m + eps), gain, bias: None, z });
}

/// rn = recip(N); mu = seqsum(x) * rn; d = x - mu; v = seqsum(d*d) * rn; r = rsqrt(v + eps);
/// z = ((d*r) * gain) + bias.
///
/// # Panics
/// If lengths differ.
pub fn layernorm(kernel: Kernel, x: &[f32], gain: &[f32], bias: &[f32], eps: f32, z: &mut [f32]) {
    let rn = recip(x.len() as f32);
    let mu = sequential_sum(x.iter().copied()) * rn;
    let v = sequential_sum(x.iter().map(|x| (x - mu) * (x - mu))) * rn;
    kernel.run(Scale { x, mean: Some(mu), r: rsqrt(v + eps), gain, bias: Some(bias), z });
}

/// Per column: the sequential sum over the rows of `x`, starting from the first row, times recip(rows). Rows are as
/// long as `z`; at least one.
///
/// # Panics
/// If there is no row, or a part of one.
pub fn meanrows(kernel: Kernel, x: &[f32], z: &mut [f32]) {
    assert!(!x.is_empty() && x.len().is_multiple_of(z.len()), "{} elements in rows of {}", x.len(), z.len());
    kernel.run(Meanrows { x, z });
}

/// z = ((x - mean) * r) * gain + bias, where there is a mean and a bias.
struct Scale<'a> {
    x: &'a [f32],
    mean: Option<f32>,
    r: f32,
    gain: &'a [f32],
    bias: Option<&'a [f32]>,
    z: &'a mut [f32],
}

impl Work for Scale<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { x, mean, r, gain, bias, z } = self;
        let n = z.len();
        assert_eq!((x.len(), gain.len(), bias.map_or(n, <[f32]>::len)), (n, n, n), "elements");
        for (i, z) in z.chunks_mut(LANES).enumerate() {
            let part = i * LANES..i * LANES + z.len();
            let mut v = load_part(s, &x[part.clone()]);
            if let Some(mean) = mean {
                v = s.sub(v, s.splat(mean));
            }
            v = s.mul(s.mul(v, s.splat(r)), load_part(s, &gain[part.clone()]));
            if let Some(bias) = bias {
                v = s.add(v, load_part(s, &bias[part]));
            }
            store_part(s, s.canonical(v), z);
        }
    }
}

struct Meanrows<'a> {
    x: &'a [f32],
    z: &'a mut [f32],
}

impl Work for Meanrows<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let columns = self.z.len();
        let r = s.splat(recip((self.x.len() / columns) as f32));
        for (i, z) in self.z.chunks_mut(LANES).enumerate() {
            let first = i * LANES;
            let mut rows = self.x.chunks_exact(columns).map(|row| &row[first..first + z.len()]);
            let mut sum = rows.next().map_or(s.splat(0.0), |row| load_part(s, row));
            for row in rows {
                sum = s.add(sum, load_part(s, row));
            }
            store_part(s, s.canonical(s.mul(sum, r)), z);
        }
    }
}
