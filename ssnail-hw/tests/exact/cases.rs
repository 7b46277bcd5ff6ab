//! Inputs: random ones that reach the corners, and chosen ones.

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};

/// Cases of each operation: `SSNAIL_HW_CASES`, or a few thousand.
pub(crate) fn count() -> u64 {
    match std::env::var("SSNAIL_HW_CASES") {
        Ok(n) => n.parse().expect("SSNAIL_HW_CASES is a number"),
        Err(_) => 3000,
    }
}

/// Values where something changes, both signs of each are used.
const CHOSEN: [u32; 34] = [
    0x0000_0000, // 0
    0x0000_0001, // smallest
    0x0000_0002,
    0x0040_0000,
    0x007F_FFFF, // largest subnormal
    0x0080_0000, // smallest normal
    0x0080_0001,
    0x3300_0000, // half the smallest F16
    0x3300_0001,
    0x3380_0000, // smallest F16
    0x387F_C000, // largest subnormal F16
    0x387F_E000,
    0x3880_0000, // smallest normal F16
    0x3F00_0000,
    0x3F7F_FFFF,
    0x3F80_0000, // 1
    0x3F80_0001,
    0x3F80_1000, // tie of F16 at 1
    0x4000_0000,
    0x40BF_FFFF,
    0x40C0_0000, // 6
    0x413F_FFFF,
    0x4140_0000, // 12
    0x4180_0000, // 16
    0x4180_0001,
    0x42FE_0000, // 127
    0x477F_E000, // largest F16
    0x477F_EFFF,
    0x477F_F000, // F16 infinity from here on
    0x7F7F_FFFF, // largest
    0x7F80_0000, // infinity
    0x7F80_0001, // signalling NaN
    0x7FC0_0000,
    0x7FC0_1234,
];

/// A source of cases.
pub(crate) struct Cases(Pcg64Mcg);

impl Cases {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Pcg64Mcg::seed_from_u64(seed))
    }

    pub(crate) fn bits(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// 0 to n - 1.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        ((u64::from(self.bits()) * n as u64) >> 32) as usize
    }

    fn chosen(&mut self) -> u32 {
        CHOSEN[self.below(CHOSEN.len())] | self.bits() & 0x8000_0000
    }

    /// A number with an exponent of `around` give or take `spread`, and few or all bits of the fraction.
    fn number(&mut self, around: usize, spread: usize, short: bool) -> u32 {
        let exponent = (around + self.below(2 * spread + 1)).saturating_sub(spread).min(254) as u32;
        let fraction = self.bits() & if short { 0x0070_0000 } else { 0x007F_FFFF };
        self.bits() & 0x8000_0000 | exponent << 23 | fraction
    }

    /// Bits of F32 that have something to do with each other.
    pub(crate) fn vector(&mut self, n: usize) -> Vec<u32> {
        let profile = self.below(10);
        let mut x: Vec<u32> = (0..n)
            .map(|_| match profile {
                0 | 1 => self.number(127, 4, false),
                2 => self.number(127, 3, true),
                3 => self.number(127, 126, false),
                4 => self.number(2, 4, false),
                5 => self.number(252, 4, false),
                6 => self.number(64, 3, false),
                7 => self.bits(),
                8 => self.chosen(),
                _ => self.number(112, 16, false),
            })
            .collect();
        // Corners among ordinary numbers, and neighbours that nearly cancel.
        if n > 1 && self.below(4) == 0 {
            let at = self.below(n);
            x[at] = self.chosen();
        }
        if n > 1 && self.below(3) == 0 {
            let (from, to) = (self.below(n), self.below(n));
            x[to] = (x[from] ^ 0x8000_0000).wrapping_add(self.below(3) as u32).wrapping_sub(1);
        }
        x
    }

    pub(crate) fn one(&mut self) -> u32 {
        self.vector(1)[0]
    }

    /// Bits of F16, mostly of numbers.
    pub(crate) fn half(&mut self) -> u16 {
        match self.below(8) {
            0 => self.bits() as u16,
            1 => self.bits() as u16 & 0x83FF,
            _ => self.bits() as u16 & 0x8FFF | 0x3000,
        }
    }

    /// A row of quantised blocks of so many bytes each.
    pub(crate) fn blocks(&mut self, blocks: usize, block_bytes: usize) -> Vec<u8> {
        let mut row: Vec<u8> = (0..blocks * block_bytes).map(|_| self.bits() as u8).collect();
        for block in row.chunks_mut(block_bytes) {
            let d = self.half();
            block[..2].copy_from_slice(&d.to_le_bytes());
            if self.below(8) == 0 {
                let same = self.bits() as u8;
                block[2..].fill(same);
            }
        }
        row
    }
}

pub(crate) fn floats(bits: &[u32]) -> Vec<f32> {
    bits.iter().copied().map(f32::from_bits).collect()
}

pub(crate) fn bits(x: &[f32]) -> Vec<u32> {
    x.iter().copied().map(f32::to_bits).collect()
}
