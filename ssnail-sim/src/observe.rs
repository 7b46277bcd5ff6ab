//! Looking on while a machine runs. The machine that is looked at runs the same code as any other, but turn by turn
//! ([`crate::ahead`]), and keeps the registers from before each instruction.

use crate::machine::Retired;
use crate::memory::Memory;
use ssnail_isa::instr::WORD_BYTES;
use ssnail_isa::trace::Record;
use ssnail_isa::{Fault, Registers};

/// Called after each instruction that retires, and for each fault.
pub type Observer = Box<dyn FnMut(&Observed<'_>) + Send>;

/// One instruction and the machine around it.
#[derive(Debug, Clone, Copy)]
pub struct Observed<'a> {
    /// Instructions that had retired before, since the machine was made.
    pub number: u64,
    /// Registers before it, PC on it.
    pub before: &'a Registers,
    /// Its word; `None` where none could be fetched.
    pub word: Option<[u8; WORD_BYTES]>,
    /// What became of it.
    pub outcome: Result<&'a Retired, Fault>,
    /// Registers after it.
    pub after: &'a Registers,
    /// RAM after it.
    pub memory: &'a Memory,
}

impl Observed<'_> {
    /// The trace record.
    pub fn record(&self) -> Record {
        match self.outcome {
            Ok(Retired { instruction, operands, .. }) => {
                let bytes = |span| self.memory.bytes(span);
                Record::retired(self.number, self.before, instruction, operands, self.after, bytes)
            }
            Err(fault) => Record::faulted(self.number, self.before.pc, self.word, fault),
        }
    }
}
