//! Plain numbers that are not native formats of SSNAIL. F32, F16 and BF16 are decoded by `ssnail_isa`.

/// Binary64, rounded to the nearest binary32 (ties to even, overflow to infinity).
pub(super) fn block_f64(b: &[u8; 8], y: &mut [f32; 1]) {
    *y = [f64::from_le_bytes(*b) as f32];
}
