//! Counts: how often each instruction ran, and the RAM traffic of its operands.

use ssnail_isa::Opcode;
use ssnail_isa::check::{Checked, Span};
use ssnail_isa::instr::{Instruction, WORD_BYTES};
use ssnail_isa::table::{Access, GEMV_ACCUMULATE, TABLE, WordField};

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
        let len = |s: &Span| u64::from(s.len);
        for (field, span) in i.op.spec().words().iter().zip(&operands.xyz) {
            let WordField::Addr(_, access, _) = field else { continue };
            let reads_back = i.op == Opcode::Gemv && i.b & GEMV_ACCUMULATE != 0;
            match access {
                Access::Read => self.bytes_read += len(span),
                Access::Write => {
                    self.bytes_written += len(span);
                    self.bytes_read += if reads_back { len(span) } else { 0 };
                }
                Access::ReadWrite => {
                    self.bytes_read += len(span);
                    self.bytes_written += len(span);
                }
                Access::None => {}
            }
        }
        if let Some((_, k, v)) = &operands.attn {
            self.bytes_read += len(k) + len(v);
        }
    }
}
