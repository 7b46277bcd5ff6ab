//! Matrix times vector: rows in parallel, each the sum of exact products.
//!
//! Unquantised weights: a row's sum has eight lanes of F64; product i, which F64 holds exactly, goes to lane i modulo 8.
//! Quantised weights: a block's dot product with each plane of x is an exact integer; their sum is rounded to F64,
//! times d and x's unit, and added to the row's. So all kernels give the same bits. Where x or a result is not finite,
//! [`plain`] decides.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod plain;
mod portable;

use super::input::Input;
use super::lanes::total;
use crate::numerics::{Matrix, Product, Weights};
use crate::share;
use ssnail_hw::fast::{GROUP, PackedMatrix};
use ssnail_isa::Format;
use std::borrow::Cow;

/// Unquantised rows that are multiplied at once.
const AT_ONCE: usize = 4;

/// The instructions that are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kernel {
    /// What every processor can do.
    Portable,
    /// AVX2, FMA and F16C. Made only where the processor has them.
    #[cfg(target_arch = "x86_64")]
    Avx2,
}

impl Default for Kernel {
    fn default() -> Self {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("f16c")
        {
            return Kernel::Avx2;
        }
        Kernel::Portable
    }
}

impl Kernel {
    /// The sums of as many unquantised rows.
    fn rows<const N: usize>(self, format: Format, rows: [&[u8]; N], x: &[f64]) -> [f64; N] {
        let sums = match self {
            Kernel::Portable => rows.map(|row| portable::row(format, row, x)),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: this kernel is made only where the processor has what the function is compiled for.
            Kernel::Avx2 => unsafe { avx2::rows(format, rows, x) },
        };
        sums.map(|sum| total(&sum))
    }

    /// The sums of a packed group's rows.
    fn group(self, format: Format, group: &[u8], x: &[super::input::Block]) -> [f64; GROUP] {
        match self {
            Kernel::Portable => portable::group(format, group, x),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Kernel::Avx2 => unsafe { avx2::group(format, group, x) },
        }
    }
}

/// y = W * x, or y += W * x, for each product and its prepared vector.
pub(super) fn gemv(
    kernel: Kernel,
    w: Weights<'_>,
    inputs: &[Input],
    products: &mut [Product<'_>],
    accumulate: bool,
) {
    let matrix = w.matrix;
    let packed = match w.packed {
        Some(packed) => Some(Cow::Borrowed(packed)),
        // Not to depend on whether there is a copy, a matrix without one gets one for the moment.
        None => PackedMatrix::new(matrix).map(Cow::Owned),
    };
    let out = Output { matrix, accumulate };
    match packed {
        Some(packed) => share::rows(matrix.columns, GROUP, products, |rows, ys| {
            for first in rows.clone().step_by(GROUP) {
                let group = packed.group(first / GROUP);
                for (x, y) in inputs.iter().zip(ys.iter_mut()) {
                    let y = &mut y[first - rows.start..];
                    let len = y.len().min(GROUP);
                    let dots =
                        x.blocks().map_or([f64::NAN; GROUP], |x| kernel.group(matrix.format, group, x));
                    out.put(&mut y[..len], &dots[..len], first, x);
                }
            }
        }),
        None => share::rows(matrix.columns, AT_ONCE, products, |rows, ys| {
            let bytes = matrix.row_bytes();
            let mut part = &matrix.bytes[rows.start * bytes..rows.end * bytes];
            let mut at = 0;
            while !part.is_empty() {
                let n = if part.len() < AT_ONCE * bytes { 1 } else { AT_ONCE };
                let (some, rest) = part.split_at(n * bytes);
                let row = |r: usize| &some[r * bytes..(r + 1) * bytes];
                for (x, y) in inputs.iter().zip(ys.iter_mut()) {
                    let (y, first) = (&mut y[at..at + n], rows.start + at);
                    if n == 1 {
                        out.put(y, &kernel.rows(matrix.format, [row(0)], x.wide()), first, x);
                    } else {
                        let some: [&[u8]; AT_ONCE] = std::array::from_fn(row);
                        out.put(y, &kernel.rows(matrix.format, some, x.wide()), first, x);
                    }
                }
                (part, at) = (rest, at + n);
            }
        }),
    }
}

/// What becomes of sums.
struct Output<'a> {
    matrix: Matrix<'a>,
    accumulate: bool,
}

impl Output<'_> {
    /// Stores the sums of rows from `first` on, those that are not finite by decoded weights.
    #[inline]
    fn put(&self, y: &mut [f32], dots: &[f64], first: usize, x: &Input) {
        for (r, (y, &dot)) in y.iter_mut().zip(dots).enumerate() {
            let dot = if dot.is_finite() { dot } else { self.plain(first + r, x) };
            *y = (if self.accumulate { f64::from(*y) } else { 0.0 } + dot) as f32;
        }
    }

    #[cold]
    fn plain(&self, r: usize, x: &Input) -> f64 {
        let bytes = self.matrix.row_bytes();
        plain::dot(self.matrix.format, &self.matrix.bytes[r * bytes..][..bytes], x.wide())
    }
}

#[cfg(test)]
#[path = "gemv/tests.rs"]
mod tests;
