//! What one checked vector instruction computes.
//!
//! Results are computed into reusable buffers and then copied to RAM: sources are read where they stand, a destination
//! that is a source exactly needs no case of its own, and the copy is small beside the work.

use crate::memory::Memory;
use crate::numerics::{Attention, Cache, Matrix, Numerics, Product, Weights};
use ssnail_isa::check::{AttnBlock, Checked, Span};
use ssnail_isa::table::{GEMV_ACCUMULATE, GEMV_F16};
use ssnail_isa::{Format, Instruction, Opcode};

/// A checked vector instruction on something (`operands.empty` is false), and N0, N1, N2.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    pub(crate) instruction: Instruction,
    pub(crate) operands: Checked,
    pub(crate) n: [u32; 3],
}

/// Where operands are read.
pub(crate) trait Source<'a>: Copy {
    /// The bytes of an operand that was checked.
    fn bytes(self, span: Span) -> &'a [u8];

    fn f32s(self, span: Span) -> &'a [f32] {
        bytemuck::cast_slice(self.bytes(span))
    }

    fn u16s(self, span: Span) -> &'a [u16] {
        bytemuck::cast_slice(self.bytes(span))
    }
}

impl<'a> Source<'a> for &'a Memory {
    fn bytes(self, span: Span) -> &'a [u8] {
        Memory::bytes(self, span)
    }
}

/// Where a result stands until it is copied to RAM.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    f32s: Vec<f32>,
    u16s: Vec<u16>,
    bytes: Vec<u8>,
}

/// What came out, and in which buffer.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Output {
    /// The value of a register.
    Register(u32),
    /// So many F32.
    F32(usize),
    /// So many F16.
    F16(usize),
    /// So many bytes.
    Bytes(usize),
}

impl Scratch {
    /// The bytes of a result that stands here.
    pub(crate) fn result(&self, output: Output) -> &[u8] {
        match output {
            Output::Register(_) => &[],
            Output::F32(n) => bytemuck::cast_slice(&self.f32s[..n]),
            Output::F16(n) => bytemuck::cast_slice(&self.u16s[..n]),
            Output::Bytes(n) => &self.bytes[..n],
        }
    }
}

/// The first `len` elements of a buffer that grows as needed. What they hold is left from before.
fn sized<T: Clone + Default>(buffer: &mut Vec<T>, len: usize) -> &mut [T] {
    if buffer.len() < len {
        buffer.resize(len, T::default());
    }
    &mut buffer[..len]
}

/// The matrix of a GEMV: where it stands, its format, its columns.
pub(crate) fn matrix(step: &Step) -> (Span, Format, usize) {
    let format = step.operands.format.expect("GEMV has a format");
    (step.operands.xyz[0], format, step.n[0] as usize)
}

/// Computes a GEMV for each of the steps, which have the same matrix and flags, each with its source and its buffers.
pub(crate) fn gemv<'a, S: Source<'a>>(
    steps: impl Iterator<Item = (&'a Step, S, &'a mut Scratch)>,
    w: Weights<'_>,
    numerics: &mut dyn Numerics,
) -> Output {
    let mut output = Output::F32(0);
    let mut accumulate = false;
    let mut halves = Vec::new();
    let mut products: Vec<Product<'a>> = steps
        .map(|(step, source, scratch)| {
            let [_, x, z] = step.operands.xyz;
            let rows = step.n[1] as usize;
            let y = sized(&mut scratch.f32s, rows);
            accumulate = step.instruction.b & GEMV_ACCUMULATE != 0;
            if accumulate {
                y.copy_from_slice(source.f32s(z));
            }
            output = Output::F32(rows);
            if step.instruction.b & GEMV_F16 != 0 {
                output = Output::F16(rows);
                halves.push(sized(&mut scratch.u16s, rows));
            }
            Product { x: source.f32s(x), y }
        })
        .collect();
    numerics.gemv(w, &mut products, accumulate);
    for (halves, product) in halves.into_iter().zip(&products) {
        numerics.cvt16(product.y, halves);
    }
    output
}

/// Computes any other vector instruction.
pub(crate) fn compute<'a>(
    step: &Step,
    source: impl Source<'a>,
    numerics: &dyn Numerics,
    scratch: &mut Scratch,
) -> Output {
    let (op, c) = (step.instruction.op, &step.operands);
    let [x, y, z] = c.xyz;
    let n0 = step.n[0] as usize;
    let eps = f32::from_bits(step.n[2]);
    match op {
        Opcode::Argmax => return Output::Register(numerics.argmax(source.f32s(x))),
        Opcode::Cvt16 => {
            numerics.cvt16(source.f32s(x), sized(&mut scratch.u16s, n0));
            return Output::F16(n0);
        }
        Opcode::Copy => {
            sized(&mut scratch.bytes, x.len as usize).copy_from_slice(source.bytes(x));
            return Output::Bytes(x.len as usize);
        }
        _ => {}
    }
    let out = sized(&mut scratch.f32s, if op == Opcode::Attn { z.len as usize / 4 } else { n0 });
    match op {
        Opcode::Deqrow => numerics.deqrow(c.format.expect("DEQROW has a format"), source.bytes(x), out),
        Opcode::Vadd => numerics.vadd(source.f32s(x), source.f32s(y), out),
        Opcode::Vmul => numerics.vmul(source.f32s(x), source.f32s(y), out),
        Opcode::Rmsnorm => numerics.rmsnorm(source.f32s(x), source.f32s(y), eps, out),
        Opcode::Silumul => numerics.silumul(source.f32s(x), source.f32s(y), out),
        Opcode::Rope => {
            out.copy_from_slice(source.f32s(x));
            numerics.rope(out, source.f32s(y));
        }
        Opcode::Attn => {
            let (block, k, v) = c.attn.expect("ATTN has a block");
            numerics.attn(attention(source, &block, k, v), source.f32s(y), out);
        }
        Opcode::Layernorm => {
            let (gain, bias) = source.f32s(y).split_at(n0);
            numerics.layernorm(source.f32s(x), gain, bias, eps, out);
        }
        Opcode::Gelu => numerics.gelu(source.f32s(x), out),
        Opcode::Meanrows => numerics.meanrows(source.f32s(x), out),
        other => unreachable!("{other} is no vector instruction of one source"),
    }
    Output::F32(out.len())
}

fn attention<'a>(source: impl Source<'a>, block: &AttnBlock, k: Span, v: Span) -> Attention<'a> {
    let cache = |span| match block.kv_format {
        0 => Cache::F32(source.f32s(span)),
        _ => Cache::F16(source.u16s(span)),
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

/// The matrix of a GEMV as it stands in RAM.
pub(crate) fn standing(memory: &Memory, (span, format, columns): (Span, Format, usize)) -> Matrix<'_> {
    Matrix { bytes: memory.bytes(span), format, columns }
}
