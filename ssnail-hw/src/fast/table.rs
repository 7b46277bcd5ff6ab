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
