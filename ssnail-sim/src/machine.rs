//! [`Machine`]: registers, memory and numerics; one instruction at a time, or a job until it ends, with or without
//! someone who looks on.

use crate::ahead::Ahead;
use crate::execute::{self, Output, Scratch, Step};
use crate::load_port::LoadPort;
use crate::memory::Memory;
use crate::numerics::{Numerics, Weights};
use crate::observe::{Observed, Observer};
use crate::port::Control;
use crate::repack::Repacked;
use crate::report::{FaultReport, RunError};
use crate::scalar::{self, Words};
use crate::stats::Stats;
use ssnail_isa::check::{self, Checked};
use ssnail_isa::instr::WORD_BYTES;
use ssnail_isa::{Fault, Instruction, Opcode, Registers};
use std::ops::ControlFlow;

/// An accelerator with its RAM.
pub struct Machine {
    pub(crate) regs: Registers,
    pub(crate) memory: Memory,
    pub(crate) control: Control,
    pub(crate) load_port: LoadPort,
    pub(crate) numerics: Box<dyn Numerics + Send>,
    pub(crate) repacked: Repacked,
    pub(crate) ahead: Ahead,
    scratch: Scratch,
    pub(crate) stats: Stats,
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
            repacked: Repacked::default(),
            ahead: Ahead::default(),
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
    /// Turns of a loop may run side by side where that changes no result ([`crate::ahead`]), but not while somebody
    /// looks on.
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
            if self.observer.is_none() && !self.control.stepping {
                let ahead = self.run_ahead(left);
                if ahead > 0 {
                    left -= ahead;
                    continue;
                }
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
        fetch(&self.memory, self.regs.pc)
    }

    fn execute(&mut self) -> Result<Retired, Fault> {
        let (i, c) = decode(&self.memory, &self.regs)?;
        let pc = self.regs.pc;
        let event = match i.op {
            Opcode::Halt => Event::Halt,
            Opcode::Sync => Event::Sync,
            _ => Event::Next,
        };
        if !scalar::effect(&i, &c, &mut self.regs, &mut self.memory) && !c.empty {
            self.compute(&Step { instruction: i, operands: c, n: self.regs.n });
        }
        self.stats.retire(&i, &c);
        let retired = Retired { pc, instruction: i, operands: c, event };
        self.ahead.retired(&retired, self.regs.pc);
        Ok(retired)
    }

    /// A vector instruction's effect but for PC.
    fn compute(&mut self, step: &Step) {
        let Machine { memory, numerics, scratch, repacked, .. } = self;
        let op = step.instruction.op;
        let output = if op == Opcode::Gemv {
            let at = execute::matrix(step);
            let packed = repacked.get(memory, &**numerics, at, 1);
            let weights = Weights { matrix: execute::standing(memory, at), packed };
            let memory = &*memory;
            execute::gemv(std::iter::once((step, memory, &mut *scratch)), weights, &mut **numerics)
        } else {
            execute::compute(step, &*memory, &**numerics, scratch)
        };
        match (output, step.operands.written(op)) {
            (Output::Register(value), _) => {
                scalar::set(&mut self.regs, usize::from(step.instruction.a & 15), value);
            }
            (output, Some(to)) => memory.bytes_mut(to).copy_from_slice(scratch.result(output)),
            (_, None) => {}
        }
    }
}

/// The word at PC.
pub(crate) fn fetch(memory: &Memory, pc: u32) -> Result<[u8; WORD_BYTES], Fault> {
    if !pc.is_multiple_of(WORD_BYTES as u32) {
        return Err(Fault::Alignment);
    }
    let word = memory.get(pc, WORD_BYTES as u64).map_err(|_| Fault::Range)?;
    Ok(word.try_into().expect("the length was asked for"))
}

/// The instruction at PC, checked.
pub(crate) fn decode(memory: &Memory, regs: &Registers) -> Result<(Instruction, Checked), Fault> {
    let i = Instruction::decode(&fetch(memory, regs.pc)?).map_err(|_| Fault::Illegal)?;
    Ok((i, operands(&i, memory, regs)?))
}

/// The operands of an instruction, checked.
pub(crate) fn operands(i: &Instruction, memory: &Memory, regs: &Registers) -> Result<Checked, Fault> {
    check::check(i, regs, memory.map(), |addr| {
        let block = memory.get(addr, u64::from(check::AttnBlock::BYTES));
        bytemuck::pod_read_unaligned(block.expect("checked before it is read"))
    })
}

impl Words for Memory {
    fn load(&mut self, addr: u32) -> u32 {
        self.read_u32(addr).expect("operands are checked before they are read")
    }

    fn store(&mut self, addr: u32, value: u32) {
        self.write_u32(addr, value).expect("operands are checked before they are written");
    }
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
