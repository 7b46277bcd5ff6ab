//! The trace of a run: one [`Record`] a retired instruction, the same from the emulator and from the hardware. It tells
//! effects, never time. `TRACE.md` describes both forms in which records are written.
//!
//! | module | what lives there |
//! |---|---|
//! | this one | [`Record`] and its fields |
//! | [`register`] | names of registers |
//! | [`write`](mod@write) | what was written to memory, and the digest of it |
//! | [`binary`], [`text`] | the two forms, records into bytes and back |
//! | [`reader`] | records of a trace in either form |
//! | [`compare`](mod@compare) | the first difference of two traces |

pub mod binary;
pub mod compare;
pub mod reader;
pub mod register;
pub mod text;
pub mod write;

pub use compare::{Comparison, compare};
pub use reader::{Form, Reader, TraceError};
pub use register::Register;
pub use write::{SHORT, Write, digest};

use crate::check::{Checked, Registers, Span};
use crate::fault::Fault;
use crate::instr::{Instruction, WORD_BYTES};
use crate::map::ADDRESS_MASK;
use crate::table::WordField;
use crate::text::instruction_text;

/// Version of both forms.
pub const VERSION: u32 = 1;

/// Names of the operands in [`Record::operands`]: the fields of the word, then the caches of an ATTN.
pub const OPERANDS: [&str; 5] = ["x", "y", "z", "k", "v"];

/// What one instruction did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Instructions that had retired before, since the machine was reset.
    pub number: u64,
    /// Address of the instruction, 28 bits.
    pub pc: u32,
    /// The instruction word; `None` where none could be fetched.
    pub word: Option<[u8; WORD_BYTES]>,
    /// Address operands, resolved, in the order of [`OPERANDS`]; `None` where the instruction has none, and in a fault.
    pub operands: [Option<Span>; 5],
    /// Registers whose value is another than before, with the new one, ascending. PC is [`Record::next`].
    pub registers: Vec<(Register, u32)>,
    /// PC afterwards, 28 bits.
    pub next: u32,
    /// What was written to memory.
    pub write: Option<Write>,
    /// The fault that ended the job. Such an instruction did not retire and has changed nothing.
    pub fault: Option<Fault>,
}

/// A field of the record, for the documentation.
#[derive(Debug, Clone, Copy)]
pub struct FieldInfo {
    /// Its name; in lines the key, unless it stands in a column.
    pub name: &'static str,
    /// How it is written in lines.
    pub text: &'static str,
    /// How it is written in bytes.
    pub binary: &'static str,
    /// What it says.
    pub meaning: &'static str,
}

/// The fields of a record in the order of the binary form; the table in `TRACE.md`.
pub const FIELDS: &[FieldInfo] = &[
    FieldInfo {
        name: "flags",
        text: "",
        binary: "u8",
        meaning: "bit 0: there is a word, bit 1: something was written",
    },
    FieldInfo {
        name: "operands",
        text: "",
        binary: "u8",
        meaning: "which of x, y, z, k, v follow, x in bit 0",
    },
    FieldInfo { name: "registers", text: "", binary: "u8", meaning: "how many registers follow" },
    FieldInfo {
        name: "fault",
        text: "`fault=code`",
        binary: "u8, 0 for none",
        meaning: "the fault that ended the job",
    },
    FieldInfo {
        name: "number",
        text: "column 1, decimal",
        binary: "u64",
        meaning: "instructions retired before this one, since reset",
    },
    FieldInfo {
        name: "pc",
        text: "column 2, hexadecimal",
        binary: "u32",
        meaning: "address of the instruction",
    },
    FieldInfo { name: "next", text: "`next=address`", binary: "u32", meaning: "PC afterwards" },
    FieldInfo {
        name: "word",
        text: "columns 3 to 6, hexadecimal: bytes 0 to 3, X, Y, Z; four `-` for none",
        binary: "16 bytes, if there is one",
        meaning: "the instruction; there is none where it could not be fetched",
    },
    FieldInfo {
        name: "x y z k v",
        text: "`x=address+length`",
        binary: "u32 address, u32 length, each that there is",
        meaning: "address operands of the word, resolved, and the K and V cache that an ATTN reads; length 0 for branch targets, LEA's base and operations on nothing",
    },
    FieldInfo {
        name: "R0..R14 A0..A15 N0..N2",
        text: "`R7=value`",
        binary: "u8 which (R from 0, A from 16, N from 32), u32 value; ascending",
        meaning: "registers that hold another value than before, and that value",
    },
    FieldInfo {
        name: "write",
        text: "`write=address+length`",
        binary: "u32 address, u32 length, if something was written",
        meaning: "the bytes of memory that the instruction wrote",
    },
    FieldInfo {
        name: "digest",
        text: "`digest=` 16 hexadecimal digits",
        binary: "u64, with write",
        meaning: "digest of those bytes",
    },
    FieldInfo {
        name: "bytes",
        text: "`bytes=` hexadecimal digits, in the order of addresses",
        binary: "as many bytes as the length says, if that is not above 32",
        meaning: "those bytes themselves, when they are few",
    },
];

impl Record {
    /// The record of an instruction that retired. `bytes` gives memory after it.
    pub fn retired<'m>(
        number: u64,
        before: &Registers,
        i: &Instruction,
        checked: &Checked,
        after: &Registers,
        bytes: impl FnOnce(Span) -> &'m [u8],
    ) -> Self {
        let mut operands = [None; 5];
        for (k, field) in i.op.spec().words().into_iter().enumerate() {
            if matches!(field, WordField::Addr(..)) {
                operands[k] = Some(checked.xyz[k]);
            }
        }
        if let Some((_, k, v)) = checked.attn {
            [operands[3], operands[4]] = [Some(k), Some(v)];
        }
        Record {
            number,
            pc: before.pc,
            word: Some(i.encode()),
            operands,
            registers: register::changes(before, after),
            next: after.pc,
            write: checked.written(i.op).and_then(|span| Write::new(span.addr, bytes(span))),
            fault: None,
        }
    }

    /// The record of a fault at `pc`.
    pub fn faulted(number: u64, pc: u32, word: Option<[u8; WORD_BYTES]>, fault: Fault) -> Self {
        Record {
            number,
            pc,
            word,
            operands: [None; 5],
            registers: Vec::new(),
            next: pc,
            write: None,
            fault: Some(fault),
        }
    }

    /// The instruction in words: what the word alone says.
    pub fn disassembly(&self) -> String {
        match self.word.as_ref().map(Instruction::decode) {
            None => "nothing to fetch".into(),
            Some(Err(_)) => "no instruction".into(),
            Some(Ok(i)) => instruction_text(&i),
        }
    }

    /// Whether every address is one, and registers ascend: what a reader must check besides the form. Gives the field
    /// that is wrong, and what it had to be.
    fn check(&self) -> Result<(), (&'static str, &'static str)> {
        const ADDRESS: &str = "a 28-bit address";
        let addresses = [("pc", self.pc), ("next", self.next)];
        let operands = OPERANDS.into_iter().zip(self.operands).filter_map(|(name, s)| Some((name, s?.addr)));
        let write = self.write.as_ref().map(|w| ("write", w.span().addr));
        if let Some((name, _)) =
            addresses.into_iter().chain(operands).chain(write).find(|&(_, addr)| addr > ADDRESS_MASK)
        {
            return Err((name, ADDRESS));
        }
        if !self.registers.is_sorted_by(|a, b| a.0 < b.0) {
            return Err(("registers", "ascending"));
        }
        if self.registers.iter().any(|&(r, value)| matches!(r, Register::A(_)) && value > ADDRESS_MASK) {
            return Err(("address register", ADDRESS));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
