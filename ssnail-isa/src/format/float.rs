//! F32, F16 and BF16: conversions that are exact one way and round to nearest even the other.

use byteorder::{ByteOrder, LittleEndian};
use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

pub(super) fn decode_f32(bytes: &[u8], out: &mut [f32]) {
    LittleEndian::read_f32_into(bytes, out);
}

pub(super) fn encode_f32(row: &[f32], out: &mut [u8]) {
    LittleEndian::write_f32_into(row, out);
}

/// Elements converted at a time, through a buffer on the stack.
const CHUNK: usize = 256;

pub(super) fn decode_f16(bytes: &[u8], out: &mut [f32]) {
    let mut halves = [f16::ZERO; CHUNK];
    for (src, dst) in bytes.chunks(2 * CHUNK).zip(out.chunks_mut(CHUNK)) {
        let halves = &mut halves[..dst.len()];
        LittleEndian::read_u16_into(src, half::slice::HalfFloatSliceExt::reinterpret_cast_mut(halves));
        halves.convert_to_f32_slice(dst);
    }
}

pub(super) fn encode_f16(row: &[f32], out: &mut [u8]) {
    let mut halves = [f16::ZERO; CHUNK];
    for (src, dst) in row.chunks(CHUNK).zip(out.chunks_mut(2 * CHUNK)) {
        let halves = &mut halves[..src.len()];
        halves.convert_from_f32_slice(src);
        LittleEndian::write_u16_into(halves.reinterpret_cast(), dst);
    }
}

pub(super) fn decode_bf16(bytes: &[u8], out: &mut [f32]) {
    for (src, dst) in bytes.chunks_exact(2).zip(out) {
        *dst = f32::from_bits(u32::from(LittleEndian::read_u16(src)) << 16);
    }
}

pub(super) fn encode_bf16(row: &[f32], out: &mut [u8]) {
    for (src, dst) in row.iter().zip(out.chunks_exact_mut(2)) {
        LittleEndian::write_u16(dst, bf16::from_f32(*src).to_bits());
    }
}
