//! Quantised matrices repacked so that a kernel reads them from one end to the other.
//!
//! Rows are taken 16 at a time, a [`GROUP`]; missing ones are zero. Per group and block: the 16 scales, F16; then for
//! Q8_0 the bytes 4j to 4j+3 of the 16 rows, row after row, for j = 0 to 7; for Q4_0 likewise the bytes of nibbles, for
//! j = 0 to 3. The size is that of the original.

use super::input::Block;
use super::{Input, Isa, Kernel, store};
use crate::gemv::{Q4_0_BYTES, Q8_0_BYTES};
use crate::operand::Matrix;
use crate::scalar::f16_to_f32;
use ssnail_isa::Format;

/// Rows of a group.
pub const GROUP: usize = 16;
/// Bytes of the 16 scales.
pub(super) const SCALES: usize = 2 * GROUP;
/// Bytes that 16 rows have in a step: 4 each.
pub(super) const STEP: usize = 4 * GROUP;

/// 32 bytes that no cache line divides.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(32))]
struct Unit([u8; 32]);

/// A Q8_0 or Q4_0 matrix in groups of rows.
#[derive(Debug, Clone)]
pub struct PackedMatrix {
    format: Format,
    rows: usize,
    columns: usize,
    units: Vec<Unit>,
}

impl PackedMatrix {
    /// A copy of `w`, or nothing if its format is not a quantised one.
    pub fn new(w: Matrix<'_>) -> Option<Self> {
        if !w.format.is_quantised() {
            return None;
        }
        let (row_bytes, block_bytes) = (w.row_bytes(), w.format.block_bytes() as usize);
        let mut units =
            Vec::with_capacity(w.bytes.len().div_ceil(GROUP * row_bytes) * GROUP * row_bytes / 32);
        let mut packed = vec![0; GROUP * block_bytes];
        for group in w.bytes.chunks(GROUP * row_bytes) {
            for block in 0..row_bytes / block_bytes {
                packed.fill(0);
                for (r, row) in group.chunks_exact(row_bytes).enumerate() {
                    let bytes = &row[block * block_bytes..][..block_bytes];
                    packed[2 * r..][..2].copy_from_slice(&bytes[..2]);
                    for (j, four) in bytes[2..].as_chunks::<4>().0.iter().enumerate() {
                        packed[SCALES + j * STEP + 4 * r..][..4].copy_from_slice(four);
                    }
                }
                units.extend(packed.as_chunks::<32>().0.iter().copied().map(Unit));
            }
        }
        let rows = w.bytes.len() / row_bytes;
        Some(Self { format: w.format, rows, columns: w.columns, units })
    }

    /// Rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// y = W * x, or y += W * x, for the rows from group `first` on, as many as `y` has elements.
    ///
    /// # Panics
    /// If the input was not prepared for the format, or rows or columns do not fit.
    pub fn gemv(&self, kernel: Kernel, x: &Input, first: usize, y: &mut [f32], accumulate: bool) {
        assert_eq!(self.columns, x.len(), "columns");
        assert!(first * GROUP + y.len() <= self.rows, "rows");
        let blocks = x.blocks();
        let group = GROUP * self.format.row_bytes(self.columns as u64) as usize / 32;
        for (units, y) in self.units[first * group..].chunks_exact(group).zip(y.chunks_mut(GROUP)) {
            let bytes = bytes_of(units);
            let dots = match kernel.0 {
                Isa::Portable => group_portable(self.format, bytes, blocks),
                #[cfg(target_arch = "x86_64")]
                // SAFETY: this kernel is made only where the processor has AVX2 and F16C.
                Isa::Avx2 => unsafe { super::avx2::group(self.format, bytes, blocks) },
            };
            store(dots, y, accumulate);
        }
    }
}

fn bytes_of(units: &[Unit]) -> &[u8] {
    // SAFETY: a unit is an array of bytes, and its alignment is its size, so there is no padding.
    unsafe { std::slice::from_raw_parts(units.as_ptr().cast(), size_of_val(units)) }
}

const _: () = assert!(size_of::<Unit>() == 32);

/// The dot products of a group's rows.
fn group_portable(format: Format, bytes: &[u8], x: &[Block]) -> [f32; GROUP] {
    match format {
        Format::Q4_0 => sum_terms::<{ GROUP * Q4_0_BYTES }>(bytes, x, |steps, x| {
            let mut isums = [-x.eight_sums; GROUP];
            for (step, (low, high)) in steps.iter().zip(fours(&x.q[..16]).zip(fours(&x.q[16..]))) {
                for (isum, w) in isums.iter_mut().zip(step.as_chunks::<4>().0) {
                    for i in 0..4 {
                        *isum += i32::from(w[i] & 15) * i32::from(low[i])
                            + i32::from(w[i] >> 4) * i32::from(high[i]);
                    }
                }
            }
            isums
        }),
        _ => sum_terms::<{ GROUP * Q8_0_BYTES }>(bytes, x, |steps, x| {
            let mut isums = [0; GROUP];
            for (step, x) in steps.iter().zip(fours(&x.q)) {
                for (isum, w) in isums.iter_mut().zip(step.as_chunks::<4>().0) {
                    *isum += (0..4).map(|i| i32::from(w[i] as i8) * i32::from(x[i])).sum::<i32>();
                }
            }
            isums
        }),
    }
}

fn fours(q: &[i8]) -> impl Iterator<Item = &[i8; 4]> {
    q.as_chunks::<4>().0.iter()
}

/// Per row, from its integer sums: acc = the first term, then acc + term.
#[inline(always)]
fn sum_terms<const BYTES: usize>(
    bytes: &[u8],
    x: &[Block],
    isums: impl Fn(&[[u8; STEP]], &Block) -> [i32; GROUP],
) -> [f32; GROUP] {
    let mut acc = [0.0; GROUP];
    for (n, (block, x)) in bytes.as_chunks::<BYTES>().0.iter().zip(x).enumerate() {
        let (scales, steps) = block.split_at(SCALES);
        let isums = isums(steps.as_chunks::<STEP>().0, x);
        for (r, d) in scales.as_chunks::<2>().0.iter().enumerate() {
            let term = isums[r] as f32 * (f16_to_f32(u16::from_le_bytes(*d)) * x.d);
            acc[r] = if n == 0 { term } else { acc[r] + term };
        }
    }
    acc
}
