//! GEMV, fast: the bits of [`crate::gemv`], several rows at a time. Lanes lie over rows, so that each row's terms are
//! added in their order; what is reordered are integer sums, which are exact, and sums whose rounding is proved not to
//! depend on the order ([`float`](mod@float)).
//!
//! [`gemv()`] reads a matrix where it stands. A [`PackedMatrix`] holds a copy in the order in which the kernels read, and
//! has to be made again when the original changes. Threads are the caller's business: give each some of the rows.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod float;
mod input;
mod packed;

pub use input::Input;
pub use packed::{GROUP, PackedMatrix};

use crate::gemv::{dot_q4_0, dot_q8_0};
use crate::operand::Matrix;
use crate::scalar::{add, canonical};
use ssnail_isa::Format;

/// The instructions that kernels may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kernel(Isa);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Isa {
    Portable,
    /// AVX2 and F16C. Made only where the processor has both.
    #[cfg(target_arch = "x86_64")]
    Avx2,
}

impl Kernel {
    /// What every processor can do.
    pub const PORTABLE: Kernel = Kernel(Isa::Portable);

    /// The fastest that this processor can do.
    pub fn best() -> Kernel {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("f16c") {
            return Kernel(Isa::Avx2);
        }
        Kernel::PORTABLE
    }

    /// Name for people.
    pub fn name(self) -> &'static str {
        match self.0 {
            Isa::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => "AVX2",
        }
    }
}

/// y = W * x, or y += W * x, for the rows of `w`. `y` has one element for each.
///
/// # Panics
/// If the input was not prepared for the format, or lengths do not fit each other.
pub fn gemv(kernel: Kernel, w: Matrix<'_>, x: &Input, y: &mut [f32], accumulate: bool) {
    assert_eq!((w.columns, w.row_bytes() * y.len()), (x.len(), w.bytes.len()), "columns, bytes");
    if !w.format.is_quantised() {
        return float::gemv(kernel, w, x, y, accumulate);
    }
    let done = match kernel.0 {
        Isa::Portable => 0,
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => {
            let mut eights = w.bytes.chunks_exact(8 * w.row_bytes());
            for (rows, y) in eights.by_ref().zip(y.as_chunks_mut::<8>().0) {
                // SAFETY: this kernel is made only where the processor has AVX2 and F16C.
                let dots = unsafe { avx2::eight_rows(w.format, rows, x.blocks()) };
                store(dots, y, accumulate);
            }
            y.len() / 8 * 8
        }
    };
    let rest = w.bytes[done * w.row_bytes()..].chunks_exact(w.row_bytes());
    for (row, y) in rest.zip(&mut y[done..]) {
        let dot = match w.format {
            Format::Q4_0 => dot_q4_0(row, x.quantised()),
            _ => dot_q8_0(row, x.quantised()),
        };
        store([dot], std::slice::from_mut(y), accumulate);
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
