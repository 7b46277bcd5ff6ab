//! The CPU's registers at FFD7500, as far as the emulator has them.
//!
//! Where the contract is silent: a job that ends sets done, with or without a fault, and so does a STEP; GO and STEP
//! clear done, error and the fault code; ABORT together with GO starts nothing; the interrupt is pending from the end
//! of a job until it is acknowledged, whether enabled or not. The map registers 10..13 read what the board has and
//! ignore writes, the counters 19..1F read 0: the emulator has no cycles ([`crate::stats`] counts the rest).

use crate::machine::Machine;
use ssnail_isa::Fault;
use ssnail_isa::map::{ADDRESS_MASK, Board};
use ssnail_isa::port::{ID, bit, reg};

/// What register VERSION reads.
const VERSION: u8 = 1;

/// The state behind the control registers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Control {
    pub(crate) busy: bool,
    /// The job is one instruction.
    pub(crate) stepping: bool,
    done: bool,
    fault: Option<Fault>,
    interrupt: bool,
    interrupt_enable: bool,
    job: u32,
}

impl Control {
    fn start(&mut self, stepping: bool) {
        (self.busy, self.stepping, self.done, self.fault) = (true, stepping, false, None);
    }

    pub(crate) fn finish(&mut self, fault: Option<Fault>) {
        (self.busy, self.stepping, self.done, self.fault) = (false, false, true, fault);
        self.interrupt = true;
    }

    fn status(&self) -> u8 {
        let flag = |on: bool, bit: u8| if on { bit } else { 0 };
        flag(self.busy, bit::BUSY) | flag(self.done, bit::DONE) | flag(self.fault.is_some(), bit::ERROR)
    }
}

impl Machine {
    /// A CPU read of a register; `offset` counts from [`ssnail_isa::port::PORT_BASE`], its low 5 bits matter.
    pub fn read_register(&self, offset: u8) -> u8 {
        let offset = offset & 31;
        let byte = |value: u32, first: u8| (value >> (8 * (offset - first))) as u8;
        let [hyper_mb, sd_base, sd_mb, hyper_base] = map_registers(self.memory.board());
        match offset {
            reg::ID => ID,
            reg::VERSION => VERSION,
            reg::CAPS => u8::from(hyper_mb > 0) | u8::from(sd_mb > 0) << 1,
            reg::CONTROL if self.control.interrupt => bit::IRQ,
            reg::STATUS => self.control.status(),
            reg::FAULT => self.control.fault.map_or(0, Fault::code),
            reg::IRQ_ENABLE => u8::from(self.control.interrupt_enable),
            0x08..=0x0B => byte(self.control.job, reg::JOB),
            0x0C..=0x0F => byte(self.regs.pc, reg::PC),
            reg::HYPERRAM_MB => hyper_mb,
            reg::SDRAM_BASE => sd_base,
            reg::SDRAM_MB => sd_mb,
            reg::HYPERRAM_BASE => hyper_base,
            reg::LOAD_COMMIT => self.load_port.status(self.control.busy),
            _ => 0,
        }
    }

    /// A CPU write of a register. GO and STEP make the machine busy; the job proceeds in [`Machine::run`].
    pub fn write_register(&mut self, offset: u8, value: u8) {
        let busy = self.control.busy;
        match offset & 31 {
            reg::CONTROL => self.write_control(value),
            reg::IRQ_ENABLE => self.control.interrupt_enable = value & 1 != 0,
            offset @ 0x08..=0x0B if !busy => {
                let shift = 8 * u32::from(offset - reg::JOB);
                let job = self.control.job & !(0xFF << shift) | u32::from(value) << shift;
                self.control.job = job & ADDRESS_MASK;
            }
            offset @ 0x14..=0x16 => self.load_port.stage(offset - reg::LOAD_POINTER, value),
            reg::LOAD_COMMIT | reg::LOAD_DATA if busy => self.load_port.refuse(),
            reg::LOAD_COMMIT => self.load_port.commit(&mut self.memory, value),
            reg::LOAD_DATA => self.load_port.data(&mut self.memory, value),
            _ => {}
        }
    }

    /// Writes to register LOAD_DATA in a row, as fast as memory goes.
    pub fn write_load_data(&mut self, bytes: &[u8]) {
        if self.control.busy && !bytes.is_empty() {
            self.load_port.refuse();
        } else {
            self.load_port.data_slice(&mut self.memory, bytes);
        }
    }

    /// Starts a job at an address, as the CPU does: job pointer, then GO.
    pub fn go(&mut self, addr: u32) {
        for (offset, byte) in (reg::JOB..).zip(addr.to_le_bytes()) {
            self.write_register(offset, byte);
        }
        self.write_register(reg::CONTROL, bit::GO);
    }

    /// Whether the interrupt line is active.
    pub fn interrupt(&self) -> bool {
        self.control.interrupt && self.control.interrupt_enable
    }

    /// Ends the job, if one runs, with fault 5.
    pub fn abort(&mut self) {
        if self.control.busy {
            self.control.finish(Some(Fault::Aborted));
        }
    }

    fn write_control(&mut self, value: u8) {
        if value & bit::IRQ != 0 {
            self.control.interrupt = false;
        }
        if value & bit::ABORT != 0 {
            self.abort();
        } else if self.control.busy {
            // GO, STEP and SYNC are for an idle machine; SYNC has no caches to invalidate here.
        } else if value & bit::GO != 0 {
            self.regs.pc = self.control.job;
            self.control.start(false);
            self.ahead.start();
        } else if value & bit::STEP != 0 {
            self.control.start(true);
        }
    }
}

/// Registers 10..13 of a board. The preview board, which there is not, shows its two RAMs in the same way.
fn map_registers(board: Board) -> [u8; 4] {
    match board {
        Board::R3 => [8, 0x00, 0x00, 0x80],
        Board::R6 => [8, 0x80, 64, 0xC0],
        Board::Preview => [64, 0x80, 64, 0xC0],
    }
}

#[cfg(test)]
#[path = "port_tests.rs"]
mod tests;
