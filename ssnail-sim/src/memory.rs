//! The RAM of a board: one zeroed mapping a region, so that pages that nothing touches cost nothing. All writes go
//! through [`Memory::get_mut`], which also notes those into stretches that are watched ([`crate::watch`]).

use crate::watch::Watches;
use memmap2::MmapMut;
use ssnail_isa::check::Span;
use ssnail_isa::map::{AddressMap, Board};

/// The RAM of a board.
#[derive(Debug)]
pub struct Memory {
    board: Board,
    map: AddressMap,
    /// One mapping a region of `map`, in its order.
    regions: Vec<MmapMut>,
    pub(crate) watches: Watches,
}

/// An address at which there is no RAM, or not enough of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no RAM for {len} bytes at {addr:#X}")]
pub struct OutsideRam {
    /// First address.
    pub addr: u32,
    /// Bytes wanted.
    pub len: u64,
}

impl Memory {
    /// RAM of a board, all bytes 0.
    ///
    /// # Errors
    /// When the operating system has no memory for it.
    pub fn new(board: Board) -> std::io::Result<Self> {
        let map = board.map();
        let regions = map
            .regions()
            .iter()
            .map(|r| MmapMut::map_anon(r.size as usize))
            .collect::<Result<Vec<_>, _>>()?;
        // Weights are read from one end to the other: huge pages spare most of the table walks. Where the system does
        // not offer them, nothing is lost.
        #[cfg(target_os = "linux")]
        regions.iter().for_each(|r| drop(r.advise(memmap2::Advice::HugePage)));
        Ok(Memory { board, map, regions, watches: Watches::default() })
    }

    /// The board that has this RAM.
    pub fn board(&self) -> Board {
        self.board
    }

    /// The regions.
    pub fn map(&self) -> &AddressMap {
        &self.map
    }

    /// `len` bytes at `addr`, when they lie inside one region.
    pub fn get(&self, addr: u32, len: u64) -> Result<&[u8], OutsideRam> {
        let (region, range) = self.place(addr, len)?;
        Ok(&self.regions[region][range])
    }

    /// As [`Memory::get`], to be written to.
    pub fn get_mut(&mut self, addr: u32, len: u64) -> Result<&mut [u8], OutsideRam> {
        let (region, range) = self.place(addr, len)?;
        self.watches.note(Span { addr, len: range.len() as u32 });
        Ok(&mut self.regions[region][range])
    }

    /// The bytes of an operand that the check has found legal.
    ///
    /// # Panics
    /// When it is not inside one region.
    pub fn bytes(&self, span: Span) -> &[u8] {
        self.get(span.addr, u64::from(span.len)).expect("operands are checked before they are read")
    }

    /// As [`Memory::bytes`], to be written to.
    ///
    /// # Panics
    /// When it is not inside one region.
    pub fn bytes_mut(&mut self, span: Span) -> &mut [u8] {
        self.get_mut(span.addr, u64::from(span.len)).expect("operands are checked before they are written")
    }

    /// An operand as F32.
    ///
    /// # Panics
    /// When it is not inside one region, or not aligned to 4.
    pub fn f32s(&self, span: Span) -> &[f32] {
        bytemuck::cast_slice(self.bytes(span))
    }

    /// An operand as the bits of F16.
    ///
    /// # Panics
    /// When it is not inside one region, or not aligned to 2.
    pub fn u16s(&self, span: Span) -> &[u16] {
        bytemuck::cast_slice(self.bytes(span))
    }

    /// The u32 at an address, which need not be aligned.
    pub fn read_u32(&self, addr: u32) -> Result<u32, OutsideRam> {
        Ok(bytemuck::pod_read_unaligned(self.get(addr, 4)?))
    }

    /// Writes a u32 at an address, which need not be aligned.
    pub fn write_u32(&mut self, addr: u32, value: u32) -> Result<(), OutsideRam> {
        self.write(addr, &value.to_le_bytes())
    }

    /// Writes bytes.
    pub fn write(&mut self, addr: u32, bytes: &[u8]) -> Result<(), OutsideRam> {
        self.get_mut(addr, bytes.len() as u64)?.copy_from_slice(bytes);
        Ok(())
    }

    /// Which region, and where in it. No bytes lie anywhere.
    fn place(&self, addr: u32, len: u64) -> Result<(usize, std::ops::Range<usize>), OutsideRam> {
        if len == 0 {
            return Ok((0, 0..0));
        }
        let regions = self.map.regions();
        let at = regions.iter().position(|r| r.holds(addr, len)).ok_or(OutsideRam { addr, len })?;
        let start = (addr - regions[at].base) as usize;
        Ok((at, start..start + len as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssnail_isa::map::{RAM_BASE, SECOND_RAM};

    #[test]
    fn regions_are_apart_and_start_zeroed() {
        let mut m = Memory::new(Board::R6).unwrap();
        m.write_u32(SECOND_RAM - 4, 1).unwrap();
        m.write_u32(SECOND_RAM, 2).unwrap();
        assert_eq!((m.read_u32(SECOND_RAM - 4), m.read_u32(SECOND_RAM)), (Ok(1), Ok(2)));
        assert_eq!(m.read_u32(SECOND_RAM - 2), Err(OutsideRam { addr: SECOND_RAM - 2, len: 4 }));
        assert_eq!(m.read_u32(RAM_BASE + 1), Ok(0));
        assert!(m.get(RAM_BASE, 1 << 40).is_err());
        assert_eq!(m.get(0x123, 0), Ok(&[][..]));
    }

    #[test]
    fn operands_are_read_as_what_they_are() {
        let mut m = Memory::new(Board::R3).unwrap();
        m.write(RAM_BASE + 4, &[0, 0, 0x80, 0x3F, 0, 0x3C]).unwrap();
        assert_eq!(m.f32s(Span { addr: RAM_BASE + 4, len: 4 }), [1.0]);
        assert_eq!(m.u16s(Span { addr: RAM_BASE + 6, len: 4 }), [0x3F80, 0x3C00]);
    }
}
