//! The table of instructions. A row here is the only place where an instruction's opcode, name, operand kinds and
//! documentation are written; encoder, decoder, assembler, disassembler, checks and reference page are derived.

use std::fmt;

/// What a byte field (`a` or `b`) of the instruction word means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteField {
    /// Not used by the instruction: written as 0, ignored when read.
    Unused,
    /// An integer register R0..R15.
    Reg,
    /// An address register A0..A15.
    AddrReg,
    /// A weight format, by its ggml type number. Unknown numbers decode; running them is fault 6.
    Format,
    /// GEMV flags, see [`GEMV_ACCUMULATE`] and [`GEMV_F16`].
    GemvFlags,
}

/// GEMV flag: add the product to what `y` holds.
pub const GEMV_ACCUMULATE: u8 = 1;
/// GEMV flag: write `y` as F16.
pub const GEMV_F16: u8 = 2;

/// How many bytes an address operand covers, and with that its alignment. N0, N1, N2 are the length registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// An address that is only computed with (LEA).
    Address,
    /// A branch target, checked when it is fetched from.
    Code,
    /// `Z & FFFF` bytes, a multiple of 8.
    CopyBytes,
    /// One u32.
    Word,
    /// N0 F32.
    VecF32,
    /// N0 F32 as (even, odd) pairs: aligned to 8.
    PairsF32,
    /// N0 F16.
    VecF16,
    /// One row of N0 elements in the format of field `a`, at any byte address.
    Row,
    /// N1 rows of N0 elements in the format of field `a`, at any byte address.
    Matrix,
    /// N1 F32, or N1 F16 with [`GEMV_F16`].
    GemvOut,
    /// N1/2 pairs of F32.
    RopeTable,
    /// N0 F32 of gain, then N0 F32 of bias.
    GainBias,
    /// `R[a]` rows of N0 F32.
    RowsF32,
    /// The 8 u32 that describe an attention.
    AttnBlock,
    /// n_heads * head_dim F32, as the ATTN block says.
    HeadsF32,
}

impl Extent {
    /// Bytes that the address is a multiple of; `f16_out` says whether GEMV writes F16.
    pub const fn alignment(self, f16_out: bool) -> u32 {
        match self {
            Extent::Address | Extent::Code | Extent::Row | Extent::Matrix => 1,
            Extent::VecF16 => 2,
            Extent::GemvOut if f16_out => 2,
            Extent::CopyBytes | Extent::PairsF32 => 8,
            Extent::Word
            | Extent::VecF32
            | Extent::GemvOut
            | Extent::RopeTable
            | Extent::GainBias
            | Extent::RowsF32
            | Extent::AttnBlock
            | Extent::HeadsF32 => 4,
        }
    }
}

/// How an operand is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Read only.
    Read,
    /// Written only.
    Write,
    /// Read and written in place (ROPE).
    ReadWrite,
    /// Neither: an address that is computed with, or a branch target.
    None,
}

/// What a word field (X, Y or Z) of the instruction word means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WordField {
    /// Not used by the instruction: written as 0, ignored when read.
    Unused,
    /// A 32-bit number; the text names it.
    Imm(&'static str),
    /// An address operand, absolute or relative to an address register; the text names it.
    Addr(&'static str, Access, Extent),
}

/// One row of the table: everything there is to say about an instruction.
#[derive(Debug, Clone, Copy)]
pub struct Spec {
    /// The opcode that the row describes.
    pub op: Opcode,
    /// Mnemonic in the assembler, upper case.
    pub name: &'static str,
    /// Meaning of byte 1.
    pub a: ByteField,
    /// Meaning of byte 2.
    pub b: ByteField,
    /// Meaning of the word at byte 4.
    pub x: WordField,
    /// Meaning of the word at byte 8.
    pub y: WordField,
    /// Meaning of the word at byte 12.
    pub z: WordField,
    /// The largest N0 that is legal; 0 where N0 does not matter.
    pub max_n0: u32,
    /// Limits beyond `max_n0`, in words (fault 1); empty where there are none.
    pub limits: &'static str,
    /// What the instruction does, in one sentence.
    pub effect: &'static str,
}

/// By opcode, the row of [`TABLE`]; instructions are looked up millions of times a second.
static ROWS: [u8; 256] = {
    let mut rows = [0; 256];
    let mut row = 0;
    while row < TABLE.len() {
        rows[TABLE[row].op as usize] = row as u8;
        row += 1;
    }
    rows
};

impl Spec {
    /// The three word fields in encoding order.
    pub fn words(&self) -> [WordField; 3] {
        [self.x, self.y, self.z]
    }
}

macro_rules! instructions {
    ($( $code:literal $op:ident $name:literal { $a:expr, $b:expr; $x:expr, $y:expr, $z:expr }
        max_n0 $max:expr, limits $limits:literal, $effect:literal; )*) => {
        /// The operation of an instruction; the discriminant is the opcode byte.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Opcode { $( #[doc = $effect] $op = $code, )* }

        /// The table, ascending by opcode.
        pub const TABLE: &[Spec] = &[ $( Spec {
            op: Opcode::$op, name: $name, a: $a, b: $b, x: $x, y: $y, z: $z,
            max_n0: $max, limits: $limits, effect: $effect,
        }, )* ];

        impl Opcode {
            /// The opcode with this number, if there is one.
            pub const fn from_code(code: u8) -> Option<Opcode> {
                match code { $( $code => Some(Opcode::$op), )* _ => None }
            }
        }
    };
}

use Access::{None as NoAccess, Read, ReadWrite, Write};
use ByteField::{AddrReg, Format, GemvFlags, Reg, Unused as U};
use Extent::*;
use WordField::{Addr, Imm, Unused as UW};

/// The longest vector of the vector instructions, in elements.
pub const MAX_VECTOR: u32 = 1 << 20;
/// The longest row of a GEMV, in elements.
pub const MAX_COLUMNS: u32 = 4096;
/// ATTN attends to positions below this.
pub const MAX_POSITIONS: u32 = 4096;
/// The largest head dimension of ROPE and ATTN.
pub const MAX_HEAD_DIM: u32 = 256;
/// The largest number of heads of ATTN.
pub const MAX_HEADS: u32 = 256;

#[rustfmt::skip] // one row an instruction, in columns
instructions! {
    0x00 Nop "NOP" { U, U; UW, UW, UW }
        max_n0 0, limits "", "nothing";
    0x01 Halt "HALT" { U, U; UW, UW, UW }
        max_n0 0, limits "", "the job is done; PC stays on the HALT";
    0x02 Sync "SYNC" { U, U; UW, UW, UW }
        max_n0 0, limits "", "everything written so far becomes visible to the CPU";
    0x03 Copy "COPY" { U, U; Addr("src", Read, CopyBytes), Addr("dst", Write, CopyBytes), Imm("bytes") }
        max_n0 0, limits "bytes & FFFF is a multiple of 8", "copy (bytes & FFFF) bytes";
    0x07 Setn "SETN" { U, U; Imm("n0"), Imm("n1"), Imm("n2") }
        max_n0 0, limits "", "N0 = n0, N1 = n1, N2 = n2";
    0x08 Li "LI" { Reg, U; UW, UW, Imm("value") }
        max_n0 0, limits "", "R[a] = value";
    0x09 Ldr "LDR" { Reg, U; Addr("src", Read, Word), UW, UW }
        max_n0 0, limits "", "R[a] = u32 at src";
    0x0A Str "STR" { Reg, U; Addr("dst", Write, Word), UW, UW }
        max_n0 0, limits "", "u32 at dst = R[a]";
    0x0B Addi "ADDI" { Reg, Reg; UW, UW, Imm("value") }
        max_n0 0, limits "", "R[a] = R[b] + value mod 2^32";
    0x0C Lea "LEA" { AddrReg, Reg; Addr("base", NoAccess, Address), UW, Imm("scale") }
        max_n0 0, limits "", "A[a] = base + R[b]*scale mod 2^28";
    0x0D Beq "BEQ" { Reg, Reg; Addr("target", NoAccess, Code), UW, UW }
        max_n0 0, limits "", "if R[a] = R[b]: PC = target";
    0x0E Bne "BNE" { Reg, Reg; Addr("target", NoAccess, Code), UW, UW }
        max_n0 0, limits "", "if R[a] != R[b]: PC = target";
    0x0F Blt "BLT" { Reg, Reg; Addr("target", NoAccess, Code), UW, UW }
        max_n0 0, limits "", "if R[a] < R[b], unsigned: PC = target";
    0x10 Gemv "GEMV" { Format, GemvFlags; Addr("W", Read, Matrix), Addr("x", Read, VecF32), Addr("y", Write, GemvOut) }
        max_n0 MAX_COLUMNS, limits "N0 a multiple of 32 for Q8_0 and Q4_0; not both flags",
        "y = W*x, W being N1 rows of N0 elements; .ACC adds to y, .F16 writes y as F16";
    0x11 Deqrow "DEQROW" { Format, U; Addr("row", Read, Row), UW, Addr("dst", Write, VecF32) }
        max_n0 MAX_VECTOR, limits "N0 a multiple of 32 for Q8_0 and Q4_0", "N0 F32 at dst = N0 elements of the format at row";
    0x12 Argmax "ARGMAX" { Reg, U; Addr("src", Read, VecF32), UW, UW }
        max_n0 MAX_VECTOR, limits "", "R[a] = index of the largest of N0 F32, the first of equals; a NaN is never the largest, all NaN: 0";
    0x20 Vadd "VADD" { U, U; Addr("x", Read, VecF32), Addr("y", Read, VecF32), Addr("z", Write, VecF32) }
        max_n0 MAX_VECTOR, limits "", "z = x + y, N0 elements";
    0x21 Vmul "VMUL" { U, U; Addr("x", Read, VecF32), Addr("y", Read, VecF32), Addr("z", Write, VecF32) }
        max_n0 MAX_VECTOR, limits "", "z = x * y, N0 elements";
    0x22 Rmsnorm "RMSNORM" { U, U; Addr("x", Read, VecF32), Addr("gain", Read, VecF32), Addr("z", Write, VecF32) }
        max_n0 MAX_VECTOR, limits "", "z = x * rsqrt(mean(x^2) + eps) * gain; eps is N2 as F32 bits";
    0x23 Silumul "SILUMUL" { U, U; Addr("x", Read, VecF32), Addr("y", Read, VecF32), Addr("z", Write, VecF32) }
        max_n0 MAX_VECTOR, limits "", "z = silu(x) * y, N0 elements";
    0x24 Rope "ROPE" { U, U; Addr("x", ReadWrite, PairsF32), Addr("table", Read, RopeTable), UW }
        max_n0 MAX_VECTOR, limits "N1 even, 2..256; N0 a multiple of N1",
        "rotate the adjacent pairs of x (N0 elements) by the N1/2 pairs (cos, sin) of the table, repeating every N1 elements";
    0x25 Attn "ATTN" { Reg, U; Addr("block", Read, AttnBlock), Addr("q", Read, HeadsF32), Addr("out", Write, HeadsF32) }
        max_n0 0, limits "R[a] < 4096; head_dim 1..256, heads 1..256, n_heads a multiple of n_kv_heads, KV format 0 or 1",
        "attention of q over positions 0..R[a] inclusive";
    0x26 Layernorm "LAYERNORM" { U, U; Addr("x", Read, VecF32), Addr("gain_bias", Read, GainBias), Addr("z", Write, VecF32) }
        max_n0 MAX_VECTOR, limits "", "z = (x - mean) * rsqrt(var + eps) * gain + bias; eps is N2 as F32 bits";
    0x27 Gelu "GELU" { U, U; Addr("x", Read, VecF32), UW, Addr("z", Write, VecF32) }
        max_n0 MAX_VECTOR, limits "", "z = gelu(x), tanh form, N0 elements";
    0x28 Meanrows "MEANROWS" { Reg, U; Addr("x", Read, RowsF32), UW, Addr("z", Write, VecF32) }
        max_n0 MAX_VECTOR, limits "", "z = mean of R[a] consecutive rows of N0 F32";
    0x29 Cvt16 "CVT16" { U, U; Addr("x", Read, VecF32), UW, Addr("z", Write, VecF16) }
        max_n0 MAX_VECTOR, limits "", "N0 F16 at z = N0 F32 at x, nearest even";
}

impl Opcode {
    /// The opcode byte.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The row of the table.
    pub fn spec(self) -> &'static Spec {
        &TABLE[usize::from(ROWS[usize::from(self.code())])]
    }

    /// Mnemonic in the assembler, upper case.
    pub fn name(self) -> &'static str {
        self.spec().name
    }

    /// The opcode with this mnemonic, in any case.
    pub fn from_name(name: &str) -> Option<Opcode> {
        TABLE.iter().find(|s| s.name.eq_ignore_ascii_case(name)).map(|s| s.op)
    }
}

impl fmt::Display for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_ascend_so_no_opcode_is_used_twice() {
        assert!(TABLE.windows(2).all(|w| w[0].op.code() < w[1].op.code()));
    }

    #[test]
    fn names_are_unique_and_found_in_any_case() {
        for s in TABLE {
            assert_eq!(TABLE.iter().filter(|t| t.name == s.name).count(), 1, "{}", s.name);
            assert_eq!(Opcode::from_name(&s.name.to_lowercase()), Some(s.op));
            assert_eq!(Opcode::from_code(s.op.code()), Some(s.op));
        }
        assert_eq!(Opcode::from_name("MOV"), None);
        assert_eq!((0..=255).filter(|&c| Opcode::from_code(c).is_some()).count(), TABLE.len());
    }

    #[test]
    fn the_longest_immediate_stands_last() {
        // The assembler reads operands in the order a, b, X, Y, Z and relies on unused fields taking no place.
        for s in TABLE {
            if s.a == ByteField::Unused {
                assert_eq!(s.b, ByteField::Unused, "{}: b without a", s.name);
            }
        }
    }
}
