//! Operands: the bits of singles, with corner cases made frequent, and pairs of them that are near each other.

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};

/// Numbers that are at the edge of something.
pub(crate) const EDGES: &[u32] = &[
    0x0000_0000,
    0x8000_0000,
    0x0000_0001,
    0x8000_0001,
    0x0000_0002,
    0x007F_FFFF,
    0x807F_FFFF,
    0x0040_0000,
    0x0080_0000,
    0x8080_0000,
    0x0080_0001,
    0x00FF_FFFF,
    0x0100_0000,
    0x3F80_0000,
    0xBF80_0000,
    0x3F7F_FFFF,
    0x3F80_0001,
    0x4000_0000,
    0x3F00_0000,
    0x3F00_0001,
    0x4B00_0000,
    0x4B80_0000,
    0x4B7F_FFFF,
    0x7F00_0000,
    0x7F7F_FFFF,
    0xFF7F_FFFF,
    0x7F80_0000,
    0xFF80_0000,
    0x7F80_0001,
    0x7FC0_0000,
    0xFFC0_1234,
    0xFFFF_FFFF,
    0x3380_0000,
    0x3400_0000,
    0x42FE_0000,
    0x1F80_0000,
    0x2000_0000,
    0x2080_0000,
    0x5F80_0000,
    0x0B00_0000,
];

/// A source of operands.
pub(crate) struct Operands(Pcg64Mcg);

impl Operands {
    /// Seeded.
    pub(crate) fn new(seed: u64) -> Self {
        Operands(Pcg64Mcg::seed_from_u64(seed))
    }

    /// Any 64 bits.
    pub(crate) fn word(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A single: any bits, an edge, subnormal, large, near 1, or with few mantissa bits.
    pub(crate) fn single(&mut self) -> u32 {
        let r = self.word();
        let x = (r >> 32) as u32;
        match r & 15 {
            0 => EDGES[(r >> 8) as usize % EDGES.len()],
            1 | 2 => x & 0x807F_FFFF,
            3 => (x & 0x80FF_FFFF) | 0x7F00_0000,
            4..=6 => (x & 0x83FF_FFFF) | 0x3C00_0000,
            7 | 8 => x & !(0x7F_FFFF >> (r >> 8 & 15)),
            9 => (x & 0x80FF_FFFF) | 0x1F00_0000,
            _ => x,
        }
    }

    /// Two singles; a third of the pairs differ in few bits or in few places of exponent, with any signs.
    pub(crate) fn pair(&mut self) -> [u32; 2] {
        let (a, b, r) = (self.single(), self.single(), self.word());
        let near = match r % 12 {
            0 => a.wrapping_add((r >> 32) as u32 & 0xF),
            1 => a ^ (1 << (r >> 32 & 31)),
            2 | 3 => {
                (b & 0x807F_FFFF)
                    | (a & 0x7F80_0000).wrapping_add(((r >> 32 & 31) as u32) << 23) & 0x7F80_0000
            }
            _ => return [a, b],
        };
        [a, near ^ ((r >> 40) as u32 & 1) << 31]
    }
}

/// All pairs of edges, then `n` random ones.
pub(crate) fn pairs(seed: u64, n: usize) -> impl Iterator<Item = [u32; 2]> {
    let mut operands = Operands::new(seed);
    let edges = EDGES.iter().flat_map(|&a| EDGES.iter().map(move |&b| [a, b]));
    edges.chain(std::iter::repeat_with(move || operands.pair()).take(n))
}

/// All edges, then `n` random singles.
pub(crate) fn singles(seed: u64, n: usize) -> impl Iterator<Item = u32> {
    let mut operands = Operands::new(seed);
    EDGES.iter().copied().chain(std::iter::repeat_with(move || operands.single()).take(n))
}
