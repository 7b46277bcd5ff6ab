//! The load port: data bytes go through a ring indexed by destination address, a block goes to RAM as soon as the
//! pointer leaves it, and a commit moves the pointer after it has flushed what is pending.
//!
//! Where the contract is silent: a byte is judged when it comes in (outside RAM: ERROR, and the pointer advances);
//! the pointer wraps at 28 bits; data and commits while a job runs, which a loader that waits for READY never sends,
//! are dropped and set ERROR.

use crate::memory::Memory;
use ssnail_isa::map::ADDRESS_MASK;
use ssnail_isa::port::bit;

/// Bytes of the ring.
const RING: u32 = 1024;
/// Bytes that go to RAM together.
const BLOCK: u32 = 256;

/// The state of the load port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadPort {
    ring: [u8; RING as usize],
    /// Where the next data byte goes, 28 bits.
    pointer: u32,
    /// Pointer bits 23..0 as written, waiting for a commit.
    staged: u32,
    /// Bytes before `pointer` that are in the ring and not yet in RAM; they all lie in one block.
    pending: u32,
    error: bool,
}

impl Default for LoadPort {
    fn default() -> Self {
        LoadPort { ring: [0; RING as usize], pointer: 0, staged: 0, pending: 0, error: false }
    }
}

impl LoadPort {
    /// A write to byte 0..=2 of the staged pointer.
    pub fn stage(&mut self, byte: u8, value: u8) {
        let shift = 8 * u32::from(byte);
        self.staged = self.staged & !(0xFF << shift) | u32::from(value) << shift;
    }

    /// A write to the commit register: flushes, moves the pointer, and clears ERROR where the value says so.
    pub fn commit(&mut self, memory: &mut Memory, value: u8) {
        self.flush(memory);
        self.pointer = u32::from(value & 15) << 24 | self.staged;
        if value & bit::LOAD_ERROR != 0 {
            self.error = false;
        }
    }

    /// The commit register as it is read. Flushes take no time here, so READY only waits for the job.
    pub fn status(&self, busy: bool) -> u8 {
        (if busy { 0 } else { bit::LOAD_READY }) | if self.error { bit::LOAD_ERROR } else { 0 }
    }

    /// What a byte or a commit does while a job runs.
    pub fn refuse(&mut self) {
        self.error = true;
    }

    /// One data byte.
    pub fn data(&mut self, memory: &mut Memory, byte: u8) {
        if memory.map().holds(self.pointer, 1) {
            self.ring[(self.pointer % RING) as usize] = byte;
            self.pending += 1;
        } else {
            self.error = true;
        }
        self.pointer = (self.pointer + 1) & ADDRESS_MASK;
        if self.pointer.is_multiple_of(BLOCK) {
            self.flush(memory);
        }
    }

    /// Data bytes in a row: what [`LoadPort::data`] does for each, whole blocks without the way through the ring.
    pub fn data_slice(&mut self, memory: &mut Memory, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let whole = bytes.len() as u32 / BLOCK * BLOCK; // 4 GB of data or more: the loop goes round again
            if !self.pointer.is_multiple_of(BLOCK) || whole == 0 {
                let part = bytes.len().min((BLOCK - self.pointer % BLOCK) as usize);
                bytes[..part].iter().for_each(|&b| self.data(memory, b));
                bytes = &bytes[part..];
                continue;
            }
            // RAM regions are whole numbers of blocks, so that either all of a block is RAM or nothing.
            let (run, rest) = bytes.split_at(self.run(memory, whole) as usize);
            if memory.write(self.pointer, run).is_err() {
                self.error = true;
            }
            self.pointer = (self.pointer + run.len() as u32) & ADDRESS_MASK;
            bytes = rest;
        }
    }

    /// How much of `whole` blocks from the pointer can be handled at once: what is left of a region, else one block.
    fn run(&self, memory: &Memory, whole: u32) -> u32 {
        let region = memory.map().regions().iter().find(|r| r.holds(self.pointer, 1));
        region.map_or(BLOCK, |r| whole.min(r.base + r.size - self.pointer))
    }

    fn flush(&mut self, memory: &mut Memory) {
        let start = self.pointer.wrapping_sub(self.pending) & ADDRESS_MASK;
        let from = (start % RING) as usize;
        let block = &self.ring[from..from + self.pending as usize];
        memory.write(start, block).expect("only bytes inside RAM are pending");
        self.pending = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use ssnail_isa::map::{Board, RAM_BASE};

    fn memory() -> Memory {
        Memory::new(Board::R3).unwrap()
    }

    fn set_pointer(port: &mut LoadPort, memory: &mut Memory, addr: u32, flags: u8) {
        for byte in 0..3 {
            port.stage(byte, (addr >> (8 * byte)) as u8);
        }
        port.commit(memory, (addr >> 24) as u8 | flags);
    }

    #[test]
    fn a_block_reaches_ram_when_the_pointer_leaves_it() {
        let (mut port, mut m) = (LoadPort::default(), memory());
        set_pointer(&mut port, &mut m, RAM_BASE + 254, 0);
        port.data(&mut m, 1);
        assert_eq!(m.get(RAM_BASE + 254, 3), Ok(&[0, 0, 0][..]));
        port.data(&mut m, 2);
        assert_eq!(m.get(RAM_BASE + 254, 3), Ok(&[1, 2, 0][..]));
        port.data(&mut m, 3);
        assert_eq!(m.get(RAM_BASE + 256, 1), Ok(&[0][..]));
        set_pointer(&mut port, &mut m, RAM_BASE, 0);
        assert_eq!(m.get(RAM_BASE + 254, 4), Ok(&[1, 2, 3, 0][..]));
    }

    #[test]
    fn the_pointer_is_staged_until_the_commit() {
        let (mut port, mut m) = (LoadPort::default(), memory());
        set_pointer(&mut port, &mut m, RAM_BASE, 0);
        for byte in 0..3 {
            port.stage(byte, 0x10);
        }
        port.data(&mut m, 7);
        port.commit(&mut m, 8);
        port.data(&mut m, 8);
        port.commit(&mut m, 8);
        assert_eq!(m.get(RAM_BASE, 1), Ok(&[7][..]));
        assert_eq!(m.get(RAM_BASE + 0x10_1010, 1), Ok(&[8][..]));
    }

    #[test]
    fn data_outside_ram_sets_a_sticky_error_and_is_dropped() {
        let (mut port, mut m) = (LoadPort::default(), memory());
        let end = RAM_BASE + (8 << 20);
        set_pointer(&mut port, &mut m, end - 1, 0);
        port.data(&mut m, 5);
        assert_eq!(port.status(false), bit::LOAD_READY);
        port.data(&mut m, 6);
        assert_eq!(port.status(false), bit::LOAD_READY | bit::LOAD_ERROR);
        set_pointer(&mut port, &mut m, RAM_BASE, 0);
        port.data(&mut m, 9);
        assert_eq!(port.status(true), bit::LOAD_ERROR);
        set_pointer(&mut port, &mut m, RAM_BASE, bit::LOAD_ERROR);
        assert_eq!(port.status(false), bit::LOAD_READY);
        assert_eq!((m.get(end - 1, 1).unwrap()[0], m.get(RAM_BASE, 1).unwrap()[0]), (5, 9));
    }

    /// The pointer comes back into RAM after the top of the address space only by way of what is no RAM.
    #[test]
    fn the_pointer_wraps_at_28_bits() {
        let (mut port, mut m) = (LoadPort::default(), memory());
        set_pointer(&mut port, &mut m, ADDRESS_MASK, 0);
        port.data(&mut m, 1);
        assert_eq!(port, LoadPort { pointer: 0, staged: 0xFF_FFFF, error: true, ..LoadPort::default() });
        set_pointer(&mut port, &mut m, ADDRESS_MASK - 255, bit::LOAD_ERROR);
        port.data_slice(&mut m, &[1; 512]);
        assert_eq!((port.pointer, port.error), (256, true));
    }

    proptest! {
        #[test]
        fn slices_do_what_their_bytes_do(
            parts in prop::collection::vec((0u32..2000, any::<bool>(), 0usize..1500), 1..8), seed: u8,
        ) {
            let ((mut one, mut m1), (mut bulk, mut m2)) =
                ((LoadPort::default(), memory()), (LoadPort::default(), memory()));
            let end = RAM_BASE + (8 << 20);
            for (offset, at_end, len) in parts {
                let addr = if at_end { end - offset } else { RAM_BASE + offset };
                let bytes: Vec<u8> = (0..len).map(|i| (i as u8).wrapping_mul(31) ^ seed).collect();
                set_pointer(&mut one, &mut m1, addr, 0);
                set_pointer(&mut bulk, &mut m2, addr, 0);
                bytes.iter().for_each(|&b| one.data(&mut m1, b));
                bulk.data_slice(&mut m2, &bytes);
                prop_assert_eq!(
                    (one.pointer, one.pending, one.error), (bulk.pointer, bulk.pending, bulk.error)
                );
            }
            for addr in [RAM_BASE, end - 4096] {
                prop_assert_eq!(m1.get(addr, 4096), m2.get(addr, 4096));
            }
        }
    }
}
