//! The registers through which the CPU drives SSNAIL, at FFD7500, and the load port among them.

/// Where the CPU finds the registers.
pub const PORT_BASE: u32 = 0xFFD_7500;
/// What register [`reg::ID`] reads.
pub const ID: u8 = 0x53;

/// A register or a group of bytes of one register.
#[derive(Debug, Clone, Copy)]
pub struct PortRegister {
    /// First offset from [`PORT_BASE`].
    pub offset: u8,
    /// Bytes, least significant first.
    pub bytes: u8,
    /// Name.
    pub name: &'static str,
    /// `R`, `W` or `RW`, with conditions.
    pub access: &'static str,
    /// Meaning.
    pub text: &'static str,
}

macro_rules! registers {
    ($( $offset:literal $bytes:literal $name:ident $access:literal $text:literal; )*) => {
        /// Offsets from [`PORT_BASE`].
        pub mod reg {
            $( #[doc = $text] pub const $name: u8 = $offset; )*
        }
        /// All registers, ascending by offset.
        pub const REGISTERS: &[PortRegister] = &[ $( PortRegister {
            offset: $offset, bytes: $bytes, name: stringify!($name), access: $access, text: $text,
        }, )* ];
    };
}

registers! {
    0x00 1 ID "R" "53";
    0x01 1 VERSION "R" "version of the core";
    0x02 1 CAPS "R" "capabilities: bit 0 HyperRAM, bit 1 SDRAM";
    0x03 1 CONTROL "RW" "W: bit 0 GO (when idle; PC = job pointer), bit 1 ABORT, bit 2 SYNC (when idle), bit 3 STEP (when idle, bit 0 clear), bit 7 acknowledges the interrupt. R: bit 7 interrupt pending";
    0x04 1 STATUS "R" "bit 0 busy, bit 1 done, bit 2 error";
    0x05 1 FAULT "R" "fault code, 0 none";
    0x06 1 IRQ_ENABLE "RW" "bit 0 interrupt enable";
    0x08 4 JOB "RW" "job pointer, 28 bits; writes are ignored while busy";
    0x0C 4 PC "R" "PC";
    0x10 1 HYPERRAM_MB "RW when idle" "HyperRAM size in MB";
    0x11 1 SDRAM_BASE "RW when idle" "SDRAM base, address bits 27..20";
    0x12 1 SDRAM_MB "RW when idle" "SDRAM size in MB";
    0x13 1 HYPERRAM_BASE "RW when idle" "HyperRAM base, address bits 27..20";
    0x14 3 LOAD_POINTER "W" "load pointer bits 23..0, staged until the commit";
    0x17 1 LOAD_COMMIT "RW" "W: load pointer bits 27..24 (bits 3..0) and commit; bit 6 clears ERROR. R: bit 7 READY, bit 6 ERROR";
    0x18 1 LOAD_DATA "W" "one data byte to the load pointer, which advances";
    0x19 1 COUNTER_LATCH "W" "bit 0 latches the counters";
    0x1A 1 COUNTER_SELECT "RW" "counter: 0 cycles busy, 1 instructions, 2 bytes read, 3 bytes written, 4 cycles waiting for memory";
    0x1B 4 COUNTER "R" "latched 32-bit counter";
}

/// Bits of the registers.
pub mod bit {
    /// CONTROL: start the job.
    pub const GO: u8 = 1 << 0;
    /// CONTROL: end the job, fault 5.
    pub const ABORT: u8 = 1 << 1;
    /// CONTROL: make everything written visible to the CPU.
    pub const SYNC: u8 = 1 << 2;
    /// CONTROL: run one instruction.
    pub const STEP: u8 = 1 << 3;
    /// CONTROL: interrupt pending (read), acknowledge (write).
    pub const IRQ: u8 = 1 << 7;
    /// STATUS: a job runs.
    pub const BUSY: u8 = 1 << 0;
    /// STATUS: a job is done.
    pub const DONE: u8 = 1 << 1;
    /// STATUS: the job ended in a fault.
    pub const ERROR: u8 = 1 << 2;
    /// LOAD_COMMIT: room for 512 more bytes, no commit outstanding, no job running.
    pub const LOAD_READY: u8 = 1 << 7;
    /// LOAD_COMMIT: data went outside RAM (read), clear that (write).
    pub const LOAD_ERROR: u8 = 1 << 6;
}

#[cfg(test)]
mod tests {
    use super::REGISTERS;

    #[test]
    fn registers_do_not_overlap_and_fit_32_bytes() {
        assert!(REGISTERS.windows(2).all(|w| w[0].offset + w[0].bytes <= w[1].offset));
        assert!(REGISTERS.iter().all(|r| r.offset + r.bytes <= 32));
    }
}
