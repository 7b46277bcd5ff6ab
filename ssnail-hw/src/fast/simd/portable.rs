//! Vectors as arrays: what every processor can do.

use super::{LANES, Simd};
use crate::fast::input::Block;
use crate::scalar;
use crate::tables::SEGMENTS;
use std::array::from_fn;

/// No special instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::fast) struct Portable;

/// Arrays are returned in memory, so that inlining is what makes them vectors.
#[inline(always)]
fn zip<A: Copy, B: Copy, C>(a: [A; LANES], b: [B; LANES], f: impl Fn(A, B) -> C) -> [C; LANES] {
    from_fn(|i| f(a[i], b[i]))
}

impl Simd for Portable {
    type F = [f32; LANES];
    type I = [i32; LANES];
    type M = [bool; LANES];
    type D = [f64; 8];
    type W8 = [[i8; 4]; LANES];
    type W4 = [[u8; 4]; LANES];
    type Sum4 = [i32; LANES];

    const INPUTS: usize = 1;

    #[inline(always)]
    fn prefetch(self, _: *const u8) {}

    #[inline(always)]
    fn splat(self, x: f32) -> Self::F {
        [x; LANES]
    }

    #[inline(always)]
    fn load(self, x: &[f32; LANES]) -> Self::F {
        *x
    }

    #[inline(always)]
    fn store(self, x: Self::F, out: &mut [f32; LANES]) {
        *out = x;
    }

    #[inline(always)]
    fn load_f16(self, bits: &[u16; LANES]) -> Self::F {
        bits.map(scalar::f16_to_f32)
    }

    #[inline(always)]
    fn load_f16_bytes(self, bytes: &[u8; 32]) -> Self::F {
        from_fn(|i| scalar::f16_to_f32(u16::from_le_bytes([bytes[2 * i], bytes[2 * i + 1]])))
    }

    #[inline(always)]
    fn load_bf16_bytes(self, bytes: &[u8; 32]) -> Self::F {
        from_fn(|i| f32::from_bits(u32::from_le_bytes([0, 0, bytes[2 * i], bytes[2 * i + 1]])))
    }

    #[inline(always)]
    fn load_f32_bytes(self, bytes: &[u8; 64]) -> Self::F {
        from_fn(|i| f32::from_le_bytes(bytes.as_chunks().0[i]))
    }

    #[inline(always)]
    fn store_f16(self, x: Self::F, out: &mut [u16; LANES]) {
        *out = x.map(scalar::f32_to_f16);
    }

    #[inline(always)]
    fn add(self, a: Self::F, b: Self::F) -> Self::F {
        zip(a, b, |a, b| a + b)
    }

    #[inline(always)]
    fn sub(self, a: Self::F, b: Self::F) -> Self::F {
        zip(a, b, |a, b| a - b)
    }

    #[inline(always)]
    fn mul(self, a: Self::F, b: Self::F) -> Self::F {
        zip(a, b, |a, b| a * b)
    }

    #[inline(always)]
    fn lt(self, a: Self::F, b: Self::F) -> Self::M {
        zip(a, b, |a, b| a < b)
    }

    #[inline(always)]
    fn le(self, a: Self::F, b: Self::F) -> Self::M {
        zip(a, b, |a, b| a <= b)
    }

    #[inline(always)]
    fn select(self, m: Self::M, yes: Self::F, no: Self::F) -> Self::F {
        from_fn(|i| if m[i] { yes[i] } else { no[i] })
    }

    #[inline(always)]
    fn canonical(self, x: Self::F) -> Self::F {
        x.map(scalar::canonical)
    }

    #[inline(always)]
    fn rotate(self, v: Self::F, cs: Self::F) -> Self::F {
        from_fn(|i| {
            let (c, s) = (cs[i & !1], cs[i | 1]);
            if i % 2 == 0 { v[i] * c - v[i + 1] * s } else { v[i - 1] * s + v[i] * c }
        })
    }

    #[inline(always)]
    fn splat_i(self, x: i32) -> Self::I {
        [x; LANES]
    }

    #[inline(always)]
    fn bits(self, x: Self::F) -> Self::I {
        x.map(|x| x.to_bits() as i32)
    }

    #[inline(always)]
    fn and(self, a: Self::I, b: Self::I) -> Self::I {
        zip(a, b, |a, b| a & b)
    }

    #[inline(always)]
    fn or(self, a: Self::I, b: Self::I) -> Self::I {
        zip(a, b, |a, b| a | b)
    }

    #[inline(always)]
    fn add_i(self, a: Self::I, b: Self::I) -> Self::I {
        zip(a, b, i32::wrapping_add)
    }

    #[inline(always)]
    fn max_i(self, a: Self::I, b: Self::I) -> Self::I {
        zip(a, b, i32::max)
    }

    #[inline(always)]
    fn min_i(self, a: Self::I, b: Self::I) -> Self::I {
        zip(a, b, i32::min)
    }

    #[inline(always)]
    fn largest(self, x: Self::I) -> i32 {
        x.into_iter().fold(i32::MIN, i32::max)
    }

    #[inline(always)]
    fn sum_i(self, x: Self::I) -> i32 {
        x.into_iter().fold(0, i32::wrapping_add)
    }

    #[inline(always)]
    fn with_bits(self, x: Self::I) -> Self::F {
        x.map(|x| f32::from_bits(x as u32))
    }

    #[inline(always)]
    fn to_f32(self, x: Self::I) -> Self::F {
        x.map(|x| x as f32)
    }

    #[inline(always)]
    fn truncate(self, x: Self::F) -> Self::I {
        x.map(|x| x as i32)
    }

    #[inline(always)]
    fn store_i8(self, x: [Self::I; 2], out: &mut [i8; 32]) {
        *out = from_fn(|i| x[i / LANES][i % LANES] as i8);
    }

    #[inline(always)]
    fn load_i8(self, bytes: &[u8; LANES]) -> Self::I {
        bytes.map(|b| i32::from(b as i8))
    }

    #[inline(always)]
    fn lookup(self, table: &[[u32; 2]; SEGMENTS], index: Self::I) -> [Self::F; 2] {
        let pairs = index.map(|i| table[usize::from(i as u8)]);
        [pairs.map(|p| f32::from_bits(p[0])), pairs.map(|p| f32::from_bits(p[1]))]
    }

    #[inline(always)]
    fn transpose(self, rows: [&[f32; 8]; LANES]) -> [Self::F; 8] {
        from_fn(|d| from_fn(|t| rows[t][d]))
    }

    #[inline(always)]
    fn transpose_f16(self, rows: [&[u16; 8]; LANES]) -> [Self::F; 8] {
        from_fn(|d| from_fn(|t| scalar::f16_to_f32(rows[t][d])))
    }

    #[inline(always)]
    fn splat_d(self, x: f64) -> Self::D {
        [x; 8]
    }

    #[inline(always)]
    fn load_d(self, x: &[f64; 8]) -> Self::D {
        *x
    }

    #[inline(always)]
    fn store_d(self, x: Self::D, out: &mut [f64; 8]) {
        *out = x;
    }

    #[inline(always)]
    fn widen(self, x: Self::F) -> [Self::D; 2] {
        from_fn(|half| from_fn(|i| f64::from(x[8 * half + i])))
    }

    #[inline(always)]
    fn add_d(self, a: Self::D, b: Self::D) -> Self::D {
        from_fn(|i| a[i] + b[i])
    }

    #[inline(always)]
    fn mul_d(self, a: Self::D, b: Self::D) -> Self::D {
        from_fn(|i| a[i] * b[i])
    }

    #[inline(always)]
    fn start_q8(self, _: &Block) -> Self::I {
        [0; LANES]
    }

    #[inline(always)]
    fn weights_q8(self, step: &[u8; 64]) -> Self::W8 {
        from_fn(|r| from_fn(|i| step[4 * r + i] as i8))
    }

    #[inline(always)]
    fn dot_q8(self, sum: Self::I, w: Self::W8, x: [i8; 4]) -> Self::I {
        zip(sum, w, |sum, w| sum + (0..4).map(|i| i32::from(w[i]) * i32::from(x[i])).sum::<i32>())
    }

    #[inline(always)]
    fn start_q4(self, x: &Block) -> Self::Sum4 {
        [-x.eight_sums; LANES]
    }

    #[inline(always)]
    fn weights_q4(self, step: &[u8; 64]) -> Self::W4 {
        from_fn(|r| from_fn(|i| step[4 * r + i]))
    }

    #[inline(always)]
    fn dot_q4(self, sum: Self::Sum4, w: Self::W4, low: [i8; 4], high: [i8; 4]) -> Self::Sum4 {
        let product = |w: [u8; 4], i: usize| {
            i32::from(w[i] & 15) * i32::from(low[i]) + i32::from(w[i] >> 4) * i32::from(high[i])
        };
        zip(sum, w, |sum, w| sum + (0..4).map(|i| product(w, i)).sum::<i32>())
    }

    #[inline(always)]
    fn finish_q4(self, sum: Self::Sum4) -> Self::I {
        sum
    }
}
