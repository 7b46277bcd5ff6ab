//! Vector operations: norms, activations, rotation, means.

use super::lanes::{exp, sum_of};

#[inline(always)]
/// z = f(x, y), element by element.
pub(super) fn zip(x: &[f32], y: &[f32], z: &mut [f32], f: impl Fn(f32, f32) -> f32) {
    for ((z, &x), &y) in z.iter_mut().zip(x).zip(y) {
        *z = f(x, y);
    }
}

/// x / (1 + exp(-x)); of minus infinity what it tends to.
#[inline(always)]
pub(super) fn silu(x: f64) -> f64 {
    x.max(f64::MIN) / (1.0 + exp(-x))
}

/// The tanh form x/2 * (1 + tanh u), as x / (1 + exp(-2u)): equal, and without cancellation for negative x.
#[inline(always)]
pub(super) fn gelu(x: f64) -> f64 {
    const SQRT_2_OVER_PI: f64 = 0.797_884_560_802_865_4;
    let u = SQRT_2_OVER_PI * (x + 0.044715 * x * x * x);
    x.max(f64::MIN) / (1.0 + exp(-2.0 * u))
}

pub(super) fn rmsnorm(x: &[f32], gain: &[f32], eps: f64, z: &mut [f32]) {
    let mean = sum_of(x, |v| v * v) / x.len() as f64;
    let r = 1.0 / (mean + eps).sqrt();
    zip(x, gain, z, |x, g| (f64::from(x) * r * f64::from(g)) as f32);
}

pub(super) fn layernorm(x: &[f32], gain: &[f32], bias: &[f32], eps: f64, z: &mut [f32]) {
    let n = x.len() as f64;
    let mean = sum_of(x, |v| v) / n;
    let variance = sum_of(x, |v| (v - mean) * (v - mean)) / n;
    let r = 1.0 / (variance + eps).sqrt();
    for (((z, &x), &g), &b) in z.iter_mut().zip(x).zip(gain).zip(bias) {
        *z = ((f64::from(x) - mean) * r * f64::from(g) + f64::from(b)) as f32;
    }
}

pub(super) fn rope(x: &mut [f32], table: &[f32]) {
    for head in x.chunks_exact_mut(table.len()) {
        for (v, t) in head.chunks_exact_mut(2).zip(table.chunks_exact(2)) {
            let [v0, v1, c, s] = [v[0], v[1], t[0], t[1]].map(f64::from);
            v[0] = (v0 * c - v1 * s) as f32;
            v[1] = (v0 * s + v1 * c) as f32;
        }
    }
}

pub(super) fn meanrows(x: &[f32], z: &mut [f32]) {
    let n = z.len();
    let mut sums = vec![0f64; n];
    for row in x.chunks_exact(n) {
        sums.iter_mut().zip(row).for_each(|(s, &v)| *s += f64::from(v));
    }
    let rows = (x.len() / n) as f64;
    z.iter_mut().zip(sums).for_each(|(z, s)| *z = (s / rows) as f32);
}
