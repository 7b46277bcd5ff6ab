//! The definitions of numerics.md once more, in exact integers: nothing here uses a float operation or code of the
//! crate's library, except that functions by tables read the committed coefficients.
//!
//! Values are the bits of F32. Every operation takes its operands apart, computes the exact result as a ratio of big
//! integers, and rounds that once.

pub(crate) mod operations;

use num_bigint::{BigInt, BigUint, Sign};

/// The canonical NaN.
pub(crate) const NAN: u32 = 0x7FC0_0000;
/// +infinity.
pub(crate) const INF: u32 = 0x7F80_0000;
const SIGN: u32 = 0x8000_0000;

/// A binary format: bits of the fraction, bits of the exponent.
#[derive(Clone, Copy)]
pub(crate) struct Width {
    fraction: u32,
    exponent: u32,
}

pub(crate) const F32: Width = Width { fraction: 23, exponent: 8 };
pub(crate) const F16: Width = Width { fraction: 10, exponent: 5 };
pub(crate) const BF16: Width = Width { fraction: 7, exponent: 8 };

impl Width {
    fn infinity(self) -> u32 {
        ((1 << self.exponent) - 1) << self.fraction
    }

    fn nan(self) -> u32 {
        self.infinity() | 1 << (self.fraction - 1)
    }

    /// Exponent of the lowest bit of a subnormal.
    fn lowest(self) -> i64 {
        2 - (1 << (self.exponent - 1)) - i64::from(self.fraction)
    }

    fn sign(self, negative: bool) -> u32 {
        u32::from(negative) << (self.fraction + self.exponent)
    }
}

/// What bits stand for.
#[derive(Clone)]
pub(crate) enum Value {
    Nan,
    Infinite {
        negative: bool,
    },
    /// magnitude * 2^exponent.
    Finite {
        negative: bool,
        magnitude: u64,
        exponent: i64,
    },
}
use Value::{Finite, Infinite, Nan};

pub(crate) fn value(bits: u32, width: Width) -> Value {
    let negative = bits >> (width.fraction + width.exponent) & 1 == 1;
    let fraction = bits & ((1 << width.fraction) - 1);
    match bits >> width.fraction & ((1 << width.exponent) - 1) {
        e if e == (1 << width.exponent) - 1 && fraction != 0 => Nan,
        e if e == (1 << width.exponent) - 1 => Infinite { negative },
        0 => Finite { negative, magnitude: fraction.into(), exponent: width.lowest() },
        e => Finite {
            negative,
            magnitude: (fraction | 1 << width.fraction).into(),
            exponent: width.lowest() + i64::from(e) - 1,
        },
    }
}

fn shifted(n: &BigUint, by: i64) -> BigUint {
    assert!(by >= 0);
    n << by as u64
}

/// num / den * 2^exponent, rounded to the nearest of the width's values, ties to even. A number from half a step above
/// the largest on is infinite.
pub(crate) fn round(negative: bool, num: &BigUint, den: &BigUint, exponent: i64, width: Width) -> u32 {
    if num.bits() == 0 {
        return width.sign(negative);
    }
    // Start one binade below where the number can be, and go up until the quotient has no bit too many.
    let guess = num.bits() as i64 - den.bits() as i64 + exponent - 1 - i64::from(width.fraction);
    let mut unit = guess.max(width.lowest());
    let (quotient, rest, den) = loop {
        let by = exponent - unit;
        let (n, d) = (shifted(num, by.max(0)), shifted(den, (-by).max(0)));
        let quotient = &n / &d;
        if quotient.bits() <= u64::from(width.fraction) + 1 {
            break (quotient.clone(), n - quotient * &d, d);
        }
        unit += 1;
    };
    let mut integer = quotient.iter_u64_digits().next().unwrap_or(0);
    let twice = rest * 2u32;
    if twice > den || (twice == den && integer % 2 == 1) {
        integer += 1;
    }
    if integer == 1 << (width.fraction + 1) {
        integer >>= 1;
        unit += 1;
    }
    let field = if integer >> width.fraction == 0 { 0 } else { unit - width.lowest() + 1 };
    let bits = if field >= (1 << width.exponent) - 1 {
        width.infinity()
    } else {
        (field as u32) << width.fraction | integer as u32 & ((1 << width.fraction) - 1)
    };
    bits | width.sign(negative)
}

/// An integer * 2^exponent as F32; zero is +0.
pub(crate) fn round_integer(n: &BigInt, exponent: i64) -> u32 {
    round(n.sign() == Sign::Minus, n.magnitude(), &1u32.into(), exponent, F32)
}

fn integer(negative: bool, magnitude: u64) -> BigInt {
    if negative { -BigInt::from(magnitude) } else { magnitude.into() }
}

pub(crate) fn neg(a: u32) -> u32 {
    a ^ SIGN
}

pub(crate) fn add(a: u32, b: u32) -> u32 {
    match (value(a, F32), value(b, F32)) {
        (Nan, _) | (_, Nan) => NAN,
        (Infinite { negative: a }, Infinite { negative: b }) if a != b => NAN,
        (Infinite { negative }, _) | (_, Infinite { negative }) => INF | F32.sign(negative),
        (
            Finite { negative: n, magnitude, exponent },
            Finite { negative: n2, magnitude: magnitude2, exponent: exponent2 },
        ) => {
            let unit = exponent.min(exponent2);
            let sum = (integer(n, magnitude) << (exponent - unit) as u64)
                + (integer(n2, magnitude2) << (exponent2 - unit) as u64);
            if sum.sign() == Sign::NoSign && n && n2 { SIGN } else { round_integer(&sum, unit) }
        }
    }
}

pub(crate) fn sub(a: u32, b: u32) -> u32 {
    add(a, neg(b))
}

pub(crate) fn mul(a: u32, b: u32) -> u32 {
    let negative = (a ^ b) & SIGN != 0;
    match (value(a, F32), value(b, F32)) {
        (Nan, _) | (_, Nan) => NAN,
        (Infinite { .. }, Finite { magnitude: 0, .. }) | (Finite { magnitude: 0, .. }, Infinite { .. }) => {
            NAN
        }
        (Infinite { .. }, _) | (_, Infinite { .. }) => INF | F32.sign(negative),
        (Finite { magnitude, exponent, .. }, Finite { magnitude: magnitude2, exponent: exponent2, .. }) => {
            round(negative, &(BigUint::from(magnitude) * magnitude2), &1u32.into(), exponent + exponent2, F32)
        }
    }
}

pub(crate) fn div(a: u32, b: u32) -> u32 {
    let negative = (a ^ b) & SIGN != 0;
    match (value(a, F32), value(b, F32)) {
        (Nan, _) | (_, Nan) | (Infinite { .. }, Infinite { .. }) => NAN,
        (Finite { magnitude: 0, .. }, Finite { magnitude: 0, .. }) => NAN,
        (Infinite { .. }, _) | (_, Finite { magnitude: 0, .. }) => INF | F32.sign(negative),
        (_, Infinite { .. }) => F32.sign(negative),
        (Finite { magnitude, exponent, .. }, Finite { magnitude: magnitude2, exponent: exponent2, .. }) => {
            round(negative, &magnitude.into(), &magnitude2.into(), exponent - exponent2, F32)
        }
    }
}

pub(crate) fn sqrt(a: u32) -> u32 {
    match value(a, F32) {
        Finite { magnitude: 0, .. } => a,
        Nan | Infinite { negative: true } | Finite { negative: true, .. } => NAN,
        Infinite { negative: false } => INF,
        Finite { magnitude, exponent, .. } => {
            // 64 bits of the root and one that tells whether there are more: far from any tie that is not one.
            let n = BigUint::from(magnitude) << (128 + (exponent & 1) as u64);
            let root = n.sqrt();
            let more = u32::from(&root * &root != n);
            round(false, &(root * 2u32 + more), &1u32.into(), (exponent - (exponent & 1)) / 2 - 64 - 1, F32)
        }
    }
}

pub(crate) fn recip(a: u32) -> u32 {
    div(F32_ONE, a)
}

pub(crate) fn rsqrt(a: u32) -> u32 {
    recip(sqrt(a))
}

pub(crate) const F32_ONE: u32 = 0x3F80_0000;

/// From one width to another.
pub(crate) fn convert(bits: u32, from: Width, to: Width) -> u32 {
    match value(bits, from) {
        Nan => to.nan(),
        Infinite { negative } => to.infinity() | to.sign(negative),
        Finite { negative, magnitude, exponent } => {
            round(negative, &magnitude.into(), &1u32.into(), exponent, to)
        }
    }
}

/// a < b, false where either is NaN.
pub(crate) fn less(a: u32, b: u32) -> bool {
    let key = |bits: u32| {
        let magnitude = i64::from(bits & !SIGN);
        if bits & SIGN != 0 { -magnitude } else { magnitude }
    };
    !is_nan(a) && !is_nan(b) && key(a) < key(b)
}

pub(crate) fn is_nan(a: u32) -> bool {
    matches!(value(a, F32), Nan)
}

/// An integer as F32, nearest even.
pub(crate) fn from_integer(n: i64) -> u32 {
    round_integer(&n.into(), 0)
}
