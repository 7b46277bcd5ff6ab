//! Sums in eight F64 lanes, which compilers turn into vector instructions of any width without changing a bit; and how
//! they come to use the widest.

/// Lanes of a sum.
pub(super) const LANES: usize = 8;

/// Partial sums: element i of what is summed goes to lane i modulo 8.
pub(super) type Sum = [f64; LANES];

/// Adds the products of two vectors, element i to lane i modulo 8.
#[inline(always)]
pub(super) fn add_products<T: Copy + Into<f64>>(sum: &mut Sum, a: &[T], b: &[f64]) {
    let (whole_a, rest_a) = a.as_chunks::<LANES>();
    let (whole_b, rest_b) = b.as_chunks::<LANES>();
    for (a, b) in whole_a.iter().zip(whole_b) {
        for l in 0..LANES {
            sum[l] += a[l].into() * b[l];
        }
    }
    for ((s, &a), &b) in sum.iter_mut().zip(rest_a).zip(rest_b) {
        *s += a.into() * b;
    }
}

/// The lanes together, in pairs.
#[inline(always)]
pub(super) fn total(sum: &Sum) -> f64 {
    let [a, b, c, d, e, f, g, h] = *sum;
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

/// Sum of `f` over a vector.
pub(super) fn sum_of(x: &[f32], f: impl Fn(f64) -> f64) -> f64 {
    let mut sum = Sum::default();
    for part in x.chunks(LANES) {
        for (s, &x) in sum.iter_mut().zip(part) {
            *s += f(f64::from(x));
        }
    }
    total(&sum)
}

/// Does some work, compiled for the vectors that this processor has. What it calls must be inlined into it.
#[inline(always)]
pub(super) fn vectorised<R>(work: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,f16c")]
        fn with_avx2<R>(work: impl FnOnce() -> R) -> R {
            work()
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("f16c") {
            // SAFETY: the processor has what the function is compiled for.
            return unsafe { with_avx2(work) };
        }
    }
    work()
}

/// e^x within 1e-14, relative, from -708 to 709; beyond, what it is there. Without branches, so that it vectorises.
#[inline(always)]
pub(super) fn exp(x: f64) -> f64 {
    // ln 2 in two parts, the first short enough that a multiple of it is exact.
    const LN_2: [f64; 2] = [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10];
    let x = x.clamp(-708.0, 709.0);
    // 1.5 * 2^52 + n: the sum's low bits are n, rounded.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    let shifted = x * std::f64::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = x - n * LN_2[0] - n * LN_2[1];
    // Taylor's series to r^11: |r| is below 0.35.
    let mut sum = 1.0 / 39_916_800.0;
    for c in [
        1.0 / 3_628_800.0,
        1.0 / 362_880.0,
        1.0 / 40_320.0,
        1.0 / 5_040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
        1.0,
        1.0,
    ] {
        sum = sum * r + c;
    }
    sum * f64::from_bits((shifted.to_bits() << 52).wrapping_add(1.0f64.to_bits()))
}

#[cfg(test)]
mod tests {
    use super::exp;

    #[test]
    fn exp_is_the_real_one() {
        for i in -7_070_000..7_080_000 {
            let x = f64::from(i) / 10_000.0 + 1e-7;
            let (got, want) = (exp(x), x.exp());
            assert!((got / want - 1.0).abs() < 1e-14, "exp({x}) is {want}, not {got}");
        }
        assert!(exp(f64::NAN).is_nan());
        assert_eq!(exp(0.0), 1.0);
        assert!(exp(-1e9) < 1e-300 && exp(1e9) > 1e300);
    }
}
