//! Chip and emulator side by side: each retired instruction's effects are compared, the first difference stops the run.
//!
//! | module | what lives there |
//! |---|---|
//! | this one | [`Lockstep`]: chip, emulator and jobs |
//! | [`compare`] | one instruction's effects on both sides |
//! | [`image`] | an image: loading, prompt, generation |
//! | [`waves`] | a run that differs once more, with waveforms |

pub mod compare;
pub mod image;
pub mod waves;

pub use compare::{Compare, Difference, Event};
pub use waves::{Failure, with_waves};

use crate::chip::{Chip, Config, Trouble};
use crate::model::Library;
use ssnail_isa::port::reg;
use ssnail_sim::{Hardware, Machine, Memory};
use std::sync::Arc;

/// Cycles without a retired instruction after which a job hangs, if nothing else is said: just before the chip's own
/// watchdog would hide it in a fault.
const HANG: u64 = (1 << 24) - 10_000;
/// Cycles from the last instruction of a job to the CPU seeing its end.
const END: u64 = 4_000;

/// A chip and an emulator with the same RAM.
pub struct Lockstep {
    /// The chip.
    pub chip: Chip,
    /// The emulator and what has been compared.
    pub compare: Compare,
    /// Cycles without a retired instruction after which a job hangs.
    pub patience: u64,
}

/// Why a run stopped.
#[derive(Debug, thiserror::Error)]
pub enum Stop {
    /// Chip and emulator differ.
    #[error(transparent)]
    Difference(#[from] Box<Difference>),
    /// The chip broke a rule, or hangs.
    #[error("{trouble}\n{history}")]
    Chip {
        /// What happened.
        trouble: Trouble,
        /// The last instructions.
        history: String,
    },
    /// The operating system has no memory for the emulator's RAM.
    #[error("no memory for the emulator: {0}")]
    Host(#[from] std::io::Error),
}

impl Stop {
    /// The cycle in which it happened.
    pub fn cycle(&self) -> u64 {
        match self {
            Stop::Difference(d) => d.cycle,
            Stop::Chip { trouble: Trouble::Port(v), .. } => v.cycle,
            Stop::Chip { trouble: Trouble::Hang { cycle, .. } | Trouble::Load { cycle }, .. } => *cycle,
            Stop::Host(_) => 0,
        }
    }
}

/// How a job ended on both sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// HALT.
    Halt,
    /// A fault, with its code.
    Fault(u8),
}

impl Lockstep {
    /// Both after reset.
    ///
    /// # Errors
    /// When the chip breaks a rule.
    pub fn new(library: &Arc<Library>, config: &Config) -> Result<Self, Stop> {
        let chip =
            Chip::new(library, config).map_err(|trouble| Stop::Chip { trouble, history: String::new() })?;
        let machine = Machine::new(Memory::new(chip.board())?, Box::new(Hardware::new()));
        Ok(Lockstep { chip, compare: Compare::new(machine), patience: HANG })
    }

    /// Writes RAM of both, as the CPU does.
    ///
    /// # Panics
    /// When the bytes are not in one region.
    pub fn write_ram(&mut self, addr: u32, bytes: &[u8]) {
        self.chip.write_ram(addr, bytes);
        self.compare.machine_mut().memory_mut().write(addr, bytes).expect("the chip has found it in RAM");
    }

    /// After a job that was ended from outside: RAM of the emulator becomes what the chip's is.
    ///
    /// # Panics
    /// When the bytes are not in one region.
    pub fn resync(&mut self, addr: u32, len: u32) {
        let bytes = self.chip.ram(addr, len).to_vec();
        self.write_ram(addr, &bytes);
    }

    /// The chip did something on its own account.
    ///
    /// # Errors
    /// What it ran into, with the last instructions.
    pub fn chip<T>(&mut self, act: impl FnOnce(&mut Chip) -> Result<T, Trouble>) -> Result<T, Stop> {
        let history = &self.compare;
        act(&mut self.chip).map_err(|trouble| Stop::Chip { trouble, history: history.history() })
    }

    /// Runs a job to its end.
    ///
    /// # Errors
    /// The first difference, and what the chip ran into.
    pub fn job(&mut self, addr: u32) -> Result<End, Stop> {
        self.job_with(addr, |_| {})
    }

    /// Runs a job to its end; `at_sync` is called at each SYNC with both sides and may write to them.
    ///
    /// # Errors
    /// The first difference, and what the chip ran into.
    pub fn job_with(&mut self, addr: u32, mut at_sync: impl FnMut(&mut Self)) -> Result<End, Stop> {
        self.compare.machine_mut().go(addr);
        self.chip(|chip| chip.go(addr))?;
        let mut last = self.chip.cycle_number();
        loop {
            self.chip(Chip::cycle)?;
            while let Some(retired) = self.chip.take_retired() {
                last = retired.cycle;
                let end = match self.compare.retire(&retired)? {
                    Event::Next => continue,
                    Event::Sync => {
                        at_sync(self);
                        continue;
                    }
                    Event::Halt => End::Halt,
                    // Nobody here aborts, and without read errors there is no fault 4.
                    Event::Fault(code @ (4 | 5)) if code == 5 || self.chip.read_errors() == 0 => {
                        return Err(self.compare.uncalled_for(&retired).into());
                    }
                    Event::Fault(code) => End::Fault(code),
                };
                self.end(end)?;
                return Ok(end);
            }
            let cycle = self.chip.cycle_number();
            let limit = self.patience;
            if cycle - last > limit {
                return self.chip(|_| Err(Trouble::Hang { cycle, what: "retired instruction", limit }));
            }
        }
    }

    /// Compares what the CPU sees of a job's end, and that nothing more is written.
    fn end(&mut self, end: End) -> Result<(), Stop> {
        self.chip(|chip| chip.wait_idle(END))?;
        let injected = matches!(end, End::Fault(4 | 5));
        for register in [reg::STATUS, reg::FAULT, reg::PC, reg::PC + 1, reg::PC + 2, reg::PC + 3] {
            let chip = self.chip(|chip| chip.read(register))?;
            let cycle = self.chip.cycle_number();
            if !injected {
                self.compare.register(cycle, register, chip)?;
            }
        }
        let (cycle, late) = (self.chip.cycle_number(), self.chip.take_written());
        self.compare.nothing_more(cycle, &late)?;
        match self.chip.take_retired() {
            Some(more) => Err(self.compare.extra(&more).into()),
            None => Ok(()),
        }
    }
}
