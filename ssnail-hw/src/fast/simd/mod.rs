//! Vector operations that kernels are written over, so that an algorithm stands once and each instruction set is thin.
//!
//! A vector has 16 lanes whatever the registers' width: two registers of AVX2, one of AVX-512, four of NEON. A value of
//! a type that implements [`Simd`] exists only where the processor has the instructions, so its methods are safe. Code
//! over it is a [`Work`], given to [`Kernel::run`]; it and all it calls must be `#[inline(always)]`, because only what
//! ends up inside of a function with the right `target_feature` is compiled to those instructions.
//!
//! | instruction set | its tests have run on |
//! |---|---|
//! | portable | x86-64 processors; AArch64 emulated by QEMU |
//! | AVX2 and F16C | processors |
//! | AVX-512 with VNNI | no processor: only with plain Rust, after Intel's description, for its intrinsics |
//! | NEON, with and without dot products | QEMU's emulation; speed never measured |

#[cfg(target_arch = "x86_64")]
pub(super) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(super) mod avx512;
#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
pub(super) mod neon;
pub(super) mod portable;

use super::input::Block;
use super::{Isa, Kernel};
use crate::tables::SEGMENTS;

/// Lanes of a vector.
pub(super) const LANES: usize = 16;

/// How far ahead weights are asked for that come from memory, bytes. Measured: from 1024 to 3072 a single pass over
/// matrices beyond the caches gains up to a quarter.
pub(super) const AHEAD: usize = 2048;

/// 16 lanes of arithmetic. F32 operations are IEEE 754, nearest even, never fused; which NaN they give is open.
pub(super) trait Simd: Copy {
    /// 16 F32.
    type F: Copy;
    /// 16 integers of 32 bits.
    type I: Copy;
    /// 16 times yes or no.
    type M: Copy;
    /// 8 F64.
    type D: Copy;
    /// A step of Q8_0 weights: 4 of each of 16 rows.
    type W8: Copy;
    /// A step of Q4_0 weights: 8 of each of 16 rows.
    type W4: Copy;
    /// 16 running sums of products with Q4_0 weights.
    type Sum4: Copy;

    /// Inputs for which a pass over weights has registers.
    const INPUTS: usize;

    /// Asks for the cache line that is [`AHEAD`] bytes after `here`, if there is one.
    fn prefetch(self, here: *const u8);

    /// `x` in all lanes.
    fn splat(self, x: f32) -> Self::F;
    /// 16 F32.
    fn load(self, x: &[f32; LANES]) -> Self::F;
    /// Puts them back.
    fn store(self, x: Self::F, out: &mut [f32; LANES]);
    /// 16 F16, exactly.
    fn load_f16(self, bits: &[u16; LANES]) -> Self::F;
    /// 16 F16 in little-endian order.
    fn load_f16_bytes(self, bytes: &[u8; 32]) -> Self::F;
    /// 16 BF16 in little-endian order.
    fn load_bf16_bytes(self, bytes: &[u8; 32]) -> Self::F;
    /// 16 F32 in little-endian order.
    fn load_f32_bytes(self, bytes: &[u8; 64]) -> Self::F;
    /// Nearest even, as F16. `x` has no NaN but the canonical one.
    fn store_f16(self, x: Self::F, out: &mut [u16; LANES]);
    /// a + b.
    fn add(self, a: Self::F, b: Self::F) -> Self::F;
    /// a - b.
    fn sub(self, a: Self::F, b: Self::F) -> Self::F;
    /// a * b.
    fn mul(self, a: Self::F, b: Self::F) -> Self::F;
    /// a < b; no for NaN.
    fn lt(self, a: Self::F, b: Self::F) -> Self::M;
    /// a <= b; no for NaN.
    fn le(self, a: Self::F, b: Self::F) -> Self::M;
    /// `yes` where `m`, else `no`.
    fn select(self, m: Self::M, yes: Self::F, no: Self::F) -> Self::F;
    /// The canonical NaN for every NaN.
    fn canonical(self, x: Self::F) -> Self::F;
    /// Even lanes times `c` minus odd lanes times `s`; odd lanes times `c` plus even lanes times `s`; where `c` and `s`
    /// are the even and odd lanes of `cs`. Every operation is rounded.
    fn rotate(self, v: Self::F, cs: Self::F) -> Self::F;

    /// `x` in all lanes.
    fn splat_i(self, x: i32) -> Self::I;
    /// The bits.
    fn bits(self, x: Self::F) -> Self::I;
    /// Bitwise.
    fn and(self, a: Self::I, b: Self::I) -> Self::I;
    /// Bitwise.
    fn or(self, a: Self::I, b: Self::I) -> Self::I;
    /// Modulo 2^32.
    fn add_i(self, a: Self::I, b: Self::I) -> Self::I;
    /// The larger, signed.
    fn max_i(self, a: Self::I, b: Self::I) -> Self::I;
    /// The smaller, signed.
    fn min_i(self, a: Self::I, b: Self::I) -> Self::I;
    /// The largest lane, signed.
    fn largest(self, x: Self::I) -> i32;
    /// The sum of lanes.
    fn sum_i(self, x: Self::I) -> i32;
    /// The bits as F32.
    fn with_bits(self, x: Self::I) -> Self::F;
    /// To F32, nearest even.
    fn to_f32(self, x: Self::I) -> Self::F;
    /// Towards zero where that fits; any integer elsewhere.
    fn truncate(self, x: Self::F) -> Self::I;
    /// 32 integers that fit, as bytes.
    fn store_i8(self, x: [Self::I; 2], out: &mut [i8; 32]);
    /// 16 signed bytes.
    fn load_i8(self, bytes: &[u8; LANES]) -> Self::I;
    /// The F32 pairs at the indices, taken modulo 256.
    fn lookup(self, table: &[[u32; 2]; SEGMENTS], index: Self::I) -> [Self::F; 2];
    /// Vector d has lane t from element d of row t.
    fn transpose(self, rows: [&[f32; 8]; LANES]) -> [Self::F; 8];
    /// Likewise, from F16.
    fn transpose_f16(self, rows: [&[u16; 8]; LANES]) -> [Self::F; 8];

    /// `x` in all lanes.
    fn splat_d(self, x: f64) -> Self::D;
    /// 8 F64.
    fn load_d(self, x: &[f64; 8]) -> Self::D;
    /// Puts them back.
    fn store_d(self, x: Self::D, out: &mut [f64; 8]);
    /// The low and the high 8 lanes, exactly.
    fn widen(self, x: Self::F) -> [Self::D; 2];
    /// a + b.
    fn add_d(self, a: Self::D, b: Self::D) -> Self::D;
    /// a * b.
    fn mul_d(self, a: Self::D, b: Self::D) -> Self::D;

    /// What sums of products of Q8_0 start from.
    fn start_q8(self, x: &Block) -> Self::I;
    /// A step of weights.
    fn weights_q8(self, step: &[u8; 64]) -> Self::W8;
    /// Adds the products of a step with 4 elements of x.
    fn dot_q8(self, sum: Self::I, w: Self::W8, x: [i8; 4]) -> Self::I;
    /// What sums of products of Q4_0 start from.
    fn start_q4(self, x: &Block) -> Self::Sum4;
    /// A step of weights.
    fn weights_q4(self, step: &[u8; 64]) -> Self::W4;
    /// Adds the products of a step's low nibbles with 4 elements of x, and of its high ones with 4 others.
    fn dot_q4(self, sum: Self::Sum4, w: Self::W4, low: [i8; 4], high: [i8; 4]) -> Self::Sum4;
    /// The sums.
    fn finish_q4(self, sum: Self::Sum4) -> Self::I;
}

/// What is done with vectors.
pub(super) trait Work {
    /// The result.
    type Output;

    /// Does it; `#[inline(always)]`.
    fn run<S: Simd>(self, s: S) -> Self::Output;
}

impl Kernel {
    /// Does the work with this kernel's instructions.
    pub(super) fn run<W: Work>(self, work: W) -> W::Output {
        match self.0 {
            Isa::Portable => work.run(portable::Portable),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a value of this type exists only where the processor has the instructions.
            Isa::Avx512(s) => unsafe { avx512::run(s, work) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: likewise.
            Isa::Avx2(s) => unsafe { avx2::run(s, work) },
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            // SAFETY: likewise.
            Isa::Neon(s) => unsafe { neon::run(s, work) },
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            // SAFETY: likewise.
            Isa::NeonDot(s) => unsafe { neon::run_dot(s, work) },
        }
    }
}
