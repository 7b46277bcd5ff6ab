//! Sums of rows with AVX2, FMA and F16C. Where it fuses, products are exact in F64, so that it changes nothing.

use super::super::input::{BLOCK, Block, Plane};
use super::super::lanes::{LANES, Sum};
use ssnail_hw::fast::GROUP;
use ssnail_hw::fast::packed::{SCALES, STEP};
use ssnail_isa::Format;
use std::arch::x86_64::*;

/// The lanes of the sums of as many rows as there are.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn rows<const N: usize>(format: Format, rows: [&[u8]; N], x: &[f64]) -> [Sum; N] {
    match format {
        Format::F16 => floats::<2, N>(rows, x, eight_f16),
        Format::Bf16 => floats::<2, N>(rows, x, eight_bf16),
        _ => floats::<4, N>(rows, x, eight_f32),
    }
}

/// See [`super::Kernel::group`].
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn group(format: Format, group: &[u8], x: &[Block]) -> [f64; GROUP] {
    match format {
        Format::Q4_0 => blocks::<true, { GROUP * 18 }>(group, x),
        _ => blocks::<false, { GROUP * 34 }>(group, x),
    }
}

/// Blocks of 16 rows.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn blocks<const Q4_0: bool, const BYTES: usize>(group: &[u8], x: &[Block]) -> [f64; GROUP] {
    let mut sums = [_mm256_setzero_pd(); 4];
    let (upper_unit, third_unit) = (_mm256_set1_pd(65536.0), _mm256_set1_pd(1.0 / 32768.0));
    for (block, x) in group.as_chunks::<BYTES>().0.iter().zip(x) {
        let (scales, steps) = block.split_at(SCALES);
        let steps = steps.as_chunks().0;
        let unit = _mm256_set1_pd(x.unit);
        let [high, middle] = products::<Q4_0, 2>(steps, x, 0);
        let mut wholes = [_mm256_setzero_pd(); 4];
        for ((whole, high), middle) in wholes.iter_mut().zip(quarters(high)).zip(quarters(middle)) {
            *whole = _mm256_fmadd_pd(high, upper_unit, middle);
        }
        if x.third {
            let [low] = products::<Q4_0, 1>(steps, x, 2);
            for (whole, low) in wholes.iter_mut().zip(quarters(low)) {
                *whole = _mm256_fmadd_pd(low, third_unit, *whole);
            }
        }
        let scales = scales.as_chunks::<8>().0;
        for ((sum, whole), scales) in sums.iter_mut().zip(wholes).zip(scales) {
            let d = _mm256_cvtps_pd(_mm_cvtph_ps(_mm_cvtsi64_si128(i64::from_le_bytes(*scales))));
            *sum = _mm256_add_pd(*sum, _mm256_mul_pd(whole, _mm256_mul_pd(d, unit)));
        }
    }
    let mut out = [0.0; GROUP];
    for (sum, out) in sums.into_iter().zip(out.as_chunks_mut::<4>().0) {
        // SAFETY: there is room for four elements.
        unsafe { _mm256_storeu_pd(out.as_mut_ptr(), sum) };
    }
    out
}

/// The integers of 16 rows as F64.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn quarters([a, b]: [__m256i; 2]) -> [__m256d; 4] {
    [
        _mm256_cvtepi32_pd(_mm256_castsi256_si128(a)),
        _mm256_cvtepi32_pd(_mm256_extracti128_si256::<1>(a)),
        _mm256_cvtepi32_pd(_mm256_castsi256_si128(b)),
        _mm256_cvtepi32_pd(_mm256_extracti128_si256::<1>(b)),
    ]
}

/// The integer sums of a block of 16 rows, for `P` planes from `first` on.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn products<const Q4_0: bool, const P: usize>(
    steps: &[[u8; STEP]],
    x: &Block,
    first: usize,
) -> [[__m256i; 2]; P] {
    let mut sums = [[_mm256_setzero_si256(); 2]; P];
    let planes: &[Plane; P] = x.planes[first..].first_chunk().expect("as many planes");
    if Q4_0 {
        for (sums, &eight) in sums.iter_mut().zip(&x.eight_sums[first..]) {
            *sums = [_mm256_set1_epi32(-eight); 2];
        }
    }
    let nibble = _mm256_set1_epi16(15);
    for (j, step) in steps.iter().enumerate() {
        // SAFETY: 32 bytes are there from 0 and from 32 on.
        let w = unsafe { [load(step.as_ptr()), load(step[32..].as_ptr())] };
        if Q4_0 {
            add_products(&mut sums, w.map(|w| _mm256_and_si256(w, nibble)), planes, 2 * j);
            add_products(
                &mut sums,
                w.map(|w| _mm256_and_si256(_mm256_srli_epi16::<8>(w), nibble)),
                planes,
                2 * j + 1,
            );
            let high = 2 * j + BLOCK / 4;
            add_products(
                &mut sums,
                w.map(|w| _mm256_and_si256(_mm256_srli_epi16::<4>(w), nibble)),
                planes,
                high,
            );
            add_products(&mut sums, w.map(|w| _mm256_srli_epi16::<12>(w)), planes, high + 1);
        } else {
            add_products(
                &mut sums,
                w.map(|w| _mm256_srai_epi16::<8>(_mm256_slli_epi16::<8>(w))),
                planes,
                2 * j,
            );
            add_products(&mut sums, w.map(|w| _mm256_srai_epi16::<8>(w)), planes, 2 * j + 1);
        }
    }
    sums
}

/// Adds the products of two weights of each row with a pair of elements.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn add_products<const P: usize>(
    sums: &mut [[__m256i; 2]; P],
    w: [__m256i; 2],
    planes: &[Plane; P],
    pair: usize,
) {
    for (sums, plane) in sums.iter_mut().zip(planes) {
        let x = _mm256_set1_epi32(bytemuck::cast(plane[pair]));
        for (sum, w) in sums.iter_mut().zip(w) {
            *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(w, x));
        }
    }
}

/// Of weights of `BYTES` bytes each; `eight` converts as many.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn floats<const BYTES: usize, const N: usize>(
    rows: [&[u8]; N],
    x: &[f64],
    eight: unsafe fn(&[[u8; BYTES]; LANES]) -> __m256,
) -> [Sum; N] {
    let mut sums = [[_mm256_setzero_pd(); 2]; N];
    let rows = rows.map(|row| row.as_chunks::<BYTES>().0.as_chunks::<LANES>());
    let (x_whole, x_rest) = x.as_chunks::<LANES>();
    let ahead = N * x.len();
    let wholes = rows.map(|(whole, _)| &whole[..x_whole.len()]);
    for (i, x) in x_whole.iter().enumerate() {
        // SAFETY: four elements are there to be read from 0 and from 4 on.
        let x = unsafe { [_mm256_loadu_pd(x.as_ptr()), _mm256_loadu_pd(x[4..].as_ptr())] };
        for (sum, whole) in sums.iter_mut().zip(&wholes) {
            // The rows after these follow in memory; a row is too short for the processor to notice.
            if i % (64 / (LANES * BYTES)).max(1) == 0 {
                _mm_prefetch::<_MM_HINT_T0>(whole[i].as_ptr().wrapping_add(ahead).cast());
            }
            // SAFETY: the caller of this function has the features that `eight` needs too.
            let w = unsafe { eight(&whole[i]) };
            sum[0] = _mm256_fmadd_pd(_mm256_cvtps_pd(_mm256_castps256_ps128(w)), x[0], sum[0]);
            sum[1] = _mm256_fmadd_pd(_mm256_cvtps_pd(_mm256_extractf128_ps::<1>(w)), x[1], sum[1]);
        }
    }
    let mut out = [Sum::default(); N];
    for ((out, sum), (_, rest)) in out.iter_mut().zip(sums).zip(rows) {
        *out = lanes(sum);
        if !rest.is_empty() {
            let mut last = [[0; BYTES]; LANES];
            last[..rest.len()].copy_from_slice(rest);
            // SAFETY: as above.
            let w = eight_floats(unsafe { eight(&last) });
            out.iter_mut().zip(w).zip(x_rest).for_each(|((s, w), x)| *s += f64::from(w) * x);
        }
    }
    out
}

#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn eight_f32(w: &[[u8; 4]; LANES]) -> __m256 {
    // SAFETY: 32 bytes are there to be read.
    unsafe { _mm256_loadu_ps(w.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn eight_f16(w: &[[u8; 2]; LANES]) -> __m256 {
    // SAFETY: 16 bytes are there to be read.
    _mm256_cvtph_ps(unsafe { load_half(w.as_ptr().cast()) })
}

#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn eight_bf16(w: &[[u8; 2]; LANES]) -> __m256 {
    // SAFETY: 16 bytes are there to be read.
    let bits = _mm256_cvtepu16_epi32(unsafe { load_half(w.as_ptr().cast()) });
    _mm256_castsi256_ps(_mm256_slli_epi32::<16>(bits))
}

/// 16 bytes.
///
/// # Safety
/// They are there to be read.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn load_half(bytes: *const u8) -> __m128i {
    // SAFETY: the caller says so.
    unsafe { _mm_loadu_si128(bytes.cast()) }
}

/// 32 bytes.
///
/// # Safety
/// They are there to be read.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn load(bytes: *const u8) -> __m256i {
    // SAFETY: the caller says so.
    unsafe { _mm256_loadu_si256(bytes.cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn lanes([low, high]: [__m256d; 2]) -> Sum {
    let mut sum = Sum::default();
    // SAFETY: there is room for four elements from 0 and from 4 on.
    unsafe {
        _mm256_storeu_pd(sum.as_mut_ptr(), low);
        _mm256_storeu_pd(sum[4..].as_mut_ptr(), high);
    }
    sum
}

#[inline]
#[target_feature(enable = "avx2")]
fn eight_floats(v: __m256) -> [f32; LANES] {
    let mut out = [0.0; LANES];
    // SAFETY: there is room for eight elements.
    unsafe { _mm256_storeu_ps(out.as_mut_ptr(), v) };
    out
}
