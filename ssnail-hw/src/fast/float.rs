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
            Format::F16 => self.of::<S, F16, 32>(s),
            Format::Bf16 => self.of::<S, Bf16, 32>(s),
            _ => self.of::<S, F32, 64>(s),
        }
    }
}

impl Rows<'_, '_> {
    #[inline(always)]
    fn of<S: Simd, W: Weights<BYTES>, const BYTES: usize>(self, s: S) {
        match self.inputs {
            [] => {}
            [x] => self.one::<S, W, BYTES>(s, x),
            _ => self.several::<S, W, BYTES>(s),
        }
    }

    /// One input: weights are used where they are decoded.
    #[inline(always)]
    fn one<S: Simd, W: Weights<BYTES>, const BYTES: usize>(mut self, s: S, x: &Input) {
        for first in (0..self.rows()).step_by(2) {
            let (row, last) = (self.row(first), first + 1 == self.rows());
            if last {
                let ([sum], largest) = sums::<S, W, BYTES, 1>(s, [row], x.wide());
                self.finish(first, 0, sum, largest);
            } else {
                let (sums, largest) = sums::<S, W, BYTES, 2>(s, [row, self.row(first + 1)], x.wide());
                self.finish(first, 0, sums[0], largest);
                self.finish(first + 1, 0, sums[1], largest);
            }
        }
    }

    /// Several inputs: two rows at a time are decoded once, then used by two inputs at a time.
    #[inline(always)]
    fn several<S: Simd, W: Weights<BYTES>, const BYTES: usize>(mut self, s: S) {
        let vectors = self.w.columns.div_ceil(LANES);
        let mut wide = vec![[0.0; LANES]; 2 * vectors];
        let (a, b) = wide.split_at_mut(vectors);
        for first in (0..self.rows()).step_by(2) {
            let mut largest = [decode::<S, W, BYTES>(s, self.row(first), a), 0.0];
            let rows = self.rows().min(first + 2) - first;
            if rows == 2 {
                largest[1] = decode::<S, W, BYTES>(s, self.row(first + 1), b);
            }
            for i in (0..self.inputs.len()).step_by(2) {
                // The last of an odd number is taken twice.
                let inputs = [i, (i + 1).min(self.inputs.len() - 1)];
                let sums = products(s, [a, b], inputs.map(|i| self.inputs[i].wide()));
                for r in 0..rows {
                    for n in 0..inputs[1] - i + 1 {
                        self.finish(first + r, i + n, sums[r][n], largest[r]);
                    }
                }
            }
        }
    }

    fn rows(&self) -> usize {
        self.w.bytes.len() / self.w.row_bytes()
    }

    #[inline(always)]
    fn row(&self, r: usize) -> &[u8] {
        let row_bytes = self.w.row_bytes();
        &self.w.bytes[r * row_bytes..][..row_bytes]
    }

    /// Rounds and stores the sum of row `r` with input `i`; `largest` bounds the row's weights.
    #[inline(always)]
    fn finish(&mut self, r: usize, i: usize, sum: f64, largest: f32) {
        let x = self.inputs[i];
        let dot = round(sum, self.w.columns, f64::from(largest) * x.magnitudes())
            .unwrap_or_else(|| dot_float(self.w.format, self.row(r), x.values()));
        store([dot], from_mut(&mut self.ys[i][r]), self.accumulate);
    }
}

/// The sum rounded to F32, if that is what the exact sum rounds to: `sum` is that of so many products, in [`sums`]' or
/// [`products`]' order, and `bound` at least the sum of their magnitudes.
#[inline(always)]
fn round(sum: f64, products: usize, bound: f64) -> Option<f32> {
    let error = (longest(products) + 2) as f64 * f64::EPSILON * bound;
    let (low, high) = ((sum - error) as f32, (sum + error) as f32);
    (error.is_finite() && low.to_bits() == high.to_bits()).then_some(low)
}

/// The longest path of additions in [`sums`] and [`products`]: those of a lane, then of up to 2 vectors and their 8
/// lanes.
fn longest(products: usize) -> usize {
    products.div_ceil(8) + 9
}

/// Vectors of weights in order, the last completed with zeros.
struct Vectors<'a, const BYTES: usize> {
    whole: &'a [[u8; BYTES]],
    last: [u8; BYTES],
}

impl<'a, const BYTES: usize> Vectors<'a, BYTES> {
    #[inline(always)]
    fn new(row: &'a [u8]) -> Self {
        let (whole, rest) = row.as_chunks();
        let mut last = [0; BYTES];
        last[..rest.len()].copy_from_slice(rest);
        Self { whole, last }
    }
}

/// The sums of R rows times an input, in F64, and the largest magnitude of the rows' weights. The input goes on with
/// zeros to the end of a vector.
#[inline(always)]
fn sums<S: Simd, W: Weights<BYTES>, const BYTES: usize, const R: usize>(
    s: S,
    rows: [&[u8]; R],
    x: &[[f64; LANES]],
) -> ([f64; R], f32) {
    let mut tile = Tile { largest: s.splat_i(0), acc: [[s.splat_d(0.0); 2]; R] };
    let rows = rows.map(Vectors::<BYTES>::new);
    let (x_whole, x_last) = x.split_at(rows[0].whole.len());
    for (v, x) in x_whole.iter().enumerate() {
        let mut w = [&rows[0].last; R];
        for r in 0..R {
            w[r] = &rows[r].whole[v];
            s.prefetch(w[r].as_ptr());
        }
        tile.add::<W, BYTES>(s, w, x);
    }
    if let [x] = x_last {
        tile.add::<W, BYTES>(s, rows.each_ref().map(|row| &row.last), x);
    }
    let mut sums = [0.0; R];
    for r in 0..R {
        sums[r] = sum(s, s.add_d(tile.acc[r][0], tile.acc[r][1]));
    }
    (sums, tile.largest(s))
}

#[inline(always)]
fn sum<S: Simd>(s: S, x: S::D) -> f64 {
    let mut lanes = [0.0; 8];
    s.store_d(x, &mut lanes);
    lanes.iter().sum()
}

/// Running sums of R rows, two of each to have enough of them.
struct Tile<S: Simd, const R: usize> {
    /// Bits of the largest magnitudes of weights.
    largest: S::I,
    acc: [[S::D; 2]; R],
}

impl<S: Simd, const R: usize> Tile<S, R> {
    /// Adds the products of a vector of each.
    #[inline(always)]
    fn add<W: Weights<BYTES>, const BYTES: usize>(&mut self, s: S, w: [&[u8; BYTES]; R], x: &[f64; LANES]) {
        for r in 0..R {
            let w = self.load::<W, BYTES>(s, w[r]);
            for half in 0..2 {
                let x = s.load_d(&x.as_chunks().0[half]);
                self.acc[r][half] = s.add_d(self.acc[r][half], s.mul_d(w[half], x));
            }
        }
    }

    /// A vector of weights, noting their magnitudes.
    #[inline(always)]
    fn load<W: Weights<BYTES>, const BYTES: usize>(&mut self, s: S, bytes: &[u8; BYTES]) -> [S::D; 2] {
        let w = W::load(s, bytes);
        self.largest = s.max_i(self.largest, s.and(s.bits(w), s.splat_i(0x7FFF_FFFF)));
        s.widen(w)
    }

    #[inline(always)]
    fn largest(&self, s: S) -> f32 {
        f32::from_bits(s.largest(self.largest) as u32)
    }
}

/// A row in F64, and zeros to the end of a vector; gives the largest magnitude.
#[inline(always)]
fn decode<S: Simd, W: Weights<BYTES>, const BYTES: usize>(
    s: S,
    row: &[u8],
    wide: &mut [[f64; LANES]],
) -> f32 {
    let mut tile = Tile::<S, 0> { largest: s.splat_i(0), acc: [] };
    let row = Vectors::<BYTES>::new(row);
    for (bytes, wide) in row.whole.iter().chain([&row.last]).zip(wide) {
        let w = tile.load::<W, BYTES>(s, bytes);
        let wide = wide.as_chunks_mut().0;
        s.store_d(w[0], &mut wide[0]);
        s.store_d(w[1], &mut wide[1]);
    }
    tile.largest(s)
}

/// The sums of R decoded rows times N inputs.
#[inline(always)]
fn products<S: Simd, const R: usize, const N: usize>(
    s: S,
    w: [&[[f64; LANES]]; R],
    x: [&[[f64; LANES]]; N],
) -> [[f64; N]; R] {
    let n = w[0].as_flattened().as_chunks::<8>().0.len();
    let mut w_of = [&w[0].as_flattened().as_chunks::<8>().0[..n]; R];
    for r in 1..R {
        w_of[r] = &w[r].as_flattened().as_chunks().0[..n];
    }
    let mut x_of = [&x[0].as_flattened().as_chunks::<8>().0[..n]; N];
    for i in 1..N {
        x_of[i] = &x[i].as_flattened().as_chunks().0[..n];
    }
    let mut acc = [[s.splat_d(0.0); N]; R];
    for v in 0..n {
        for r in 0..R {
            let w = s.load_d(&w_of[r][v]);
            for i in 0..N {
                acc[r][i] = s.add_d(acc[r][i], s.mul_d(w, s.load_d(&x_of[i][v])));
            }
        }
    }
    let mut sums = [[0.0; N]; R];
    for r in 0..R {
        for i in 0..N {
            sums[r][i] = sum(s, acc[r][i]);
        }
    }
    sums
}

/// How weights are stored, 16 in so many bytes.
trait Weights<const BYTES: usize> {
    fn load<S: Simd>(s: S, bytes: &[u8; BYTES]) -> S::F;
}

struct F32;
struct F16;
struct Bf16;

impl Weights<64> for F32 {
    #[inline(always)]
    fn load<S: Simd>(s: S, bytes: &[u8; 64]) -> S::F {
        s.load_f32_bytes(bytes)
    }
}

impl Weights<32> for F16 {
    #[inline(always)]
    fn load<S: Simd>(s: S, bytes: &[u8; 32]) -> S::F {
        s.load_f16_bytes(bytes)
    }
}

impl Weights<32> for Bf16 {
    #[inline(always)]
    fn load<S: Simd>(s: S, bytes: &[u8; 32]) -> S::F {
        s.load_bf16_bytes(bytes)
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
