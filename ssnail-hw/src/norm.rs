//! RMSNORM, LAYERNORM and MEANROWS: sequential sums, and reciprocals of lengths.
//!
//! A length is converted to F32, nearest even, before its reciprocal is taken; up to 2^24 that is exact.

use crate::scalar::{canonical, recip, rsqrt, sequential_sum};

/// ss = seqsum(x*x); m = ss * recip(N); r = rsqrt(m + eps); z = (x*r) * gain.
pub fn rmsnorm(x: &[f32], gain: &[f32], eps: f32, z: &mut [f32]) {
    let m = sequential_sum(x.iter().map(|v| v * v)) * recip(x.len() as f32);
    let r = rsqrt(m + eps);
    for ((z, x), g) in z.iter_mut().zip(x).zip(gain) {
        *z = canonical((x * r) * g);
    }
}

/// rn = recip(N); mu = seqsum(x) * rn; d = x - mu; v = seqsum(d*d) * rn; r = rsqrt(v + eps);
/// z = ((d*r) * gain) + bias.
pub fn layernorm(x: &[f32], gain: &[f32], bias: &[f32], eps: f32, z: &mut [f32]) {
    let rn = recip(x.len() as f32);
    let mu = sequential_sum(x.iter().copied()) * rn;
    for (z, x) in z.iter_mut().zip(x) {
        *z = x - mu;
    }
    let v = sequential_sum(z.iter().map(|d| d * d)) * rn;
    let r = rsqrt(v + eps);
    for ((z, g), b) in z.iter_mut().zip(gain).zip(bias) {
        *z = canonical(((*z * r) * g) + b);
    }
}

/// Per column: the sequential sum over the rows of `x`, starting from the first row, times recip(rows). Rows are as
/// long as `z`; at least one.
pub fn meanrows(x: &[f32], z: &mut [f32]) {
    let mut rows = x.chunks_exact(z.len());
    let r = recip(rows.len() as f32);
    if let Some(first) = rows.next() {
        z.copy_from_slice(first);
    }
    for row in rows {
        z.iter_mut().zip(row).for_each(|(z, x)| *z += x);
    }
    z.iter_mut().for_each(|z| *z = canonical(*z * r));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_answers() {
        let mut z = [0.0; 4];
        rmsnorm(&[2.0, -2.0, 2.0, 2.0], &[1.0, 1.0, 3.0, 0.0], 0.0, &mut z);
        assert_eq!(z, [1.0, -1.0, 3.0, 0.0]);
        layernorm(&[1.0, 3.0, 1.0, 3.0], &[2.0; 4], &[0.5; 4], 0.0, &mut z);
        assert_eq!(z, [-1.5, 2.5, -1.5, 2.5]);
        meanrows(&[1.0, -0.0, 2.0, 3.0, 5.0, -0.0, 2.0, 3.0], &mut z);
        assert_eq!(z.map(f32::to_bits), [3.0, -0.0, 2.0, 3.0].map(f32::to_bits));
    }

    #[test]
    fn a_vector_of_zeros_without_eps_is_nan() {
        let mut z = [0.0; 2];
        rmsnorm(&[0.0, -0.0], &[1.0, 1.0], 0.0, &mut z);
        assert_eq!(z.map(f32::to_bits), [crate::scalar::NAN_F32; 2]);
    }
}
