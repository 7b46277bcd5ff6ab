//! Legality of one instruction: everything that is checked before its first effect, in the order of the fault codes
//! 1 (limits), 6 (format), 3 (alignment), 2 (range).
//!
//! Where the contract leaves room, this is what holds, for emulator and hardware alike:
//!
//! * Fields that an instruction does not use are ignored, whatever they hold.
//! * An operation on nothing (N0 = 0, N1 = 0 of a GEMV, 0 rows) is still checked for faults 1, 6 and 3; operands of no
//!   bytes are in range everywhere.
//! * A destination that overlaps a source other than exactly (or at all in COPY, GEMV, DEQROW and ROPE's table) is
//!   fault 1. It can only be seen once addresses are known, so it counts as a limit that is checked last.
//! * ATTN's block is read first: its own alignment and range come before the limits of what it holds.

use crate::fault::Fault;
use crate::format::Format;
use crate::instr::{Instruction, Operand};
use crate::map::AddressMap;
use crate::table::{
    Access, Extent, GEMV_ACCUMULATE, GEMV_F16, MAX_HEAD_DIM, MAX_HEADS, MAX_POSITIONS, Opcode, WordField,
};

/// The architectural registers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Registers {
    /// Integer registers; entry 15 stays 0.
    pub r: [u32; 16],
    /// Address registers, 28 bits.
    pub a: [u32; 16],
    /// Lengths N0, N1, N2.
    pub n: [u32; 3],
    /// Address of the instruction to run next, 28 bits.
    pub pc: u32,
}

/// Bytes of RAM that an operand covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Span {
    /// First address.
    pub addr: u32,
    /// Bytes.
    pub len: u32,
}

impl Span {
    /// The address after the last byte.
    pub fn end(&self) -> u64 {
        u64::from(self.addr) + u64::from(self.len)
    }

    /// Whether the two have a byte in common.
    pub fn overlaps(&self, other: &Span) -> bool {
        self.len > 0
            && other.len > 0
            && u64::from(self.addr) < other.end()
            && u64::from(other.addr) < self.end()
    }
}

/// The parameters of an ATTN, as its block in memory gives them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AttnBlock {
    /// Address of the K cache.
    pub k: u32,
    /// Address of the V cache.
    pub v: u32,
    /// Query heads.
    pub n_heads: u32,
    /// KV heads; query head h uses KV head `h / (n_heads / n_kv_heads)`.
    pub n_kv_heads: u32,
    /// Elements of a head.
    pub head_dim: u32,
    /// Format of both caches: ggml type 0 (F32) or 1 (F16).
    pub kv_format: u32,
}

impl AttnBlock {
    /// Bytes of the block in memory: 8 words, the last two 0.
    pub const BYTES: u32 = 32;

    /// The block from its words in memory.
    pub fn from_words(w: [u32; 8]) -> Self {
        let mask = crate::map::ADDRESS_MASK;
        AttnBlock {
            k: w[0] & mask,
            v: w[1] & mask,
            n_heads: w[2],
            n_kv_heads: w[3],
            head_dim: w[4],
            kv_format: w[5],
        }
    }

    /// The words in memory.
    pub fn words(&self) -> [u32; 8] {
        [self.k, self.v, self.n_heads, self.n_kv_heads, self.head_dim, self.kv_format, 0, 0]
    }

    /// Bytes of one cache row, given legal parameters.
    pub fn row_bytes(&self) -> u32 {
        self.n_kv_heads * self.head_dim * if self.kv_format == 0 { 4 } else { 2 }
    }

    fn legal(&self) -> bool {
        let heads = 1..=MAX_HEADS;
        heads.contains(&self.n_heads)
            && heads.contains(&self.n_kv_heads)
            && self.n_heads.is_multiple_of(self.n_kv_heads)
            && (1..=MAX_HEAD_DIM).contains(&self.head_dim)
            && self.kv_format <= 1
    }
}

/// A legal instruction, its operands resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Checked {
    /// X, Y, Z as RAM; address 0 and no bytes where the field is no operand. LEA's base and branch targets have an
    /// address and no bytes.
    pub xyz: [Span; 3],
    /// What ATTN reads besides: its parameters and both caches up to the last position.
    pub attn: Option<(AttnBlock, Span, Span)>,
    /// The weight format of GEMV and DEQROW.
    pub format: Option<Format>,
    /// Whether the operation is on nothing, so that it has no effect.
    pub empty: bool,
}

impl Checked {
    /// What an instruction with these operands writes, if it writes anything: no instruction has two destinations.
    pub fn written(&self, op: Opcode) -> Option<Span> {
        let writes =
            |field: &WordField| matches!(field, WordField::Addr(_, Access::Write | Access::ReadWrite, _));
        let at = op.spec().words().iter().position(writes)?;
        Some(self.xyz[at]).filter(|span| span.len > 0)
    }

    /// What `i` with these operands reads. A destination is among it where its old contents count.
    pub fn read(&self, i: &Instruction) -> impl Iterator<Item = Span> + use<> {
        let accumulates = i.op == Opcode::Gemv && i.b & GEMV_ACCUMULATE != 0;
        let reads = move |field: &WordField| match field {
            WordField::Addr(_, Access::Read | Access::ReadWrite, _) => true,
            WordField::Addr(_, Access::Write, _) => accumulates,
            _ => false,
        };
        let words = i.op.spec().words().into_iter().zip(self.xyz);
        let caches = self.attn.map(|(_, k, v)| [k, v]).into_iter().flatten();
        words.filter(move |(f, _)| reads(f)).map(|(_, span)| span).chain(caches).filter(|span| span.len > 0)
    }
}

/// Checks everything about `i` that must hold before its first effect.
///
/// `read_block` gives the 8 words of an ATTN block at an address that was found to be aligned and inside RAM.
pub fn check(
    i: &Instruction,
    regs: &Registers,
    map: &AddressMap,
    read_block: impl FnOnce(u32) -> [u32; 8],
) -> Result<Checked, Fault> {
    let spec = i.op.spec();
    let [n0, n1, _] = regs.n;
    if n0 > spec.max_n0 && spec.max_n0 > 0 {
        return Err(Fault::Illegal);
    }
    let mut out = Checked { empty: spec.max_n0 > 0 && n0 == 0, ..Checked::default() };
    let ra = regs.r[usize::from(i.a & 15)];
    let mut block = AttnBlock::default();
    match i.op {
        Opcode::Copy if i.z & 7 != 0 => return Err(Fault::Illegal),
        Opcode::Gemv | Opcode::Deqrow => {
            let format = Format::from_ggml(u32::from(i.a));
            if format.is_some_and(|f| !n0.is_multiple_of(f.block_len())) {
                return Err(Fault::Illegal);
            }
            out.format = Some(format.ok_or(Fault::Format)?);
            out.empty |= i.op == Opcode::Gemv && n1 == 0;
        }
        Opcode::Rope if !(2..=MAX_HEAD_DIM).contains(&n1) || n1 % 2 != 0 || n0 % n1 != 0 => {
            return Err(Fault::Illegal);
        }
        Opcode::Meanrows => out.empty |= ra == 0,
        Opcode::Attn => {
            if ra >= MAX_POSITIONS {
                return Err(Fault::Illegal);
            }
            let addr = Operand::from_word(i.x).resolve(&regs.a);
            aligned(addr, 4)?;
            in_range(map, addr, u64::from(AttnBlock::BYTES))?;
            block = AttnBlock::from_words(read_block(addr));
            if !block.legal() {
                return Err(Fault::Illegal);
            }
        }
        _ => {}
    }

    let mut lens = [0u64; 3];
    for (k, (field, word)) in spec.words().into_iter().zip(i.words()).enumerate() {
        let WordField::Addr(_, _, extent) = field else { continue };
        let len = len_of(extent, i, regs.n, ra, out.format, &block);
        let addr = Operand::from_word(word).resolve(&regs.a);
        aligned(addr, extent.alignment(i.b & GEMV_F16 != 0))?;
        lens[k] = if out.empty { 0 } else { len };
        out.xyz[k].addr = addr;
    }
    let kv_len = (u64::from(ra) + 1)
        * u64::from(block.n_kv_heads * block.head_dim)
        * if block.kv_format == 0 { 4 } else { 2 };
    if i.op == Opcode::Attn {
        let alignment = if block.kv_format == 0 { 4 } else { 2 };
        aligned(block.k, alignment)?;
        aligned(block.v, alignment)?;
    }

    for (span, len) in out.xyz.iter_mut().zip(lens) {
        in_range(map, span.addr, len)?;
        span.len = len as u32; // below 2^28: it fits a region
    }
    if i.op == Opcode::Attn {
        in_range(map, block.k, kv_len)?;
        in_range(map, block.v, kv_len)?;
        let span = |addr| Span { addr, len: kv_len as u32 };
        out.attn = Some((block, span(block.k), span(block.v)));
    }
    if overlaps_illegally(i.op, &out) {
        return Err(Fault::Illegal);
    }
    Ok(out)
}

/// Bytes of an operand.
fn len_of(
    e: Extent,
    i: &Instruction,
    n: [u32; 3],
    ra: u32,
    format: Option<Format>,
    block: &AttnBlock,
) -> u64 {
    let [n0, n1] = [u64::from(n[0]), u64::from(n[1])];
    let row = || format.map_or(0, |f| f.row_bytes(n0));
    match e {
        Extent::Address | Extent::Code => 0,
        Extent::CopyBytes => u64::from(i.z & 0xFFFF),
        Extent::Word => 4,
        Extent::VecF32 | Extent::PairsF32 => 4 * n0,
        Extent::VecF16 => 2 * n0,
        Extent::Row => row(),
        Extent::Matrix => n1 * row(),
        Extent::GemvOut if i.b & GEMV_F16 != 0 => 2 * n1,
        Extent::GemvOut | Extent::RopeTable => 4 * n1,
        Extent::GainBias => 8 * n0,
        Extent::RowsF32 => u64::from(ra) * 4 * n0,
        Extent::AttnBlock => u64::from(AttnBlock::BYTES),
        Extent::HeadsF32 => 4 * u64::from(block.n_heads * block.head_dim),
    }
}

fn aligned(addr: u32, alignment: u32) -> Result<(), Fault> {
    if addr.is_multiple_of(alignment) { Ok(()) } else { Err(Fault::Alignment) }
}

fn in_range(map: &AddressMap, addr: u32, len: u64) -> Result<(), Fault> {
    if map.holds(addr, len) { Ok(()) } else { Err(Fault::Range) }
}

/// Whether the destination may start exactly where source field `source` (0 X, 1 Y, 2 Z) starts. ROPE's table and the
/// ATTN block are no vectors of the destination's kind: there not even equal addresses are legal.
pub fn may_coincide(op: Opcode, source: usize) -> bool {
    match op {
        Opcode::Copy | Opcode::Gemv | Opcode::Deqrow | Opcode::Rope => false,
        Opcode::Attn => source != 0,
        _ => true,
    }
}

/// Whether a destination overlaps a source in a way that the order of evaluation could show.
fn overlaps_illegally(op: Opcode, c: &Checked) -> bool {
    let fields = op.spec().words();
    let access = |k: usize| match fields[k] {
        WordField::Addr(_, access, _) => access,
        _ => Access::None,
    };
    (0..3).filter(|&d| matches!(access(d), Access::Write | Access::ReadWrite)).any(|d| {
        let dst = &c.xyz[d];
        let clash = |s: usize| {
            let src = &c.xyz[s];
            dst.overlaps(src) && !(dst.addr == src.addr && may_coincide(op, s))
        };
        (0..3).filter(|&s| access(s) == Access::Read).any(clash)
            || c.attn.is_some_and(|(_, k, v)| dst.overlaps(&k) || dst.overlaps(&v))
    })
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;
