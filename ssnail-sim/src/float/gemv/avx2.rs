//! Sums of rows with AVX2, FMA and F16C. Where it fuses, products are exact in F64, so that it changes nothing.

use super::super::input::{BLOCK, Block, PLANES};
use super::super::lanes::{LANES, Sum};
use ssnail_hw::fast::GROUP;
use ssnail_hw::fast::packed::{SCALES, STEP};
use ssnail_isa::Format;
use std::arch::x86_64::*;

/// See [`super::Kernel::row`].
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn row(format: Format, row: &[u8], x: &[f64]) -> Sum {
    match format {
        Format::F16 => floats::<2>(row, x, eight_f16),
        Format::Bf16 => floats::<2>(row, x, eight_bf16),
        _ => floats::<4>(row, x, eight_f32),
    }
}

/// See [`super::Kernel::group`].
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn group(format: Format, group: &[u8], x: &[Block]) -> [f64; GROUP] {
    match format {
        Format::Q4_0 => blocks::<{ GROUP * 18 }>(group, x, add_q4_0),
        _ => blocks::<{ GROUP * 34 }>(group, x, add_q8_0),
    }
}

/// Per plane, the integer sums of 8 rows.
type Sums = [__m256i; PLANES];

/// Blocks of `BYTES` bytes, 16 rows; `add` adds a block of 8 of them.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn blocks<const BYTES: usize>(
    group: &[u8],
    x: &[Block],
    add: unsafe fn(&[[u8; STEP]], usize, &Block) -> Sums,
) -> [f64; GROUP] {
    let mut sums = [_mm256_setzero_pd(); 4];
    let (middle_unit, high_unit) = (_mm256_set1_pd(32768.0), _mm256_set1_pd(32768.0 * 32768.0));
    for (block, x) in group.as_chunks::<BYTES>().0.iter().zip(x) {
        let (scales, steps) = block.split_at(SCALES);
        let unit = _mm256_set1_pd(x.unit);
        for half in 0..2 {
            // SAFETY: the caller of this function has the features that `add` needs too; 16 bytes are there from 0 and
            // from 16 on.
            let (planes, scales) =
                unsafe { (add(steps.as_chunks().0, 32 * half, x), load_half(scales[16 * half..].as_ptr())) };
            let scales = _mm256_cvtph_ps(scales);
            let scales = [_mm256_castps256_ps128(scales), _mm256_extractf128_ps::<1>(scales)];
            for (quarter, d) in scales.into_iter().enumerate() {
                let of = |p: __m256i| {
                    _mm256_cvtepi32_pd(if quarter == 0 {
                        _mm256_castsi256_si128(p)
                    } else {
                        _mm256_extracti128_si256::<1>(p)
                    })
                };
                let low = _mm256_fmadd_pd(of(planes[1]), middle_unit, of(planes[2]));
                let whole = _mm256_fmadd_pd(of(planes[0]), high_unit, low);
                let term = _mm256_mul_pd(whole, _mm256_mul_pd(_mm256_cvtps_pd(d), unit));
                let sum = &mut sums[2 * half + quarter];
                *sum = _mm256_add_pd(*sum, term);
            }
        }
    }
    let mut out = [0.0; GROUP];
    for (sum, out) in sums.into_iter().zip(out.as_chunks_mut::<4>().0) {
        // SAFETY: there is room for four elements.
        unsafe { _mm256_storeu_pd(out.as_mut_ptr(), sum) };
    }
    out
}

/// The sums of a block of Q8_0: 8 rows, whose bytes stand at `at` of each step.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn add_q8_0(steps: &[[u8; STEP]], at: usize, x: &Block) -> Sums {
    let mut sums = [_mm256_setzero_si256(); PLANES];
    for (j, step) in steps.iter().enumerate().take(BLOCK / 4) {
        // SAFETY: 32 bytes are there from 0 and from 32 on.
        let w = unsafe { load(step[at..].as_ptr()) };
        let even = _mm256_srai_epi16::<8>(_mm256_slli_epi16::<8>(w));
        add_products(&mut sums, [even, _mm256_srai_epi16::<8>(w)], x, j);
    }
    sums
}

/// The sums of a block of Q4_0, likewise.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn add_q4_0(steps: &[[u8; STEP]], at: usize, x: &Block) -> Sums {
    let mut sums = [_mm256_setzero_si256(); PLANES];
    for (sum, &eight) in sums.iter_mut().zip(&x.eight_sums) {
        *sum = _mm256_set1_epi32(-eight);
    }
    let nibble = _mm256_set1_epi16(15);
    for (j, step) in steps.iter().enumerate().take(BLOCK / 8) {
        // SAFETY: 32 bytes are there from 0 and from 32 on.
        let w = unsafe { load(step[at..].as_ptr()) };
        let low = [_mm256_and_si256(w, nibble), _mm256_and_si256(_mm256_srli_epi16::<8>(w), nibble)];
        let high = [_mm256_and_si256(_mm256_srli_epi16::<4>(w), nibble), _mm256_srli_epi16::<12>(w)];
        add_products(&mut sums, low, x, j);
        add_products(&mut sums, high, x, j + 4);
    }
    sums
}

/// Adds the products of four weights of each row, the first and third and the second and fourth, with elements 4j on.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn add_products(sums: &mut Sums, w: [__m256i; 2], x: &Block, j: usize) {
    for (sum, plane) in sums.iter_mut().zip(&x.planes) {
        for (w, pair) in w.into_iter().zip(&plane[2 * j..2 * j + 2]) {
            let x = _mm256_set1_epi32(bytemuck::cast(*pair));
            *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(w, x));
        }
    }
}

/// Of weights of `BYTES` bytes each; `eight` converts as many.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn floats<const BYTES: usize>(
    row: &[u8],
    x: &[f64],
    eight: unsafe fn(&[[u8; BYTES]; LANES]) -> __m256,
) -> Sum {
    let mut sums = [_mm256_setzero_pd(); 2];
    let (whole, rest) = row.as_chunks::<BYTES>().0.as_chunks::<LANES>();
    let (x_whole, x_rest) = x.as_chunks::<LANES>();
    for (w, x) in whole.iter().zip(x_whole) {
        // SAFETY: the caller of this function has the features that `eight` needs too; four elements are there to be
        // read from 0 and from 4 on.
        let (w, x) = unsafe { (eight(w), [_mm256_loadu_pd(x.as_ptr()), _mm256_loadu_pd(x[4..].as_ptr())]) };
        sums[0] = _mm256_fmadd_pd(_mm256_cvtps_pd(_mm256_castps256_ps128(w)), x[0], sums[0]);
        sums[1] = _mm256_fmadd_pd(_mm256_cvtps_pd(_mm256_extractf128_ps::<1>(w)), x[1], sums[1]);
    }
    let mut sum = lanes(sums);
    if !rest.is_empty() {
        let mut last = [[0; BYTES]; LANES];
        last[..rest.len()].copy_from_slice(rest);
        // SAFETY: as above.
        let w = eight_floats(unsafe { eight(&last) });
        sum.iter_mut().zip(w).zip(x_rest).for_each(|((s, w), x)| *s += f64::from(w) * x);
    }
    sum
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
