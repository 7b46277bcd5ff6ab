//! The whole accelerator as a Verilated model, with its clocks, both RAMs and checkers.
//!
//! | module | what lives there |
//! |---|---|
//! | this one | [`Chip`]: one cycle after the other, what retires and what is written |
//! | [`cpu`] | the CPU's side: registers, loading, jobs |

pub mod cpu;

use crate::build::{self, Design, Options, Tools};
use crate::memory::checker::Violation;
use crate::memory::{Checker, Memory, Pins, Ram};
use crate::model::{Library, Model};
use crate::ports;
use ssnail_isa::map::{AddressMap, Board, MB, RAM_BASE, SECOND_RAM};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

/// Cycles of clock162 in one of cpuclock.
pub const CPU_CYCLES: u64 = 4;
/// HyperRAM and SDRAM, in bytes.
const HYPERRAM: u32 = 8 * MB;
const SDRAM: u32 = 64 * MB;

/// What the CPU reads when nothing drives its bus.
const UNDRIVEN: u8 = 0xEE;

/// What goes on around the chip.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// How the RAMs behave.
    pub memory: Memory,
    /// Of everything random in them.
    pub seed: u64,
    /// Waveforms, for a library that was built with them.
    pub waves: Option<Waves>,
}

/// A waveform file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waves {
    /// FST file.
    pub path: PathBuf,
    /// First cycle in it.
    pub from: u64,
}

/// An instruction that retired or faulted, as the trace outputs tell it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retire {
    /// Cycle of clock162.
    pub cycle: u64,
    /// Its address.
    pub pc: u32,
    /// PC afterwards.
    pub next: u32,
    /// Fault code; 0 for none.
    pub fault: u8,
    /// Kind (1 R, 2 A, 3 N), number and value of the register that it wrote.
    pub register: Option<(u8, u8, u32)>,
    /// N0, N1, N2 afterwards.
    pub n: [u32; 3],
    /// Bytes written since the last one retired, in order: address, value.
    pub written: Vec<(u32, u8)>,
}

/// Why a chip cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// A memory port's rules were broken.
    #[error(transparent)]
    Port(#[from] Violation),
    /// Something that must come does not.
    #[error("cycle {cycle}: no {what} within {limit} cycles")]
    Hang {
        /// When it was given up.
        cycle: u64,
        /// What was waited for.
        what: &'static str,
        /// How long.
        limit: u64,
    },
    /// The load port shows ERROR.
    #[error("cycle {cycle}: the load port shows ERROR")]
    Load {
        /// When.
        cycle: u64,
    },
}

ports! {
    struct Signals {
        cpuclock, reset, irq, ssnail_cs, fastio_addr, fastio_write, fastio_read, fastio_wdata, fastio_rdata,
        fastio_rdata_en, retire_valid, retire_pc, retire_next_pc, retire_fault, retire_reg_kind, retire_reg,
        retire_value, retire_n0, retire_n1, retire_n2,
    }
}

/// The accelerator and its RAMs.
pub struct Chip {
    model: Model,
    signals: Signals,
    hyper: Side,
    sdram: Side,
    cycle: u64,
    /// What the CPU reads, as it was before the last edge of its clock.
    rdata: u8,
    waves: Option<Waves>,
    retired: VecDeque<Retire>,
    written: Vec<(u32, u8)>,
    memory: Memory,
}

/// One memory port.
struct Side {
    pins: Pins,
    ram: Ram,
    checker: Checker,
    /// Where the RAM is in the address map.
    base: u32,
}

impl Side {
    fn new(model: &Model, prefix: &'static str, size: u32, base: u32, ram: Ram) -> Self {
        Side { pins: Pins::new(model, prefix), ram, checker: Checker::new(prefix, size), base }
    }

    fn edge(&mut self, model: &Model, written: &mut Vec<(u32, u8)>) -> Result<(), Violation> {
        let master = self.pins.get(model);
        self.checker.edge(master, self.ram.out())?;
        self.ram.edge(master);
        written.extend(self.ram.take_written().map(|w| (self.base + w.addr, w.value)));
        Ok(())
    }
}

/// The model of the chip for a memory mode, from the cache or new.
///
/// # Errors
/// What the tools say.
pub fn library(tools: &Tools, memory: Memory, options: Options) -> Result<Arc<Library>, build::Error> {
    let design = Design::hdl("ssnail_chip")?.generic("HAS_SDRAM", memory.has_sdram());
    build::build(tools, &design, options)
}

impl Chip {
    /// A chip that has just been reset.
    ///
    /// # Errors
    /// When it breaks a rule meanwhile.
    pub fn new(library: &Arc<Library>, config: &Config) -> Result<Self, Trouble> {
        let mut chip = Chip::power_on(library, config);
        chip.reset(8 * CPU_CYCLES)?;
        Ok(chip)
    }

    /// A chip that has not been reset yet: where recordings begin.
    pub fn power_on(library: &Arc<Library>, config: &Config) -> Self {
        let model = Model::new(library);
        let memory = config.memory;
        let (hyper_base, sdram_size) = if memory.has_sdram() { (SECOND_RAM, SDRAM) } else { (RAM_BASE, 0) };
        let ram = |size, timing, k| Ram::new(size as usize, timing, config.seed ^ k);
        let hyper = Side::new(&model, "hr", HYPERRAM, hyper_base, ram(HYPERRAM, memory.hyper(), 1));
        let sdram = Side::new(&model, "sd", sdram_size, RAM_BASE, ram(sdram_size, memory.sdram(), 2));
        Chip {
            signals: Signals::new(&model),
            model,
            hyper,
            sdram,
            cycle: 0,
            rdata: 0,
            waves: config.waves.clone(),
            retired: VecDeque::new(),
            written: vec![],
            memory,
        }
    }

    /// The board that it is on.
    pub fn board(&self) -> Board {
        if self.memory.has_sdram() { Board::R6 } else { Board::R3 }
    }

    /// The regions.
    pub fn map(&self) -> AddressMap {
        self.board().map()
    }

    /// Cycles of clock162 since power-on.
    pub fn cycle_number(&self) -> u64 {
        self.cycle
    }

    /// The model, to record it.
    pub fn model_mut(&mut self) -> &mut Model {
        &mut self.model
    }

    /// Bytes that both RAMs delivered and took.
    pub fn traffic(&self) -> (u64, u64) {
        let [h, s] = [&self.hyper.ram, &self.sdram.ram];
        (h.bytes_read + s.bytes_read, h.bytes_written + s.bytes_written)
    }

    /// INVALIDATE commands that each RAM got: HyperRAM, SDRAM.
    pub fn invalidates(&self) -> (u64, u64) {
        (self.hyper.ram.invalidates, self.sdram.ram.invalidates)
    }

    /// Reads that timed out.
    pub fn read_errors(&self) -> u64 {
        self.hyper.ram.errors + self.sdram.ram.errors
    }

    /// Bytes of RAM, in one region.
    ///
    /// # Panics
    /// When they are not.
    pub fn ram(&self, addr: u32, len: u32) -> &[u8] {
        let side = self.side(addr, len);
        let at = (addr - side.base) as usize;
        &side.ram.bytes()[at..at + len as usize]
    }

    /// Writes RAM as the CPU and its peripherals do, not through the chip.
    ///
    /// # Panics
    /// When the bytes are not in one region.
    pub fn write_ram(&mut self, addr: u32, bytes: &[u8]) {
        let hyper = std::ptr::eq(self.side(addr, bytes.len() as u32), &raw const self.hyper);
        let side = if hyper { &mut self.hyper } else { &mut self.sdram };
        let at = (addr - side.base) as usize;
        side.ram.bytes_mut()[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn side(&self, addr: u32, len: u32) -> &Side {
        assert!(self.map().holds(addr, u64::from(len)), "{len} bytes at {addr:#X} are not in one region");
        if addr >= self.hyper.base { &self.hyper } else { &self.sdram }
    }

    /// The next instruction that retired and was not yet taken.
    pub fn take_retired(&mut self) -> Option<Retire> {
        self.retired.pop_front()
    }

    /// Bytes written that no retired instruction explains yet.
    pub fn take_written(&mut self) -> Vec<(u32, u8)> {
        std::mem::take(&mut self.written)
    }

    /// One cycle of clock162. cpuclock rises with every fourth.
    ///
    /// # Errors
    /// When a rule of a memory port is broken.
    pub fn cycle(&mut self) -> Result<(), Trouble> {
        if self.waves.as_ref().is_some_and(|w| w.from <= self.cycle)
            && let Some(w) = self.waves.take()
        {
            self.model.waves_on(&w.path);
        }
        for side in [&self.hyper, &self.sdram] {
            side.pins.set(&mut self.model, side.ram.out());
        }
        self.model.settle();
        let phase = self.cycle % CPU_CYCLES;
        if phase == 0 {
            // The wrapper drives the bus only when the core says so; nobody else does here.
            let driven = self.model.is_set(self.signals.fastio_rdata_en);
            self.rdata = if driven { self.model.get(self.signals.fastio_rdata) as u8 } else { UNDRIVEN };
        }
        if self.model.is_set(self.signals.retire_valid) {
            self.retire();
        }
        self.hyper.edge(&self.model, &mut self.written)?;
        self.sdram.edge(&self.model, &mut self.written)?;
        self.model.rise(&[(self.signals.cpuclock, u64::from(phase < CPU_CYCLES / 2))]);
        self.cycle += 1;
        Ok(())
    }

    fn retire(&mut self) {
        let (m, s) = (&self.model, &self.signals);
        let word = |p| m.get(p) as u32;
        let kind = m.get(s.retire_reg_kind) as u8;
        let register = (kind != 0).then(|| (kind, m.get(s.retire_reg) as u8, word(s.retire_value)));
        self.retired.push_back(Retire {
            cycle: self.cycle,
            pc: word(s.retire_pc),
            next: word(s.retire_next_pc),
            fault: m.get(s.retire_fault) as u8,
            register,
            n: [word(s.retire_n0), word(s.retire_n1), word(s.retire_n2)],
            written: std::mem::take(&mut self.written),
        });
    }
}
