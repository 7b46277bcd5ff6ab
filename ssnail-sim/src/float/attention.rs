//! Attention: scores, softmax and weighted sum in F64, the query heads of a KV head together, KV heads in parallel.

use super::lanes::{Sum, add_products, exp, total, vectorised};
use crate::numerics::{Attention, Cache};
use rayon::prelude::*;
use ssnail_hw::fast::{self, Kernel};
use ssnail_isa::Format;

/// Products (positions * heads * dimension) above which heads are shared among threads.
const PARALLEL: usize = 1 << 15;

pub(super) fn attention(a: &Attention<'_>, q: &[f32], out: &mut [f32]) {
    let group = a.group() * a.head_dim;
    let one = |(kv_head, (q, out)): (usize, (&[f32], &mut [f32]))| vectorised(|| heads(a, kv_head, q, out));
    if a.positions * q.len() < PARALLEL {
        q.chunks_exact(group).zip(out.chunks_exact_mut(group)).enumerate().for_each(one);
    } else {
        q.par_chunks_exact(group).zip(out.par_chunks_exact_mut(group)).enumerate().for_each(one);
    }
}

/// The query heads that use one KV head.
#[inline(always)]
fn heads(a: &Attention<'_>, kv_head: usize, q: &[f32], out: &mut [f32]) {
    let (dim, positions) = (a.head_dim, a.positions);
    let scale = 1.0 / (dim as f64).sqrt();
    let q: Vec<f64> = q.iter().map(|&v| f64::from(v) * scale).collect();
    let n_heads = q.len() / dim;
    let mut element = vec![0f32; dim];

    // Score of head h at position t stands at h * positions + t.
    let mut weights = vec![0f64; n_heads * positions];
    for t in 0..positions {
        read(&a.k, a.start(t, kv_head), &mut element);
        for (h, q) in q.chunks_exact(dim).enumerate() {
            let mut sum = Sum::default();
            add_products(&mut sum, &element, q);
            weights[h * positions + t] = total(&sum);
        }
    }
    weights.chunks_exact_mut(positions).for_each(softmax);

    let mut sums = vec![0f64; q.len()];
    for t in 0..positions {
        read(&a.v, a.start(t, kv_head), &mut element);
        for (h, sums) in sums.chunks_exact_mut(dim).enumerate() {
            let w = weights[h * positions + t];
            sums.iter_mut().zip(&element).for_each(|(s, &v)| *s += w * f64::from(v));
        }
    }
    out.iter_mut().zip(sums).for_each(|(out, s)| *out = s as f32);
}

/// Elements of a cache from `start` on.
#[inline(always)]
fn read(cache: &Cache<'_>, start: usize, out: &mut [f32]) {
    match cache {
        Cache::F16(bits) => {
            let bits = &bits[start..start + out.len()];
            fast::deqrow(Kernel::best(), Format::F16, bytemuck::cast_slice(bits), out);
        }
        Cache::F32(_) => cache.read(start, out),
    }
}

#[inline(always)]
fn softmax(x: &mut [f64]) {
    let max = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut sum = 0.0;
    for v in x.iter_mut() {
        *v = exp(*v - max);
        sum += *v;
    }
    x.iter_mut().for_each(|v| *v /= sum);
}
