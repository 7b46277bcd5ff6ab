//! What went wrong, for people: the fault, where, the instruction in words, and what its operands were.

use ssnail_isa::instr::{Instruction, Operand, WORD_BYTES};
use ssnail_isa::table::{ByteField, WordField};
use ssnail_isa::text::instruction_text;
use ssnail_isa::{Fault, Registers};
use std::fmt;

/// Why a run ended before its HALT.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The script is at fault, or the CPU aborted it. PC stands on the instruction, which has changed nothing.
    #[error("{0}")]
    Fault(Box<FaultReport>),
    /// So many instructions ran and the job still does. It can go on.
    #[error("no HALT after {limit} instructions, stopped at PC {pc:07X}: does the script loop for ever?")]
    Limit {
        /// Instructions that were allowed.
        limit: u64,
        /// The instruction to run next.
        pc: u32,
    },
}

/// A fault and its circumstances.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultReport {
    /// The fault.
    pub fault: Fault,
    /// The instruction word; `None` where none could be fetched.
    pub word: Option<[u8; WORD_BYTES]>,
    /// Registers, with PC on the instruction.
    pub registers: Registers,
}

impl fmt::Display for FaultReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { fault, registers, .. } = self;
        write!(f, "fault {} at PC {:07X}, {}: ", fault.code(), registers.pc, fault.text())?;
        match self.word.as_ref().map(Instruction::decode) {
            None => f.write_str("no instruction can be fetched from there"),
            Some(Err(e)) => write!(f, "{e}"),
            Some(Ok(i)) => {
                // The disassembler's columns are of no use within a sentence.
                write!(f, "`{}`", instruction_text(&i).split_whitespace().collect::<Vec<_>>().join(" "))?;
                let details = details(&i, registers);
                if details.is_empty() { Ok(()) } else { write!(f, " with {}", details.join(", ")) }
            }
        }
    }
}

/// The values that the text of an instruction does not show: registers, resolved addresses, lengths.
fn details(i: &Instruction, regs: &Registers) -> Vec<String> {
    let spec = i.op.spec();
    let mut out = Vec::new();
    for (kind, n) in [(spec.a, i.a), (spec.b, i.b)] {
        if kind == ByteField::Reg {
            out.push(format!("R{n} = {:#X}", regs.r[usize::from(n & 15)]));
        }
    }
    for (field, word) in spec.words().into_iter().zip(i.words()) {
        if let (WordField::Addr(name, ..), Operand::Rel { .. }) = (field, Operand::from_word(word)) {
            out.push(format!("{name} = {:#X}", Operand::from_word(word).resolve(&regs.a)));
        }
    }
    if spec.max_n0 > 0 {
        let [n0, n1, n2] = regs.n;
        out.extend([format!("N0 = {n0}"), format!("N1 = {n1}"), format!("N2 = {n2:#X}")]);
    }
    out
}
