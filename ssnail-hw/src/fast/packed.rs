//! Quantised matrices repacked so that a kernel reads them from one end to the other: those of [`super`], and those of
//! others who know the order.
//!
//! Rows are taken 16 at a time, a [`GROUP`]; missing ones are zero. Per group and block: the 16 scales, F16; then for
//! Q8_0 the bytes 4j to 4j+3 of the 16 rows, row after row, for j = 0 to 7; for Q4_0 likewise the bytes of nibbles, for
//! j = 0 to 3. The size is that of the original.

use super::pages::{Bytes, Pages};
use super::quantised::Groups;
use super::{Input, Kernel};
use crate::gemv::{Q4_0_BYTES, Q8_0_BYTES};
use crate::operand::Matrix;
use ssnail_isa::Format;

/// Rows of a group.
pub const GROUP: usize = 16;
/// Bytes of the 16 scales.
pub const SCALES: usize = 2 * GROUP;
/// Bytes that 16 rows have in a step: 4 each.
pub const STEP: usize = 4 * GROUP;

/// A Q8_0 or Q4_0 matrix in groups of rows.
#[derive(Debug, Clone)]
pub struct PackedMatrix {
    format: Format,
    rows: usize,
    columns: usize,
    bytes: Bytes,
}

impl PackedMatrix {
    /// A copy of `w` in memory of its own, or nothing if its format is not a quantised one.
    pub fn new(w: Matrix<'_>) -> Option<Self> {
        Self::with(w, None)
    }

    /// A copy of `w` in memory that it shares with others, or nothing if its format is not a quantised one.
    pub fn new_in(w: Matrix<'_>, pages: &mut Pages) -> Option<Self> {
        Self::with(w, Some(pages))
    }

    fn with(w: Matrix<'_>, pages: Option<&mut Pages>) -> Option<Self> {
        if !w.format.is_quantised() {
            return None;
        }
        let (row_bytes, group_bytes) = (w.row_bytes(), GROUP * w.row_bytes());
        let len = w.bytes.len().div_ceil(group_bytes) * group_bytes;
        let fill = |packed: &mut [u8]| {
            for (rows, group) in w.bytes.chunks(group_bytes).zip(packed.chunks_exact_mut(group_bytes)) {
                pack(w.format, rows, row_bytes, group);
            }
        };
        let bytes = match pages {
            Some(pages) => pages.take(len, fill),
            None => Bytes::alone(len, fill),
        };
        Some(Self { format: w.format, rows: w.bytes.len() / row_bytes, columns: w.columns, bytes })
    }

    /// Rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The blocks of group `group`, each as the module describes it.
    ///
    /// # Panics
    /// If there is no such group.
    pub fn group(&self, group: usize) -> &[u8] {
        let bytes = GROUP * self.format.row_bytes(self.columns as u64) as usize;
        &self.bytes.get()[group * bytes..][..bytes]
    }

    /// y = W * x, or y += W * x, for the rows from group `first` on, as many as `y` has elements.
    ///
    /// # Panics
    /// If the input was not prepared for the format, or rows or columns do not fit.
    pub fn gemv(&self, kernel: Kernel, x: &Input, first: usize, y: &mut [f32], accumulate: bool) {
        self.gemm(kernel, &[x], first, &mut [y], accumulate);
    }

    /// Y = W * X, or Y += W * X, for the rows from group `first` on: [`PackedMatrix::gemv`] of each of `inputs` into
    /// that one of `ys`, in fewer passes over the weights. All of `ys` are equally long.
    ///
    /// # Panics
    /// If an input was not prepared for the format, or numbers of rows, columns or inputs do not fit.
    pub fn gemm(
        &self,
        kernel: Kernel,
        inputs: &[&Input],
        first: usize,
        ys: &mut [&mut [f32]],
        accumulate: bool,
    ) {
        let rows = check(self.columns, inputs, ys);
        assert!(first * GROUP + rows <= self.rows, "rows");
        let group = GROUP * self.format.row_bytes(self.columns as u64) as usize;
        let bytes = &self.bytes.get()[first * group..][..rows.div_ceil(GROUP) * group];
        kernel.run(Groups { format: self.format, bytes, inputs, ys, accumulate });
    }
}

/// Puts up to 16 rows into the order of a group. What missing rows stand for stays as it is.
pub(super) fn pack(format: Format, rows: &[u8], row_bytes: usize, packed: &mut [u8]) {
    match format {
        Format::Q4_0 => pack_blocks::<Q4_0_BYTES>(rows, row_bytes, packed),
        _ => pack_blocks::<Q8_0_BYTES>(rows, row_bytes, packed),
    }
}

fn pack_blocks<const BYTES: usize>(rows: &[u8], row_bytes: usize, packed: &mut [u8]) {
    for (r, row) in rows.chunks_exact(row_bytes).enumerate() {
        for (block, packed) in row.as_chunks::<BYTES>().0.iter().zip(packed.chunks_exact_mut(GROUP * BYTES)) {
            let (scales, steps) = packed.split_at_mut(SCALES);
            scales.as_chunks_mut::<2>().0[r] = [block[0], block[1]];
            for (step, four) in steps.as_chunks_mut::<STEP>().0.iter_mut().zip(block[2..].as_chunks::<4>().0)
            {
                step.as_chunks_mut::<4>().0[r] = *four;
            }
        }
    }
}

/// Rows of a product, where the numbers fit each other.
pub(super) fn check(columns: usize, inputs: &[&Input], ys: &[&mut [f32]]) -> usize {
    let rows = ys.first().map_or(0, |y| y.len());
    assert_eq!(inputs.len(), ys.len(), "inputs and outputs");
    assert!(inputs.iter().all(|x| x.len() == columns), "columns of inputs");
    assert!(ys.iter().all(|y| y.len() == rows), "rows of outputs");
    rows
}
