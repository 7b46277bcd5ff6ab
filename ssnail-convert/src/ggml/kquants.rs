//! The K-quants, Q2_K to Q6_K: super-blocks of 256, cut into groups of 16 or 32 that have quantised scales of their own.
//!
//! As llama.cpp (MIT), `ggml/src/ggml-quants.c`, in the same order of operations (each rounded to F32).

use super::field::{f16, field};

/// `scales: [u8; 16], qs: [u8; 64], d: f16, dmin: f16`. Groups of 16; a group's scale is the low nibble of its byte in
/// `scales`, its minimum the high one; weight = (d*scale)*q - dmin*min.
pub(super) fn block_q2_k(b: &[u8; 84], y: &mut [f32; 256]) {
    let scales: &[u8; 16] = field(b, 0);
    let (d, dmin) = (f16(b, 80), f16(b, 82));
    for (group, y) in y.as_chunks_mut::<16>().0.iter_mut().enumerate() {
        let (qs, shift) = two_bits(field(b, 16), group);
        let scale = d * f32::from(scales[group] & 0xF);
        let min = dmin * f32::from(scales[group] >> 4);
        for (y, q) in y.iter_mut().zip(qs) {
            *y = scale * f32::from(q >> shift & 3) - min;
        }
    }
}

/// `hmask: [u8; 32], qs: [u8; 64], scales: [u8; 12], d: f16`. Groups of 16, signed 6-bit scales; a clear bit in `hmask`
/// takes 4 off; weight = (d*scale)*q.
pub(super) fn block_q3_k(b: &[u8; 110], y: &mut [f32; 256]) {
    let hmask: &[u8; 32] = field(b, 0);
    let scales = q3_k_scales(field(b, 96));
    let d = f16(b, 108);
    for (group, y) in y.as_chunks_mut::<16>().0.iter_mut().enumerate() {
        let (qs, shift) = two_bits(field(b, 32), group);
        let high: &[u8; 16] = field(hmask, 16 * (group % 2));
        let scale = d * f32::from(scales[group]);
        for ((y, q), high) in y.iter_mut().zip(qs).zip(high) {
            let q = (q >> shift & 3) | (high >> (group / 2) & 1) << 2;
            *y = scale * f32::from(q as i8 - 4);
        }
    }
}

/// `d: f16, dmin: f16, scales: [u8; 12], qs: [u8; 128]`. Groups of 32; weight = (d*scale)*q - dmin*min.
pub(super) fn block_q4_k(b: &[u8; 144], y: &mut [f32; 256]) {
    let (d, dmin) = (f16(b, 0), f16(b, 2));
    for (group, y) in y.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let (scale, min) = scale_and_min(field(b, 4), group);
        let (scale, min) = (d * f32::from(scale), dmin * f32::from(min));
        let qs: &[u8; 32] = field(b, 16 + 32 * (group / 2));
        let shift = 4 * (group % 2);
        for (y, q) in y.iter_mut().zip(qs) {
            *y = scale * f32::from(q >> shift & 0xF) - min;
        }
    }
}

/// `d: f16, dmin: f16, scales: [u8; 12], qh: [u8; 32], qs: [u8; 128]`. As Q4_K, bit `group` of `qh` being bit 4 of q.
pub(super) fn block_q5_k(b: &[u8; 176], y: &mut [f32; 256]) {
    let (d, dmin) = (f16(b, 0), f16(b, 2));
    let qh: &[u8; 32] = field(b, 16);
    for (group, y) in y.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let (scale, min) = scale_and_min(field(b, 4), group);
        let (scale, min) = (d * f32::from(scale), dmin * f32::from(min));
        let qs: &[u8; 32] = field(b, 48 + 32 * (group / 2));
        let shift = 4 * (group % 2);
        for ((y, q), high) in y.iter_mut().zip(qs).zip(qh) {
            let q = (q >> shift & 0xF) | (high >> group & 1) << 4;
            *y = scale * f32::from(q) - min;
        }
    }
}

/// `ql: [u8; 128], qh: [u8; 64], scales: [i8; 16], d: f16`. Groups of 16; weight = (d*scale)*(q - 32).
pub(super) fn block_q6_k(b: &[u8; 210], y: &mut [f32; 256]) {
    let scales: &[u8; 16] = field(b, 192);
    let d = f16(b, 208);
    for (group, y) in y.as_chunks_mut::<16>().0.iter_mut().enumerate() {
        // Each half of 128 elements: four quarters of 32, of two groups each.
        let (half, quarter, odd) = (group / 8, group / 2 % 4, group % 2);
        let ql: &[u8; 16] = field(b, 64 * half + 32 * (quarter % 2) + 16 * odd);
        let qh: &[u8; 16] = field(b, 128 + 32 * half + 16 * odd);
        let (low_shift, high_shift) = (4 * (quarter / 2), 2 * quarter);
        let scale = d * f32::from(scales[group] as i8);
        for ((y, low), high) in y.iter_mut().zip(ql).zip(qh) {
            let q = (low >> low_shift & 0xF) | (high >> high_shift & 3) << 4;
            *y = scale * f32::from(q as i8 - 32);
        }
    }
}

/// Where Q2_K and Q3_K keep the two bits of each element of a group of 16: the bytes, and the shift within them.
#[inline(always)]
fn two_bits(qs: &[u8; 64], group: usize) -> (&[u8; 16], usize) {
    let (half, quarter, odd) = (group / 8, group / 2 % 4, group % 2);
    (field(qs, 32 * half + 16 * odd), 2 * quarter)
}

/// Q3_K's scales, -32 to 31: low nibbles of the first 8 bytes, then their high nibbles, with two more bits each from the
/// last 4 bytes.
fn q3_k_scales(b: &[u8; 12]) -> [i8; 16] {
    std::array::from_fn(|group| {
        let low = b[group % 8] >> (4 * (group / 8)) & 0xF;
        let high = b[8 + group % 4] >> (2 * (group / 4)) & 3;
        (low | high << 4) as i8 - 32
    })
}

/// The 6-bit scale and minimum of one of the 8 groups of Q4_K and Q5_K, packed into 12 bytes.
#[inline(always)]
fn scale_and_min(b: &[u8; 12], group: usize) -> (u8, u8) {
    if group < 4 {
        (b[group] & 63, b[group + 4] & 63)
    } else {
        let nibbles = b[group + 4];
        ((nibbles & 0xF) | b[group - 4] >> 6 << 4, nibbles >> 4 | b[group] >> 6 << 4)
    }
}
