//! The operations, fast: the bits of the plain versions, with the vector instructions that a [`Kernel`] stands for.
//!
//! Lanes lie over rows, heads, positions or dimensions, so that each sum is added in its order; what is reordered are
//! integer sums, which are exact, and sums whose rounding is proved not to depend on the order (`float.rs`).
//! Algorithms stand once, over the operations of `simd/mod.rs`, which also says what has been run where.
//!
//! [`gemv()`] and [`gemm()`] read a matrix where it stands. A [`PackedMatrix`] holds a quantised one in the order in which
//! the kernels read, which is several times faster, and has to be made again when the original changes. `gemm` serves
//! several inputs in a pass over the weights. Threads are the caller's business: give each some of the rows or heads.

#![allow(clippy::needless_range_loop, reason = "arrays of vectors are walked in step, without closures")]

mod attention;
mod float;
mod input;
mod norm;
pub mod packed;
mod pages;
mod quantised;
mod simd;
mod table;
mod vector;

pub use attention::{AttentionScratch, attention};
pub use input::Input;
pub use norm::{layernorm, meanrows, rmsnorm};
pub use packed::{GROUP, PackedMatrix};
pub use pages::Pages;
pub use vector::{argmax, cvt16, deqrow, gelu, rope, silumul, vadd, vmul};

use crate::operand::Matrix;
use crate::scalar::{add, canonical};
use input::Block;
use quantised::Groups;

/// The instructions that kernels may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kernel(Isa);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Isa {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx512(simd::avx512::Avx512),
    #[cfg(target_arch = "x86_64")]
    Avx2(simd::avx2::Avx2),
    #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
    Neon(simd::neon::Neon<false>),
    #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
    NeonDot(simd::neon::Neon<true>),
}

impl Kernel {
    /// What every processor can do.
    pub const PORTABLE: Kernel = Kernel(Isa::Portable);

    /// All that this processor can do, the fastest first.
    pub fn all() -> Vec<Kernel> {
        Self::candidates().into_iter().flatten().collect()
    }

    /// The fastest that this processor can do.
    pub fn best() -> Kernel {
        Self::candidates().into_iter().flatten().next().unwrap_or(Kernel::PORTABLE)
    }

    /// What there is for this architecture, the fastest first, if the processor can.
    fn candidates() -> impl IntoIterator<Item = Option<Kernel>> {
        [
            #[cfg(target_arch = "x86_64")]
            simd::avx512::Avx512::new().map(|s| Kernel(Isa::Avx512(s))),
            #[cfg(target_arch = "x86_64")]
            simd::avx2::Avx2::new().map(|s| Kernel(Isa::Avx2(s))),
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            simd::neon::Neon::<true>::new().map(|s| Kernel(Isa::NeonDot(s))),
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            simd::neon::Neon::<false>::new().map(|s| Kernel(Isa::Neon(s))),
            Some(Kernel::PORTABLE),
        ]
    }

    /// Name for people.
    pub fn name(self) -> &'static str {
        match self.0 {
            Isa::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512(_) => "AVX-512",
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2(_) => "AVX2",
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            Isa::Neon(_) => "NEON",
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            Isa::NeonDot(_) => "NEON with dot products",
        }
    }
}

/// y = W * x, or y += W * x, for the rows of `w`. `y` has one element for each.
///
/// # Panics
/// If the input was not prepared for the format, or lengths do not fit each other.
pub fn gemv(kernel: Kernel, w: Matrix<'_>, x: &Input, y: &mut [f32], accumulate: bool) {
    gemm(kernel, w, &[x], &mut [y], accumulate);
}

/// Y = W * X, or Y += W * X: [`gemv()`] of each of `inputs` into that one of `ys`, in fewer passes over the weights. All
/// of `ys` have an element for each row.
///
/// # Panics
/// If an input was not prepared for the format, or numbers of rows, columns or inputs do not fit.
pub fn gemm(kernel: Kernel, w: Matrix<'_>, inputs: &[&Input], ys: &mut [&mut [f32]], accumulate: bool) {
    let (rows, row_bytes) = (packed::check(w.columns, inputs, ys), w.row_bytes());
    assert!(inputs.is_empty() || rows * row_bytes == w.bytes.len(), "rows");
    if !w.format.is_quantised() {
        return kernel.run(float::Rows { w, inputs, ys, accumulate });
    }
    let mut group = vec![0; GROUP * row_bytes];
    for (g, rows) in w.bytes.chunks(GROUP * row_bytes).enumerate() {
        packed::pack(w.format, rows, row_bytes, &mut group);
        let rows = g * GROUP..g * GROUP + rows.len() / row_bytes;
        let mut ys: Vec<&mut [f32]> = ys.iter_mut().map(|y| &mut y[rows.clone()]).collect();
        kernel.run(Groups { format: w.format, bytes: &group, inputs, ys: &mut ys, accumulate });
    }
}

/// Stores as many results as there is room for.
#[inline(always)]
fn store<const N: usize>(dots: [f32; N], y: &mut [f32], accumulate: bool) {
    for (y, dot) in y.iter_mut().zip(dots) {
        // Adding to a NaN gives a NaN, so it does not matter when it becomes canonical.
        *y = if accumulate { add(*y, dot) } else { canonical(dot) };
    }
}
