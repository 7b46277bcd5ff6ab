//! A sum of products of F32 that loses nothing: a fixed-point accumulator, rounded once.
//!
//! Units are 2^-298, the smallest product of two subnormals. A product of finite F32 is below 2^256 = 2^554 units, so
//! the 576 bits hold 2^21 of them with their sign; a row has at most 4096 ([`MAX_PRODUCTS`]).

use crate::scalar::NAN_F32;

/// Products that an accumulator surely holds.
pub const MAX_PRODUCTS: usize = 1 << 21;

const LIMBS: usize = 9;
/// Exponent of the accumulator's lowest bit.
const UNIT: i32 = -298;
/// Bit of the accumulator that is the lowest of an F32's, 2^-149.
const LOWEST: usize = 149;

/// The sum of the products given so far.
#[derive(Debug, Clone, Default)]
pub struct ExactSum {
    /// The finite products, two's complement, lowest limb first.
    limbs: [u64; LIMBS],
    /// A NaN, or 0 * infinity.
    nan: bool,
    /// An infinite product of either sign: [positive, negative].
    infinite: [bool; 2],
}

impl ExactSum {
    /// Nothing yet: +0.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a * b.
    pub fn add_product(&mut self, a: f32, b: f32) {
        let negative = a.is_sign_negative() != b.is_sign_negative();
        if a.is_finite() && b.is_finite() {
            let ((a, a_shift), (b, b_shift)) = (integer(a), integer(b));
            self.add_shifted(a * b, a_shift + b_shift, negative);
        } else if a.is_nan() || b.is_nan() || a == 0.0 || b == 0.0 {
            self.nan = true;
        } else {
            self.infinite[usize::from(negative)] = true;
        }
    }

    /// Adds or subtracts `value` * 2^`shift` units.
    fn add_shifted(&mut self, value: u64, shift: usize, negative: bool) {
        let wide = u128::from(value) << (shift % 64);
        let (mut parts, first) = ([wide as u64, (wide >> 64) as u64].into_iter(), shift / 64);
        let mut carry = false;
        for (i, limb) in self.limbs[first..].iter_mut().enumerate() {
            let part = parts.next().unwrap_or(0);
            if i > 1 && !carry {
                break;
            }
            let step = if negative { u64::overflowing_sub } else { u64::overflowing_add };
            let (sum, over) = step(*limb, part);
            let (sum, over_carry) = step(sum, u64::from(carry));
            (*limb, carry) = (sum, over | over_carry);
        }
    }

    /// The sum as F32, nearest even. NaN if there was one, or 0 * infinity, or infinities of both signs; the infinity
    /// if there was one; exact zero is +0.
    pub fn round(&self) -> f32 {
        match (self.nan, self.infinite) {
            (true, _) | (_, [true, true]) => f32::from_bits(NAN_F32),
            (_, [true, false]) => f32::INFINITY,
            (_, [false, true]) => f32::NEG_INFINITY,
            _ => self.round_finite(),
        }
    }

    fn round_finite(&self) -> f32 {
        let negative = self.limbs[LIMBS - 1] >> 63 == 1;
        let mut m = self.limbs;
        if negative {
            let mut carry = true;
            for limb in &mut m {
                (*limb, carry) = (!*limb).overflowing_add(u64::from(carry));
            }
        }
        let Some(high) = m.iter().rposition(|&limb| limb != 0) else {
            return 0.0;
        };
        let top = 64 * high + 63 - m[high].leading_zeros() as usize;
        // The lowest bit that the result keeps.
        let low = (top.max(23) - 23).max(LOWEST);
        let bit = |i: usize| m[i / 64] >> (i % 64) & 1 == 1;
        let mantissa = (low..=top).rev().fold(0u32, |acc, i| acc << 1 | u32::from(bit(i)));
        let (limb, within) = ((low - 1) / 64, (low - 1) % 64);
        let sticky = m[..limb].iter().any(|&l| l != 0) || m[limb] & ((1 << within) - 1) != 0;
        let up = bit(low - 1) && (sticky || mantissa & 1 == 1);
        // A carry out of the mantissa goes into the exponent by itself, up to infinity.
        let exponent = (low - LOWEST) as u32;
        let magnitude = match mantissa >> 23 {
            0 => mantissa,
            _ if exponent + 1 > 254 => 0x7F80_0000,
            _ => (exponent << 23) + mantissa,
        };
        f32::from_bits(((magnitude + u32::from(up)).min(0x7F80_0000)) | u32::from(negative) << 31)
    }
}

/// A finite |x| as (integer, shift): |x| = integer * 2^(shift - 149).
fn integer(x: f32) -> (u64, usize) {
    let bits = x.to_bits() & 0x7FFF_FFFF;
    match bits >> 23 {
        0 => (u64::from(bits), 0),
        e => (u64::from(bits & 0x007F_FFFF | 0x0080_0000), e as usize - 1),
    }
}

const _: () = assert!(2 * -(LOWEST as i32) == UNIT);

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(products: &[(f32, f32)]) -> u32 {
        let mut s = ExactSum::new();
        products.iter().for_each(|&(a, b)| s.add_product(a, b));
        s.round().to_bits()
    }

    #[test]
    fn nothing_is_lost_between_the_extremes() {
        let (max, min) = (f32::MAX, f32::from_bits(1));
        assert_eq!(sum(&[(max, max), (1.5, 2.0), (-max, max)]), 3f32.to_bits());
        // The smallest product is far below the smallest F32, but decides a tie.
        let half = 2f32.powi(-75);
        assert_eq!(sum(&[(half, half)]), 0);
        assert_eq!(sum(&[(half, half), (min, min)]), 1);
        assert_eq!(sum(&[(-half, half)]), 0x8000_0000);
        assert_eq!(sum(&[(half, half), (half, 2.0 * half)]), 2);
    }

    #[test]
    fn rounding_carries_up_to_infinity() {
        let ulp = 2f32.powi(104);
        assert_eq!(sum(&[(f32::MAX, 1.0), (ulp, 0.5)]), f32::INFINITY.to_bits());
        assert_eq!(sum(&[(f32::MAX, 1.0), (ulp, 0.25), (ulp, 0.125)]), f32::MAX.to_bits());
        assert_eq!(sum(&[(f32::MAX, -2.0)]), f32::NEG_INFINITY.to_bits());
        assert_eq!(sum(&[(f32::MAX, f32::MAX); 64]), f32::INFINITY.to_bits());
        // Subnormal to normal.
        assert_eq!(sum(&[(f32::from_bits(0x007F_FFFF), 1.0), (2f32.powi(-75), 2f32.powi(-75))]), 0x0080_0000);
    }

    #[test]
    fn special_values_are_those_of_the_infinitely_precise_sum() {
        let inf = f32::INFINITY;
        assert_eq!(sum(&[(inf, 1.0), (f32::MAX, -f32::MAX)]), inf.to_bits());
        assert_eq!(sum(&[(inf, -1e-45)]), (-inf).to_bits());
        assert_eq!(sum(&[(inf, 1.0), (inf, -1.0)]), NAN_F32);
        assert_eq!(sum(&[(inf, 0.0)]), NAN_F32);
        assert_eq!(sum(&[(f32::from_bits(0xFFC0_0001), 0.0)]), NAN_F32);
        assert_eq!(sum(&[(-0.0, 1.0), (1.0, -0.0)]), 0);
        assert_eq!(sum(&[(3.0, 5.0), (-15.0, 1.0)]), 0);
        assert_eq!(sum(&[]), 0);
    }
}
