//! Matrix times vector: rows in parallel, each the sum of exact products in F64.

use super::lanes::{LANES, Sum, add_products, total};
use crate::numerics::Matrix;
use half::f16;
use rayon::prelude::*;
use ssnail_isa::Format;

/// Weights above which a product is worth sharing among threads.
const PARALLEL: usize = 1 << 16;
/// Weights that a thread takes at a time.
const SHARE: usize = 1 << 15;
/// Weights of an unquantised row that are decoded at a time, on the stack.
const CHUNK: usize = 256;

/// y = W * x, or y += W * x.
pub(super) fn gemv(w: Matrix<'_>, x: &[f64], y: &mut [f32], accumulate: bool) {
    let rows_of = kernel();
    if w.columns * y.len() < PARALLEL {
        return rows_of(w, x, y, accumulate);
    }
    let rows = (SHARE / w.columns).max(1);
    y.par_chunks_mut(rows)
        .zip(w.bytes.par_chunks(rows * w.row_bytes()))
        .for_each(|(y, bytes)| rows_of(Matrix { bytes, ..w }, x, y, accumulate));
}

type Kernel = fn(Matrix<'_>, &[f64], &mut [f32], bool);

/// The same code, compiled for the widest vectors that this machine has.
fn kernel() -> Kernel {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw") {
            // SAFETY: the machine has what the function is compiled for.
            return |w, x, y, accumulate| unsafe { rows_avx512(w, x, y, accumulate) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the machine has what the function is compiled for.
            return |w, x, y, accumulate| unsafe { rows_avx2(w, x, y, accumulate) };
        }
    }
    rows
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2")]
fn rows_avx512(w: Matrix<'_>, x: &[f64], y: &mut [f32], accumulate: bool) {
    rows(w, x, y, accumulate);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn rows_avx2(w: Matrix<'_>, x: &[f64], y: &mut [f32], accumulate: bool) {
    rows(w, x, y, accumulate);
}

#[inline(always)]
pub(super) fn rows(w: Matrix<'_>, x: &[f64], y: &mut [f32], accumulate: bool) {
    for (row, y) in w.rows().zip(y) {
        let dot = match w.format {
            Format::Q8_0 => dot_q8_0(row, x),
            Format::Q4_0 => dot_q4_0(row, x),
            format => dot_float(format, row, x),
        };
        *y = (if accumulate { f64::from(*y) } else { 0.0 } + dot) as f32;
    }
}

/// Weights of a quantised block.
const BLOCK: usize = 32;

#[inline(always)]
fn dot_q8_0(row: &[u8], x: &[f64]) -> f64 {
    let mut sum = Sum::default();
    for (block, x) in row.as_chunks::<{ 2 + BLOCK }>().0.iter().zip(x.as_chunks::<BLOCK>().0) {
        let weights: [f64; BLOCK] = std::array::from_fn(|i| f64::from(block[2 + i] as i8));
        add_block(&mut sum, block[0], block[1], &weights, x);
    }
    total(&sum)
}

#[inline(always)]
fn dot_q4_0(row: &[u8], x: &[f64]) -> f64 {
    let mut sum = Sum::default();
    for (block, x) in row.as_chunks::<{ 2 + BLOCK / 2 }>().0.iter().zip(x.as_chunks::<BLOCK>().0) {
        let mut weights = [0.0; BLOCK];
        for i in 0..BLOCK / 2 {
            weights[i] = f64::from((block[2 + i] & 15) as i8 - 8);
            weights[i + BLOCK / 2] = f64::from((block[2 + i] >> 4) as i8 - 8);
        }
        add_block(&mut sum, block[0], block[1], &weights, x);
    }
    total(&sum)
}

/// Adds (the block's weights times x) * d.
#[inline(always)]
fn add_block(sum: &mut Sum, d0: u8, d1: u8, weights: &[f64; BLOCK], x: &[f64; BLOCK]) {
    let d = f64::from(f16::from_le_bytes([d0, d1]).to_f32_const());
    let mut of_block = Sum::default();
    add_products(&mut of_block, weights, x);
    for l in 0..LANES {
        sum[l] += of_block[l] * d;
    }
}

#[inline(always)]
fn dot_float(format: Format, row: &[u8], x: &[f64]) -> f64 {
    let mut sum = Sum::default();
    let mut weights = [0f32; CHUNK];
    for (bytes, x) in row.chunks(CHUNK * format.block_bytes() as usize).zip(x.chunks(CHUNK)) {
        let weights = &mut weights[..x.len()];
        format.decode_row(bytes, weights).expect("a part of a row is as long as its part of the vector");
        add_products(&mut sum, weights, x);
    }
    total(&sum)
}
