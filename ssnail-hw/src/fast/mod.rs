//! GEMV, fast: the bits of [`crate::gemv`], several rows at a time. Lanes lie over rows, so that each row's terms are
//! added in their order; what is reordered are integer sums, which are exact, and sums whose rounding is proved not to
//! depend on the order ([`float`](mod@float)).
//!
//! [`gemv()`] reads a matrix where it stands. A [`PackedMatrix`] holds a copy in the order in which the kernels read, and
//! has to be made again when the original changes. Threads are the caller's business: give each some of the rows.

mod attention;
mod float;
mod input;
pub mod packed;
mod quantised;
mod simd;
mod table;

pub use attention::{AttentionScratch, attention};
pub use input::Input;
pub use packed::{GROUP, PackedMatrix};

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
    Avx2(simd::avx2::Avx2),
}

impl Kernel {
    /// What every processor can do.
    pub const PORTABLE: Kernel = Kernel(Isa::Portable);

    /// All that this processor can do, the fastest first.
    pub fn all() -> Vec<Kernel> {
        let mut all = Vec::new();
        #[cfg(target_arch = "x86_64")]
        all.extend(simd::avx2::Avx2::new().map(|s| Kernel(Isa::Avx2(s))));
        all.push(Kernel::PORTABLE);
        all
    }

    /// The fastest that this processor can do.
    pub fn best() -> Kernel {
        Kernel::all()[0]
    }

    /// Name for people.
    pub fn name(self) -> &'static str {
        match self.0 {
            Isa::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2(_) => "AVX2",
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
