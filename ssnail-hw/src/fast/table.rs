//! Function tables, 16 arguments at a time: the bits of [`Table::eval`].

use super::simd::Simd;
use crate::tables::{Above, SEGMENTS, Table};

/// The table's function at each lane; NaN gives some NaN.
#[inline(always)]
pub(super) fn eval<S: Simd>(s: S, table: &Table, x: S::F) -> S::F {
    let (lo, hi) = (s.splat(table.lo), s.splat(table.hi));
    // Where x is outside of the table or NaN, this is any segment and what comes of it is not used, or NaN.
    let i = s.truncate(s.mul(s.sub(x, lo), s.splat(table.k)));
    let i = s.min_i(s.max_i(i, s.splat_i(0)), s.splat_i(SEGMENTS as i32 - 1));
    let [c0, c1] = s.lookup(&table.coefficients, i);
    let y = s.add(c0, s.mul(c1, x));
    let y = s.select(s.lt(x, lo), s.splat(0.0), y);
    let above = match table.above {
        Above::Argument => x,
        Above::One => s.splat(1.0),
    };
    s.select(s.le(hi, x), above, y)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fast::Kernel;
    use crate::fast::simd::{LANES, Work};
    use crate::scalar::canonical;
    use crate::tables::{EXP, GELU, SILU};

    struct Eval<'a>(&'a Table, [f32; LANES]);

    impl Work for Eval<'_> {
        type Output = [f32; LANES];

        #[inline(always)]
        fn run<S: Simd>(self, s: S) -> [f32; LANES] {
            let mut y = [0.0; LANES];
            s.store(s.canonical(eval(s, self.0, s.load(&self.1))), &mut y);
            y
        }
    }

    fn check(table: &Table, x: [f32; LANES]) {
        let want = x.map(|x| canonical(table.eval(x)).to_bits());
        for kernel in Kernel::all() {
            let got = kernel.run(Eval(table, x)).map(f32::to_bits);
            assert_eq!(got, want, "{} {x:?}", kernel.name());
        }
    }

    #[test]
    fn all_over_and_at_the_ends_of_segments() {
        for table in [&SILU, &GELU, &EXP] {
            for first in (0..1u64 << 32).step_by(10_007 * LANES) {
                check(
                    table,
                    std::array::from_fn(|i| f32::from_bits((first as u32).wrapping_add(10_007 * i as u32))),
                );
            }
            for i in 0..=SEGMENTS {
                let end = table.lo + i as f32 * ((table.hi - table.lo) / SEGMENTS as f32);
                check(
                    table,
                    std::array::from_fn(|i| {
                        f32::from_bits(end.to_bits().wrapping_add(i as u32).wrapping_sub(8))
                    }),
                );
            }
        }
    }
}
