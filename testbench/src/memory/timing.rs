//! How long a RAM takes. The figures are those of the hardware's specification; the disturbances are seeded.

use std::fmt;
use std::str::FromStr;

/// How a RAM behaves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timing {
    /// Cycles from acceptance to the first word when nothing is before it.
    pub latency: u32,
    /// Cycles from the last word of a burst to the first of the next.
    pub gap: u32,
    /// Cycles from one word to the next.
    pub word: u32,
    /// Extra cycles when the row (2 KB) is not the open one of its bank.
    pub row: u32,
    /// A refresh every so many cycles; 0 for none.
    pub refresh_every: u64,
    /// Cycles that a refresh takes.
    pub refresh: u32,
    /// One burst in so many collides with a refresh; 0 for none.
    pub collision_in: u32,
    /// Cycles that a collision takes.
    pub collision: u32,
    /// Percent of cycles with an extra cycle between words, and of commands with a late start or acceptance.
    pub stalls: u32,
    /// Percent of commands that wait for bursts of CPU and video.
    pub contention: u32,
    /// One read in so many times out; 0 for none.
    pub error_in: u32,
}

const QUIET: Timing = Timing {
    latency: 0,
    gap: 0,
    word: 0,
    row: 0,
    refresh_every: 0,
    refresh: 0,
    collision_in: 0,
    collision: 0,
    stalls: 0,
    contention: 0,
    error_in: 0,
};

impl Timing {
    /// SDRAM: 12 cycles to the first word, 138 cycles a full burst in a row.
    pub const SDRAM: Timing =
        Timing { latency: 12, gap: 10, word: 1, row: 9, refresh_every: 1265, refresh: 11, ..QUIET };
    /// HyperRAM as the machine's software sets it: a byte a cycle.
    pub const HYPERRAM: Timing =
        Timing { latency: 40, gap: 40, word: 2, collision_in: 16, collision: 14, ..QUIET };
    /// HyperRAM as it is after power-on: a byte in two cycles.
    pub const HYPERRAM_SLOW: Timing = Timing { word: 4, ..Timing::HYPERRAM };
}

/// The memory modes of a run: what both RAMs do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Memory {
    /// SDRAM and fast HyperRAM, undisturbed.
    Sdram,
    /// One HyperRAM, fast.
    Hyper,
    /// One HyperRAM, slow.
    HyperSlow,
    /// As `Sdram`, with random gaps and late acceptance.
    Stalls,
    /// As `Sdram`, with CPU and video taking a third.
    Contention,
    /// As `Sdram`, with reads that time out.
    Errors,
}

impl Memory {
    /// All modes that end without errors.
    pub const SOUND: [Memory; 5] =
        [Memory::Sdram, Memory::Hyper, Memory::HyperSlow, Memory::Stalls, Memory::Contention];

    const NAMES: [(Memory, &'static str); 6] = [
        (Memory::Sdram, "sdram"),
        (Memory::Hyper, "hyper"),
        (Memory::HyperSlow, "hyper-slow"),
        (Memory::Stalls, "stalls"),
        (Memory::Contention, "contention"),
        (Memory::Errors, "errors"),
    ];

    /// Whether the machine has SDRAM, as boards R4 to R6 do.
    pub fn has_sdram(self) -> bool {
        !matches!(self, Memory::Hyper | Memory::HyperSlow)
    }

    /// How the HyperRAM behaves.
    pub fn hyper(self) -> Timing {
        match self {
            Memory::HyperSlow => Timing::HYPERRAM_SLOW,
            _ => self.disturbed(Timing::HYPERRAM),
        }
    }

    /// How the SDRAM behaves.
    pub fn sdram(self) -> Timing {
        self.disturbed(Timing::SDRAM)
    }

    fn disturbed(self, t: Timing) -> Timing {
        match self {
            Memory::Stalls => Timing { stalls: 25, ..t },
            Memory::Contention => Timing { contention: 33, ..t },
            Memory::Errors => Timing { error_in: 40, ..t },
            _ => t,
        }
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(Memory::NAMES.iter().find(|(m, _)| m == self).map_or("", |(_, name)| name))
    }
}

impl FromStr for Memory {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        let names = || Memory::NAMES.map(|(_, name)| name).join(", ");
        let found = Memory::NAMES.iter().find(|(_, name)| *name == s);
        found.map(|(m, _)| *m).ok_or_else(|| format!("no memory mode `{s}`; there are {}", names()))
    }
}
