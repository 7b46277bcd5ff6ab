//! Rows of F32, F16 and BF16: the exact sum of products rounded once, by way of F64 where that is provably the same.
//!
//! A product of two F32 is exact in F64: 48 bits, exponents from -298 to 255. Adding n of them in any order, no path
//! longer than h additions, errs by at most h*u/(1 - h*u) * A where u = 2^-53 and A is the sum of magnitudes (Higham,
//! Accuracy and Stability of Numerical Algorithms, section 4.2). A is at most W * X, the largest magnitude of the row's
//! weights times the sum of the input's; X is computed once for all rows, with a relative error of at most n*u. So the
//! exact sum lies within s ± e, e = (h + 2) * 2u * W * X, which leaves room for these errors and the rounding of s ± e.
//! Rounding to F32 is monotone: when both ends give the same bits, so does the exact sum. Otherwise, and for whatever
//! is not finite, [`dot_float`] decides.

use super::simd::{LANES, Simd, Work};
use super::{Input, store};
use crate::gemv::dot_float;
use crate::operand::Matrix;
use ssnail_isa::Format;
use std::slice::from_mut;

/// Y = W * X over rows as they stand.
pub(super) struct Rows<'a, 'y> {
    /// F32, F16 or BF16.
    pub(super) w: Matrix<'a>,
    /// The inputs.
    pub(super) inputs: &'a [&'a Input],
    /// For each input a vector with an element for each row.
    pub(super) ys: &'a mut [&'y mut [f32]],
    /// Whether to add to what `ys` hold.
    pub(super) accumulate: bool,
}

impl Work for Rows<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        match self.w.format {
            Format::F16 => self.of::<S, F16>(s),
            Format::Bf16 => self.of::<S, Bf16>(s),
            _ => self.of::<S, F32>(s),
        }
    }
}

impl Rows<'_, '_> {
    #[inline(always)]
    fn of<S: Simd, W: Weights>(self, s: S) {
        let Self { w, inputs, ys, accumulate } = self;
        let row_bytes = w.row_bytes();
        let mut finish = |r: usize, i: usize, sum: f64, largest: f32| {
            let bound = f64::from(largest) * inputs[i].magnitudes();
            let exact = || dot_float(w.format, &w.bytes[r * row_bytes..][..row_bytes], inputs[i].values());
            let dot = round(sum, w.columns, bound).unwrap_or_else(exact);
            store([dot], from_mut(&mut ys[i][r]), accumulate);
        };
        let rows = w.bytes.len() / row_bytes;
        let mut i = 0;
        while inputs.len() - i >= 4 {
            for r in 0..rows {
                let x = [inputs[i].wide(), inputs[i + 1].wide(), inputs[i + 2].wide(), inputs[i + 3].wide()];
                let ([sums], largest) = sums::<S, W, 1, 4>(s, [&w.bytes[r * row_bytes..][..row_bytes]], x);
                for n in 0..4 {
                    finish(r, i + n, sums[n], largest);
                }
            }
            i += 4;
        }
        for i in i..inputs.len() {
            let x = inputs[i].wide();
            let mut r = 0;
            while rows - r >= 2 {
                let (a, b) = w.bytes[r * row_bytes..][..2 * row_bytes].split_at(row_bytes);
                let ([[a], [b]], largest) = sums::<S, W, 2, 1>(s, [a, b], [x]);
                finish(r, i, a, largest);
                finish(r + 1, i, b, largest);
                r += 2;
            }
            if r < rows {
                let ([[sum]], largest) = sums::<S, W, 1, 1>(s, [&w.bytes[r * row_bytes..][..row_bytes]], [x]);
                finish(r, i, sum, largest);
            }
        }
    }
}

/// The sum rounded to F32, if that is what the exact sum rounds to: `sum` is that of so many products, in [`sums`]'
/// order, and `bound` at least the sum of their magnitudes.
#[inline(always)]
fn round(sum: f64, products: usize, bound: f64) -> Option<f32> {
    let error = (longest(products) + 2) as f64 * f64::EPSILON * bound;
    let (low, high) = ((sum - error) as f32, (sum + error) as f32);
    (error.is_finite() && low.to_bits() == high.to_bits()).then_some(low)
}

/// The longest path of additions in [`sums`]: those of a lane, then of the 2 vectors and their 8 lanes.
fn longest(products: usize) -> usize {
    products.div_ceil(8) + 9
}

/// The sums of R rows times N inputs, in F64, and the largest magnitude of the rows' weights. Inputs go on with zeros to
/// the end of a vector.
#[inline(always)]
fn sums<S: Simd, W: Weights, const R: usize, const N: usize>(
    s: S,
    rows: [&[u8]; R],
    x: [&[[f64; LANES]]; N],
) -> ([[f64; N]; R], f32) {
    let magnitude = s.splat_i(0x7FFF_FFFF);
    let mut largest = s.splat_i(0);
    // One input has a sum for each half of a vector, to have enough of them at a time.
    let mut acc = [[[s.splat_d(0.0); 2]; N]; R];
    let step = LANES * W::BYTES;
    let vectors = rows[0].len().div_ceil(step);
    let mut x_of = [&x[0][..vectors]; N];
    for n in 1..N {
        x_of[n] = &x[n][..vectors];
    }
    let mut last = [[0; 4 * LANES]; R];
    for v in 0..vectors {
        for r in 0..R {
            let bytes = match rows[r].get(v * step..(v + 1) * step) {
                Some(bytes) => bytes,
                None => {
                    let rest = &rows[r][v * step..];
                    last[r][..rest.len()].copy_from_slice(rest);
                    &last[r][..step]
                }
            };
            let w = W::load(s, bytes);
            largest = s.max_i(largest, s.and(s.bits(w), magnitude));
            let w = s.widen(w);
            for n in 0..N {
                let (x, _) = x_of[n][v].as_chunks::<8>();
                for half in 0..2 {
                    let to = if N == 1 { half } else { 0 };
                    acc[r][n][to] = s.add_d(acc[r][n][to], s.mul_d(w[half], s.load_d(&x[half])));
                }
            }
        }
    }
    let mut sums = [[0.0; N]; R];
    for r in 0..R {
        for n in 0..N {
            let mut lanes = [0.0; 8];
            s.store_d(s.add_d(acc[r][n][0], acc[r][n][1]), &mut lanes);
            sums[r][n] = lanes.iter().sum();
        }
    }
    (sums, f32::from_bits(s.largest(largest) as u32))
}

/// How weights are stored.
trait Weights {
    /// Bytes of a weight.
    const BYTES: usize;
    /// A vector of weights.
    fn load<S: Simd>(s: S, bytes: &[u8]) -> S::F;
}

struct F32;
struct F16;
struct Bf16;

impl Weights for F32 {
    const BYTES: usize = 4;
    #[inline(always)]
    fn load<S: Simd>(s: S, bytes: &[u8]) -> S::F {
        s.load_f32_bytes(bytes.first_chunk().expect("16 weights"))
    }
}

impl Weights for F16 {
    const BYTES: usize = 2;
    #[inline(always)]
    fn load<S: Simd>(s: S, bytes: &[u8]) -> S::F {
        s.load_f16_bytes(bytes.first_chunk().expect("16 weights"))
    }
}

impl Weights for Bf16 {
    const BYTES: usize = 2;
    #[inline(always)]
    fn load<S: Simd>(s: S, bytes: &[u8]) -> S::F {
        s.load_bf16_bytes(bytes.first_chunk().expect("16 weights"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(w: &[f32], x: &[f64]) -> Option<f32> {
        let sum = w.iter().zip(x).fold(0.0, |sum, (&w, x)| sum + f64::from(w) * x);
        let largest = w.iter().fold(0f32, |m, w| if w.is_nan() { *w } else { m.max(w.abs()) });
        round(sum, x.len(), f64::from(largest) * x.iter().map(|x| x.abs()).sum::<f64>())
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
