//! Random programs: seeded, legal by the emulator's own check, or illegal in a chosen way; a failing one is made small.
//!
//! | module | what lives there |
//! |---|---|
//! | this one | [`Program`]: steps, and how they become code |
//! | [`generate`](mod@generate) | random steps |
//! | [`illegal`] | instructions that fault |
//! | [`data`] | what RAM holds beforehand |
//! | [`run`](mod@run) | a program in lockstep; shrinking |
//! | [`coverage`] | what has been tried |

pub mod coverage;
pub mod data;
pub mod generate;
pub mod illegal;
pub mod run;

pub use coverage::Coverage;
pub use generate::{NOT_YET, Set, generate};
pub use run::{run, shrink};

use crate::memory::Memory;
use ssnail_isa::instr::{Instruction, Operand};
use ssnail_isa::script::Script;
use ssnail_isa::{Opcode, Registers};
use std::fmt;

/// Where address registers of operands are: the first three are for X, Y, Z.
const OPERAND_REGISTERS: [u8; 3] = [1, 2, 3];
/// The integer register that instructions with a count (`R[a]`) read.
const COUNT: u8 = 4;
/// The integer register that counts a loop's rounds.
const ROUNDS: u8 = 12;

/// One part of a program that stands for itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Registers, then an instruction.
    Operation(Operation),
    /// Operations so many times; after each round address registers go on by a stride.
    Loop {
        /// Rounds, at least 1.
        rounds: u32,
        /// Bytes that X, Y, Z go on by.
        stride: u32,
        /// What is done.
        body: Operation,
    },
    /// A branch over an instruction that would change RAM or registers.
    Branch {
        /// BEQ, BNE or BLT.
        op: Opcode,
        /// Values compared.
        values: (u32, u32),
        /// What is perhaps passed over.
        over: Instruction,
    },
    /// A plain instruction.
    Plain(Instruction),
}

/// An instruction and the registers that it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// The instruction; operands that go through address registers say so.
    pub instruction: Instruction,
    /// N0, N1, N2.
    pub n: [u32; 3],
    /// Values of the address registers for X, Y, Z.
    pub addresses: [u32; 3],
    /// `R[COUNT]`.
    pub count: u32,
}

impl Operation {
    /// Registers as they are when the instruction runs, for the check.
    pub fn registers(&self) -> Registers {
        let mut r = Registers { n: self.n, ..Registers::default() };
        for (register, address) in OPERAND_REGISTERS.into_iter().zip(self.addresses) {
            r.a[usize::from(register)] = address;
        }
        r.r[usize::from(COUNT)] = self.count;
        r
    }

    fn prepare(&self, s: &mut Script) {
        let [x, y, z] = self.n;
        s.push(Instruction { x, y, z, ..Instruction::new(Opcode::Setn) });
        for (register, address) in OPERAND_REGISTERS.into_iter().zip(self.addresses) {
            s.lea(register, 15, address, 0);
        }
        s.li(COUNT, self.count);
    }
}

impl Step {
    fn emit(&self, s: &mut Script) {
        match self {
            Step::Operation(o) => {
                o.prepare(s);
                s.push(o.instruction);
            }
            Step::Loop { rounds, stride, body } => {
                body.prepare(s);
                s.li(ROUNDS, *rounds);
                let top = s.label();
                s.bind(top);
                s.push(body.instruction);
                for reg in OPERAND_REGISTERS {
                    s.lea(reg, 15, Operand::Rel { reg, offset: *stride }, 0);
                }
                s.addi(ROUNDS, ROUNDS, u32::MAX);
                s.bne(ROUNDS, 15, top);
            }
            Step::Branch { op, values, over } => {
                s.li(5, values.0);
                s.li(6, values.1);
                let after = s.label();
                match op {
                    Opcode::Beq => s.beq(5, 6, after),
                    Opcode::Bne => s.bne(5, 6, after),
                    _ => s.blt(5, 6, after),
                }
                s.push(*over);
                s.bind(after);
            }
            Step::Plain(i) => s.push(*i),
        }
    }
}

/// A program with its surroundings: everything that a run depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Of RAM's contents and of what disturbs the memory.
    pub seed: u64,
    /// Memory mode.
    pub memory: Memory,
    /// Where the code lies.
    pub origin: u32,
    /// The steps.
    pub steps: Vec<Step>,
    /// An instruction word at the end that faults, with registers set before; without it the program ends in HALT.
    pub illegal: Option<(Operation, [u8; 16])>,
}

impl Program {
    /// The code.
    pub fn encode(&self) -> Vec<u8> {
        let mut s = Script::new();
        self.steps.iter().for_each(|step| step.emit(&mut s));
        match &self.illegal {
            None => {
                s.halt();
                s.encode(self.origin)
            }
            Some((o, word)) => {
                o.prepare(&mut s);
                let mut code = s.encode(self.origin);
                code.extend(word);
                // Should it not fault, the job still ends.
                code.extend(Instruction::new(Opcode::Halt).encode());
                code
            }
        }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}, memory {}:", self.seed, self.memory)?;
        f.write_str(&ssnail_isa::text::disassemble(&self.encode(), self.origin))
    }
}

#[cfg(test)]
mod tests;
