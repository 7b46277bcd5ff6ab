//! A row's sum by decoding its weights: for what is not finite, and as a judge.

use super::super::lanes::{Sum, add_products, total};
use ssnail_isa::Format;

/// Weights that are decoded at a time, on the stack.
const CHUNK: usize = 256;

/// A row times x.
pub(super) fn dot(format: Format, row: &[u8], x: &[f64]) -> f64 {
    let mut sum = Sum::default();
    let mut weights = [0f32; CHUNK];
    let bytes = CHUNK / format.block_len() as usize * format.block_bytes() as usize;
    for (bytes, x) in row.chunks(bytes).zip(x.chunks(CHUNK)) {
        let weights = &mut weights[..x.len()];
        format.decode_row(bytes, weights).expect("a part of a row is as long as its part of the vector");
        add_products(&mut sum, weights, x);
    }
    total(&sum)
}
