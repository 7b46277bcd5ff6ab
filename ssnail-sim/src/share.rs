//! Sharing the rows of a matrix product among threads, and keeping threads ready for the next one.

use crate::numerics::Product;
use rayon::prelude::*;
use std::cell::Cell;
use std::hint;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Multiplications above which a product is worth sharing among threads: of one vector, where memory sets the pace, and
/// of several.
const WORTH: [usize; 2] = [1 << 17, 1 << 20];
/// Weights that a thread takes at a time, about.
const SHARE: usize = 1 << 15;
/// How long an idle thread looks for work before it sleeps: some instructions of a small model.
const AWAKE: Duration = Duration::from_micros(200);
/// Whether threads look for work.
static LOOKING: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Whether this thread does.
    static LOOKS: Cell<bool> = const { Cell::new(false) };
}

/// Calls `work` for ranges of rows that together are all, with the products' elements for those rows. Ranges start at
/// multiples of `granule`.
pub(crate) fn rows(
    columns: usize,
    granule: usize,
    products: &mut [Product<'_>],
    work: impl Fn(Range<usize>, &mut [&mut [f32]]) + Sync,
) {
    let rows = products.first().map_or(0, |p| p.y.len());
    let worth = WORTH[usize::from(products.len() > 1)];
    if columns * rows * products.len() < worth || rayon::current_num_threads() == 1 {
        let mut ys: Vec<&mut [f32]> = products.iter_mut().map(|p| &mut *p.y).collect();
        return work(0..rows, &mut ys);
    }
    stay_awake();
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

/// Has the other threads of this pool look for work until there has been none for a while: waking one takes as long as
/// an instruction, and the next one comes soon. To be called before sharing work; where they look already it costs
/// nothing.
pub(crate) fn stay_awake() {
    let here = rayon::current_thread_index();
    if here.is_none() || LOOKING.swap(true, Ordering::Relaxed) {
        return;
    }
    rayon::spawn_broadcast(move |other| {
        // What a thread finds may be another call to look for work; one inside of the other would fill its stack.
        if Some(other.index()) == here || LOOKS.replace(true) {
            return;
        }
        let mut last = Instant::now();
        while last.elapsed() < AWAKE {
            if rayon::yield_now() == Some(rayon::Yield::Executed) {
                last = Instant::now();
            } else {
                (0..16).for_each(|_| hint::spin_loop());
            }
        }
        LOOKS.set(false);
        LOOKING.store(false, Ordering::Relaxed);
    });
}
