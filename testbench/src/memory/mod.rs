//! The RAMs behind the two memory ports (LUMP), cycle by cycle, and a checker of the port's protocol.
//!
//! | module | what lives there |
//! |---|---|
//! | this one | the port's signals |
//! | [`timing`] | how long things take: SDRAM, HyperRAM, and what disturbs them |
//! | [`ram`] | the model of one RAM with its queue of commands |
//! | [`checker`] | the rules that a master keeps |
//! | [`pins`] | the port of a Verilated model |

pub mod checker;
pub mod pins;
pub mod ram;
pub mod timing;

pub use checker::Checker;
pub use pins::Pins;
pub use ram::{Ram, Written};
pub use timing::{Memory, Timing};

/// Commands of the port.
pub mod op {
    /// Read `len` bytes.
    pub const READ: u8 = 0;
    /// Write `len` bytes.
    pub const WRITE: u8 = 1;
    /// Invalidate the CPU's caches, after all earlier writes.
    pub const INVALIDATE: u8 = 2;
}

/// The longest burst, in bytes, and what a burst never crosses a multiple of.
pub const BURST: u32 = 256;

/// A command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Command {
    /// See [`op`].
    pub op: u8,
    /// Byte address inside the RAM, 27 bits.
    pub addr: u32,
    /// Bytes, 8..=256.
    pub len: u32,
}

/// What the master drives, as it is before a clock edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FromMaster {
    /// The command, while `cmd_valid`.
    pub command: Option<Command>,
    /// The data word.
    pub wdata: u16,
    /// Which of its bytes are to be written.
    pub wdata_be: u8,
}

/// What the port drives, as it is before a clock edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FromPort {
    /// A command is accepted at this edge.
    pub cmd_ready: bool,
    /// A word that was read.
    pub rdata: Option<u16>,
    /// A word to write is wanted, two edges later.
    pub wdata_req: bool,
    /// The oldest command is done.
    pub cmd_done: bool,
    /// A read timed out.
    pub error: bool,
    /// Nothing queued or in flight.
    pub idle: bool,
}
