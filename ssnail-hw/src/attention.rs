//! ATTN: attention of a query over the positions of a KV cache, head by head.
//!
//! Per head: s_t = seqsum over d of k_t\[d\] * q\[d\], times rsqrt(head_dim); m = the largest s; e_t = EXP(s_t - m);
//! z = seqsum(e); w_t = e_t * recip(z); out\[d\] = sequentially over t out + w_t * v_t\[d\], from +0. An F16 cache is
//! exact in F32.
//!
//! Where numerics.md is silent: m starts as s_0 and is replaced by any s_t > m, which a NaN never is. The bits do not
//! depend on it: a NaN score, like an infinite m, makes its e, z and so the whole head NaN.

use crate::operand::Attention;
use crate::scalar::{canonical, recip, rsqrt, sequential_sum};
use crate::tables::EXP;

/// Attention of the heads of `q`; `q` and `out` have `n_heads * head_dim` elements.
pub fn attention(a: &Attention<'_>, q: &[f32], out: &mut [f32]) {
    let heads = q.chunks_exact(a.head_dim).zip(out.chunks_exact_mut(a.head_dim));
    heads.enumerate().for_each(|(h, (q, out))| attend(a, h / a.group(), q, out));
}

/// Attention of one query head over KV head `kv_head`; `q` and `out` have `head_dim` elements.
pub fn attend(a: &Attention<'_>, kv_head: usize, q: &[f32], out: &mut [f32]) {
    let scale = rsqrt(q.len() as f32);
    let mut element = vec![0.0; q.len()];
    let mut weights = vec![0.0; a.positions];
    for (t, s) in weights.iter_mut().enumerate() {
        a.k.read(a.start(t, kv_head), &mut element);
        *s = sequential_sum(element.iter().zip(q).map(|(k, q)| k * q)) * scale;
    }
    softmax(&mut weights);
    out.fill(0.0);
    for (t, w) in weights.iter().enumerate() {
        a.v.read(a.start(t, kv_head), &mut element);
        out.iter_mut().zip(&element).for_each(|(out, v)| *out += w * v);
    }
    out.iter_mut().for_each(|out| *out = canonical(*out));
}

/// Scores to weights, in place: e_t = EXP(s_t - m), then times recip(seqsum(e)).
pub fn softmax(s: &mut [f32]) {
    let Some(m) = s.iter().copied().reduce(|m, s| if s > m { s } else { m }) else {
        return;
    };
    s.iter_mut().for_each(|s| *s = EXP.eval(*s - m));
    let r = recip(sequential_sum(s.iter().copied()));
    s.iter_mut().for_each(|s| *s = canonical(*s * r));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operand::Cache;

    #[test]
    fn query_heads_share_the_kv_head_of_their_group() {
        // One position: the weight is 1 and out is v.
        let a = Attention {
            n_heads: 4,
            n_kv_heads: 2,
            head_dim: 2,
            positions: 1,
            k: Cache::F32(&[1.0, 2.0, 3.0, 4.0]),
            v: Cache::F16(&[0x3C00, 0x4000, 0xBC00, 0xC000]),
        };
        let mut out = [9.0; 8];
        attention(&a, &[0.5; 8], &mut out);
        assert_eq!(out, [1.0, 2.0, 1.0, 2.0, -1.0, -2.0, -1.0, -2.0]);
    }

    #[test]
    fn far_scores_weigh_nothing_and_nan_poisons() {
        let mut s = [0.0, 20.0, 3.0];
        softmax(&mut s);
        assert_eq!(s, [0.0, 1.0, 0.0]);
        for bad in [f32::NAN, f32::INFINITY] {
            let mut s = [0.0, bad, 3.0];
            softmax(&mut s);
            assert_eq!(s.map(f32::to_bits), [crate::scalar::NAN_F32; 3]);
        }
    }
}
