//! SiLU, GELU and exp by 256 chords each.
//!
//! The coefficients in `data.rs` are data: computed once in F64 by `examples/gen-tables.rs` and committed, so that they
//! do not depend on anybody's libm. `cargo run -p ssnail-hw --example gen-tables -- --check FILE` compares.

mod data;

pub use data::{EXP, GELU, SILU};

use crate::scalar::canonical;

/// Segments of a table.
pub const SEGMENTS: usize = 256;

/// A function by chords over equal segments of [lo, hi).
#[derive(Debug)]
pub struct Table {
    /// Lower end.
    pub lo: f32,
    /// Upper end.
    pub hi: f32,
    /// Segments to a unit: F32(256 / (hi - lo)).
    pub k: f32,
    /// What the function gives at or above `hi`.
    pub above: Above,
    /// Per segment the bits of c0 and c1, F32: y = c0 + c1 * x.
    pub coefficients: [[u32; 2]; SEGMENTS],
}

/// Beyond the upper end of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Above {
    /// The argument itself.
    Argument,
    /// 1.
    One,
}

impl Table {
    /// The function at x: below lo +0; at or above hi [`Above`]; else c0 + c1 * x of segment floor((x - lo) * k), at
    /// most 255, where each operation is rounded. NaN gives NaN.
    pub fn eval(&self, x: f32) -> f32 {
        if x < self.lo {
            0.0
        } else if x >= self.hi {
            match self.above {
                Above::Argument => x,
                Above::One => 1.0,
            }
        } else if x.is_nan() {
            canonical(x)
        } else {
            let i = (((x - self.lo) * self.k) as usize).min(SEGMENTS - 1);
            let [c0, c1] = self.coefficients[i].map(f32::from_bits);
            c0 + c1 * x
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_and_special_values() {
        let inf = f32::INFINITY;
        for t in [&SILU, &GELU, &EXP] {
            assert_eq!(t.eval(f32::from_bits(0xFFC0_1234)).to_bits(), crate::scalar::NAN_F32);
            assert_eq!(t.eval(-inf).to_bits(), 0);
            assert_eq!(t.eval(t.lo.next_down()).to_bits(), 0);
            assert_eq!(t.k, 256.0 / (t.hi - t.lo));
            // The last number below hi is in the last segment, also where (x - lo) * k rounds to 256.
            let last = t.coefficients[SEGMENTS - 1].map(f32::from_bits);
            let x = t.hi.next_down();
            assert_eq!(t.eval(x), last[0] + last[1] * x);
        }
        assert_eq!((SILU.eval(inf), GELU.eval(6.0), EXP.eval(inf), EXP.eval(-0.0)), (inf, 6.0, 1.0, 1.0));
    }

    #[test]
    fn chords_are_near_their_functions() {
        let silu = |x: f64| x / (1.0 + (-x).exp());
        let gelu = |x: f64| 0.5 * x * (1.0 + (0.797_884_560_802_865_4 * (x + 0.044715 * x * x * x)).tanh());
        for (name, table, f, tolerance) in [
            ("silu", &SILU, &silu as &dyn Fn(f64) -> f64, 6e-4),
            ("gelu", &GELU, &gelu, 3e-4),
            ("exp", &EXP, &f64::exp, 5e-4),
        ] {
            // h^2/8 * max |f''| bounds a chord's error.
            for i in 0..100_000 {
                let x = table.lo + (table.hi - table.lo) * (i as f32 / 100_000.0);
                let error = (f64::from(table.eval(x)) - f(f64::from(x))).abs();
                assert!(error < tolerance, "{name}({x}) errs by {error}");
            }
        }
    }
}
