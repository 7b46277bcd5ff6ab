//! Sharing the rows of a matrix product among threads.

use crate::numerics::Product;
use rayon::prelude::*;
use std::ops::Range;

/// Multiplications above which a product is worth sharing among threads.
const WORTH: usize = 1 << 17;
/// Weights that a thread takes at a time, about.
const SHARE: usize = 1 << 16;

/// Calls `work` for ranges of rows that together are all, with the products' elements for those rows. Ranges start at
/// multiples of `granule`.
pub(crate) fn rows(
    columns: usize,
    granule: usize,
    products: &mut [Product<'_>],
    work: impl Fn(Range<usize>, &mut [&mut [f32]]) + Sync,
) {
    let rows = products.first().map_or(0, |p| p.y.len());
    if columns * rows * products.len() < WORTH || rayon::current_num_threads() == 1 {
        let mut ys: Vec<&mut [f32]> = products.iter_mut().map(|p| &mut *p.y).collect();
        return work(0..rows, &mut ys);
    }
    let share = (SHARE / columns).next_multiple_of(granule).max(granule);
    let mut parts: Vec<Vec<&mut [f32]>> = Vec::new();
    parts.resize_with(rows.div_ceil(share), || Vec::with_capacity(products.len()));
    for product in products {
        parts.iter_mut().zip(product.y.chunks_mut(share)).for_each(|(part, y)| part.push(y));
    }
    parts.par_iter_mut().enumerate().for_each(|(n, ys)| {
        let first = n * share;
        work(first..first + ys[0].len(), ys);
    });
}
