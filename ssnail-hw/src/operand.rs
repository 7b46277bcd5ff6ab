//! Operands of the operations: matrices and caches as they stand in RAM.

use crate::scalar::{bf16_to_f32, canonical, f16_to_f32};
use half::slice::{HalfBitsSliceExt, HalfFloatSliceExt};
use ssnail_isa::Format;

/// A weight matrix as it stands in RAM.
#[derive(Debug, Clone, Copy)]
pub struct Matrix<'a> {
    /// The rows, one after the other.
    pub bytes: &'a [u8],
    /// How weights are stored.
    pub format: Format,
    /// Elements of a row: not 0, a multiple of the format's block.
    pub columns: usize,
}

impl<'a> Matrix<'a> {
    /// Bytes of a row.
    pub fn row_bytes(&self) -> usize {
        self.format.row_bytes(self.columns as u64) as usize
    }

    /// The rows in order.
    pub fn rows(&self) -> std::slice::ChunksExact<'a, u8> {
        self.bytes.chunks_exact(self.row_bytes())
    }
}

/// A K or V cache: rows of `n_kv_heads * head_dim` elements, position after position.
#[derive(Debug, Clone, Copy)]
pub enum Cache<'a> {
    /// F32.
    F32(&'a [f32]),
    /// The bits of F16.
    F16(&'a [u16]),
}

impl Cache<'_> {
    /// As many elements as `out` has, from element `start` on, exactly.
    pub fn read(&self, start: usize, out: &mut [f32]) {
        let range = start..start + out.len();
        match self {
            Cache::F32(values) => out.copy_from_slice(&values[range]),
            Cache::F16(bits) => bits[range].reinterpret_cast::<half::f16>().convert_to_f32_slice(out),
        }
    }
}

/// What ATTN attends to.
#[derive(Debug, Clone, Copy)]
pub struct Attention<'a> {
    /// Query heads, a multiple of `n_kv_heads`; query head h uses KV head `h / (n_heads / n_kv_heads)`.
    pub n_heads: usize,
    /// KV heads.
    pub n_kv_heads: usize,
    /// Elements of a head.
    pub head_dim: usize,
    /// Positions, at least one.
    pub positions: usize,
    /// K, `positions` rows.
    pub k: Cache<'a>,
    /// V, `positions` rows.
    pub v: Cache<'a>,
}

impl Attention<'_> {
    /// Query heads that share a KV head.
    pub fn group(&self) -> usize {
        self.n_heads / self.n_kv_heads
    }

    /// Where in K and V a head's elements at a position start.
    pub fn start(&self, position: usize, kv_head: usize) -> usize {
        (position * self.n_kv_heads + kv_head) * self.head_dim
    }
}

/// Weight `i` of a row in F32, F16 or BF16, exactly.
///
/// # Panics
/// For a quantised format, whose weights have no bytes of their own.
pub(crate) fn float_weight(format: Format, row: &[u8], i: usize) -> f32 {
    let half = || u16::from_le_bytes([row[2 * i], row[2 * i + 1]]);
    match format {
        Format::F32 => {
            canonical(f32::from_le_bytes([row[4 * i], row[4 * i + 1], row[4 * i + 2], row[4 * i + 3]]))
        }
        Format::F16 => f16_to_f32(half()),
        Format::Bf16 => bf16_to_f32(half()),
        Format::Q4_0 | Format::Q8_0 => unreachable!("{format} is quantised"),
    }
}
