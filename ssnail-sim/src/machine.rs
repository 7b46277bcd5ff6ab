//! [`Machine`]: registers, memory and numerics; one instruction at a time, or a job until it ends, with or without
//! someone who looks on.

use crate::execute::{self, Scratch};
use crate::load_port::LoadPort;
use crate::memory::Memory;
use crate::numerics::Numerics;
use crate::observe::{Observed, Observer};
use crate::port::Control;
use crate::report::{FaultReport, RunError};
use crate::stats::Stats;
use ssnail_isa::check::{self, Checked};
use ssnail_isa::instr::{Operand, WORD_BYTES};
use ssnail_isa::map::ADDRESS_MASK;
use ssnail_isa::{Fault, Instruction, Opcode, Registers};
use std::ops::ControlFlow;

/// An accelerator with its RAM.
pub struct Machine {
    pub(crate) regs: Registers,
    pub(crate) memory: Memory,
    pub(crate) control: Control,
    pub(crate) load_port: LoadPort,
    numerics: Box<dyn Numerics + Send>,
    scratch: Scratch,
    stats: Stats,
    observer: Option<Observer>,
}

/// What an instruction means for the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// It goes on.
    Next,
    /// It goes on, and what was written is visible to the CPU.
    Sync,
    /// It is done.
    Halt,
}

/// An instruction that has run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retired {
    /// Where it stands.
    pub pc: u32,
    /// The instruction.
    pub instruction: Instruction,
    /// Its operands, resolved.
    pub operands: Checked,
    /// What it means for the job.
    pub event: Event,
}

impl Machine {
    /// A machine after reset: RAM and registers 0, no job.
    pub fn new(memory: Memory, numerics: Box<dyn Numerics + Send>) -> Self {
        Machine {
            regs: Registers::default(),
            memory,
            control: Control::default(),
            load_port: LoadPort::default(),
            numerics,
            scratch: Scratch::default(),
            stats: Stats::default(),
            observer: None,
        }
    }

    /// The architectural registers.
    pub fn registers(&self) -> &Registers {
        &self.regs
    }

    /// RAM, as the CPU sees it.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// RAM, for the CPU to write to.
    pub fn memory_mut(&mut self) -> &mut Memory {
        &mut self.memory
    }

    /// The arithmetic that it was given.
    pub fn numerics(&self) -> &(dyn Numerics + Send) {
        &*self.numerics
    }

    /// Counts since the machine was made.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Has every instruction and fault from now on shown to an observer, or to nobody.
    pub fn set_observer(&mut self, observer: Option<Observer>) {
        self.observer = observer;
    }

    /// Runs the job until it ends; without a job it does nothing. `on_sync` is called at each SYNC with what the CPU
    /// then sees, and may write to it; when it breaks, the job is aborted.
    ///
    /// # Errors
    /// A fault, or more than `limit` instructions. After the latter the job still runs, and another call goes on.
    pub fn run(
        &mut self,
        limit: u64,
        mut on_sync: impl FnMut(&mut Memory) -> ControlFlow<()>,
    ) -> Result<(), RunError> {
        let mut left = limit;
        while self.control.busy {
            if left == 0 {
                return Err(RunError::Limit { limit, pc: self.regs.pc });
            }
            left -= 1;
            if self.step()?.event == Event::Sync && on_sync(&mut self.memory).is_break() {
                self.abort();
                let before = self.before();
                self.observe(before, Err(Fault::Aborted));
                return Err(self.report(Fault::Aborted));
            }
        }
        Ok(())
    }

    /// Runs one instruction of the job, or where none runs, one from PC, as STEP does.
    ///
    /// # Errors
    /// A fault: the job ends, nothing has changed, and PC stays.
    pub fn step(&mut self) -> Result<Retired, RunError> {
        let before = self.before();
        let outcome = self.execute();
        self.observe(before, outcome.as_ref().map_err(|&fault| fault));
        match outcome {
            Ok(retired) => {
                if retired.event == Event::Halt || self.control.stepping || !self.control.busy {
                    self.control.finish(None);
                }
                Ok(retired)
            }
            Err(fault) => {
                self.control.finish(Some(fault));
                Err(self.report(fault))
            }
        }
    }

    /// What an observer is to see of the time before an instruction: instructions retired, and registers.
    fn before(&self) -> Option<(u64, Registers)> {
        self.observer.is_some().then(|| (self.stats.instructions(), self.regs.clone()))
    }

    fn observe(&mut self, before: Option<(u64, Registers)>, outcome: Result<&Retired, Fault>) {
        let Some((number, before)) = before else { return };
        let word = match outcome {
            // The instruction may have written over itself.
            Ok(retired) => Some(retired.instruction.encode()),
            Err(_) => self.fetch().ok(),
        };
        if let Some(observer) = &mut self.observer {
            let (after, memory) = (&self.regs, &self.memory);
            observer(&Observed { number, before: &before, word, outcome, after, memory });
        }
    }

    /// A fault at PC, with its circumstances.
    fn report(&self, fault: Fault) -> RunError {
        let word = self.fetch().ok();
        RunError::Fault(Box::new(FaultReport { fault, word, registers: self.regs.clone() }))
    }

    fn fetch(&self) -> Result<[u8; WORD_BYTES], Fault> {
        if !self.regs.pc.is_multiple_of(WORD_BYTES as u32) {
            return Err(Fault::Alignment);
        }
        let word = self.memory.get(self.regs.pc, WORD_BYTES as u64).map_err(|_| Fault::Range)?;
        Ok(word.try_into().expect("the length was asked for"))
    }

    fn execute(&mut self) -> Result<Retired, Fault> {
        let i = Instruction::decode(&self.fetch()?).map_err(|_| Fault::Illegal)?;
        let memory = &self.memory;
        let c = check::check(&i, &self.regs, memory.map(), |addr| {
            let block =
                memory.get(addr, u64::from(check::AttnBlock::BYTES)).expect("checked before it is read");
            bytemuck::pod_read_unaligned(block)
        })?;

        let pc = self.regs.pc;
        let next = (pc + WORD_BYTES as u32) & ADDRESS_MASK;
        let event = match i.op {
            Opcode::Halt => Event::Halt,
            Opcode::Sync => Event::Sync,
            _ => Event::Next,
        };
        self.regs.pc = if event == Event::Halt { pc } else { next };
        self.effect(&i, &c);
        self.stats.retire(&i, &c);
        Ok(Retired { pc, instruction: i, operands: c, event })
    }

    /// What a checked instruction does besides advancing PC.
    fn effect(&mut self, i: &Instruction, c: &Checked) {
        let regs = &mut self.regs;
        let (a, b) = (usize::from(i.a & 15), usize::from(i.b & 15));
        let (ra, rb) = (regs.r[a], regs.r[b]);
        let mut branch = |taken: bool| {
            if taken {
                regs.pc = c.xyz[0].addr;
            }
        };
        let result = match i.op {
            Opcode::Nop | Opcode::Halt | Opcode::Sync => None,
            Opcode::Copy => {
                execute::copy(c, &mut self.memory, &mut self.scratch);
                None
            }
            Opcode::Setn => {
                regs.n = i.words();
                None
            }
            Opcode::Li => Some(i.z),
            Opcode::Ldr => Some(bytemuck::pod_read_unaligned(self.memory.bytes(c.xyz[0]))),
            Opcode::Str => {
                self.memory.bytes_mut(c.xyz[0]).copy_from_slice(&ra.to_le_bytes());
                None
            }
            Opcode::Addi => Some(rb.wrapping_add(i.z)),
            Opcode::Lea => {
                let base = Operand::from_word(i.x).resolve(&regs.a);
                regs.a[a] = base.wrapping_add(rb.wrapping_mul(i.z)) & ADDRESS_MASK;
                None
            }
            Opcode::Beq => {
                branch(ra == rb);
                None
            }
            Opcode::Bne => {
                branch(ra != rb);
                None
            }
            Opcode::Blt => {
                branch(ra < rb);
                None
            }
            _ if c.empty => None,
            _ => execute::arithmetic(i, regs.n, c, &mut self.memory, &mut *self.numerics, &mut self.scratch),
        };
        if let Some(value) = result.filter(|_| a != 15) {
            self.regs.r[a] = value;
        }
    }
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
