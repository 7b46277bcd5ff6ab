//! Element by element, with vectors: the bits of [`crate::vector`]. Unlike there, lengths have to fit.

use super::simd::{LANES, Simd, Work};
use super::{Kernel, table};
use crate::gemv::{Q4_0_BYTES, Q8_0_BYTES};
use crate::quantise::BLOCK;
use crate::scalar::f16_to_f32;
use crate::tables::{GELU, SILU};
use ssnail_isa::Format;

/// z = x + y.
///
/// # Panics
/// If lengths differ.
pub fn vadd(kernel: Kernel, x: &[f32], y: &[f32], z: &mut [f32]) {
    kernel.run(Zip { x, y, z, op: Add });
}

/// z = x * y.
///
/// # Panics
/// If lengths differ.
pub fn vmul(kernel: Kernel, x: &[f32], y: &[f32], z: &mut [f32]) {
    kernel.run(Zip { x, y, z, op: Mul });
}

/// z = SILU(x) * y, SILU from its table.
///
/// # Panics
/// If lengths differ.
pub fn silumul(kernel: Kernel, x: &[f32], y: &[f32], z: &mut [f32]) {
    kernel.run(Zip { x, y, z, op: SiluMul });
}

/// z = GELU(x) from its table.
///
/// # Panics
/// If lengths differ.
pub fn gelu(kernel: Kernel, x: &[f32], z: &mut [f32]) {
    kernel.run(Zip { x, y: x, z, op: Gelu });
}

/// Rotates adjacent pairs of `x` by the (c, s) pairs of `table`, which repeats along `x`.
///
/// # Panics
/// If `table` is empty or has half a pair.
pub fn rope(kernel: Kernel, x: &mut [f32], table: &[f32]) {
    assert!(table.len().is_multiple_of(2), "{} elements are no pairs", table.len());
    kernel.run(Rope { x, table });
}

/// z = the bits of x as F16: nearest even, subnormals kept, overflow to infinity.
///
/// # Panics
/// If lengths differ.
pub fn cvt16(kernel: Kernel, x: &[f32], z: &mut [u16]) {
    kernel.run(Cvt16 { x, z });
}

/// The weights of one row: F32(q) * F32(d), one rounding, for Q8_0 and Q4_0; exact for the others.
///
/// # Panics
/// If `row` is not the bytes of as many weights as `z` has elements.
pub fn deqrow(kernel: Kernel, format: Format, row: &[u8], z: &mut [f32]) {
    assert_eq!(row.len() as u64, format.row_bytes(z.len() as u64), "bytes of a row");
    kernel.run(Deqrow { format, row, z });
}

/// Index of the largest element, the first of equals. A NaN is never the largest; where all are NaN, 0.
pub fn argmax(kernel: Kernel, x: &[f32]) -> u32 {
    kernel.run(Argmax { x })
}

/// Up to 16 elements, and zeros.
#[inline(always)]
pub(super) fn load_part<S: Simd>(s: S, x: &[f32]) -> S::F {
    if let Some(x) = x.first_chunk() {
        return s.load(x);
    }
    let mut lanes = [0.0; LANES];
    lanes[..x.len()].copy_from_slice(x);
    s.load(&lanes)
}

/// The first of 16 elements.
#[inline(always)]
pub(super) fn store_part<S: Simd>(s: S, x: S::F, out: &mut [f32]) {
    if let Some(out) = out.first_chunk_mut() {
        return s.store(x, out);
    }
    let mut lanes = [0.0; LANES];
    s.store(x, &mut lanes);
    out.copy_from_slice(&lanes[..out.len()]);
}

/// A function of two elements; NaN need not be canonical.
trait Binary {
    fn apply<S: Simd>(&self, s: S, x: S::F, y: S::F) -> S::F;
}

struct Add;
struct Mul;
struct SiluMul;
struct Gelu;

impl Binary for Add {
    #[inline(always)]
    fn apply<S: Simd>(&self, s: S, x: S::F, y: S::F) -> S::F {
        s.add(x, y)
    }
}

impl Binary for Mul {
    #[inline(always)]
    fn apply<S: Simd>(&self, s: S, x: S::F, y: S::F) -> S::F {
        s.mul(x, y)
    }
}

impl Binary for SiluMul {
    #[inline(always)]
    fn apply<S: Simd>(&self, s: S, x: S::F, y: S::F) -> S::F {
        s.mul(table::eval(s, &SILU, x), y)
    }
}

impl Binary for Gelu {
    #[inline(always)]
    fn apply<S: Simd>(&self, s: S, x: S::F, _: S::F) -> S::F {
        table::eval(s, &GELU, x)
    }
}

struct Zip<'a, O> {
    x: &'a [f32],
    y: &'a [f32],
    z: &'a mut [f32],
    op: O,
}

impl<O: Binary> Work for Zip<'_, O> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { x, y, z, op } = self;
        assert_eq!((x.len(), y.len()), (z.len(), z.len()), "elements of x and y, and of z");
        let ((x, x_rest), (y, y_rest)) = (x.as_chunks(), y.as_chunks());
        let (z, z_rest) = z.as_chunks_mut();
        for ((x, y), z) in x.iter().zip(y).zip(z) {
            s.store(s.canonical(op.apply(s, s.load(x), s.load(y))), z);
        }
        if !z_rest.is_empty() {
            let z = op.apply(s, load_part(s, x_rest), load_part(s, y_rest));
            store_part(s, s.canonical(z), z_rest);
        }
    }
}

struct Rope<'a> {
    x: &'a mut [f32],
    table: &'a [f32],
}

impl Work for Rope<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let (table, table_rest) = self.table.as_chunks();
        for x in self.x.chunks_exact_mut(self.table.len()) {
            let (x, x_rest) = x.as_chunks_mut();
            for (x, cs) in x.iter_mut().zip(table) {
                s.store(s.canonical(s.rotate(s.load(x), s.load(cs))), x);
            }
            if !x_rest.is_empty() {
                let x = s.rotate(load_part(s, x_rest), load_part(s, table_rest));
                store_part(s, s.canonical(x), x_rest);
            }
        }
    }
}

struct Cvt16<'a> {
    x: &'a [f32],
    z: &'a mut [u16],
}

impl Work for Cvt16<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        assert_eq!(self.x.len(), self.z.len(), "elements of x and of z");
        let (x, x_rest) = self.x.as_chunks();
        let (z, z_rest) = self.z.as_chunks_mut();
        for (x, z) in x.iter().zip(z) {
            s.store_f16(s.canonical(s.load(x)), z);
        }
        let mut lanes = [0; LANES];
        s.store_f16(s.canonical(load_part(s, x_rest)), &mut lanes);
        z_rest.copy_from_slice(&lanes[..z_rest.len()]);
    }
}

struct Deqrow<'a> {
    format: Format,
    row: &'a [u8],
    z: &'a mut [f32],
}

impl Work for Deqrow<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { format, row, z } = self;
        match format {
            Format::Q8_0 => {
                for (block, z) in row.as_chunks::<Q8_0_BYTES>().0.iter().zip(z.as_chunks_mut::<BLOCK>().0) {
                    let d = s.splat(f16_to_f32(u16::from_le_bytes([block[0], block[1]])));
                    for (q, z) in block[2..].as_chunks().0.iter().zip(z.as_chunks_mut().0) {
                        s.store(s.canonical(s.mul(s.to_f32(s.load_i8(q)), d)), z);
                    }
                }
            }
            Format::Q4_0 => {
                for (block, z) in row.as_chunks::<Q4_0_BYTES>().0.iter().zip(z.as_chunks_mut::<BLOCK>().0) {
                    let d = s.splat(f16_to_f32(u16::from_le_bytes([block[0], block[1]])));
                    let q = s.load_i8(block.last_chunk().expect("16 bytes of nibbles"));
                    let low = s.add_i(s.and(q, s.splat_i(15)), s.splat_i(-8));
                    // 16 times the weights, which is exact, and so is taking it off.
                    let high = s.add_i(s.and(q, s.splat_i(15 << 4)), s.splat_i(-8 << 4));
                    let high = s.mul(s.to_f32(high), s.splat(1.0 / 16.0));
                    let z = z.as_chunks_mut().0;
                    s.store(s.canonical(s.mul(s.to_f32(low), d)), &mut z[0]);
                    s.store(s.canonical(s.mul(high, d)), &mut z[1]);
                }
            }
            Format::F16 => floats(s, row, z, S::load_f16_bytes),
            Format::Bf16 => floats(s, row, z, S::load_bf16_bytes),
            Format::F32 => floats(s, row, z, S::load_f32_bytes),
        }
    }
}

/// Weights of so many bytes for 16.
#[inline(always)]
fn floats<S: Simd, const BYTES: usize>(s: S, row: &[u8], z: &mut [f32], load: fn(S, &[u8; BYTES]) -> S::F) {
    let (row, row_rest) = row.as_chunks::<BYTES>();
    let (z, z_rest) = z.as_chunks_mut();
    for (bytes, z) in row.iter().zip(z) {
        s.store(s.canonical(load(s, bytes)), z);
    }
    let mut bytes = [0; BYTES];
    bytes[..row_rest.len()].copy_from_slice(row_rest);
    store_part(s, s.canonical(load(s, &bytes)), z_rest);
}

struct Argmax<'a> {
    x: &'a [f32],
}

impl Work for Argmax<'_> {
    type Output = u32;

    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> u32 {
        /// Elements of which the largest is found before it is located.
        const PART: usize = 64 * LANES;
        let (mut best, mut at) = (f32::NEG_INFINITY, 0);
        for (n, x) in self.x.chunks(PART).enumerate() {
            let mut m = s.splat(f32::NEG_INFINITY);
            let (x, rest) = x.as_chunks();
            for x in x {
                let x = s.load(x);
                m = s.select(s.lt(m, x), x, m);
            }
            let mut lanes = [0.0; LANES];
            s.store(m, &mut lanes);
            for &x in lanes.iter().chain(rest) {
                if x > best {
                    (best, at) = (x, n * PART);
                }
            }
        }
        // Where nothing is above it, the first -infinity, which may be anywhere.
        self.x[at..].iter().position(|&x| x == best).map_or(0, |i| (at + i) as u32)
    }
}
