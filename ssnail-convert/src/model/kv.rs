//! The KV cache: its memory, its attention block, and the way of a position's K and V into it.

use super::emit::{Emit, at};
use super::{KvFormat, RunShape, Shape};
use crate::plan::{Content, Object};
use ssnail_isa::check::AttnBlock;
use ssnail_isa::{Opcode, Operand};

/// K or V.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    K,
    V,
}

impl Side {
    /// Name of the F32 buffer that F16 caches need.
    fn buffer(self) -> &'static str {
        match self {
            Side::K => "k",
            Side::V => "v",
        }
    }

    /// Name of a layer's cache.
    pub(super) fn cache(self, layer: u32) -> String {
        format!("{}cache.{layer}", self.buffer())
    }
}

/// Buffers for K and V before they are converted; none where the cache is F32.
pub(super) fn buffers(shape: &Shape, kv: KvFormat) -> Vec<Object> {
    let bytes = 4 * u64::from(shape.kv_dim());
    match kv {
        KvFormat::F32 => Vec::new(),
        KvFormat::F16 => [Side::K, Side::V].map(|s| Object::scratch(s.buffer(), bytes)).into(),
    }
}

/// Both caches of a layer.
pub(super) fn caches(shape: &Shape, run: &RunShape, layer: u32) -> [Object; 2] {
    let bytes = u64::from(run.context) * u64::from(shape.kv_dim() * run.kv.bytes());
    [Side::K, Side::V].map(|s| Object::scratch(s.cache(layer), bytes))
}

/// Name of the attention block of a layer.
pub(super) fn block(layer: u32) -> String {
    format!("attn.{layer}")
}

/// The attention block of a layer.
pub(super) fn attention_block(shape: &Shape, kv: KvFormat, layer: u32) -> Object {
    let params = AttnBlock {
        n_heads: shape.heads,
        n_kv_heads: shape.kv_heads,
        head_dim: shape.head_dim,
        kv_format: kv.ggml(),
        ..AttnBlock::default()
    };
    Object::new(block(layer), Content::Attention { params, k: Side::K.cache(layer), v: Side::V.cache(layer) })
}

/// One position's K or V on its way into the cache.
pub(super) struct Slot {
    /// Where the cache's row is.
    pub(super) row: Operand,
    /// Where the F32 values are computed: in the row itself when the cache is F32.
    pub(super) work: Operand,
    elements: u32,
}

impl Slot {
    /// Points address register `ptr` at the row of position `R[pos]`.
    pub(super) fn point(
        e: &mut Emit<'_>,
        shape: &Shape,
        kv: KvFormat,
        side: Side,
        layer: u32,
        ptr: u8,
        pos: u8,
    ) -> Self {
        e.s.lea(ptr, pos, e.addr(&side.cache(layer)), shape.kv_dim() * kv.bytes());
        let row = at(ptr);
        let work = match kv {
            KvFormat::F32 => row,
            KvFormat::F16 => e.addr(side.buffer()).into(),
        };
        Slot { row, work, elements: shape.kv_dim() }
    }

    /// Converts the finished values into the row where that is another place.
    pub(super) fn store(&self, e: &mut Emit<'_>) {
        if self.row != self.work {
            e.vector(Opcode::Cvt16, self.elements, &[self.work, self.row]);
        }
    }
}
