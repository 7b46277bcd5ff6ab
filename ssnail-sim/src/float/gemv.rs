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
use super::lanes::{Sum, total};
use crate::numerics::{Matrix, Product, Weights};
use crate::share;
use ssnail_hw::fast::{GROUP, PackedMatrix};
use ssnail_isa::Format;
use std::borrow::Cow;

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
    /// The lanes of an unquantised row's sum.
    fn row(self, format: Format, row: &[u8], x: &[f64]) -> Sum {
        match self {
            Kernel::Portable => portable::row(format, row, x),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: this kernel is made only where the processor has what the function is compiled for.
            Kernel::Avx2 => unsafe { avx2::row(format, row, x) },
        }
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
    let add = |y: &mut f32, dot: f64| *y = (if accumulate { f64::from(*y) } else { 0.0 } + dot) as f32;
    match packed {
        Some(packed) => share::rows(matrix.columns, GROUP, products, |rows, ys| {
            for first in rows.clone().step_by(GROUP) {
                let group = packed.group(first / GROUP);
                for (x, y) in inputs.iter().zip(ys.iter_mut()) {
                    let y = y[first - rows.start..].iter_mut().take(GROUP);
                    let dots = x.blocks().map(|x| kernel.group(matrix.format, group, x));
                    for (r, y) in y.enumerate() {
                        let dot = dots.map(|dots| dots[r]).filter(|dot| dot.is_finite());
                        add(
                            y,
                            dot.unwrap_or_else(|| {
                                plain::dot(matrix.format, row(matrix, first + r), x.wide())
                            }),
                        );
                    }
                }
            }
        }),
        None => share::rows(matrix.columns, 1, products, |rows, ys| {
            for r in rows.clone() {
                for (x, y) in inputs.iter().zip(ys.iter_mut()) {
                    add(&mut y[r - rows.start], total(&kernel.row(matrix.format, row(matrix, r), x.wide())));
                }
            }
        }),
    }
}

fn row<'a>(w: Matrix<'a>, r: usize) -> &'a [u8] {
    let bytes = w.row_bytes();
    &w.bytes[r * bytes..][..bytes]
}

#[cfg(test)]
#[path = "gemv/tests.rs"]
mod tests;
