//! The CPU's side of the chip: each access of a register takes one cycle of its clock.

use super::{CPU_CYCLES, Chip, Trouble};
use ssnail_isa::image::Image;
use ssnail_isa::image::layout::HEADER_BYTES;
use ssnail_isa::map::RAM_BASE;
use ssnail_isa::port::{PORT_BASE, bit, reg};

/// Bytes of a sector of the file.
const SECTOR: usize = 512;
/// Cycles within which the load port must be ready for the next sector: 512 bytes at the slowest memory.
const READY_LIMIT: u64 = 20_000;

impl Chip {
    /// Holds reset low for some cycles and lets it go.
    ///
    /// # Errors
    /// When a rule of a memory port is broken.
    pub fn reset(&mut self, cycles: u64) -> Result<(), Trouble> {
        self.model.set(self.signals.reset, 0);
        self.hyper.checker.reset();
        self.sdram.checker.reset();
        self.wait(cycles)?;
        self.retired.clear();
        self.model.set(self.signals.reset, 1);
        self.wait(2 * CPU_CYCLES)
    }

    /// Lets cycles pass.
    ///
    /// # Errors
    /// When a rule of a memory port is broken.
    pub fn wait(&mut self, cycles: u64) -> Result<(), Trouble> {
        (0..cycles).try_for_each(|_| self.cycle())
    }

    /// Writes a register.
    ///
    /// # Errors
    /// When a rule of a memory port is broken.
    pub fn write(&mut self, register: u8, value: u8) -> Result<(), Trouble> {
        self.hyper.checker.asked();
        self.sdram.checker.asked();
        self.access(register, self.signals.fastio_write, value)
    }

    /// Reads a register.
    ///
    /// # Errors
    /// When a rule of a memory port is broken.
    pub fn read(&mut self, register: u8) -> Result<u8, Trouble> {
        self.access(register, self.signals.fastio_read, 0)?;
        Ok(self.rdata)
    }

    fn access(&mut self, register: u8, strobe: crate::model::Port, value: u8) -> Result<(), Trouble> {
        let s = self.signals;
        self.model.set(s.ssnail_cs, 1);
        self.model.set(s.fastio_addr, u64::from(PORT_BASE & 0xF_FFFF) + u64::from(register));
        self.model.set(s.fastio_wdata, u64::from(value));
        self.model.set(strobe, 1);
        // Up to and with the next rising edge of cpuclock.
        self.wait(CPU_CYCLES - (self.cycle + CPU_CYCLES - 1) % CPU_CYCLES)?;
        self.model.set(s.ssnail_cs, 0);
        self.model.set(strobe, 0);
        Ok(())
    }

    /// Whether the interrupt line is active.
    pub fn interrupt(&self) -> bool {
        !self.model.is_set(self.signals.irq)
    }

    /// Starts a job: job pointer, then GO.
    ///
    /// # Errors
    /// When a rule of a memory port is broken.
    pub fn go(&mut self, addr: u32) -> Result<(), Trouble> {
        for (register, byte) in (reg::JOB..).zip(addr.to_le_bytes()) {
            self.write(register, byte)?;
        }
        self.write(reg::CONTROL, bit::GO)
    }

    /// Reads STATUS until no job runs.
    ///
    /// # Errors
    /// When one still does after `limit` cycles.
    pub fn wait_idle(&mut self, limit: u64) -> Result<u8, Trouble> {
        self.poll(reg::STATUS, |status| status & bit::BUSY == 0, "end of the job", limit)
    }

    fn poll(
        &mut self,
        register: u8,
        is: impl Fn(u8) -> bool,
        what: &'static str,
        limit: u64,
    ) -> Result<u8, Trouble> {
        let until = self.cycle + limit;
        loop {
            let value = self.read(register)?;
            if is(value) {
                return Ok(value);
            }
            if self.cycle > until {
                return Err(Trouble::Hang { cycle: self.cycle, what, limit });
            }
        }
    }

    /// Reads a register of several bytes.
    ///
    /// # Errors
    /// When a rule of a memory port is broken.
    pub fn read_u32(&mut self, register: u8) -> Result<u32, Trouble> {
        let mut bytes = [0; 4];
        for (k, byte) in bytes.iter_mut().enumerate() {
            *byte = self.read(register + k as u8)?;
        }
        Ok(u32::from_le_bytes(bytes))
    }

    /// Moves the load port's pointer.
    ///
    /// # Errors
    /// When a rule of a memory port is broken.
    pub fn commit(&mut self, addr: u32, flags: u8) -> Result<(), Trouble> {
        let [b0, b1, b2, b3] = addr.to_le_bytes();
        for (register, byte) in (reg::LOAD_POINTER..).zip([b0, b1, b2]) {
            self.write(register, byte)?;
        }
        self.write(reg::LOAD_COMMIT, b3 | flags)
    }

    /// Writes data bytes to the load port, without looking at READY.
    ///
    /// # Errors
    /// When a rule of a memory port is broken.
    pub fn load_bytes(&mut self, bytes: &[u8]) -> Result<(), Trouble> {
        bytes.iter().try_for_each(|&byte| self.write(reg::LOAD_DATA, byte))
    }

    /// Waits for the load port's READY.
    ///
    /// # Errors
    /// When it does not come.
    pub fn ready(&mut self) -> Result<u8, Trouble> {
        self.poll(reg::LOAD_COMMIT, |v| v & bit::LOAD_READY != 0, "READY of the load port", READY_LIMIT)
    }

    /// Loads an image as the MEGA65 does: in sectors, each when READY.
    ///
    /// # Errors
    /// When READY does not come, or ERROR does.
    pub fn load(&mut self, image: &Image<'_>) -> Result<(), Trouble> {
        self.commit(RAM_BASE, bit::LOAD_ERROR)?;
        for (n, sector) in image.bytes().chunks(SECTOR).enumerate() {
            self.ready()?;
            let header = if n == 0 { sector.len().min(HEADER_BYTES as usize) } else { 0 };
            if header > 0 {
                self.load_bytes(&sector[..header])?;
                self.commit(image.header().payload, 0)?;
            }
            self.load_bytes(&sector[header..])?;
        }
        self.commit(RAM_BASE, 0)?;
        if self.ready()? & bit::LOAD_ERROR != 0 {
            return Err(Trouble::Load { cycle: self.cycle });
        }
        Ok(())
    }
}
