//! Q4_0: blocks of 32 weights, an F16 scale and 16 bytes; byte i holds weight i in its low nibble, weight i + 16 in
//! its high nibble, each plus 8.

use byteorder::{ByteOrder, LittleEndian};
use half::f16;

/// Weights of a block.
const LEN: usize = 32;
/// Bytes of a block.
pub(super) const BYTES: usize = 2 + LEN / 2;

pub(super) fn decode(bytes: &[u8], out: &mut [f32]) {
    for (block, y) in bytes.chunks_exact(BYTES).zip(out.chunks_exact_mut(LEN)) {
        let d = f16::from_bits(LittleEndian::read_u16(block)).to_f32();
        let (low, high) = y.split_at_mut(LEN / 2);
        for ((q, low), high) in block[2..].iter().zip(low).zip(high) {
            *low = f32::from((q & 15) as i8 - 8) * d;
            *high = f32::from((q >> 4) as i8 - 8) * d;
        }
    }
}

/// ggml's `quantize_row_q4_0_ref`: the weight of largest magnitude, the first of equals, becomes -8.
///
/// ggml computes `x * id + 8.5` in C, where compilers may fuse the two operations; like gguf-py this takes the fused
/// result, in F64 rounded to F32, which is what builds with FMA give.
pub(super) fn encode(row: &[f32], out: &mut [u8]) {
    for (x, block) in row.chunks_exact(LEN).zip(out.chunks_exact_mut(BYTES)) {
        let extreme = x.iter().fold(0f32, |m, &v| if v.abs() > m.abs() { v } else { m });
        let d = extreme / -8.0;
        let id = if d == 0.0 { 0.0 } else { 1.0 / d };
        LittleEndian::write_u16(block, f16::from_f32(d).to_bits());
        let nibble = |v: f32| ((f64::from(v) * f64::from(id) + 8.5) as f32 as u8).min(15);
        for (i, q) in block[2..].iter_mut().enumerate() {
            *q = nibble(x[i]) | nibble(x[i + LEN / 2]) << 4;
        }
    }
}
