//! Kernels for AVX2 and F16C: eight rows as they stand, sixteen rows packed.
//!
//! `vpmaddubsw` multiplies unsigned by signed bytes and adds pairs, saturating at 16 bits. Q8_0 gives it |w| and x with
//! the sign of w: at most 2 * 128 * 127 = 32512, and since x is never -128 its sign can be changed. Q4_0 gives it the
//! nibbles as they are, 0 to 15, of which eight pairs' sums fit (8 * 2 * 15 * 127 = 30480), and takes 8 * sum(x) off.

use super::input::Block;
use super::packed::{GROUP, SCALES, STEP};
use crate::gemv::{Q4_0_BYTES, Q8_0_BYTES};
use ssnail_isa::Format;
use std::arch::x86_64::*;

/// The dot products of eight rows of Q8_0 or Q4_0, one after the other in `rows`.
#[target_feature(enable = "avx2,f16c")]
pub(super) fn eight_rows(format: Format, rows: &[u8], x: &[Block]) -> [f32; 8] {
    match format {
        Format::Q4_0 => eight::<Q4_0_BYTES>(rows, x, isums_q4_0),
        _ => eight::<Q8_0_BYTES>(rows, x, isums_q8_0),
    }
}

#[inline]
#[target_feature(enable = "avx2,f16c")]
fn eight<const BYTES: usize>(
    rows: &[u8],
    x: &[Block],
    isums: unsafe fn([&[u8; BYTES]; 8], &Block) -> __m256i,
) -> [f32; 8] {
    let mut rows = rows.chunks_exact(x.len() * BYTES);
    let rows: [&[[u8; BYTES]]; 8] = std::array::from_fn(|_| rows.next().map_or(&[][..], |r| r.as_chunks().0));
    assert!(rows.iter().all(|r| r.len() == x.len()), "eight rows as long as x");
    let mut acc = _mm256_setzero_ps();
    for (n, x) in x.iter().enumerate() {
        let w: [&[u8; BYTES]; 8] = std::array::from_fn(|r| &rows[r][n]);
        let scale = |r: usize| i16::from_le_bytes([w[r][0], w[r][1]]);
        let scales =
            _mm_setr_epi16(scale(0), scale(1), scale(2), scale(3), scale(4), scale(5), scale(6), scale(7));
        // SAFETY: the caller of this function has the features that `isums` needs too.
        let term = term(unsafe { isums(w, x) }, scales, x.d);
        acc = if n == 0 { term } else { _mm256_add_ps(acc, term) };
    }
    floats(acc)
}

/// The integer sums of a block of eight rows.
#[inline]
#[target_feature(enable = "avx2,f16c")]
fn isums_q8_0(w: [&[u8; Q8_0_BYTES]; 8], x: &Block) -> __m256i {
    let (x, ones) = (load(&x.q), _mm256_set1_epi16(1));
    let mut s = [_mm256_setzero_si256(); 8];
    for (s, w) in s.iter_mut().zip(w) {
        let w = load(w.last_chunk().expect("34 bytes"));
        *s = _mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(x, w)), ones);
    }
    // A tree that ends with row r's sum in lane r.
    let ab = |a, b| _mm256_add_epi32(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
    let abcd = |a, b| _mm256_add_epi32(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
    let low = abcd(ab(s[0], s[1]), ab(s[2], s[3]));
    let high = abcd(ab(s[4], s[5]), ab(s[6], s[7]));
    _mm256_add_epi32(
        _mm256_permute2x128_si256::<0x20>(low, high),
        _mm256_permute2x128_si256::<0x31>(low, high),
    )
}

/// Likewise.
#[inline]
#[target_feature(enable = "avx2,f16c")]
fn isums_q4_0(w: [&[u8; Q4_0_BYTES]; 8], x: &Block) -> __m256i {
    let (q, nibble) = (load(&x.q), _mm256_set1_epi8(15));
    let mut s = [_mm256_setzero_si256(); 8];
    for (s, w) in s.iter_mut().zip(w) {
        // SAFETY: 16 bytes after the scale are there to be read.
        let w = unsafe { _mm_loadu_si128(w[2..].as_ptr().cast()) };
        let w = _mm256_set_m128i(_mm_srli_epi16::<4>(w), w);
        *s = _mm256_maddubs_epi16(_mm256_and_si256(w, nibble), q);
    }
    // A tree over 16-bit sums that ends, after eight of them, with row r's in lanes r and r + 8.
    let ab = |a, b| _mm256_add_epi16(_mm256_unpacklo_epi16(a, b), _mm256_unpackhi_epi16(a, b));
    let abcd = |a, b| _mm256_add_epi16(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
    let low = abcd(ab(s[0], s[1]), ab(s[2], s[3]));
    let high = abcd(ab(s[4], s[5]), ab(s[6], s[7]));
    let all = _mm256_add_epi16(_mm256_unpacklo_epi64(low, high), _mm256_unpackhi_epi64(low, high));
    let sum = _mm256_add_epi32(
        _mm256_cvtepi16_epi32(_mm256_castsi256_si128(all)),
        _mm256_cvtepi16_epi32(_mm256_extracti128_si256::<1>(all)),
    );
    _mm256_sub_epi32(sum, _mm256_set1_epi32(x.eight_sums))
}

/// The dot products of a packed group.
#[target_feature(enable = "avx2,f16c")]
pub(super) fn group(format: Format, bytes: &[u8], x: &[Block]) -> [f32; GROUP] {
    match format {
        Format::Q4_0 => sixteen::<{ GROUP * Q4_0_BYTES }>(bytes, x, group_isums_q4_0),
        _ => sixteen::<{ GROUP * Q8_0_BYTES }>(bytes, x, group_isums_q8_0),
    }
}

#[inline]
#[target_feature(enable = "avx2,f16c")]
fn sixteen<const BYTES: usize>(
    bytes: &[u8],
    x: &[Block],
    isums: unsafe fn(&[[u8; STEP]], &Block) -> [__m256i; 2],
) -> [f32; GROUP] {
    let mut acc = [_mm256_setzero_ps(); 2];
    for (n, (block, x)) in bytes.as_chunks::<BYTES>().0.iter().zip(x).enumerate() {
        let (scales, steps) = block.split_at(SCALES);
        // SAFETY: the caller of this function has the features that `isums` needs too.
        let isums = unsafe { isums(steps.as_chunks().0, x) };
        let scales: &[u8; SCALES] = scales.try_into().expect("split there");
        for (half, acc) in acc.iter_mut().enumerate() {
            // SAFETY: 16 bytes from 0 or 16 on, of 32.
            let scales = unsafe { _mm_loadu_si128(scales[16 * half..].as_ptr().cast()) };
            let term = term(isums[half], scales, x.d);
            *acc = if n == 0 { term } else { _mm256_add_ps(*acc, term) };
        }
    }
    let mut dots = [0.0; GROUP];
    dots[..8].copy_from_slice(&floats(acc[0]));
    dots[8..].copy_from_slice(&floats(acc[1]));
    dots
}

#[inline]
#[target_feature(enable = "avx2,f16c")]
fn group_isums_q8_0(steps: &[[u8; STEP]], x: &Block) -> [__m256i; 2] {
    let (mut sums, ones) = ([_mm256_setzero_si256(); 2], _mm256_set1_epi16(1));
    for (step, x) in steps.iter().zip(x.q.as_chunks::<4>().0) {
        let x = _mm256_set1_epi32(i32::from_le_bytes(x.map(|q| q as u8)));
        for (sum, w) in sums.iter_mut().zip(step.as_chunks::<32>().0) {
            let w = load(w);
            let pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(x, w));
            *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(pairs, ones));
        }
    }
    sums
}

#[inline]
#[target_feature(enable = "avx2,f16c")]
fn group_isums_q4_0(steps: &[[u8; STEP]], x: &Block) -> [__m256i; 2] {
    let (mut sums, nibble) = ([_mm256_setzero_si256(); 2], _mm256_set1_epi8(15));
    let (low, high) = x.q.as_chunks::<4>().0.split_at(4);
    for (step, (low, high)) in steps.iter().zip(low.iter().zip(high)) {
        let low = _mm256_set1_epi32(i32::from_le_bytes(low.map(|q| q as u8)));
        let high = _mm256_set1_epi32(i32::from_le_bytes(high.map(|q| q as u8)));
        for (sum, w) in sums.iter_mut().zip(step.as_chunks::<32>().0) {
            let w = load(w);
            let lows = _mm256_maddubs_epi16(_mm256_and_si256(w, nibble), low);
            let highs = _mm256_maddubs_epi16(_mm256_and_si256(_mm256_srli_epi16::<4>(w), nibble), high);
            *sum = _mm256_add_epi16(*sum, _mm256_add_epi16(lows, highs));
        }
    }
    let (ones, eight_sums) = (_mm256_set1_epi16(1), _mm256_set1_epi32(x.eight_sums));
    [
        _mm256_sub_epi32(_mm256_madd_epi16(sums[0], ones), eight_sums),
        _mm256_sub_epi32(_mm256_madd_epi16(sums[1], ones), eight_sums),
    ]
}

/// F32(isum) * (F32(d_w) * d_x) of eight rows.
#[inline]
#[target_feature(enable = "avx2,f16c")]
fn term(isums: __m256i, scales: __m128i, d_x: f32) -> __m256 {
    let s = _mm256_mul_ps(_mm256_cvtph_ps(scales), _mm256_set1_ps(d_x));
    _mm256_mul_ps(_mm256_cvtepi32_ps(isums), s)
}

#[inline]
#[target_feature(enable = "avx2,f16c")]
fn load<T: Byte>(bytes: &[T; 32]) -> __m256i {
    // SAFETY: 32 bytes are there to be read.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

/// Types of one byte.
trait Byte {}
impl Byte for u8 {}
impl Byte for i8 {}

#[inline]
#[target_feature(enable = "avx2,f16c")]
fn floats(v: __m256) -> [f32; 8] {
    let mut out = [0.0; 8];
    // SAFETY: eight floats have room for eight floats.
    unsafe { _mm256_storeu_ps(out.as_mut_ptr(), v) };
    out
}
