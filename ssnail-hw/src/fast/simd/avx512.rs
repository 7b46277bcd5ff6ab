//! Vectors of one AVX-512 register, and VNNI. What shuffles lanes is left to AVX2.
//!
//! `vpdpbusd` adds the products of four unsigned by four signed bytes to 32 bits. Q8_0 gives it w + 128, and its sums
//! start from -128 * sum(x); Q4_0 the nibbles as they are, starting from -8 * sum(x).

use super::avx2::Avx2;
use super::{AHEAD, LANES, Simd, Work};
use crate::fast::input::Block;
use crate::scalar::NAN_F32;
use crate::tables::SEGMENTS;
use std::arch::x86_64::*;

/// AVX-512 F, BW and VNNI. Made only where the processor has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::fast) struct Avx512(Avx2);

impl Avx512 {
    /// If the processor can.
    pub(in crate::fast) fn new() -> Option<Self> {
        let features = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vnni");
        Avx2::new().filter(|_| features).map(Self)
    }
}

/// Does the work inside of a function that has the instructions.
#[target_feature(enable = "avx2,f16c,avx512f,avx512bw,avx512vnni")]
pub(super) fn run<W: Work>(s: Avx512, work: W) -> W::Output {
    work.run(s)
}

/// An expression of intrinsics.
macro_rules! simd {
    ($e:expr) => {
        // SAFETY: a value of `Avx512` exists only where the processor has the instructions; and where memory is accessed,
        // it is an array of the register's size.
        unsafe { $e }
    };
}

impl Simd for Avx512 {
    type F = __m512;
    type I = __m512i;
    type M = __mmask16;
    type D = __m512d;
    /// Weights plus 128, unsigned.
    type W8 = __m512i;
    /// Low and high nibbles.
    type W4 = [__m512i; 2];
    type Sum4 = __m512i;

    const INPUTS: usize = 8;

    #[inline(always)]
    fn prefetch(self, here: *const u8) {
        simd!(_mm_prefetch::<_MM_HINT_T0>(here.wrapping_add(AHEAD).cast()));
    }

    #[inline(always)]
    fn splat(self, x: f32) -> Self::F {
        simd!(_mm512_set1_ps(x))
    }

    #[inline(always)]
    fn load(self, x: &[f32; LANES]) -> Self::F {
        simd!(_mm512_loadu_ps(x.as_ptr()))
    }

    #[inline(always)]
    fn store(self, x: Self::F, out: &mut [f32; LANES]) {
        simd!(_mm512_storeu_ps(out.as_mut_ptr(), x));
    }

    #[inline(always)]
    fn load_f16(self, bits: &[u16; LANES]) -> Self::F {
        simd!(_mm512_cvtph_ps(_mm256_loadu_si256(bits.as_ptr().cast())))
    }

    #[inline(always)]
    fn load_f16_bytes(self, bytes: &[u8; 32]) -> Self::F {
        simd!(_mm512_cvtph_ps(_mm256_loadu_si256(bytes.as_ptr().cast())))
    }

    #[inline(always)]
    fn load_bf16_bytes(self, bytes: &[u8; 32]) -> Self::F {
        simd!({
            let halves = _mm256_loadu_si256(bytes.as_ptr().cast());
            _mm512_castsi512_ps(_mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(halves)))
        })
    }

    #[inline(always)]
    fn load_f32_bytes(self, bytes: &[u8; 64]) -> Self::F {
        simd!(_mm512_loadu_ps(bytes.as_ptr().cast()))
    }

    #[inline(always)]
    fn store_f16(self, x: Self::F, out: &mut [u16; LANES]) {
        simd!({
            let halves = _mm512_cvtps_ph::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(x);
            _mm256_storeu_si256(out.as_mut_ptr().cast(), halves);
        });
    }

    #[inline(always)]
    fn add(self, a: Self::F, b: Self::F) -> Self::F {
        simd!(_mm512_add_ps(a, b))
    }

    #[inline(always)]
    fn sub(self, a: Self::F, b: Self::F) -> Self::F {
        simd!(_mm512_sub_ps(a, b))
    }

    #[inline(always)]
    fn mul(self, a: Self::F, b: Self::F) -> Self::F {
        simd!(_mm512_mul_ps(a, b))
    }

    #[inline(always)]
    fn lt(self, a: Self::F, b: Self::F) -> Self::M {
        simd!(_mm512_cmp_ps_mask::<_CMP_LT_OQ>(a, b))
    }

    #[inline(always)]
    fn le(self, a: Self::F, b: Self::F) -> Self::M {
        simd!(_mm512_cmp_ps_mask::<_CMP_LE_OQ>(a, b))
    }

    #[inline(always)]
    fn select(self, m: Self::M, yes: Self::F, no: Self::F) -> Self::F {
        simd!(_mm512_mask_blend_ps(m, no, yes))
    }

    #[inline(always)]
    fn canonical(self, x: Self::F) -> Self::F {
        let nan = self.splat(f32::from_bits(NAN_F32));
        simd!(_mm512_mask_blend_ps(_mm512_cmp_ps_mask::<_CMP_UNORD_Q>(x, x), x, nan))
    }

    #[inline(always)]
    fn rotate(self, v: Self::F, cs: Self::F) -> Self::F {
        simd!({
            let a = _mm512_mul_ps(v, _mm512_moveldup_ps(cs));
            let b = _mm512_mul_ps(_mm512_permute_ps::<0b10_11_00_01>(v), _mm512_movehdup_ps(cs));
            // Even lanes subtract, odd lanes add.
            _mm512_mask_sub_ps(_mm512_add_ps(a, b), 0x5555, a, b)
        })
    }

    #[inline(always)]
    fn splat_i(self, x: i32) -> Self::I {
        simd!(_mm512_set1_epi32(x))
    }

    #[inline(always)]
    fn bits(self, x: Self::F) -> Self::I {
        simd!(_mm512_castps_si512(x))
    }

    #[inline(always)]
    fn and(self, a: Self::I, b: Self::I) -> Self::I {
        simd!(_mm512_and_si512(a, b))
    }

    #[inline(always)]
    fn or(self, a: Self::I, b: Self::I) -> Self::I {
        simd!(_mm512_or_si512(a, b))
    }

    #[inline(always)]
    fn add_i(self, a: Self::I, b: Self::I) -> Self::I {
        simd!(_mm512_add_epi32(a, b))
    }

    #[inline(always)]
    fn max_i(self, a: Self::I, b: Self::I) -> Self::I {
        simd!(_mm512_max_epi32(a, b))
    }

    #[inline(always)]
    fn min_i(self, a: Self::I, b: Self::I) -> Self::I {
        simd!(_mm512_min_epi32(a, b))
    }

    #[inline(always)]
    fn largest(self, x: Self::I) -> i32 {
        simd!(_mm512_reduce_max_epi32(x))
    }

    #[inline(always)]
    fn sum_i(self, x: Self::I) -> i32 {
        simd!(_mm512_reduce_add_epi32(x))
    }

    #[inline(always)]
    fn with_bits(self, x: Self::I) -> Self::F {
        simd!(_mm512_castsi512_ps(x))
    }

    #[inline(always)]
    fn to_f32(self, x: Self::I) -> Self::F {
        simd!(_mm512_cvtepi32_ps(x))
    }

    #[inline(always)]
    fn truncate(self, x: Self::F) -> Self::I {
        simd!(_mm512_cvttps_epi32(x))
    }

    #[inline(always)]
    fn store_i8(self, x: [Self::I; 2], out: &mut [i8; 32]) {
        let [low, high] = [halves(self.with_bits(x[0])), halves(self.with_bits(x[1]))];
        self.0.store_i8([self.0.bits(low), self.0.bits(high)], out);
    }

    #[inline(always)]
    fn load_i8(self, bytes: &[u8; LANES]) -> Self::I {
        simd!(_mm512_cvtepi8_epi32(_mm_loadu_si128(bytes.as_ptr().cast())))
    }

    #[inline(always)]
    fn lookup(self, table: &[[u32; 2]; SEGMENTS], index: Self::I) -> [Self::F; 2] {
        let [c0, c1] = self.0.lookup(table, self.0.bits(halves(self.with_bits(index))));
        [join(c0), join(c1)]
    }

    #[inline(always)]
    fn transpose(self, rows: [&[f32; 8]; LANES]) -> [Self::F; 8] {
        let columns = self.0.transpose(rows);
        let mut out = [self.splat(0.0); 8];
        for d in 0..8 {
            out[d] = join(columns[d]);
        }
        out
    }

    #[inline(always)]
    fn transpose_f16(self, rows: [&[u16; 8]; LANES]) -> [Self::F; 8] {
        let columns = self.0.transpose_f16(rows);
        let mut out = [self.splat(0.0); 8];
        for d in 0..8 {
            out[d] = join(columns[d]);
        }
        out
    }

    #[inline(always)]
    fn splat_d(self, x: f64) -> Self::D {
        simd!(_mm512_set1_pd(x))
    }

    #[inline(always)]
    fn load_d(self, x: &[f64; 8]) -> Self::D {
        simd!(_mm512_loadu_pd(x.as_ptr()))
    }

    #[inline(always)]
    fn store_d(self, x: Self::D, out: &mut [f64; 8]) {
        simd!(_mm512_storeu_pd(out.as_mut_ptr(), x));
    }

    #[inline(always)]
    fn widen(self, x: Self::F) -> [Self::D; 2] {
        let [low, high] = halves(x);
        simd!([_mm512_cvtps_pd(low), _mm512_cvtps_pd(high)])
    }

    #[inline(always)]
    fn add_d(self, a: Self::D, b: Self::D) -> Self::D {
        simd!(_mm512_add_pd(a, b))
    }

    #[inline(always)]
    fn mul_d(self, a: Self::D, b: Self::D) -> Self::D {
        simd!(_mm512_mul_pd(a, b))
    }

    #[inline(always)]
    fn start_q8(self, x: &Block) -> Self::I {
        self.splat_i(-16 * x.eight_sums)
    }

    #[inline(always)]
    fn weights_q8(self, step: &[u8; 64]) -> Self::W8 {
        simd!(_mm512_xor_si512(_mm512_loadu_si512(step.as_ptr().cast()), _mm512_set1_epi8(i8::MIN)))
    }

    #[inline(always)]
    fn dot_q8(self, sum: Self::I, w: Self::W8, x: [i8; 4]) -> Self::I {
        simd!(_mm512_dpbusd_epi32(sum, w, _mm512_set1_epi32(i32::from_le_bytes(x.map(|x| x as u8)))))
    }

    #[inline(always)]
    fn start_q4(self, x: &Block) -> Self::Sum4 {
        self.splat_i(-x.eight_sums)
    }

    #[inline(always)]
    fn weights_q4(self, step: &[u8; 64]) -> Self::W4 {
        simd!({
            let (w, nibble) = (_mm512_loadu_si512(step.as_ptr().cast()), _mm512_set1_epi8(15));
            [_mm512_and_si512(w, nibble), _mm512_and_si512(_mm512_srli_epi16::<4>(w), nibble)]
        })
    }

    #[inline(always)]
    fn dot_q4(self, sum: Self::Sum4, w: Self::W4, low: [i8; 4], high: [i8; 4]) -> Self::Sum4 {
        self.dot_q8(self.dot_q8(sum, w[0], low), w[1], high)
    }

    #[inline(always)]
    fn finish_q4(self, sum: Self::Sum4) -> Self::I {
        sum
    }
}

/// The low and the high 8 lanes.
#[inline(always)]
fn halves(x: __m512) -> [__m256; 2] {
    simd!({
        let high = _mm512_extractf64x4_pd::<1>(_mm512_castps_pd(x));
        [_mm512_castps512_ps256(x), _mm256_castpd_ps(high)]
    })
}

/// The low and the high 8 lanes as one.
#[inline(always)]
fn join(x: [__m256; 2]) -> __m512 {
    simd!({
        let low = _mm512_castpd256_pd512(_mm256_castps_pd(x[0]));
        _mm512_castpd_ps(_mm512_insertf64x4::<1>(low, _mm256_castps_pd(x[1])))
    })
}
