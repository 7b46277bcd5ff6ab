//! Vectors of two AVX2 registers, and F16C.
//!
//! `vpmaddubsw` multiplies unsigned by signed bytes and adds pairs, saturating at 16 bits. Q8_0 gives it |w| and x with
//! the sign of w: at most 2 * 128 * 127 = 32512, and since x is never -128 its sign can be changed. Q4_0 gives it the
//! nibbles as they are, 0 to 15. Their sums stay in 16 bits for a block: each lane adds 16 products, and starts from
//! -4 * sum(x), so that two lanes together take 8 * sum(x) off. Of a lane's own x that leaves (n - 4) * x, at most
//! 11 * 127, of the other 16 at most 4 * 127 each: 30480 in all. Only that end has to fit, since additions wrap.

use super::{AHEAD, LANES, Simd, Work};
use crate::fast::input::Block;
use crate::scalar::NAN_F32;
use crate::tables::SEGMENTS;
use std::arch::x86_64::*;

/// AVX2 and F16C. Made only where the processor has both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::fast) struct Avx2(());

impl Avx2 {
    /// If the processor can.
    pub(in crate::fast) fn new() -> Option<Self> {
        (is_x86_feature_detected!("avx2") && is_x86_feature_detected!("f16c")).then_some(Self(()))
    }
}

/// Does the work inside of a function that has the instructions.
#[target_feature(enable = "avx2,f16c")]
pub(super) fn run<W: Work>(s: Avx2, work: W) -> W::Output {
    work.run(s)
}

/// An intrinsic on both registers.
macro_rules! both {
    ($f:ident $(::<$c:literal>)? ($a:expr)) => {{
        let a = $a;
        // SAFETY: a value of `Avx2` exists only where the processor has the instructions.
        unsafe { [$f $(::<$c>)? (a[0]), $f $(::<$c>)? (a[1])] }
    }};
    ($f:ident ($a:expr, $b:expr)) => {{
        let (a, b) = ($a, $b);
        // SAFETY: likewise.
        unsafe { [$f(a[0], b[0]), $f(a[1], b[1])] }
    }};
    ($f:ident ($a:expr, $b:expr, $c:expr)) => {{
        let (a, b, c) = ($a, $b, $c);
        // SAFETY: likewise.
        unsafe { [$f(a[0], b[0], c[0]), $f(a[1], b[1], c[1])] }
    }};
}

/// The same value for both registers.
macro_rules! twice {
    ($f:ident ($a:expr)) => {{
        // SAFETY: as above.
        let v = unsafe { $f($a) };
        [v, v]
    }};
}

impl Simd for Avx2 {
    type F = [__m256; 2];
    type I = [__m256i; 2];
    type M = [__m256; 2];
    type D = [__m256d; 2];
    /// Weights and their magnitudes.
    type W8 = [[__m256i; 2]; 2];
    /// Low and high nibbles.
    type W4 = [[__m256i; 2]; 2];
    /// Per row, two sums of 16 bits side by side.
    type Sum4 = [__m256i; 2];

    const INPUTS: usize = 4;

    #[inline(always)]
    fn prefetch(self, here: *const u8) {
        // SAFETY: a hint, which does nothing where there is no memory.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(here.wrapping_add(AHEAD).cast()) };
    }

    #[inline(always)]
    fn splat(self, x: f32) -> Self::F {
        twice!(_mm256_set1_ps(x))
    }

    #[inline(always)]
    fn load(self, x: &[f32; LANES]) -> Self::F {
        let p = x.as_ptr();
        // SAFETY: 16 are there to be read.
        unsafe { [_mm256_loadu_ps(p), _mm256_loadu_ps(p.add(8))] }
    }

    #[inline(always)]
    fn store(self, x: Self::F, out: &mut [f32; LANES]) {
        let p = out.as_mut_ptr();
        // SAFETY: there is room for 16.
        unsafe {
            _mm256_storeu_ps(p, x[0]);
            _mm256_storeu_ps(p.add(8), x[1]);
        }
    }

    #[inline(always)]
    fn load_f16(self, bits: &[u16; LANES]) -> Self::F {
        let p = bits.as_ptr();
        // SAFETY: 16 are there to be read.
        unsafe {
            [_mm256_cvtph_ps(_mm_loadu_si128(p.cast())), _mm256_cvtph_ps(_mm_loadu_si128(p.add(8).cast()))]
        }
    }

    #[inline(always)]
    fn load_f16_bytes(self, bytes: &[u8; 32]) -> Self::F {
        let p = bytes.as_ptr();
        // SAFETY: 32 are there to be read.
        unsafe {
            [_mm256_cvtph_ps(_mm_loadu_si128(p.cast())), _mm256_cvtph_ps(_mm_loadu_si128(p.add(16).cast()))]
        }
    }

    #[inline(always)]
    fn load_bf16_bytes(self, bytes: &[u8; 32]) -> Self::F {
        let p = bytes.as_ptr();
        // SAFETY: 32 are there to be read.
        let halves = unsafe { [_mm_loadu_si128(p.cast()), _mm_loadu_si128(p.add(16).cast())] };
        self.with_bits(both!(_mm256_slli_epi32::<16>(both!(_mm256_cvtepu16_epi32(halves)))))
    }

    #[inline(always)]
    fn load_f32_bytes(self, bytes: &[u8; 64]) -> Self::F {
        let p = bytes.as_ptr();
        // SAFETY: 64 are there to be read, at any address.
        unsafe { [_mm256_loadu_ps(p.cast()), _mm256_loadu_ps(p.add(32).cast())] }
    }

    #[inline(always)]
    fn store_f16(self, x: Self::F, out: &mut [u16; LANES]) {
        let p = out.as_mut_ptr();
        // SAFETY: there is room for 16.
        unsafe {
            _mm_storeu_si128(p.cast(), _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(x[0]));
            _mm_storeu_si128(p.add(8).cast(), _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(x[1]));
        }
    }

    #[inline(always)]
    fn add(self, a: Self::F, b: Self::F) -> Self::F {
        both!(_mm256_add_ps(a, b))
    }

    #[inline(always)]
    fn sub(self, a: Self::F, b: Self::F) -> Self::F {
        both!(_mm256_sub_ps(a, b))
    }

    #[inline(always)]
    fn mul(self, a: Self::F, b: Self::F) -> Self::F {
        both!(_mm256_mul_ps(a, b))
    }

    #[inline(always)]
    fn lt(self, a: Self::F, b: Self::F) -> Self::M {
        // SAFETY: as above.
        unsafe { [_mm256_cmp_ps::<_CMP_LT_OQ>(a[0], b[0]), _mm256_cmp_ps::<_CMP_LT_OQ>(a[1], b[1])] }
    }

    #[inline(always)]
    fn le(self, a: Self::F, b: Self::F) -> Self::M {
        // SAFETY: as above.
        unsafe { [_mm256_cmp_ps::<_CMP_LE_OQ>(a[0], b[0]), _mm256_cmp_ps::<_CMP_LE_OQ>(a[1], b[1])] }
    }

    #[inline(always)]
    fn select(self, m: Self::M, yes: Self::F, no: Self::F) -> Self::F {
        both!(_mm256_blendv_ps(no, yes, m))
    }

    #[inline(always)]
    fn canonical(self, x: Self::F) -> Self::F {
        let nan = self.splat(f32::from_bits(NAN_F32));
        // SAFETY: as above.
        let m =
            unsafe { [_mm256_cmp_ps::<_CMP_UNORD_Q>(x[0], x[0]), _mm256_cmp_ps::<_CMP_UNORD_Q>(x[1], x[1])] };
        self.select(m, nan, x)
    }

    #[inline(always)]
    fn rotate(self, v: Self::F, cs: Self::F) -> Self::F {
        let (c, s) = (both!(_mm256_moveldup_ps(cs)), both!(_mm256_movehdup_ps(cs)));
        let crossed = both!(_mm256_permute_ps::<0b10_11_00_01>(v));
        // Even lanes subtract, odd lanes add.
        both!(_mm256_addsub_ps(self.mul(v, c), self.mul(crossed, s)))
    }

    #[inline(always)]
    fn splat_i(self, x: i32) -> Self::I {
        twice!(_mm256_set1_epi32(x))
    }

    #[inline(always)]
    fn bits(self, x: Self::F) -> Self::I {
        both!(_mm256_castps_si256(x))
    }

    #[inline(always)]
    fn and(self, a: Self::I, b: Self::I) -> Self::I {
        both!(_mm256_and_si256(a, b))
    }

    #[inline(always)]
    fn or(self, a: Self::I, b: Self::I) -> Self::I {
        both!(_mm256_or_si256(a, b))
    }

    #[inline(always)]
    fn add_i(self, a: Self::I, b: Self::I) -> Self::I {
        both!(_mm256_add_epi32(a, b))
    }

    #[inline(always)]
    fn max_i(self, a: Self::I, b: Self::I) -> Self::I {
        both!(_mm256_max_epi32(a, b))
    }

    #[inline(always)]
    fn min_i(self, a: Self::I, b: Self::I) -> Self::I {
        both!(_mm256_min_epi32(a, b))
    }

    #[inline(always)]
    fn largest(self, x: Self::I) -> i32 {
        // SAFETY: as above.
        unsafe {
            let x = _mm256_max_epi32(x[0], x[1]);
            let x = _mm_max_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256::<1>(x));
            let x = _mm_max_epi32(x, _mm_unpackhi_epi64(x, x));
            _mm_cvtsi128_si32(_mm_max_epi32(x, _mm_shuffle_epi32::<1>(x)))
        }
    }

    #[inline(always)]
    fn sum_i(self, x: Self::I) -> i32 {
        // SAFETY: as above.
        unsafe {
            let x = _mm256_add_epi32(x[0], x[1]);
            let x = _mm_add_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256::<1>(x));
            let x = _mm_add_epi32(x, _mm_unpackhi_epi64(x, x));
            _mm_cvtsi128_si32(_mm_add_epi32(x, _mm_shuffle_epi32::<1>(x)))
        }
    }

    #[inline(always)]
    fn with_bits(self, x: Self::I) -> Self::F {
        both!(_mm256_castsi256_ps(x))
    }

    #[inline(always)]
    fn to_f32(self, x: Self::I) -> Self::F {
        both!(_mm256_cvtepi32_ps(x))
    }

    #[inline(always)]
    fn truncate(self, x: Self::F) -> Self::I {
        both!(_mm256_cvttps_epi32(x))
    }

    #[inline(always)]
    fn store_i8(self, x: [Self::I; 2], out: &mut [i8; 32]) {
        // SAFETY: as above, and there is room for 32.
        unsafe {
            let low = _mm256_packs_epi32(x[0][0], x[0][1]);
            let high = _mm256_packs_epi32(x[1][0], x[1][1]);
            // Packing works within 128 bits; put the fours that were scattered back in order.
            let order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
            let bytes = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high), order);
            _mm256_storeu_si256(out.as_mut_ptr().cast(), bytes);
        }
    }

    #[inline(always)]
    fn load_i8(self, bytes: &[u8; LANES]) -> Self::I {
        // SAFETY: as above, and 16 are there to be read.
        unsafe {
            let bytes = _mm_loadu_si128(bytes.as_ptr().cast());
            [_mm256_cvtepi8_epi32(bytes), _mm256_cvtepi8_epi32(_mm_unpackhi_epi64(bytes, bytes))]
        }
    }

    #[inline(always)]
    fn lookup(self, table: &[[u32; 2]; SEGMENTS], index: Self::I) -> [Self::F; 2] {
        // SAFETY: as above.
        let (low, high) = unsafe { (pairs(table, index[0]), pairs(table, index[1])) };
        [[low[0], high[0]], [low[1], high[1]]]
    }

    #[inline(always)]
    fn transpose(self, rows: [&[f32; 8]; LANES]) -> [Self::F; 8] {
        // SAFETY: as above.
        unsafe { transpose(rows) }
    }

    #[inline(always)]
    fn transpose_f16(self, rows: [&[u16; 8]; LANES]) -> [Self::F; 8] {
        // SAFETY: as above.
        unsafe { transpose_f16(rows) }
    }

    #[inline(always)]
    fn splat_d(self, x: f64) -> Self::D {
        twice!(_mm256_set1_pd(x))
    }

    #[inline(always)]
    fn load_d(self, x: &[f64; 8]) -> Self::D {
        let p = x.as_ptr();
        // SAFETY: 8 are there to be read.
        unsafe { [_mm256_loadu_pd(p), _mm256_loadu_pd(p.add(4))] }
    }

    #[inline(always)]
    fn store_d(self, x: Self::D, out: &mut [f64; 8]) {
        let p = out.as_mut_ptr();
        // SAFETY: there is room for 8.
        unsafe {
            _mm256_storeu_pd(p, x[0]);
            _mm256_storeu_pd(p.add(4), x[1]);
        }
    }

    #[inline(always)]
    fn widen(self, x: Self::F) -> [Self::D; 2] {
        let (low, high) = (both!(_mm256_castps256_ps128(x)), both!(_mm256_extractf128_ps::<1>(x)));
        let (low, high) = (both!(_mm256_cvtps_pd(low)), both!(_mm256_cvtps_pd(high)));
        [[low[0], high[0]], [low[1], high[1]]]
    }

    #[inline(always)]
    fn add_d(self, a: Self::D, b: Self::D) -> Self::D {
        both!(_mm256_add_pd(a, b))
    }

    #[inline(always)]
    fn mul_d(self, a: Self::D, b: Self::D) -> Self::D {
        both!(_mm256_mul_pd(a, b))
    }

    #[inline(always)]
    fn start_q8(self, _: &Block) -> Self::I {
        self.splat_i(0)
    }

    #[inline(always)]
    fn weights_q8(self, step: &[u8; 64]) -> Self::W8 {
        let w = load(step);
        [w, both!(_mm256_abs_epi8(w))]
    }

    #[inline(always)]
    fn dot_q8(self, sum: Self::I, w: Self::W8, x: [i8; 4]) -> Self::I {
        let (x, ones) = (twice!(_mm256_set1_epi32(four(x))), twice!(_mm256_set1_epi16(1)));
        let pairs = both!(_mm256_maddubs_epi16(w[1], both!(_mm256_sign_epi8(x, w[0]))));
        both!(_mm256_add_epi32(sum, both!(_mm256_madd_epi16(pairs, ones))))
    }

    #[inline(always)]
    fn start_q4(self, x: &Block) -> Self::Sum4 {
        twice!(_mm256_set1_epi16((-x.eight_sums / 2) as i16))
    }

    #[inline(always)]
    fn weights_q4(self, step: &[u8; 64]) -> Self::W4 {
        let (w, nibble) = (load(step), twice!(_mm256_set1_epi8(15)));
        [
            both!(_mm256_and_si256(w, nibble)),
            both!(_mm256_and_si256(both!(_mm256_srli_epi16::<4>(w)), nibble)),
        ]
    }

    #[inline(always)]
    fn dot_q4(self, sum: Self::Sum4, w: Self::W4, low: [i8; 4], high: [i8; 4]) -> Self::Sum4 {
        let (low, high) = (twice!(_mm256_set1_epi32(four(low))), twice!(_mm256_set1_epi32(four(high))));
        let sum = both!(_mm256_add_epi16(sum, both!(_mm256_maddubs_epi16(w[0], low))));
        both!(_mm256_add_epi16(sum, both!(_mm256_maddubs_epi16(w[1], high))))
    }

    #[inline(always)]
    fn finish_q4(self, sum: Self::Sum4) -> Self::I {
        both!(_mm256_madd_epi16(sum, twice!(_mm256_set1_epi16(1))))
    }
}

#[inline(always)]
fn four(x: [i8; 4]) -> i32 {
    i32::from_le_bytes(x.map(|x| x as u8))
}

#[inline(always)]
fn load(bytes: &[u8; 64]) -> [__m256i; 2] {
    let p = bytes.as_ptr();
    // SAFETY: 64 are there to be read.
    unsafe { [_mm256_loadu_si256(p.cast()), _mm256_loadu_si256(p.add(32).cast())] }
}

/// The pairs at the low 8 bits of the indices, apart. Loads and shuffles, since a gather of each costs more on the
/// processors at hand.
#[inline]
#[target_feature(enable = "avx2,f16c")]
fn pairs(table: &[[u32; 2]; SEGMENTS], index: __m256i) -> [__m256; 2] {
    let mut indices = [0i32; 8];
    // SAFETY: there is room for 8.
    unsafe { _mm256_storeu_si256(indices.as_mut_ptr().cast(), index) };
    let at = |i: usize| -> *const f64 { table[usize::from(indices[i] as u8)].as_ptr().cast() };
    // SAFETY: a pair has 64 bits.
    let two = |i, j| unsafe { _mm_loadh_pd(_mm_load_sd(at(i)), at(j)) };
    // So that one shuffle each puts all in order.
    let a = _mm256_castpd_ps(_mm256_set_m128d(two(4, 5), two(0, 1)));
    let b = _mm256_castpd_ps(_mm256_set_m128d(two(6, 7), two(2, 3)));
    [_mm256_shuffle_ps::<0b10_00_10_00>(a, b), _mm256_shuffle_ps::<0b11_01_11_01>(a, b)]
}

#[inline]
#[target_feature(enable = "avx2,f16c")]
fn transpose(rows: [&[f32; 8]; LANES]) -> [[__m256; 2]; 8] {
    let mut out = [[_mm256_setzero_ps(); 2]; 8];
    for half in 0..2 {
        // Columns `from` to `from + 3` of rows t and t + 4.
        let part = |t: usize, from: usize| {
            let at = |t: usize| -> *const f32 { rows[8 * half + t][from..][..4].as_ptr() };
            // SAFETY: 4 are there to be read.
            let (a, b) = unsafe { (_mm_loadu_ps(at(t)), _mm_loadu_ps(at(t + 4))) };
            _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(a), b)
        };
        for from in [0, 4] {
            let (a, b, c, d) = (part(0, from), part(1, from), part(2, from), part(3, from));
            let (ab, cd) = (_mm256_unpacklo_ps(a, b), _mm256_unpacklo_ps(c, d));
            out[from][half] = _mm256_shuffle_ps::<0b01_00_01_00>(ab, cd);
            out[from + 1][half] = _mm256_shuffle_ps::<0b11_10_11_10>(ab, cd);
            let (ab, cd) = (_mm256_unpackhi_ps(a, b), _mm256_unpackhi_ps(c, d));
            out[from + 2][half] = _mm256_shuffle_ps::<0b01_00_01_00>(ab, cd);
            out[from + 3][half] = _mm256_shuffle_ps::<0b11_10_11_10>(ab, cd);
        }
    }
    out
}

#[inline]
#[target_feature(enable = "avx2,f16c")]
fn transpose_f16(rows: [&[u16; 8]; LANES]) -> [[__m256; 2]; 8] {
    // Rows t and t + 8 in the halves of a register.
    let row = |t: usize| {
        // SAFETY: 8 are there to be read.
        let (a, b) = unsafe {
            (_mm_loadu_si128(rows[t].as_ptr().cast()), _mm_loadu_si128(rows[t + 8].as_ptr().cast()))
        };
        _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(a), b)
    };
    let two = |t| [_mm256_unpacklo_epi16(row(t), row(t + 1)), _mm256_unpackhi_epi16(row(t), row(t + 1))];
    // Of rows t to t + 3: elements 0 and 1, 2 and 3, 4 and 5, 6 and 7.
    let four = |t| {
        let (a, b) = (two(t), two(t + 2));
        [
            _mm256_unpacklo_epi32(a[0], b[0]),
            _mm256_unpackhi_epi32(a[0], b[0]),
            _mm256_unpacklo_epi32(a[1], b[1]),
            _mm256_unpackhi_epi32(a[1], b[1]),
        ]
    };
    let wide =
        |v| [_mm256_cvtph_ps(_mm256_castsi256_si128(v)), _mm256_cvtph_ps(_mm256_extracti128_si256::<1>(v))];
    let (a, b) = (four(0), four(4));
    let mut out = [[_mm256_setzero_ps(); 2]; 8];
    for i in 0..4 {
        out[2 * i] = wide(_mm256_unpacklo_epi64(a[i], b[i]));
        out[2 * i + 1] = wide(_mm256_unpackhi_epi64(a[i], b[i]));
    }
    out
}
