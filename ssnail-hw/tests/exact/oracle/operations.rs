//! The operations of numerics.md, written from its text.

use super::*;
use ssnail_hw::tables::Table;

pub(crate) fn sequential_sum(x: &[u32]) -> u32 {
    x.iter().fold(0, |acc, &v| add(acc, v))
}

/// floor(x) of a non-negative number, at most 255.
fn floor_to_segment(x: u32) -> usize {
    match value(x, F32) {
        Finite { magnitude, exponent, .. } if exponent < 0 => {
            (magnitude >> (-exponent).min(63)).min(255) as usize
        }
        Finite { magnitude: 0, .. } => 0,
        _ => 255,
    }
}

/// `above`: what there is at or above hi, if not the argument.
pub(crate) fn table(t: &Table, above: Option<u32>, x: u32) -> u32 {
    let (lo, hi) = (t.lo.to_bits(), t.hi.to_bits());
    if is_nan(x) {
        NAN
    } else if less(x, lo) {
        0
    } else if !less(x, hi) {
        above.unwrap_or(x)
    } else {
        let k = div(from_integer(256), sub(hi, lo));
        let [c0, c1] = t.coefficients[floor_to_segment(mul(sub(x, lo), k))];
        add(c0, mul(c1, x))
    }
}

pub(crate) fn silu(x: u32) -> u32 {
    table(&ssnail_hw::tables::SILU, None, x)
}

pub(crate) fn gelu(x: u32) -> u32 {
    table(&ssnail_hw::tables::GELU, None, x)
}

pub(crate) fn exp(x: u32) -> u32 {
    table(&ssnail_hw::tables::EXP, Some(F32_ONE), x)
}

/// The scale (F16) and the integers of a block.
pub(crate) fn quantise(x: &[u32]) -> (u16, Vec<i64>) {
    let amax = if x.iter().any(|&v| is_nan(v)) {
        NAN
    } else {
        x.iter().map(|v| v & !SIGN).fold(0, |m, v| if less(m, v) { v } else { m })
    };
    let d = div(amax, from_integer(127));
    let id = if d == 0 { 0 } else { div(F32_ONE, d) };
    let quant = |&v: &u32| match value(mul(v, id), F32) {
        Finite { negative, magnitude, exponent } => {
            // floor(2 * |v| + 1) / 2 is |v| rounded with halves up.
            let twice = if exponent >= -1 {
                magnitude << (exponent + 1)
            } else {
                magnitude >> (-1 - exponent).min(63)
            };
            let q = twice.div_ceil(2) as i64;
            if negative { -q } else { q }
        }
        _ => 0,
    };
    (convert(d, F32, F16) as u16, x.iter().map(quant).collect())
}

/// The scale and the integers of a block of weights.
fn block(q4: bool, bytes: &[u8]) -> (u32, Vec<i64>) {
    let d = convert(u32::from(bytes[0]) | u32::from(bytes[1]) << 8, F16, F32);
    let q = (0..32).map(|i| match (q4, i < 16) {
        (false, _) => {
            let byte = i64::from(bytes[2 + i]);
            if byte < 128 { byte } else { byte - 256 }
        }
        (true, true) => i64::from(bytes[2 + i] % 16) - 8,
        (true, false) => i64::from(bytes[2 + i - 16] / 16) - 8,
    });
    (d, q.collect())
}

fn block_bytes(q4: bool) -> usize {
    if q4 { 18 } else { 34 }
}

pub(crate) fn dot_quantised(q4: bool, row: &[u8], x: &[u32]) -> u32 {
    let mut acc = None;
    for (w, x) in row.chunks(block_bytes(q4)).zip(x.chunks(32)) {
        let ((dw, qw), (dx, qx)) = (block(q4, w), quantise(x));
        let isum = qw.iter().zip(&qx).map(|(w, x)| w * x).sum();
        let term = mul(from_integer(isum), mul(dw, convert(dx.into(), F16, F32)));
        acc = Some(acc.map_or(term, |acc| add(acc, term)));
    }
    acc.unwrap()
}

pub(crate) fn dequantise(q4: bool, row: &[u8]) -> Vec<u32> {
    row.chunks(block_bytes(q4))
        .flat_map(|b| {
            let (d, q) = block(q4, b);
            q.into_iter().map(move |q| mul(from_integer(q), d))
        })
        .collect()
}

/// The weights of a row of F32, F16 or BF16.
pub(crate) fn weights(width: Width, row: &[u8]) -> Vec<u32> {
    row.chunks(if width.fraction == 23 { 4 } else { 2 })
        .map(|b| convert(b.iter().rev().fold(0, |acc, &b| acc << 8 | u32::from(b)), width, F32))
        .collect()
}

/// The exact sum of products, rounded once.
pub(crate) fn dot_exact(w: &[u32], x: &[u32]) -> u32 {
    let mut sum = BigInt::from(0);
    let (mut nan, mut infinite) = (false, [false; 2]);
    for (&w, &x) in w.iter().zip(x) {
        let negative = (w ^ x) & SIGN != 0;
        match (value(w, F32), value(x, F32)) {
            (
                Finite { magnitude, exponent, .. },
                Finite { magnitude: magnitude2, exponent: exponent2, .. },
            ) => {
                let product = integer(negative, magnitude) * magnitude2;
                sum += product << (exponent + exponent2 + 298) as u64;
            }
            _ if mul(w, x) == NAN => nan = true,
            _ => infinite[usize::from(negative)] = true,
        }
    }
    match (nan, infinite) {
        (true, _) | (_, [true, true]) => NAN,
        (_, [true, false]) => INF,
        (_, [false, true]) => INF | SIGN,
        _ => round_integer(&sum, -298),
    }
}

pub(crate) fn rmsnorm(x: &[u32], gain: &[u32], eps: u32) -> Vec<u32> {
    let squares: Vec<u32> = x.iter().map(|&v| mul(v, v)).collect();
    let m = mul(sequential_sum(&squares), recip(from_integer(x.len() as i64)));
    let r = rsqrt(add(m, eps));
    x.iter().zip(gain).map(|(&x, &g)| mul(mul(x, r), g)).collect()
}

pub(crate) fn layernorm(x: &[u32], gain: &[u32], bias: &[u32], eps: u32) -> Vec<u32> {
    let rn = recip(from_integer(x.len() as i64));
    let mu = mul(sequential_sum(x), rn);
    let d: Vec<u32> = x.iter().map(|&x| sub(x, mu)).collect();
    let squares: Vec<u32> = d.iter().map(|&d| mul(d, d)).collect();
    let r = rsqrt(add(mul(sequential_sum(&squares), rn), eps));
    (0..x.len()).map(|i| add(mul(mul(d[i], r), gain[i]), bias[i])).collect()
}

pub(crate) fn meanrows(x: &[u32], columns: usize) -> Vec<u32> {
    let rows = x.len() / columns;
    let mean = |c: usize| {
        let sum = (1..rows).fold(x[c], |acc, r| add(acc, x[r * columns + c]));
        mul(sum, recip(from_integer(rows as i64)))
    };
    (0..columns).map(mean).collect()
}

pub(crate) fn rope(x: &[u32], table: &[u32]) -> Vec<u32> {
    let pair = |p: usize| {
        let (v0, v1, at) = (x[2 * p], x[2 * p + 1], 2 * p % table.len());
        let (c, s) = (table[at], table[at + 1]);
        [sub(mul(v0, c), mul(v1, s)), add(mul(v0, s), mul(v1, c))]
    };
    (0..x.len() / 2).flat_map(pair).collect()
}

/// Attention of one query head over its K and V, a row for each position.
pub(crate) fn attend(k: &[Vec<u32>], v: &[Vec<u32>], q: &[u32]) -> Vec<u32> {
    let scale = rsqrt(from_integer(q.len() as i64));
    let score = |k: &Vec<u32>| {
        let products: Vec<u32> = k.iter().zip(q).map(|(&k, &q)| mul(k, q)).collect();
        mul(sequential_sum(&products), scale)
    };
    let s: Vec<u32> = k.iter().map(score).collect();
    let m = s.iter().fold(s[0], |m, &s| if less(m, s) { s } else { m });
    let e: Vec<u32> = s.iter().map(|&s| exp(sub(s, m))).collect();
    let r = recip(sequential_sum(&e));
    let weights: Vec<u32> = e.iter().map(|&e| mul(e, r)).collect();
    let column = |d: usize| weights.iter().zip(v).fold(0, |out, (&w, v)| add(out, mul(w, v[d])));
    (0..q.len()).map(column).collect()
}

pub(crate) fn argmax(x: &[u32]) -> u32 {
    let best = |i: &usize| !is_nan(x[*i]) && x.iter().all(|&other| !less(x[*i], other));
    (0..x.len()).find(best).unwrap_or(0) as u32
}
