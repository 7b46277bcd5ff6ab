//! Sums in eight F64 lanes, which compilers turn into vector instructions of any width without changing a bit.

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
