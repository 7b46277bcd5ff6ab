//! What RAM holds before a program: windows with floats that are mostly moderate, and all special ones.

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};
use ssnail_isa::map::{AddressMap, RAM_BASE};

/// Bytes of a window.
pub const WINDOW: u32 = 0x8000;
/// Where code lies: before the windows of the first region.
pub const CODE: u32 = RAM_BASE + 0x1000;
/// First window of a region, from its start; code and its faulting copies are before it.
const FIRST: u32 = 0x2_0000;

/// A piece of RAM that programs work on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// First address.
    pub base: u32,
    /// Whether its end is the end of its region.
    pub at_end: bool,
    /// Which region, by its place in the map.
    pub region: usize,
}

/// The windows: two of each region, the last one at its end.
pub fn windows(map: &AddressMap) -> Vec<Window> {
    let of = |(region, r): (usize, &ssnail_isa::map::Region)| {
        let end = r.base + r.size - WINDOW;
        [Window { base: r.base + FIRST, at_end: false, region }, Window { base: end, at_end: true, region }]
    };
    map.regions().iter().enumerate().flat_map(of).collect()
}

/// The bits of a float: mostly of moderate size; zeros, subnormals, infinities, NaN and extremes among them.
pub fn float(random: &mut Pcg64Mcg) -> u32 {
    let bits = random.next_u64();
    let (low, pick) = (bits as u32, bits >> 32 & 63);
    match pick {
        0 => low & 0x8000_0000,
        1 => low & 0x8000_0000 | 0x7F80_0000,
        2 => low | 0x7F80_0001,
        3 => low & 0x807F_FFFF,
        4 => low,
        5 => low & 0x8000_0000 | 0x3F80_0000,
        6 => low & 0xFFFF_0000,
        // Ranges of the function tables: 2^-6 to 2^5.
        _ => low & 0x807F_FFFF | (121 + (bits >> 40) as u32 % 11) << 23,
    }
}

/// Contents of the windows.
pub fn contents(map: &AddressMap, seed: u64) -> Vec<(u32, Vec<u8>)> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut fill = || (0..WINDOW / 4).flat_map(|_| float(&mut random).to_le_bytes()).collect();
    windows(map).iter().map(|w| (w.base, fill())).collect()
}
