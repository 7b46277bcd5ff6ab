//! The i-quants with codebooks, IQ1_S to IQ3_S, and IQ4_XS: super-blocks of 256, eight groups of 32 in each.
//!
//! As llama.cpp (MIT), `ggml/src/ggml-quants.c`, in the same order of operations (each rounded to F32). A codebook entry
//! gives the magnitudes of 4 or 8 elements, a bit for each gives the sign; in IQ1_S and IQ1_M entries are signed.

use super::field::{f16, field};
use super::iquant_tables as tables;
use super::levels::{IQ4_NL, by_level};

/// `d: f16, qs: [[u8; 8]; 8]`. A group: 4 codebook indices, then 32 bits with 4 times 7 of signs and a 4-bit scale on top.
pub(super) fn block_iq2_xxs(b: &[u8; 66], y: &mut [f32; 256]) {
    let d = f16(b, 0);
    for (group, y) in y.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let indices: &[u8; 4] = field(b, 2 + 8 * group);
        let signs_and_scale = u32::from_le_bytes(*field(b, 6 + 8 * group));
        let scale = d * (0.5 + (signs_and_scale >> 28) as f32) * 0.25;
        for (l, y) in y.as_chunks_mut::<8>().0.iter_mut().enumerate() {
            let grid = &tables::IQ2_XXS[usize::from(indices[l])];
            signed(scale, grid, eighth_sign(signs_and_scale >> (7 * l)), y);
        }
    }
}

/// `d: f16, qs: [u16; 32], scales: [u8; 8]`. A `u16`: 9 bits of codebook index, 7 of signs. A 4-bit scale per 16 elements.
pub(super) fn block_iq2_xs(b: &[u8; 74], y: &mut [f32; 256]) {
    let d = f16(b, 0);
    for (group, y) in y.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let scales = nibble_scales(d, b[66 + group]);
        for (l, y) in y.as_chunks_mut::<8>().0.iter_mut().enumerate() {
            let q = u16::from_le_bytes(*field(b, 2 + 8 * group + 2 * l));
            signed(scales[l / 2], &tables::IQ2_XS[usize::from(q & 511)], eighth_sign(u32::from(q >> 9)), y);
        }
    }
}

/// `d: f16, qs: [u8; 32], signs: [u8; 32], qh: [u8; 8], scales: [u8; 8]`. Two bits of `qh` above each index in `qs`.
pub(super) fn block_iq2_s(b: &[u8; 82], y: &mut [f32; 256]) {
    let d = f16(b, 0);
    for (group, y) in y.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let low: &[u8; 4] = field(b, 2 + 4 * group);
        let signs: &[u8; 4] = field(b, 34 + 4 * group);
        let high = usize::from(b[66 + group]);
        let scales = nibble_scales(d, b[74 + group]);
        for (l, y) in y.as_chunks_mut::<8>().0.iter_mut().enumerate() {
            let index = usize::from(low[l]) | (high >> (2 * l) & 3) << 8;
            signed(scales[l / 2], &tables::IQ2_S[index], signs[l], y);
        }
    }
}

/// `d: f16, qs: [[u8; 8]; 8], signs_and_scales: [u32; 8]`. Signs and scale as in IQ2_XXS, entries of 4 elements.
pub(super) fn block_iq3_xxs(b: &[u8; 98], y: &mut [f32; 256]) {
    let d = f16(b, 0);
    for (group, y) in y.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let indices: &[[u8; 2]] = field::<8>(b, 2 + 8 * group).as_chunks().0;
        let signs_and_scale = u32::from_le_bytes(*field(b, 66 + 4 * group));
        let scale = d * (0.5 + (signs_and_scale >> 28) as f32) * 0.5;
        for (l, y) in y.as_chunks_mut::<8>().0.iter_mut().enumerate() {
            let grid = indices[l].map(|index| tables::IQ3_XXS[usize::from(index)]);
            signed(scale, grid.as_flattened(), eighth_sign(signs_and_scale >> (7 * l)), y);
        }
    }
}

/// `d: f16, qs: [[u8; 8]; 8], qh: [u8; 8], signs: [u8; 32], scales: [u8; 4]`. A bit of `qh` above each index in `qs`; a
/// scale is the odd number 1 + 2*nibble.
pub(super) fn block_iq3_s(b: &[u8; 110], y: &mut [f32; 256]) {
    let d = f16(b, 0);
    for (group, y) in y.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let low: &[[u8; 2]] = field::<8>(b, 2 + 8 * group).as_chunks().0;
        let high = usize::from(b[66 + group]);
        let signs: &[u8; 4] = field(b, 74 + 4 * group);
        let scale = d * f32::from(1 + 2 * (b[106 + group / 2] >> (4 * (group % 2)) & 0xF));
        for (l, y) in y.as_chunks_mut::<8>().0.iter_mut().enumerate() {
            let entry = |k: usize| tables::IQ3_S[usize::from(low[l][k]) | (high >> (2 * l + k) & 1) << 8];
            signed(scale, [entry(0), entry(1)].as_flattened(), signs[l], y);
        }
    }
}

/// `d: f16, qs: [u8; 32], qh: [u16; 8]`. In `qh`: four times 3 bits above an index, a 3-bit scale, the sign of the offset.
pub(super) fn block_iq1_s(b: &[u8; 50], y: &mut [f32; 256]) {
    let d = f16(b, 0);
    for (group, y) in y.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let low: &[u8; 4] = field(b, 2 + 4 * group);
        let qh = u16::from_le_bytes(*field(b, 34 + 2 * group));
        let scale = d * f32::from(2 * (qh >> 12 & 7) + 1);
        for (l, y) in y.as_chunks_mut::<8>().0.iter_mut().enumerate() {
            let index = usize::from(low[l]) | usize::from(qh >> (3 * l) & 7) << 8;
            offset(scale, &tables::IQ1[index], qh & 0x8000 != 0, y);
        }
    }
}

/// `qs: [u8; 32], qh: [u8; 16], scales: [u16; 4]`. A nibble of `qh` per index: 3 bits above it and the sign of its offset. A
/// `u16` of `scales`: four 3-bit scales of 16 elements each, and on top a quarter of the bits of the F16 scale `d`.
pub(super) fn block_iq1_m(b: &[u8; 56], y: &mut [f32; 256]) {
    let scales: [u16; 4] = std::array::from_fn(|k| u16::from_le_bytes(*field(b, 48 + 2 * k)));
    let d_bits = (0..4).fold(0, |bits, k| bits | scales[k] >> 12 << (4 * k));
    let d = half::f16::from_bits(d_bits).to_f32();
    for (pair, y) in y.as_chunks_mut::<16>().0.iter_mut().enumerate() {
        let scale = d * f32::from(2 * (scales[pair / 4] >> (3 * (pair % 4)) & 7) + 1);
        let low: &[u8; 2] = field(b, 2 * pair);
        let high = b[32 + pair];
        for (l, y) in y.as_chunks_mut::<8>().0.iter_mut().enumerate() {
            let nibble = high >> (4 * l);
            let index = usize::from(low[l]) | usize::from(nibble & 7) << 8;
            offset(scale, &tables::IQ1[index], nibble & 8 != 0, y);
        }
    }
}

/// `d: f16, scales_h: u16, scales_l: [u8; 4], qs: [u8; 128]`. Signed 6-bit scales: a nibble and, above, two bits.
pub(super) fn block_iq4_xs(b: &[u8; 136], y: &mut [f32; 256]) {
    let d = f16(b, 0);
    let scales_h = u16::from_le_bytes(*field(b, 2));
    for (group, y) in y.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let low = b[4 + group / 2] >> (4 * (group % 2)) & 0xF;
        let high = (scales_h >> (2 * group) & 3) as u8;
        let scale = d * f32::from((low | high << 4) as i8 - 32);
        by_level(&IQ4_NL, scale, field(b, 8 + 16 * group), y);
    }
}

/// The two scales that IQ2_XS and IQ2_S keep in the nibbles of a byte.
#[inline(always)]
fn nibble_scales(d: f32, nibbles: u8) -> [f32; 2] {
    [nibbles & 0xF, nibbles >> 4].map(|scale| d * (0.5 + f32::from(scale)) * 0.25)
}

/// Eight sign bits of the seven low bits of `signs`: the eighth makes the number of minus signs even.
#[inline(always)]
fn eighth_sign(signs: u32) -> u8 {
    let signs = signs as u8 & 127;
    signs | (signs.count_ones() as u8 & 1) << 7
}

/// `y[j] = scale * grid[j]`, negated where bit `j` of `signs` is set.
#[inline(always)]
fn signed(scale: f32, grid: &[u8], signs: u8, y: &mut [f32; 8]) {
    for (j, (y, &magnitude)) in y.iter_mut().zip(grid).enumerate() {
        let value = scale * f32::from(magnitude);
        *y = if signs & 1 << j != 0 { -value } else { value };
    }
}

/// `y[j] = scale * (grid[j] + 1/8)`, or minus 1/8.
#[inline(always)]
fn offset(scale: f32, grid: &[i8; 8], negative: bool, y: &mut [f32; 8]) {
    let delta = if negative { -0.125 } else { 0.125 };
    for (y, &level) in y.iter_mut().zip(grid) {
        *y = scale * (f32::from(level) + delta);
    }
}
