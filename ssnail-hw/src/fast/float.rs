//! Rows of F32, F16 and BF16: the exact sum of products rounded once, by way of F64 where that is provably the same.
//!
//! A product of two F32 is exact in F64: 48 bits, exponents from -298 to 255. Adding n of them in any order, no path
//! longer than h additions, errs by at most h*u/(1 - h*u) * A where u = 2^-53 and A is the sum of magnitudes (Higham,
//! Accuracy and Stability of Numerical Algorithms, section 4.2). A itself is computed with the same relative error. So the exact
//! sum lies within s ± e, e = (h + 2) * 2u * A, which leaves room for those errors and the rounding of s ± e. Rounding to
//! F32 is monotone: when both ends give the same bits, so does the exact sum. Otherwise, and for whatever is not
//! finite, [`dot_float`] decides.

use super::{Input, Isa, Kernel, store};
use crate::gemv::dot_float;
use crate::operand::Matrix;
use ssnail_isa::Format;

/// Sums kept side by side.
const LANES: usize = 8;
/// Weights decoded at a time, on the stack.
const CHUNK: usize = 256;

/// See [`super::gemv`].
pub(super) fn gemv(kernel: Kernel, w: Matrix<'_>, x: &Input, y: &mut [f32], accumulate: bool) {
    match kernel.0 {
        Isa::Portable => rows(w, x, y, accumulate),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: this kernel is made only where the processor has AVX2 and F16C.
        Isa::Avx2 => unsafe { rows_avx2(w, x, y, accumulate) },
    }
}

/// [`rows`], compiled for AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,f16c")]
fn rows_avx2(w: Matrix<'_>, x: &Input, y: &mut [f32], accumulate: bool) {
    rows(w, x, y, accumulate);
}

#[inline(always)]
fn rows(w: Matrix<'_>, x: &Input, y: &mut [f32], accumulate: bool) {
    for (row, y) in w.rows().zip(y) {
        let dot = proved(w.format, row, x.wide()).unwrap_or_else(|| dot_float(w.format, row, x.values()));
        store([dot], std::slice::from_mut(y), accumulate);
    }
}

/// The row's sum, if F64 proves it.
#[inline(always)]
fn proved(format: Format, row: &[u8], x: &[f64]) -> Option<f32> {
    let (mut sums, mut magnitudes) = ([0.0; LANES], [0.0; LANES]);
    let mut weights = [0f32; CHUNK];
    for (bytes, x) in row.chunks(CHUNK * format.block_bytes() as usize).zip(x.chunks(CHUNK)) {
        let weights = &mut weights[..x.len()];
        decode(format, bytes, weights);
        let (whole, rest) = weights.as_chunks::<LANES>();
        let (x_whole, x_rest) = x.as_chunks::<LANES>();
        for (w, x) in whole.iter().zip(x_whole) {
            for l in 0..LANES {
                let product = f64::from(w[l]) * x[l];
                sums[l] += product;
                magnitudes[l] += product.abs();
            }
        }
        for (l, (w, x)) in rest.iter().zip(x_rest).enumerate() {
            let product = f64::from(*w) * x;
            sums[l] += product;
            magnitudes[l] += product.abs();
        }
    }
    // Every chunk but the last fills all lanes, so a lane has this many additions, and some more join the lanes.
    let longest = x.len().div_ceil(LANES) + LANES;
    let sum: f64 = sums.iter().sum();
    let error = (longest + 2) as f64 * f64::EPSILON * magnitudes.iter().sum::<f64>();
    let (low, high) = ((sum - error) as f32, (sum + error) as f32);
    (error.is_finite() && low.to_bits() == high.to_bits()).then_some(low)
}

#[inline(always)]
fn decode(format: Format, bytes: &[u8], weights: &mut [f32]) {
    match format {
        // One shift or none each, which vectorises here.
        Format::Bf16 => {
            for (b, w) in bytes.as_chunks::<2>().0.iter().zip(weights) {
                *w = f32::from_bits(u32::from(u16::from_le_bytes(*b)) << 16);
            }
        }
        Format::F32 => {
            for (b, w) in bytes.as_chunks::<4>().0.iter().zip(weights) {
                *w = f32::from_le_bytes(*b);
            }
        }
        format => format.decode_row(bytes, weights).expect("a part of a row is as long as its part of x"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(w: &[f32], x: &[f64]) -> Option<f32> {
        let bytes: Vec<u8> = w.iter().flat_map(|w| w.to_le_bytes()).collect();
        proved(Format::F32, &bytes, x)
    }

    #[test]
    fn proves_what_is_clear_and_nothing_else() {
        assert_eq!(of(&[1.5, 2.0], &[2.0, 4.0]), Some(11.0));
        assert_eq!(of(&[0.0, -0.0], &[-1.0, 1.0]).map(f32::to_bits), Some(0));
        // A tie, a cancellation to nothing, a tiny negative sum that rounds to -0 or not, infinity.
        assert_eq!(of(&[1.0, 1.0], &[1.0, f64::from(2f32.powi(-24))]), None);
        assert_eq!(of(&[1.0, 1.0], &[1.0, -1.0]), None);
        assert_eq!(of(&[f32::INFINITY], &[1.0]), None);
        assert_eq!(of(&[f32::NAN], &[0.0]), None);
        // Overflow of the rounding is proved like any other.
        assert_eq!(of(&[f32::MAX], &[2.0]), Some(f32::INFINITY));
    }
}
