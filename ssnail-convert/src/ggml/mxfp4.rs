//! MXFP4: 4-bit floats (E2M1) with a shared power of two (E8M0), of the OCP Microscaling Formats specification v1.0.
//!
//! As llama.cpp (MIT), `ggml/src/ggml-quants.c`, whose nibble order differs from the specification's: element
//! `i < 16` is the low nibble of byte `i`, element `i + 16` the high one.

use super::field::field;
use super::levels::{E2M1_DOUBLED, by_level};

/// `e: u8, qs: [u8; 16]`; weight = level[q] * 2^(e - 128), levels doubled.
pub(super) fn block_mxfp4(b: &[u8; 17], y: &mut [f32; 32]) {
    by_level(&E2M1_DOUBLED, half_e8m0(b[0]), field(b, 1), y);
}

/// 2^(e - 128), half of what E8M0 says, since the levels are doubled. The specification's NaN, e = 255, is 2^127 as in ggml.
fn half_e8m0(e: u8) -> f32 {
    f32::from_bits(match e {
        // Subnormal: 2^-128 and 2^-127.
        0 | 1 => 0x0020_0000 << e,
        _ => u32::from(e - 1) << 23,
    })
}
