//! Counts: how often each instruction ran, and the RAM traffic of its operands.

use ssnail_isa::Opcode;
use ssnail_isa::check::{Checked, Span};
use ssnail_isa::instr::{Instruction, WORD_BYTES};
use ssnail_isa::table::TABLE;

/// Counts since a machine was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stats {
    by_opcode: [u64; 256],
    /// Bytes that operands read. K and V count once an ATTN, however many heads share them.
    pub bytes_read: u64,
    /// Bytes that operands wrote.
    pub bytes_written: u64,
}

impl Default for Stats {
    fn default() -> Self {
        Stats { by_opcode: [0; 256], bytes_read: 0, bytes_written: 0 }
    }
}

impl Stats {
    /// Instructions of one kind that ran.
    pub fn count(&self, op: Opcode) -> u64 {
        self.by_opcode[usize::from(op.code())]
    }

    /// Instructions that ran.
    pub fn instructions(&self) -> u64 {
        self.by_opcode.iter().sum()
    }

    /// Instructions that ran by kind, those that did not left out, ascending by opcode.
    pub fn by_opcode(&self) -> impl Iterator<Item = (Opcode, u64)> {
        TABLE.iter().map(|s| (s.op, self.count(s.op))).filter(|&(_, n)| n > 0)
    }

    /// Bytes that went over the memory port: operands and instruction words.
    pub fn traffic(&self) -> u64 {
        self.bytes_read + self.bytes_written + self.instructions() * WORD_BYTES as u64
    }

    /// What happened since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Stats) -> Stats {
        Stats {
            by_opcode: std::array::from_fn(|i| self.by_opcode[i] - earlier.by_opcode[i]),
            bytes_read: self.bytes_read - earlier.bytes_read,
            bytes_written: self.bytes_written - earlier.bytes_written,
        }
    }

    pub(crate) fn retire(&mut self, i: &Instruction, operands: &Checked) {
        self.by_opcode[usize::from(i.op.code())] += 1;
        if operands.empty {
            return;
        }
        let len = |s: Span| u64::from(s.len);
        self.bytes_read += operands.read(i).map(len).sum::<u64>();
        self.bytes_written += operands.written(i.op).map_or(0, len);
    }

    /// Adds what another counted.
    pub(crate) fn add(&mut self, other: &Stats) {
        self.by_opcode.iter_mut().zip(&other.by_opcode).for_each(|(n, more)| *n += more);
        self.bytes_read += other.bytes_read;
        self.bytes_written += other.bytes_written;
    }
}
