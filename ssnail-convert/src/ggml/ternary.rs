//! The ternary types, TQ1_0 and TQ2_0: weight = (digit - 1)*d, super-blocks of 256.
//!
//! As llama.cpp (MIT), `ggml/src/ggml-quants.c`.

use super::field::{f16, field};

/// `qs: [u8; 48], qh: [u8; 4], d: f16`. A byte is a fraction of 256 in base 3, five digits in `qs`, four in `qh`;
/// digit `n` of all bytes of a run (32, then 16 bytes of `qs`, then `qh`) comes before digit `n + 1`.
pub(super) fn block_tq1_0(b: &[u8; 54], y: &mut [f32; 256]) {
    let d = f16(b, 52);
    let (first, rest) = y.split_at_mut(160);
    let (second, third) = rest.split_at_mut(80);
    base3::<32>(field(b, 0), d, first);
    base3::<16>(field(b, 32), d, second);
    base3::<4>(field(b, 48), d, third);
}

/// The leading base-3 digits of `bytes`, as many of each byte as `y` has room for.
#[inline]
fn base3<const N: usize>(bytes: &[u8; N], d: f32, y: &mut [f32]) {
    const POW3: [u8; 5] = [1, 3, 9, 27, 81];
    for (y, pow3) in y.as_chunks_mut::<N>().0.iter_mut().zip(POW3) {
        for (y, &byte) in y.iter_mut().zip(bytes) {
            // The product modulo 256 drops the digits before this one; times 3, the digit is in the upper byte.
            let digit = (u16::from(byte.wrapping_mul(pow3)) * 3) >> 8;
            *y = f32::from(digit as i16 - 1) * d;
        }
    }
}

/// `qs: [u8; 64], d: f16`. In each run of 32 bytes, digit `n` is bits 2n and 2n + 1; digit 3 stands for 2.
pub(super) fn block_tq2_0(b: &[u8; 66], y: &mut [f32; 256]) {
    let d = f16(b, 64);
    for (group, y) in y.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let qs: &[u8; 32] = field(b, 32 * (group / 4));
        let shift = 2 * (group % 4);
        for (y, q) in y.iter_mut().zip(qs) {
            *y = f32::from((q >> shift & 3) as i8 - 1) * d;
        }
    }
}
