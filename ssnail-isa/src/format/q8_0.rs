//! Q8_0: blocks of 32 weights, an F16 scale and 32 signed bytes.

use byteorder::{ByteOrder, LittleEndian};
use half::f16;

/// Weights of a block.
const LEN: usize = 32;
/// Bytes of a block.
pub(super) const BYTES: usize = 2 + LEN;

pub(super) fn decode(bytes: &[u8], out: &mut [f32]) {
    for (block, y) in bytes.chunks_exact(BYTES).zip(out.chunks_exact_mut(LEN)) {
        let d = f16::from_bits(LittleEndian::read_u16(block)).to_f32();
        for (y, q) in y.iter_mut().zip(&block[2..]) {
            *y = f32::from(*q as i8) * d;
        }
    }
}

/// ggml's `quantize_row_q8_0_ref`: d = amax / 127, q = round(x / d) with halves away from zero.
pub(super) fn encode(row: &[f32], out: &mut [u8]) {
    for (x, block) in row.chunks_exact(LEN).zip(out.chunks_exact_mut(BYTES)) {
        let amax = x.iter().fold(0f32, |m, v| m.max(v.abs()));
        let d = amax / 127.0;
        let id = if d == 0.0 { 0.0 } else { 1.0 / d };
        LittleEndian::write_u16(block, f16::from_f32(d).to_bits());
        for (q, v) in block[2..].iter_mut().zip(x) {
            *q = (v * id).round() as i8 as u8;
        }
    }
}
