//! Q8_0 and Q4_0, a group of rows at a time: lanes lie over rows, so each row's terms are added in their order.
//!
//! A pass over a group's weights serves as many inputs as there are registers for. The order of arithmetic of a row is
//! that of [`crate::gemv`]: integer sums are exact, whatever their order; the sum of terms starts from -0, to which the
//! first term adds without a change of a bit, be it -0 itself.

use super::packed::{GROUP, SCALES, STEP};
use super::simd::{LANES, Simd, Work};
use super::{Block, Input, store};
use crate::gemv::{Q4_0_BYTES, Q8_0_BYTES};
use ssnail_isa::Format;

const _: () = assert!(GROUP == LANES);

/// Y = W * X over packed groups of rows.
pub(super) struct Groups<'a, 'y> {
    /// Q8_0 or Q4_0.
    pub(super) format: Format,
    /// The groups.
    pub(super) bytes: &'a [u8],
    /// The inputs.
    pub(super) inputs: &'a [&'a Input],
    /// For each input a vector with an element for each row.
    pub(super) ys: &'a mut [&'y mut [f32]],
    /// Whether to add to what `ys` hold.
    pub(super) accumulate: bool,
}

impl Work for Groups<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        match self.format {
            Format::Q4_0 => self.of::<S, Q4, { GROUP * Q4_0_BYTES }>(s),
            _ => self.of::<S, Q8, { GROUP * Q8_0_BYTES }>(s),
        }
    }
}

impl Groups<'_, '_> {
    #[inline(always)]
    fn of<S: Simd, P: Products, const BYTES: usize>(self, s: S) {
        let Self { bytes, inputs, ys, accumulate, .. } = self;
        let Some(blocks) = inputs.first().map(|x| x.blocks().len()) else {
            return;
        };
        for (g, group) in bytes.as_chunks::<BYTES>().0.chunks_exact(blocks).enumerate() {
            let (mut inputs, mut ys) = (inputs, &mut *ys);
            while !inputs.is_empty() {
                let tile = match inputs.len().min(S::INPUTS) {
                    8.. => dots::<S, P, BYTES, 8>(s, group, inputs, ys, g, accumulate),
                    4.. => dots::<S, P, BYTES, 4>(s, group, inputs, ys, g, accumulate),
                    3 => dots::<S, P, BYTES, 3>(s, group, inputs, ys, g, accumulate),
                    2 => dots::<S, P, BYTES, 2>(s, group, inputs, ys, g, accumulate),
                    _ => dots::<S, P, BYTES, 1>(s, group, inputs, ys, g, accumulate),
                };
                (inputs, ys) = (&inputs[tile..], &mut ys[tile..]);
            }
        }
    }
}

/// Group `g` times the first N inputs; gives N.
#[inline(always)]
fn dots<S: Simd, P: Products, const BYTES: usize, const N: usize>(
    s: S,
    group: &[[u8; BYTES]],
    inputs: &[&Input],
    ys: &mut [&mut [f32]],
    g: usize,
    accumulate: bool,
) -> usize {
    let mut x: [&[Block]; N] = [&[]; N];
    for i in 0..N {
        x[i] = &inputs[i].blocks()[..group.len()];
    }
    let mut acc = [s.splat(-0.0); N];
    for (n, block) in group.iter().enumerate() {
        for line in block.chunks(64) {
            s.prefetch(line.as_ptr());
        }
        let (scales, steps) = block.split_at(SCALES);
        let scales = s.load_f16_bytes(scales.first_chunk().expect("32 bytes"));
        let mut blocks = [&x[0][n]; N];
        for i in 1..N {
            blocks[i] = &x[i][n];
        }
        let isums = P::isums(s, steps.as_chunks().0, blocks);
        for i in 0..N {
            let scale = s.mul(scales, s.splat(blocks[i].d));
            acc[i] = s.add(acc[i], s.mul(s.to_f32(isums[i]), scale));
        }
    }
    for i in 0..N {
        let y = &mut ys[i][g * GROUP..];
        if let Some(y) = y.first_chunk_mut() {
            let sum = if accumulate { s.add(s.load(y), acc[i]) } else { acc[i] };
            s.store(s.canonical(sum), y);
        } else {
            let mut dots = [0.0; GROUP];
            s.store(acc[i], &mut dots);
            store(dots, y, accumulate);
        }
    }
    N
}

/// The integer sums of a format's blocks.
trait Products {
    /// Of 16 rows' block and N blocks of inputs.
    fn isums<S: Simd, const N: usize>(s: S, steps: &[[u8; STEP]], x: [&Block; N]) -> [S::I; N];
}

/// Q8_0.
struct Q8;

impl Products for Q8 {
    #[inline(always)]
    fn isums<S: Simd, const N: usize>(s: S, steps: &[[u8; STEP]], x: [&Block; N]) -> [S::I; N] {
        let mut sums = [s.splat_i(0); N];
        for i in 0..N {
            sums[i] = s.start_q8(x[i]);
        }
        for j in 0..8 {
            let w = s.weights_q8(&steps[j]);
            for i in 0..N {
                sums[i] = s.dot_q8(sums[i], w, x[i].q.as_chunks().0[j]);
            }
        }
        sums
    }
}

/// Q4_0.
struct Q4;

impl Products for Q4 {
    #[inline(always)]
    fn isums<S: Simd, const N: usize>(s: S, steps: &[[u8; STEP]], x: [&Block; N]) -> [S::I; N] {
        let mut sums = [s.start_q4(x[0]); N];
        for i in 1..N {
            sums[i] = s.start_q4(x[i]);
        }
        for j in 0..4 {
            let w = s.weights_q4(&steps[j]);
            for i in 0..N {
                let q = x[i].q.as_chunks().0;
                sums[i] = s.dot_q4(sums[i], w, q[j], q[j + 4]);
            }
        }
        let mut isums = [s.splat_i(0); N];
        for i in 0..N {
            isums[i] = s.finish_q4(sums[i]);
        }
        isums
    }
}
