//! F16 exhaustively: every one to F32, and every F32 that lies next to one or next to the middle between two.

use crate::oracle::{F16, F32, convert};
use ssnail_hw::scalar::{f16_to_f32, f32_to_f16};

#[test]
fn every_half_to_f32() {
    for bits in 0..=u16::MAX {
        assert_eq!(f16_to_f32(bits).to_bits(), convert(bits.into(), F16, F32), "{bits:04X}");
    }
}

#[test]
fn every_boundary_of_halves() {
    for magnitude in 0..=0x7C00u16 {
        let half = convert(magnitude.into(), F16, F32);
        // In F32's bits the middle between this half and the next is half of their distance further on; infinity
        // stands for 65536, which is its boundary.
        let next = convert(u32::from(magnitude) + 1, F16, F32);
        let next = if magnitude == 0x7BFF { 65536f32.to_bits() } else { next };
        let middle = (f32::from_bits(half) + f32::from_bits(next)) / 2.0;
        for near in [half, middle.to_bits()] {
            for bits in near.saturating_sub(2)..=near + 2 {
                for bits in [bits, bits | 0x8000_0000] {
                    let got = f32_to_f16(f32::from_bits(bits));
                    assert_eq!(u32::from(got), convert(bits, F32, F16), "{bits:08X}");
                }
            }
        }
    }
}

/// All of them against the `half` crate's conversion without hardware instructions; minutes.
#[test]
#[ignore = "2^32 cases: make campaign"]
fn every_f32_to_half() {
    for bits in 0..=u32::MAX {
        let x = f32::from_bits(bits);
        let want = if x.is_nan() { 0x7E00 } else { half::f16::from_f32_const(x).to_bits() };
        assert_eq!(f32_to_f16(x), want, "{bits:08X}");
    }
}
