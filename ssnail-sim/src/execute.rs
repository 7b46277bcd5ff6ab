//! The effect of one checked instruction on RAM, and which register it changes.
//!
//! Results are computed into reusable buffers and then copied to RAM: sources are read where they stand, a destination
//! that is a source exactly needs no case of its own, and the copy is small beside the work.

use crate::memory::Memory;
use crate::numerics::{Attention, Cache, Matrix, Numerics};
use ssnail_isa::check::{AttnBlock, Checked, Span};
use ssnail_isa::table::{GEMV_ACCUMULATE, GEMV_F16};
use ssnail_isa::{Instruction, Opcode};

/// Where results stand until they are copied to RAM.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    f32s: Vec<f32>,
    u16s: Vec<u16>,
    bytes: Vec<u8>,
}

/// The first `len` elements of a buffer that grows as needed. What they hold is left from before.
fn sized<T: Clone + Default>(buffer: &mut Vec<T>, len: usize) -> &mut [T] {
    if buffer.len() < len {
        buffer.resize(len, T::default());
    }
    &mut buffer[..len]
}

fn store<T: bytemuck::NoUninit>(memory: &mut Memory, to: Span, from: &[T]) {
    memory.bytes_mut(to).copy_from_slice(bytemuck::cast_slice(from));
}

/// COPY.
pub(crate) fn copy(c: &Checked, memory: &mut Memory, scratch: &mut Scratch) {
    let [src, dst, _] = c.xyz;
    let bytes = sized(&mut scratch.bytes, src.len as usize);
    bytes.copy_from_slice(memory.bytes(src));
    memory.bytes_mut(dst).copy_from_slice(bytes);
}

/// The arithmetic instructions, on something (`c.empty` is false). `n` is N0, N1, N2. Gives ARGMAX's result.
pub(crate) fn arithmetic(
    i: &Instruction,
    n: [u32; 3],
    c: &Checked,
    memory: &mut Memory,
    numerics: &mut dyn Numerics,
    scratch: &mut Scratch,
) -> Option<u32> {
    let [x, y, z] = c.xyz;
    let [n0, n1, _] = n.map(|n| n as usize);
    let eps = f32::from_bits(n[2]);
    let Scratch { f32s, u16s, .. } = scratch;
    // The destination, and as many F32 as it takes.
    let (to, len) = match i.op {
        Opcode::Argmax => return Some(numerics.argmax(memory.f32s(x))),
        Opcode::Gemv => (z, n1),
        Opcode::Rope => (x, n0),
        Opcode::Attn => (z, z.len as usize / 4),
        _ => (z, n0),
    };
    let out = sized(f32s, len);
    match i.op {
        Opcode::Gemv => {
            let accumulate = i.b & GEMV_ACCUMULATE != 0;
            if accumulate {
                out.copy_from_slice(memory.f32s(z));
            }
            let format = c.format.expect("GEMV has a format");
            numerics.gemv(
                Matrix { bytes: memory.bytes(x), format, columns: n0 },
                memory.f32s(y),
                out,
                accumulate,
            );
            if i.b & GEMV_F16 != 0 {
                let halves = sized(u16s, len);
                numerics.cvt16(out, halves);
                store(memory, to, halves);
                return None;
            }
        }
        Opcode::Cvt16 => {
            let halves = sized(u16s, len);
            numerics.cvt16(memory.f32s(x), halves);
            store(memory, to, halves);
            return None;
        }
        Opcode::Deqrow => numerics.deqrow(c.format.expect("DEQROW has a format"), memory.bytes(x), out),
        Opcode::Vadd => numerics.vadd(memory.f32s(x), memory.f32s(y), out),
        Opcode::Vmul => numerics.vmul(memory.f32s(x), memory.f32s(y), out),
        Opcode::Rmsnorm => numerics.rmsnorm(memory.f32s(x), memory.f32s(y), eps, out),
        Opcode::Silumul => numerics.silumul(memory.f32s(x), memory.f32s(y), out),
        Opcode::Rope => {
            out.copy_from_slice(memory.f32s(x));
            numerics.rope(out, memory.f32s(y));
        }
        Opcode::Attn => {
            let (block, k, v) = c.attn.expect("ATTN has a block");
            numerics.attn(attention(memory, &block, k, v), memory.f32s(y), out);
        }
        Opcode::Layernorm => {
            let (gain, bias) = memory.f32s(y).split_at(n0);
            numerics.layernorm(memory.f32s(x), gain, bias, eps, out);
        }
        Opcode::Gelu => numerics.gelu(memory.f32s(x), out),
        Opcode::Meanrows => numerics.meanrows(memory.f32s(x), out),
        other => unreachable!("{other} is no arithmetic"),
    }
    store(memory, to, out);
    None
}

fn attention<'a>(memory: &'a Memory, block: &AttnBlock, k: Span, v: Span) -> Attention<'a> {
    let cache = |span| match block.kv_format {
        0 => Cache::F32(memory.f32s(span)),
        _ => Cache::F16(memory.u16s(span)),
    };
    Attention {
        n_heads: block.n_heads as usize,
        n_kv_heads: block.n_kv_heads as usize,
        head_dim: block.head_dim as usize,
        positions: (k.len / block.row_bytes()) as usize,
        k: cache(k),
        v: cache(v),
    }
}
