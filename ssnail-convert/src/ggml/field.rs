//! Fields of a block. Offsets are constants of a block's layout, so after inlining no bounds check is left.

/// The `N` bytes at offset `at`.
#[inline(always)]
pub(super) fn field<const N: usize>(block: &[u8], at: usize) -> &[u8; N] {
    block[at..].first_chunk().expect("the offset and size are those of the block's layout")
}

/// The little-endian binary16 at offset `at`, exactly.
#[inline(always)]
pub(super) fn f16(block: &[u8], at: usize) -> f32 {
    half::f16::from_le_bytes(*field(block, at)).to_f32()
}
