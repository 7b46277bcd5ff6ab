//! The simple types of 32 elements a block: Q4_1, Q5_0, Q5_1, and IQ4_NL with its uneven levels.
//!
//! As llama.cpp (MIT), `ggml/src/ggml-quants.c`: element `i < 16` is the low nibble of byte `i`, element `i + 16`
//! the high one. Q4_0 and Q8_0 are native formats of SSNAIL and decoded by `ssnail_isa`.

use super::field::{f16, field};
use super::levels::{IQ4_NL, by_level};

/// `d: f16, m: f16, qs: [u8; 16]`; weight = q*d + m.
pub(super) fn block_q4_1(b: &[u8; 20], y: &mut [f32; 32]) {
    let (d, m) = (f16(b, 0), f16(b, 2));
    let qs: &[u8; 16] = field(b, 4);
    for j in 0..16 {
        y[j] = f32::from(qs[j] & 0xF) * d + m;
        y[j + 16] = f32::from(qs[j] >> 4) * d + m;
    }
}

/// `d: f16, qh: u32, qs: [u8; 16]`; bit `i` of `qh` is bit 4 of element `i`; weight = (q - 16)*d.
pub(super) fn block_q5_0(b: &[u8; 22], y: &mut [f32; 32]) {
    let d = f16(b, 0);
    let qs: &[u8; 16] = field(b, 6);
    for (y, q) in y.iter_mut().zip(five_bits(field(b, 2), qs)) {
        *y = f32::from(q as i8 - 16) * d;
    }
}

/// `d: f16, m: f16, qh: u32, qs: [u8; 16]`; weight = q*d + m.
pub(super) fn block_q5_1(b: &[u8; 24], y: &mut [f32; 32]) {
    let (d, m) = (f16(b, 0), f16(b, 2));
    let qs: &[u8; 16] = field(b, 8);
    for (y, q) in y.iter_mut().zip(five_bits(field(b, 4), qs)) {
        *y = f32::from(q) * d + m;
    }
}

/// `d: f16, qs: [u8; 16]`; weight = level[q]*d.
pub(super) fn block_iq4_nl(b: &[u8; 18], y: &mut [f32; 32]) {
    by_level(&IQ4_NL, f16(b, 0), field(b, 2), y);
}

/// The nibbles of `qs` with the bits of `qh` above them, in element order.
fn five_bits(qh: &[u8; 4], qs: &[u8; 16]) -> [u8; 32] {
    let qh = u32::from_le_bytes(*qh);
    let mut q = [0; 32];
    for j in 0..16 {
        q[j] = (qs[j] & 0xF) | (((qh >> j) << 4) as u8 & 0x10);
        q[j + 16] = (qs[j] >> 4) | ((qh >> (j + 12)) as u8 & 0x10);
    }
    q
}
