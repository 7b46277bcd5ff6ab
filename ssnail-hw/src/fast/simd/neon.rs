//! Vectors of four NEON registers, with and without the dot product instructions of ARMv8.2.
//!
//! Instructions whose intrinsics are not stable are written out: conversions of F16, `sdot`, and `prfm`.

use super::{AHEAD, LANES, Simd, Work};
use crate::fast::input::Block;
use crate::scalar::NAN_F32;
use crate::tables::SEGMENTS;
use std::arch::aarch64::*;
use std::arch::{asm, is_aarch64_feature_detected};

/// NEON, which every processor of this architecture has, and `sdot` if `DOT`. Made only where there is what it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::fast) struct Neon<const DOT: bool>(());

impl Neon<false> {
    /// If the processor can.
    pub(in crate::fast) fn new() -> Option<Self> {
        is_aarch64_feature_detected!("neon").then_some(Self(()))
    }
}

impl Neon<true> {
    /// If the processor can.
    pub(in crate::fast) fn new() -> Option<Self> {
        (is_aarch64_feature_detected!("neon") && is_aarch64_feature_detected!("dotprod")).then_some(Self(()))
    }
}

/// Does the work inside of a function that has the instructions.
#[target_feature(enable = "neon")]
pub(super) fn run<W: Work>(s: Neon<false>, work: W) -> W::Output {
    work.run(s)
}

/// Likewise.
#[target_feature(enable = "neon,dotprod")]
pub(super) fn run_dot<W: Work>(s: Neon<true>, work: W) -> W::Output {
    work.run(s)
}

/// An intrinsic on all registers.
macro_rules! all {
    ($f:ident $(::<$c:literal>)? ($a:expr)) => {{
        let a = $a;
        // SAFETY: a value of `Neon` exists only where the processor has the instructions.
        unsafe { [$f $(::<$c>)? (a[0]), $f $(::<$c>)? (a[1]), $f $(::<$c>)? (a[2]), $f $(::<$c>)? (a[3])] }
    }};
    ($f:ident ($a:expr, $b:expr)) => {{
        let (a, b) = ($a, $b);
        // SAFETY: likewise.
        unsafe { [$f(a[0], b[0]), $f(a[1], b[1]), $f(a[2], b[2]), $f(a[3], b[3])] }
    }};
    ($f:ident ($a:expr, $b:expr, $c:expr)) => {{
        let (a, b, c) = ($a, $b, $c);
        // SAFETY: likewise.
        unsafe { [$f(a[0], b[0], c[0]), $f(a[1], b[1], c[1]), $f(a[2], b[2], c[2]), $f(a[3], b[3], c[3])] }
    }};
}

/// The same value for all registers.
macro_rules! same {
    ($f:ident ($a:expr)) => {{
        // SAFETY: likewise.
        let v = unsafe { $f($a) };
        [v; 4]
    }};
}

/// Register i from an expression of i.
macro_rules! each {
    ($i:ident => $e:expr) => {{
        // SAFETY: likewise; and where memory is accessed, it is inside of an array of the right length.
        unsafe {
            [
                {
                    let $i = 0;
                    $e
                },
                {
                    let $i = 1;
                    $e
                },
                {
                    let $i = 2;
                    $e
                },
                {
                    let $i = 3;
                    $e
                },
            ]
        }
    }};
}

impl<const DOT: bool> Simd for Neon<DOT> {
    type F = [float32x4_t; 4];
    type I = [int32x4_t; 4];
    type M = [uint32x4_t; 4];
    type D = [float64x2_t; 4];
    type W8 = [int8x16_t; 4];
    /// Low and high nibbles.
    type W4 = [[int8x16_t; 4]; 2];
    type Sum4 = [int32x4_t; 4];

    const INPUTS: usize = 4;

    #[inline(always)]
    fn prefetch(self, here: *const u8) {
        // SAFETY: a hint, which does nothing where there is no memory.
        unsafe {
            asm!("prfm pldl1keep, [{0}]", in(reg) here.wrapping_add(AHEAD), options(nostack, preserves_flags, readonly));
        }
    }

    #[inline(always)]
    fn splat(self, x: f32) -> Self::F {
        same!(vdupq_n_f32(x))
    }

    #[inline(always)]
    fn load(self, x: &[f32; LANES]) -> Self::F {
        each!(i => vld1q_f32(x.as_ptr().add(4 * i)))
    }

    #[inline(always)]
    fn store(self, x: Self::F, out: &mut [f32; LANES]) {
        each!(i => vst1q_f32(out.as_mut_ptr().add(4 * i), x[i]));
    }

    #[inline(always)]
    fn load_f16(self, bits: &[u16; LANES]) -> Self::F {
        each!(i => wide(vld1_u16(bits.as_ptr().add(4 * i))))
    }

    #[inline(always)]
    fn load_f16_bytes(self, bytes: &[u8; 32]) -> Self::F {
        each!(i => wide(vreinterpret_u16_u8(vld1_u8(bytes.as_ptr().add(8 * i)))))
    }

    #[inline(always)]
    fn load_bf16_bytes(self, bytes: &[u8; 32]) -> Self::F {
        each!(i => {
            let halves = vreinterpret_u16_u8(vld1_u8(bytes.as_ptr().add(8 * i)));
            vreinterpretq_f32_u32(vshll_n_u16::<16>(halves))
        })
    }

    #[inline(always)]
    fn load_f32_bytes(self, bytes: &[u8; 64]) -> Self::F {
        each!(i => vreinterpretq_f32_u8(vld1q_u8(bytes.as_ptr().add(16 * i))))
    }

    #[inline(always)]
    fn store_f16(self, x: Self::F, out: &mut [u16; LANES]) {
        each!(i => vst1_u16(out.as_mut_ptr().add(4 * i), narrow(x[i])));
    }

    #[inline(always)]
    fn add(self, a: Self::F, b: Self::F) -> Self::F {
        all!(vaddq_f32(a, b))
    }

    #[inline(always)]
    fn sub(self, a: Self::F, b: Self::F) -> Self::F {
        all!(vsubq_f32(a, b))
    }

    #[inline(always)]
    fn mul(self, a: Self::F, b: Self::F) -> Self::F {
        all!(vmulq_f32(a, b))
    }

    #[inline(always)]
    fn lt(self, a: Self::F, b: Self::F) -> Self::M {
        all!(vcltq_f32(a, b))
    }

    #[inline(always)]
    fn le(self, a: Self::F, b: Self::F) -> Self::M {
        all!(vcleq_f32(a, b))
    }

    #[inline(always)]
    fn select(self, m: Self::M, yes: Self::F, no: Self::F) -> Self::F {
        all!(vbslq_f32(m, yes, no))
    }

    #[inline(always)]
    fn canonical(self, x: Self::F) -> Self::F {
        self.select(all!(vceqq_f32(x, x)), x, self.splat(f32::from_bits(NAN_F32)))
    }

    #[inline(always)]
    fn rotate(self, v: Self::F, cs: Self::F) -> Self::F {
        let (c, s) = (all!(vtrn1q_f32(cs, cs)), all!(vtrn2q_f32(cs, cs)));
        let crossed = all!(vreinterpretq_u32_f32(self.mul(all!(vrev64q_f32(v)), s)));
        // Even lanes are subtracted, which is adding with the other sign.
        let signs = all!(vreinterpretq_u32_u64(same!(vdupq_n_u64(1 << 31))));
        self.add(self.mul(v, c), all!(vreinterpretq_f32_u32(all!(veorq_u32(crossed, signs)))))
    }

    #[inline(always)]
    fn splat_i(self, x: i32) -> Self::I {
        same!(vdupq_n_s32(x))
    }

    #[inline(always)]
    fn bits(self, x: Self::F) -> Self::I {
        all!(vreinterpretq_s32_f32(x))
    }

    #[inline(always)]
    fn and(self, a: Self::I, b: Self::I) -> Self::I {
        all!(vandq_s32(a, b))
    }

    #[inline(always)]
    fn or(self, a: Self::I, b: Self::I) -> Self::I {
        all!(vorrq_s32(a, b))
    }

    #[inline(always)]
    fn add_i(self, a: Self::I, b: Self::I) -> Self::I {
        all!(vaddq_s32(a, b))
    }

    #[inline(always)]
    fn max_i(self, a: Self::I, b: Self::I) -> Self::I {
        all!(vmaxq_s32(a, b))
    }

    #[inline(always)]
    fn min_i(self, a: Self::I, b: Self::I) -> Self::I {
        all!(vminq_s32(a, b))
    }

    #[inline(always)]
    fn largest(self, x: Self::I) -> i32 {
        // SAFETY: likewise.
        unsafe { vmaxvq_s32(vmaxq_s32(vmaxq_s32(x[0], x[1]), vmaxq_s32(x[2], x[3]))) }
    }

    #[inline(always)]
    fn sum_i(self, x: Self::I) -> i32 {
        // SAFETY: likewise.
        unsafe { vaddvq_s32(vaddq_s32(vaddq_s32(x[0], x[1]), vaddq_s32(x[2], x[3]))) }
    }

    #[inline(always)]
    fn with_bits(self, x: Self::I) -> Self::F {
        all!(vreinterpretq_f32_s32(x))
    }

    #[inline(always)]
    fn to_f32(self, x: Self::I) -> Self::F {
        all!(vcvtq_f32_s32(x))
    }

    #[inline(always)]
    fn truncate(self, x: Self::F) -> Self::I {
        all!(vcvtq_s32_f32(x))
    }

    #[inline(always)]
    fn store_i8(self, x: [Self::I; 2], out: &mut [i8; 32]) {
        each!(i => {
            let [a, b] = [x[i / 2][i % 2 * 2], x[i / 2][i % 2 * 2 + 1]];
            let halves = vcombine_s16(vqmovn_s32(a), vqmovn_s32(b));
            vst1_s8(out.as_mut_ptr().add(8 * i), vqmovn_s16(halves))
        });
    }

    #[inline(always)]
    fn load_i8(self, bytes: &[u8; LANES]) -> Self::I {
        // SAFETY: likewise, and 16 are there to be read.
        let halves = unsafe {
            let bytes = vld1q_s8(bytes.as_ptr().cast());
            [vmovl_s8(vget_low_s8(bytes)), vmovl_high_s8(bytes)]
        };
        each!(i => if i % 2 == 0 { vmovl_s16(vget_low_s16(halves[i / 2])) } else { vmovl_high_s16(halves[i / 2]) })
    }

    #[inline(always)]
    fn lookup(self, table: &[[u32; 2]; SEGMENTS], index: Self::I) -> [Self::F; 2] {
        let mut indices = [0i32; LANES];
        each!(i => vst1q_s32(indices.as_mut_ptr().add(4 * i), index[i]));
        let mut pairs = [[0f32; LANES]; 2];
        for i in 0..LANES {
            let [c0, c1] = table[usize::from(indices[i] as u8)];
            (pairs[0][i], pairs[1][i]) = (f32::from_bits(c0), f32::from_bits(c1));
        }
        [self.load(&pairs[0]), self.load(&pairs[1])]
    }

    #[inline(always)]
    fn transpose(self, rows: [&[f32; 8]; LANES]) -> [Self::F; 8] {
        // SAFETY: likewise, and each row has 8 to be read.
        let part = |t: usize, half: usize| unsafe { vld1q_f32(rows[t].as_ptr().add(4 * half)) };
        let mut out = [self.splat(0.0); 8];
        for half in 0..2 {
            for i in 0..4 {
                let columns = square([
                    part(4 * i, half),
                    part(4 * i + 1, half),
                    part(4 * i + 2, half),
                    part(4 * i + 3, half),
                ]);
                for d in 0..4 {
                    out[4 * half + d][i] = columns[d];
                }
            }
        }
        out
    }

    #[inline(always)]
    fn transpose_f16(self, rows: [&[u16; 8]; LANES]) -> [Self::F; 8] {
        // SAFETY: likewise, and each row has 8 to be read.
        let part = |t: usize, half: usize| unsafe { wide(vld1_u16(rows[t].as_ptr().add(4 * half))) };
        let mut out = [self.splat(0.0); 8];
        for half in 0..2 {
            for i in 0..4 {
                let columns = square([
                    part(4 * i, half),
                    part(4 * i + 1, half),
                    part(4 * i + 2, half),
                    part(4 * i + 3, half),
                ]);
                for d in 0..4 {
                    out[4 * half + d][i] = columns[d];
                }
            }
        }
        out
    }

    #[inline(always)]
    fn splat_d(self, x: f64) -> Self::D {
        same!(vdupq_n_f64(x))
    }

    #[inline(always)]
    fn load_d(self, x: &[f64; 8]) -> Self::D {
        each!(i => vld1q_f64(x.as_ptr().add(2 * i)))
    }

    #[inline(always)]
    fn store_d(self, x: Self::D, out: &mut [f64; 8]) {
        each!(i => vst1q_f64(out.as_mut_ptr().add(2 * i), x[i]));
    }

    #[inline(always)]
    fn widen(self, x: Self::F) -> [Self::D; 2] {
        let (low, high) = (all!(vcvt_f64_f32(all!(vget_low_f32(x)))), all!(vcvt_high_f64_f32(x)));
        [[low[0], high[0], low[1], high[1]], [low[2], high[2], low[3], high[3]]]
    }

    #[inline(always)]
    fn add_d(self, a: Self::D, b: Self::D) -> Self::D {
        all!(vaddq_f64(a, b))
    }

    #[inline(always)]
    fn mul_d(self, a: Self::D, b: Self::D) -> Self::D {
        all!(vmulq_f64(a, b))
    }

    #[inline(always)]
    fn start_q8(self, _: &Block) -> Self::I {
        self.splat_i(0)
    }

    #[inline(always)]
    fn weights_q8(self, step: &[u8; 64]) -> Self::W8 {
        each!(i => vld1q_s8(step.as_ptr().add(16 * i).cast()))
    }

    #[inline(always)]
    fn dot_q8(self, sum: Self::I, w: Self::W8, x: [i8; 4]) -> Self::I {
        let x = same!(vdupq_n_s32(i32::from_le_bytes(x.map(|x| x as u8))));
        let x = all!(vreinterpretq_s8_s32(x));
        if DOT { all!(sdot(sum, w, x)) } else { all!(dot(sum, w, x)) }
    }

    #[inline(always)]
    fn start_q4(self, x: &Block) -> Self::Sum4 {
        self.splat_i(-x.eight_sums)
    }

    #[inline(always)]
    fn weights_q4(self, step: &[u8; 64]) -> Self::W4 {
        let w = each!(i => vld1q_u8(step.as_ptr().add(16 * i)));
        let low = all!(vandq_u8(w, same!(vdupq_n_u8(15))));
        [all!(vreinterpretq_s8_u8(low)), all!(vreinterpretq_s8_u8(all!(vshrq_n_u8::<4>(w))))]
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

/// F16 to F32, exactly.
#[inline(always)]
unsafe fn wide(x: uint16x4_t) -> float32x4_t {
    let y;
    // SAFETY: registers only.
    unsafe {
        asm!("fcvtl {0:v}.4s, {1:v}.4h", out(vreg) y, in(vreg) x, options(pure, nomem, nostack, preserves_flags));
    }
    y
}

/// F32 to F16, nearest even.
#[inline(always)]
unsafe fn narrow(x: float32x4_t) -> uint16x4_t {
    let y;
    // SAFETY: registers only.
    unsafe {
        asm!("fcvtn {0:v}.4h, {1:v}.4s", out(vreg) y, in(vreg) x, options(pure, nomem, nostack, preserves_flags));
    }
    y
}

/// Adds the products of each four bytes.
#[inline(always)]
unsafe fn sdot(sum: int32x4_t, w: int8x16_t, x: int8x16_t) -> int32x4_t {
    let mut sum = sum;
    // SAFETY: registers only, and a value of `Neon<true>` exists only where the processor has the instruction.
    unsafe {
        asm!(
            "sdot {0:v}.4s, {1:v}.16b, {2:v}.16b",
            inout(vreg) sum, in(vreg) w, in(vreg) x,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    sum
}

/// Likewise without `sdot`: pairs of products fit 16 bits, 2 * 128 * 127.
#[inline(always)]
unsafe fn dot(sum: int32x4_t, w: int8x16_t, x: int8x16_t) -> int32x4_t {
    // SAFETY: registers only.
    unsafe {
        let low = vmull_s8(vget_low_s8(w), vget_low_s8(x));
        vpadalq_s16(sum, vpaddq_s16(low, vmull_high_s8(w, x)))
    }
}

/// Four rows of four, transposed.
#[inline(always)]
fn square(r: [float32x4_t; 4]) -> [float32x4_t; 4] {
    // SAFETY: registers only, and called only with vectors, which exist where the processor has the instructions.
    unsafe {
        let even =
            [vreinterpretq_f64_f32(vtrn1q_f32(r[0], r[1])), vreinterpretq_f64_f32(vtrn1q_f32(r[2], r[3]))];
        let odd =
            [vreinterpretq_f64_f32(vtrn2q_f32(r[0], r[1])), vreinterpretq_f64_f32(vtrn2q_f32(r[2], r[3]))];
        [
            vreinterpretq_f32_f64(vtrn1q_f64(even[0], even[1])),
            vreinterpretq_f32_f64(vtrn1q_f64(odd[0], odd[1])),
            vreinterpretq_f32_f64(vtrn2q_f64(even[0], even[1])),
            vreinterpretq_f32_f64(vtrn2q_f64(odd[0], odd[1])),
        ]
    }
}
