//! Boards and their RAM regions. An operand must lie wholly inside one region.

/// First address of the RAM, and of every image.
pub const RAM_BASE: u32 = 0x800_0000;
/// Where the second RAM starts on boards that have two.
pub const SECOND_RAM: u32 = 0xC00_0000;
/// Addresses have 28 bits.
pub const ADDRESS_MASK: u32 = 0xFFF_FFFF;
/// One past the last address.
pub const ADDRESS_END: u32 = 0x1000_0000;
/// A megabyte, in bytes.
pub const MB: u32 = 1 << 20;
/// The most memory that an image may need: from [`RAM_BASE`] to the top of the address space, in MB.
pub const MAX_MB: u32 = (ADDRESS_END - RAM_BASE) / MB;

/// One RAM as the address map shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// Name for people.
    pub name: &'static str,
    /// First address.
    pub base: u32,
    /// Bytes.
    pub size: u32,
}

impl Region {
    /// Whether `len` bytes at `addr` lie wholly inside.
    pub fn holds(&self, addr: u32, len: u64) -> bool {
        addr >= self.base && u64::from(addr) + len <= u64::from(self.base) + u64::from(self.size)
    }
}

/// A machine that SSNAIL runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Board {
    /// MEGA65 R3: 8 MB of HyperRAM.
    R3,
    /// MEGA65 R4 to R6: 64 MB of SDRAM, then 8 MB of HyperRAM.
    R6,
    /// No board of today: 64 MB, then 64 MB, to preview models that fit none.
    Preview,
}

impl Board {
    /// The smallest board whose RAM holds `bytes` from [`RAM_BASE`], if any does.
    pub fn smallest_for(bytes: u64) -> Option<Board> {
        [Board::R3, Board::R6, Board::Preview].into_iter().find(|b| bytes <= b.map().bytes())
    }

    /// Name for people and for `--board`.
    pub fn name(self) -> &'static str {
        match self {
            Board::R3 => "r3",
            Board::R6 => "r6",
            Board::Preview => "preview",
        }
    }

    /// The RAM that this board has.
    pub fn map(self) -> AddressMap {
        match self {
            Board::R3 => AddressMap { regions: &[Region { name: "HyperRAM", base: RAM_BASE, size: 8 * MB }] },
            Board::R6 => AddressMap {
                regions: &[
                    Region { name: "SDRAM", base: RAM_BASE, size: 64 * MB },
                    Region { name: "HyperRAM", base: SECOND_RAM, size: 8 * MB },
                ],
            },
            Board::Preview => AddressMap {
                regions: &[
                    Region { name: "RAM", base: RAM_BASE, size: 64 * MB },
                    Region { name: "RAM2", base: SECOND_RAM, size: 64 * MB },
                ],
            },
        }
    }
}

/// The RAM regions of a board, ascending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressMap {
    regions: &'static [Region],
}

impl AddressMap {
    /// The regions, ascending by address.
    pub fn regions(&self) -> &'static [Region] {
        self.regions
    }

    /// Bytes of RAM in all.
    pub fn bytes(&self) -> u64 {
        self.regions.iter().map(|r| u64::from(r.size)).sum()
    }

    /// Whether `len` bytes at `addr` lie wholly inside one region. No bytes lie anywhere.
    pub fn holds(&self, addr: u32, len: u64) -> bool {
        len == 0 || self.regions.iter().any(|r| r.holds(addr, len))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operand_never_straddles_two_regions() {
        let m = Board::R6.map();
        assert!(m.holds(SECOND_RAM - 16, 16));
        assert!(m.holds(SECOND_RAM, 16));
        assert!(!m.holds(SECOND_RAM - 8, 16));
        assert!(!m.holds(RAM_BASE - 4, 4));
        assert!(!m.holds(0xC80_0000 - 4, 8));
        assert!(!Board::R3.map().holds(RAM_BASE + 8 * MB, 1));
        assert!(m.holds(0, 0));
        assert!(!m.holds(RAM_BASE, u64::MAX / 2));
    }

    #[test]
    fn the_smallest_board_is_found() {
        let mb = |n: u64| n << 20;
        assert_eq!(Board::smallest_for(mb(8)), Some(Board::R3));
        assert_eq!(Board::smallest_for(mb(8) + 1), Some(Board::R6));
        assert_eq!(Board::smallest_for(mb(72)), Some(Board::R6));
        assert_eq!(Board::smallest_for(mb(128)), Some(Board::Preview));
        assert_eq!(Board::smallest_for(mb(128) + 1), None);
        assert_eq!(u64::from(MAX_MB), Board::Preview.map().bytes() >> 20);
    }
}
