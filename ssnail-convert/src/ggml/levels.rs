//! 4-bit types whose quants index a table of 16 levels: the tables and the loop that IQ4_NL, IQ4_XS and MXFP4 share.

/// Levels of IQ4_NL and IQ4_XS: `kvalues_iq4nl` of llama.cpp (MIT), `ggml/src/ggml-common.h`.
pub(super) const IQ4_NL: [i8; 16] =
    [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];

/// The E2M1 values of the OCP Microscaling Formats specification v1.0, doubled so that they are integers.
pub(super) const E2M1_DOUBLED: [i8; 16] = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12];

/// Writes `levels[q] * d` for the low nibbles of `qs`, then for the high ones.
#[inline]
pub(super) fn by_level(levels: &[i8; 16], d: f32, qs: &[u8; 16], y: &mut [f32; 32]) {
    // Sixteen products instead of 32: a nibble then costs one load.
    let scaled = levels.map(|level| f32::from(level) * d);
    for j in 0..16 {
        y[j] = scaled[usize::from(qs[j] & 0xF)];
        y[j + 16] = scaled[usize::from(qs[j] >> 4)];
    }
}
