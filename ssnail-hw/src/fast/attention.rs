//! ATTN: the bits of [`crate::attention`].
//!
//! Scores have positions in lanes: 32 rows of K are transposed at a time, for all query heads that share the KV head.
//! Weighted sums of V have dimensions in lanes. Sums over positions and dimensions so stay in their order; to hide the
//! latency of additions, several chains of them run side by side. A block that goes beyond the last position repeats
//! it, which does not change the largest score, and is left out of the sums.

use super::simd::{LANES, Simd, Work};
use super::{Kernel, table};
use crate::operand::{Attention, Cache};
use crate::scalar::{f16_to_f32, recip, rsqrt};
use crate::tables::EXP;

/// Vectors of positions that are transposed at a time.
const VECTORS: usize = 2;
/// Elements that a transposition takes of each row.
const STEP: usize = 8;

/// What [`attention`] needs to remember on the way. It grows to what the largest call needs.
#[derive(Debug, Default)]
pub struct AttentionScratch {
    /// Per vector of positions and dimension: K.
    keys: Vec<[f32; LANES]>,
    /// Per query head and vector of positions: scores, then weights.
    scores: Vec<[f32; LANES]>,
}

impl AttentionScratch {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }
}

/// Attention of some query heads, from `first` on: `q` and `out` have `head_dim` elements for each. Heads that share a
/// KV head cost less in one call than in several; threads best take whole groups.
///
/// # Panics
/// If there are no such heads, or a cache has not all positions.
pub fn attention(
    kernel: Kernel,
    a: &Attention<'_>,
    first: usize,
    q: &[f32],
    out: &mut [f32],
    scratch: &mut AttentionScratch,
) {
    assert_eq!(q.len(), out.len(), "elements of q and of out");
    assert!(q.len().is_multiple_of(a.head_dim) && first + q.len() / a.head_dim <= a.n_heads, "heads");
    assert!(a.positions > 0, "positions");
    kernel.run(Heads { a, first, q, out, scratch });
}

struct Heads<'a, 'b> {
    a: &'b Attention<'a>,
    first: usize,
    q: &'b [f32],
    out: &'b mut [f32],
    scratch: &'b mut AttentionScratch,
}

impl Work for Heads<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { a, mut first, mut q, mut out, scratch } = self;
        let vectors = a.positions.div_ceil(LANES * VECTORS) * VECTORS;
        while !q.is_empty() {
            // The heads that are left of a group.
            let group = Group {
                a,
                kv_head: first / a.group(),
                heads: (a.group() - first % a.group()).min(q.len() / a.head_dim),
                vectors,
            };
            let elements = group.heads * a.head_dim;
            let (q_group, q_rest) = q.split_at(elements);
            let (out_group, out_rest) = out.split_at_mut(elements);
            scratch.scores.resize(group.heads * vectors, [0.0; LANES]);
            scratch.keys.resize(VECTORS * a.head_dim, [0.0; LANES]);
            match a.k {
                Cache::F32(k) => group.score(s, k, q_group, scratch),
                Cache::F16(k) => group.score(s, k, q_group, scratch),
            }
            group.softmax(s, &mut scratch.scores);
            match a.v {
                Cache::F32(v) => group.weigh(s, v, &scratch.scores, out_group),
                Cache::F16(v) => group.weigh(s, v, &scratch.scores, out_group),
            }
            first += group.heads;
            (q, out) = (q_rest, out_rest);
        }
    }
}

/// Query heads that share a KV head.
struct Group<'a, 'b> {
    a: &'b Attention<'a>,
    kv_head: usize,
    heads: usize,
    /// Vectors of scores of a head.
    vectors: usize,
}

impl Group<'_, '_> {
    /// All scores.
    #[inline(always)]
    fn score<S: Simd, E: Element>(&self, s: S, k: &[E], q: &[f32], scratch: &mut AttentionScratch) {
        let head_dim = self.a.head_dim;
        for block in 0..self.vectors / VECTORS {
            for (v, keys) in scratch.keys.chunks_exact_mut(head_dim).enumerate() {
                self.transpose(s, k, (block * VECTORS + v) * LANES, keys);
            }
            let mut h = 0;
            while h < self.heads {
                let scores = &mut scratch.scores[h * self.vectors..];
                let (q, at) = (&q[h * head_dim..], block * VECTORS);
                h += match self.heads - h {
                    1 => self.dots::<S, 1>(s, &scratch.keys, q, scores, at),
                    3 => self.dots::<S, 3>(s, &scratch.keys, q, scores, at),
                    _ => self.dots::<S, 2>(s, &scratch.keys, q, scores, at),
                };
            }
        }
    }

    /// Rows of K from position `first` on, per dimension.
    #[inline(always)]
    fn transpose<S: Simd, E: Element>(&self, s: S, k: &[E], first: usize, keys: &mut [[f32; LANES]]) {
        let head_dim = self.a.head_dim;
        let mut rows = [&k[..0]; LANES];
        for (t, row) in rows.iter_mut().enumerate() {
            let start = self.a.start((first + t).min(self.a.positions - 1), self.kv_head);
            *row = &k[start..][..head_dim];
        }
        let (whole, rest) = keys.as_chunks_mut::<STEP>();
        let none = [E::ZERO; STEP];
        for (c, keys) in whole.iter_mut().enumerate() {
            let mut columns = [&none; LANES];
            for t in 0..LANES {
                // SAFETY: rows have as many elements as `keys`, of which chunk c is a whole one.
                columns[t] = unsafe { rows[t].as_chunks().0.get_unchecked(c) };
            }
            let columns = E::transpose(s, columns);
            for d in 0..STEP {
                s.store(columns[d], &mut keys[d]);
            }
        }
        let done = whole.len() * STEP;
        for (d, keys) in rest.iter_mut().enumerate() {
            for t in 0..LANES {
                keys[t] = rows[t][done + d].wide();
            }
        }
    }

    /// Scores of N heads in a block of positions; gives N.
    #[inline(always)]
    fn dots<S: Simd, const N: usize>(
        &self,
        s: S,
        keys: &[[f32; LANES]],
        q: &[f32],
        scores: &mut [[f32; LANES]],
        at: usize,
    ) -> usize {
        let head_dim = self.a.head_dim;
        let mut q_of = [&q[..head_dim]; N];
        for n in 0..N {
            q_of[n] = &q[n * head_dim..][..head_dim];
        }
        let (low, high) = (&keys[..head_dim], &keys[head_dim..][..head_dim]);
        let mut acc = [[s.splat(0.0); VECTORS]; N];
        for d in 0..head_dim {
            let k = [s.load(&low[d]), s.load(&high[d])];
            for n in 0..N {
                let q = s.splat(q_of[n][d]);
                for v in 0..VECTORS {
                    acc[n][v] = s.add(acc[n][v], s.mul(k[v], q));
                }
            }
        }
        let scale = s.splat(rsqrt(head_dim as f32));
        for n in 0..N {
            for v in 0..VECTORS {
                s.store(s.mul(acc[n][v], scale), &mut scores[n * self.vectors + at + v]);
            }
        }
        N
    }

    /// Scores to weights.
    #[inline(always)]
    fn softmax<S: Simd>(&self, s: S, scores: &mut [[f32; LANES]]) {
        for scores in scores.chunks_exact_mut(self.vectors) {
            let mut m = s.load(&scores[0]);
            for v in &scores[1..] {
                let v = s.load(v);
                m = s.select(s.lt(m, v), v, m);
            }
            let mut lanes = [0.0; LANES];
            s.store(m, &mut lanes);
            let m = s.splat(lanes.iter().fold(lanes[0], |m, &v| if v > m { v } else { m }));
            for score in scores {
                s.store(table::eval(s, &EXP, s.sub(s.load(score), m)), score);
            }
        }
        let mut h = 0;
        while h < self.heads {
            let scores = &mut scores[h * self.vectors..];
            h += match self.heads - h {
                1 => self.normalise::<S, 1>(s, scores),
                2 => self.normalise::<S, 2>(s, scores),
                3 => self.normalise::<S, 3>(s, scores),
                _ => self.normalise::<S, 4>(s, scores),
            };
        }
    }

    /// Divides the scores of N heads by their sums; gives N.
    #[inline(always)]
    fn normalise<S: Simd, const N: usize>(&self, s: S, scores: &mut [[f32; LANES]]) -> usize {
        let mut z = [0f32; N];
        {
            let mut e = [&scores.as_flattened()[..self.a.positions]; N];
            for n in 1..N {
                e[n] = &scores[n * self.vectors..].as_flattened()[..self.a.positions];
            }
            for t in 0..self.a.positions {
                for n in 0..N {
                    z[n] += e[n][t];
                }
            }
        }
        for n in 0..N {
            let r = s.splat(recip(z[n]));
            for w in &mut scores[n * self.vectors..][..self.vectors] {
                s.store(s.mul(s.load(w), r), w);
            }
        }
        N
    }

    /// The weighted sums of V.
    #[inline(always)]
    fn weigh<S: Simd, E: Element>(&self, s: S, v: &[E], weights: &[[f32; LANES]], out: &mut [f32]) {
        let head_dim = self.a.head_dim;
        let mut h = 0;
        while h < self.heads {
            let weights = &weights[h * self.vectors..];
            let out = &mut out[h * head_dim..];
            let heads = match self.heads - h {
                1 => 1,
                3 => 3,
                _ => 2,
            };
            let mut d = 0;
            while d < head_dim {
                let left = (head_dim - d) / LANES;
                d += LANES
                    * match (heads, left) {
                        (1, 4..) => self.sums::<S, E, 1, 4>(s, v, weights, d, out),
                        (1, 2..) => self.sums::<S, E, 1, 2>(s, v, weights, d, out),
                        (1, _) => self.sums::<S, E, 1, 1>(s, v, weights, d, out),
                        (2, 2..) => self.sums::<S, E, 2, 2>(s, v, weights, d, out),
                        (2, _) => self.sums::<S, E, 2, 1>(s, v, weights, d, out),
                        (_, 2..) => self.sums::<S, E, 3, 2>(s, v, weights, d, out),
                        _ => self.sums::<S, E, 3, 1>(s, v, weights, d, out),
                    };
            }
            h += heads;
        }
    }

    /// M vectors of dimensions, from `d` on, of N heads; gives M. The last may go beyond the head, into what comes next
    /// in the cache or zeros, and is cut when it is stored.
    #[inline(always)]
    fn sums<S: Simd, E: Element, const N: usize, const M: usize>(
        &self,
        s: S,
        v: &[E],
        weights: &[[f32; LANES]],
        d: usize,
        out: &mut [f32],
    ) -> usize {
        let (positions, head_dim) = (self.a.positions, self.a.head_dim);
        let mut w = [&weights.as_flattened()[..positions]; N];
        for n in 1..N {
            w[n] = &weights[n * self.vectors..].as_flattened()[..positions];
        }
        let mut acc = [[s.splat(0.0); M]; N];
        for t in 0..positions {
            let row = &v[self.a.start(t, self.kv_head) + d..];
            let last;
            let row = match row.as_chunks().0.first_chunk::<M>() {
                Some(row) => row,
                None => {
                    let mut padded = [[E::ZERO; LANES]; M];
                    padded.as_flattened_mut()[..row.len()].copy_from_slice(row);
                    last = padded;
                    &last
                }
            };
            for m in 0..M {
                let v = E::load(s, &row[m]);
                for n in 0..N {
                    acc[n][m] = s.add(acc[n][m], s.mul(s.splat(w[n][t]), v));
                }
            }
        }
        for n in 0..N {
            let out = &mut out[n * head_dim..][..head_dim][d..];
            for (m, out) in out.chunks_mut(LANES).take(M).enumerate() {
                let mut lanes = [0.0; LANES];
                s.store(s.canonical(acc[n][m]), &mut lanes);
                out.copy_from_slice(&lanes[..out.len()]);
            }
        }
        M
    }
}

/// An element of a cache.
trait Element: Copy + 'static {
    const ZERO: Self;
    fn wide(self) -> f32;
    fn load<S: Simd>(s: S, x: &[Self; LANES]) -> S::F;
    fn transpose<S: Simd>(s: S, rows: [&[Self; STEP]; LANES]) -> [S::F; STEP];
}

impl Element for f32 {
    const ZERO: Self = 0.0;

    #[inline(always)]
    fn wide(self) -> f32 {
        self
    }

    #[inline(always)]
    fn load<S: Simd>(s: S, x: &[Self; LANES]) -> S::F {
        s.load(x)
    }

    #[inline(always)]
    fn transpose<S: Simd>(s: S, rows: [&[Self; STEP]; LANES]) -> [S::F; STEP] {
        s.transpose(rows)
    }
}

/// The bits of an F16.
impl Element for u16 {
    const ZERO: Self = 0;

    #[inline(always)]
    fn wide(self) -> f32 {
        f16_to_f32(self)
    }

    #[inline(always)]
    fn load<S: Simd>(s: S, x: &[Self; LANES]) -> S::F {
        s.load_f16(x)
    }

    #[inline(always)]
    fn transpose<S: Simd>(s: S, rows: [&[Self; STEP]; LANES]) -> [S::F; STEP] {
        s.transpose_f16(rows)
    }
}
