//! Single operations on F32 and the conversions between float formats: IEEE 754, nearest even, subnormals kept.
//!
//! Rust evaluates F32 in F32 and never contracts a product and a sum into a fused operation, so `a * b + c` has two
//! roundings. Whether a result is NaN follows from IEEE 754, but which NaN is the processor's choice; here it is
//! always the same one. A NaN stays a NaN until the end of any chain of operations and its payload is never looked
//! at, so a loop may compute with plain operators and make [`canonical`] only what leaves it.

use half::f16;

/// The only NaN that an F32 result can be.
pub const NAN_F32: u32 = 0x7FC0_0000;
/// The only NaN that an F16 result can be.
pub const NAN_F16: u16 = 0x7E00;

/// `x`, or the canonical NaN for any NaN.
#[inline(always)]
pub fn canonical(x: f32) -> f32 {
    if x.is_nan() { f32::from_bits(NAN_F32) } else { x }
}

/// a + b.
#[inline(always)]
pub fn add(a: f32, b: f32) -> f32 {
    canonical(a + b)
}

/// a - b.
#[inline(always)]
pub fn sub(a: f32, b: f32) -> f32 {
    canonical(a - b)
}

/// a * b.
#[inline(always)]
pub fn mul(a: f32, b: f32) -> f32 {
    canonical(a * b)
}

/// 1 / x, correctly rounded; recip(±0) is the infinity of that sign.
#[inline(always)]
pub fn recip(x: f32) -> f32 {
    canonical(1.0 / x)
}

/// recip(sqrt(x)), both correctly rounded. Below zero NaN; rsqrt(-0) is -infinity, since sqrt(-0) is -0.
#[inline(always)]
pub fn rsqrt(x: f32) -> f32 {
    recip(x.sqrt())
}

/// The sequential sum: from +0, ascending, each addition rounded. -0 is never the result.
#[inline(always)]
pub fn sequential_sum(x: impl Iterator<Item = f32>) -> f32 {
    canonical(x.fold(0.0, |acc, v| acc + v))
}

/// The bits of `x` as F16: nearest even, subnormals kept, infinity from 65520 on.
#[inline(always)]
pub fn f32_to_f16(x: f32) -> u16 {
    if x.is_nan() { NAN_F16 } else { f16::from_f32(x).to_bits() }
}

/// The F32 of the bits of an F16: exact.
#[inline(always)]
pub fn f16_to_f32(bits: u16) -> f32 {
    canonical(f16::from_bits(bits).to_f32())
}

/// The F32 of the bits of a BF16, which is its upper half: exact.
#[inline(always)]
pub fn bf16_to_f32(bits: u16) -> f32 {
    canonical(f32::from_bits(u32::from(bits) << 16))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_nan_is_the_canonical_one() {
        let signalling = f32::from_bits(0xFF80_0001);
        for nan in [
            add(f32::INFINITY, f32::NEG_INFINITY),
            sub(signalling, 1.0),
            mul(0.0, f32::NEG_INFINITY),
            recip(signalling),
            rsqrt(-1.0),
            sequential_sum([1.0, signalling].into_iter()),
            f16_to_f32(0xFC01),
            bf16_to_f32(0xFF81),
        ] {
            assert_eq!(nan.to_bits(), NAN_F32);
        }
        assert_eq!(f32_to_f16(signalling), NAN_F16);
    }

    #[test]
    fn zeros_and_infinities_keep_their_sign() {
        assert_eq!(recip(-0.0), f32::NEG_INFINITY);
        assert_eq!(rsqrt(-0.0), f32::NEG_INFINITY);
        assert_eq!(rsqrt(f32::INFINITY).to_bits(), 0);
        assert_eq!(recip(f32::NEG_INFINITY).to_bits(), 0x8000_0000);
        assert_eq!(sequential_sum([-0.0, -0.0].into_iter()).to_bits(), 0);
    }

    #[test]
    fn subnormals_are_kept() {
        let tiny = f32::from_bits(1);
        assert_eq!(add(tiny, tiny).to_bits(), 2);
        assert_eq!(mul(f32::MIN_POSITIVE, 0.5).to_bits(), 0x0040_0000);
        assert_eq!(f16_to_f32(1), 2f32.powi(-24));
        assert_eq!(f32_to_f16(2f32.powi(-24)), 1);
    }
}
