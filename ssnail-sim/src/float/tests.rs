//! Each operation against a formula in plain F64, one element at a time, without anything of the code that it tests.

use super::*;
use crate::numerics::Cache;
use half::f16;
use proptest::prelude::*;
use ssnail_isa::Format;

/// Within 1e-6 of the largest magnitude of the vector, and half a unit in the last place where F32 is subnormal.
fn close(got: &[f32], want: &[f64]) -> Result<(), TestCaseError> {
    let largest = want.iter().fold(0f64, |m, v| m.max(v.abs()));
    for (i, (&g, &w)) in got.iter().zip(want).enumerate() {
        prop_assert!((f64::from(g) - w).abs() <= 1e-6 * largest + 1e-45, "element {}: {} is not {}", i, g, w);
    }
    prop_assert_eq!(got.len(), want.len());
    Ok(())
}

fn vector(n: impl Into<prop::collection::SizeRange>) -> impl Strategy<Value = Vec<f32>> {
    prop::collection::vec(prop_oneof![6 => -4f32..4.0, 1 => -1e4f32..1e4, 1 => -1e-5f32..1e-5], n)
}

/// Vectors of one length, `k` of them.
fn vectors<const K: usize>() -> impl Strategy<Value = [Vec<f32>; K]> {
    (1usize..100).prop_flat_map(|n| [(); K].map(|()| vector(n)))
}

fn exact(x: &[f32]) -> Vec<f64> {
    x.iter().map(|&v| v as f64).collect()
}

/// A matrix in a format, and its weights, decoded by the definition of the format.
fn matrix(format: Format, weights: &[f32], columns: usize) -> (Vec<u8>, Vec<f64>) {
    let row_bytes = format.row_bytes(columns as u64) as usize;
    let mut bytes = vec![0; row_bytes * weights.len() / columns];
    for (row, out) in weights.chunks(columns).zip(bytes.chunks_mut(row_bytes)) {
        format.encode_row(row, out).unwrap();
    }
    let weights = (0..weights.len()).map(|i| weight(format, &bytes, i)).collect();
    (bytes, weights)
}

/// Weight i of consecutive rows of whole blocks.
fn weight(format: Format, bytes: &[u8], i: usize) -> f64 {
    let half = |at: usize| f16::from_le_bytes([bytes[at], bytes[at + 1]]).to_f64();
    let block = |size: usize| i / 32 * size;
    match format {
        Format::F32 => f32::from_le_bytes(bytes[4 * i..4 * i + 4].try_into().unwrap()) as f64,
        Format::F16 => half(2 * i),
        Format::Bf16 => f32::from_le_bytes([0, 0, bytes[2 * i], bytes[2 * i + 1]]) as f64,
        Format::Q8_0 => (bytes[block(34) + 2 + i % 32] as i8) as f64 * half(block(34)),
        Format::Q4_0 => {
            let byte = bytes[block(18) + 2 + i % 16];
            let nibble = if i % 32 < 16 { byte & 15 } else { byte >> 4 };
            (nibble as f64 - 8.0) * half(block(18))
        }
    }
}

fn any_matrix() -> impl Strategy<Value = (Format, usize, Vec<f32>, Vec<f32>, Vec<f32>)> {
    (0usize..5, 1usize..20, 1usize..12).prop_flat_map(|(f, blocks, rows)| {
        let format = Format::ALL[f];
        let columns = if format.is_quantised() { 32 * blocks } else { 17 * blocks };
        (Just(format), Just(columns), vector(rows * columns), vector(columns), vector(rows))
    })
}

/// One product, of a matrix as it stands in RAM.
fn product(w: Matrix<'_>, x: &[f32], y: &mut [f32], accumulate: bool) {
    Float::new().gemv(w.into(), &mut [Product { x, y }], accumulate);
}

proptest! {
    #[test]
    fn gemv((format, columns, w, x, y) in any_matrix(), accumulate: bool) {
        let (bytes, w) = matrix(format, &w, columns);
        let want: Vec<f64> = y.iter().enumerate().map(|(r, &y)| {
            let dot: f64 = (0..columns).map(|c| w[r * columns + c] * x[c] as f64).sum();
            if accumulate { dot + y as f64 } else { dot }
        }).collect();
        let mut got = y;
        product(Matrix { bytes: &bytes, format, columns }, &x, &mut got, accumulate);
        close(&got, &want)?;
    }

    #[test]
    fn deqrow((format, columns, w, ..) in any_matrix()) {
        let (bytes, want) = matrix(format, &w, columns);
        let mut got = vec![0.0; want.len()];
        Float::new().deqrow(format, &bytes, &mut got);
        close(&got, &want)?;
    }

    #[test]
    fn vadd_and_vmul([x, y] in vectors()) {
        let mut z = vec![0.0; x.len()];
        Float::new().vadd(&x, &y, &mut z);
        close(&z, &exact(&x).iter().zip(exact(&y)).map(|(x, y)| x + y).collect::<Vec<_>>())?;
        Float::new().vmul(&x, &y, &mut z);
        close(&z, &exact(&x).iter().zip(exact(&y)).map(|(x, y)| x * y).collect::<Vec<_>>())?;
    }

    #[test]
    fn rmsnorm([x, g] in vectors(), eps in 1e-6f32..1.0) {
        let mut z = vec![0.0; x.len()];
        Float::new().rmsnorm(&x, &g, eps, &mut z);
        let mean = exact(&x).iter().map(|v| v * v).sum::<f64>() / x.len() as f64;
        let want = exact(&x).into_iter().zip(exact(&g)).map(|(x, g)| x / (mean + eps as f64).sqrt() * g);
        close(&z, &want.collect::<Vec<_>>())?;
    }

    #[test]
    fn layernorm([x, g, b] in vectors(), eps in 1e-6f32..1.0) {
        let mut z = vec![0.0; x.len()];
        Float::new().layernorm(&x, &g, &b, eps, &mut z);
        let (n, xs) = (x.len() as f64, exact(&x));
        let mean = xs.iter().sum::<f64>() / n;
        let variance = xs.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n;
        let norm = xs.iter().map(|v| (v - mean) / (variance + eps as f64).sqrt());
        let want = norm.zip(exact(&g)).zip(exact(&b)).map(|((v, g), b)| v * g + b);
        close(&z, &want.collect::<Vec<_>>())?;
    }

    #[test]
    fn silumul([x, y] in vectors()) {
        let mut z = vec![0.0; x.len()];
        Float::new().silumul(&x, &y, &mut z);
        let want = exact(&x).into_iter().zip(exact(&y)).map(|(x, y)| x * (0.5 + 0.5 * (x / 2.0).tanh()) * y);
        close(&z, &want.collect::<Vec<_>>())?;
    }

    #[test]
    fn gelu([x] in vectors()) {
        let mut z = vec![0.0; x.len()];
        Float::new().gelu(&x, &mut z);
        let c = (2.0 / std::f64::consts::PI).sqrt();
        let want = exact(&x).iter().map(|x| 0.5 * x * (1.0 + (c * (x + 0.044715 * x.powi(3))).tanh())).collect::<Vec<_>>();
        close(&z, &want)?;
    }

    #[test]
    fn rope(
        (x, table) in (1usize..5, 1usize..9).prop_flat_map(|(heads, pairs)| (vector(heads * 2 * pairs), vector(2 * pairs))),
    ) {
        let mut got = x.clone();
        Float::new().rope(&mut got, &table);
        let (x, t) = (exact(&x), exact(&table));
        let want: Vec<f64> = (0..x.len()).map(|i| {
            let pair = i % t.len() / 2;
            let (c, s) = (t[2 * pair], t[2 * pair + 1]);
            if i % 2 == 0 { x[i] * c - x[i + 1] * s } else { x[i - 1] * s + x[i] * c }
        }).collect();
        close(&got, &want)?;
    }

    #[test]
    fn meanrows((rows, x) in (1usize..9, 1usize..20).prop_flat_map(|(r, n)| (Just(r), vector(r * n)))) {
        let n = x.len() / rows;
        let mut z = vec![0.0; n];
        Float::new().meanrows(&x, &mut z);
        let want: Vec<f64> =
            (0..n).map(|c| (0..rows).map(|r| x[r * n + c] as f64).sum::<f64>() / rows as f64).collect();
        close(&z, &want)?;
    }

    #[test]
    fn attn(
        (kv, group, dim, positions, k, v, q) in (1usize..4, 1usize..4, 1usize..20, 1usize..9).prop_flat_map(
            |(kv, group, dim, t)| {
                let cache = || vector(kv * dim * t);
                (Just(kv), Just(group), Just(dim), Just(t), cache(), cache(), prop::collection::vec(-4f32..4.0, kv * group * dim))
            },
        ),
        halves: bool,
    ) {
        let bits = |x: &[f32]| x.iter().map(|&v| f16::from_f32(v).to_bits()).collect::<Vec<_>>();
        let stored = |x: &[f32]| x.iter().map(|&v| if halves { f16::from_f32(v).to_f64() } else { v as f64 }).collect::<Vec<_>>();
        let (k16, v16) = (bits(&k), bits(&v));
        let (kc, vc) =
            if halves { (Cache::F16(&k16), Cache::F16(&v16)) } else { (Cache::F32(&k), Cache::F32(&v)) };
        let a = Attention { n_heads: kv * group, n_kv_heads: kv, head_dim: dim, positions, k: kc, v: vc };
        let mut got = vec![0.0; q.len()];
        Float::new().attn(a, &q, &mut got);

        let (k, v) = (stored(&k), stored(&v));
        let mut want = Vec::new();
        for h in 0..kv * group {
            let at = |t: usize, d: usize| (t * kv + h / group) * dim + d;
            let score = |t: usize| (0..dim).map(|d| k[at(t, d)] * q[h * dim + d] as f64).sum::<f64>() / (dim as f64).sqrt();
            let most = (0..positions).map(score).fold(f64::MIN, f64::max);
            let e: Vec<f64> = (0..positions).map(|t| (score(t) - most).exp()).collect();
            let z: f64 = e.iter().sum();
            want.extend((0..dim).map(|d| (0..positions).map(|t| e[t] / z * v[at(t, d)]).sum::<f64>()));
        }
        close(&got, &want)?;
    }

    #[test]
    fn cvt16_is_nearest_even([x] in vectors()) {
        let mut z = vec![0; x.len()];
        Float::new().cvt16(&x, &mut z);
        for (&x, &z) in x.iter().zip(&z) {
            let error = |bits: u16| (f16::from_bits(bits).to_f64() - x as f64).abs();
            prop_assert!(error(z) <= error(z ^ 1).min(error(z.wrapping_add(1))).min(error(z.saturating_sub(1))));
        }
    }

    /// Any number of threads gives the same bits; kernels are compared in `gemv`.
    #[test]
    fn a_large_product_is_the_same_on_any_number_of_threads(f in 0usize..5, seed in 1u32..1000) {
        let (format, columns, rows) = (Format::ALL[f], 288, 300);
        let noise = |n: usize| (0..n).map(|i| (i as f32 * seed as f32 * 0.37).sin() * 3.0).collect::<Vec<_>>();
        let (bytes, _) = matrix(format, &noise(rows * columns), columns);
        let (x, w) = (noise(columns), Matrix { bytes: &bytes, format, columns });
        let by = |threads: usize| {
            let mut y = vec![0.0; rows];
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| product(w, &x, &mut y, false));
            y
        };
        prop_assert_eq!(&by(1), &by(3));
    }
}

#[test]
fn attention_with_many_positions_is_shared_among_threads() {
    let (dim, positions) = (16, 600);
    let wave = |n: usize, f: f32| (0..n).map(|i| (i as f32 * f).cos()).collect::<Vec<_>>();
    let (k, v, q) = (wave(4 * dim * positions, 0.3), wave(4 * dim * positions, 0.11), wave(8 * dim, 0.7));
    let all = |kv: usize, heads: std::ops::Range<usize>, k: &[f32], v: &[f32]| {
        let q = &q[heads.start * dim..heads.end * dim];
        let mut out = vec![0.0; q.len()];
        let (k, v) = (Cache::F32(k), Cache::F32(v));
        Float::new().attn(
            Attention { n_heads: heads.len(), n_kv_heads: kv, head_dim: dim, positions, k, v },
            q,
            &mut out,
        );
        out
    };
    let together = all(4, 0..8, &k, &v);
    for kv in 0..4 {
        let part =
            |x: &[f32]| x.chunks(4 * dim).flat_map(|row| row[kv * dim..][..dim].to_vec()).collect::<Vec<_>>();
        for head in [2 * kv, 2 * kv + 1] {
            assert_eq!(
                all(1, head..head + 1, &part(&k), &part(&v)),
                together[head * dim..][..dim],
                "head {head}"
            );
        }
    }
}

#[test]
fn cvt16_takes_the_edges() {
    let x = [
        65504.0,
        65519.9,
        65520.0,
        1e30,
        -1e30,
        5.9604645e-8,
        2.9802322e-8,
        3e-8,
        f32::INFINITY,
        -0.0,
        2049.0,
        2051.0,
    ];
    let mut z = [0; 12];
    Float::new().cvt16(&x, &mut z);
    assert_eq!(z, [0x7BFF, 0x7BFF, 0x7C00, 0x7C00, 0xFC00, 1, 0, 1, 0x7C00, 0x8000, 0x6800, 0x6802]);
    Float::new().cvt16(&[f32::NAN], &mut z[..1]);
    assert!(f16::from_bits(z[0]).is_nan());
}

#[test]
fn what_is_no_number_goes_through() {
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    let bytes: Vec<u8> = [1.0f32, inf, 0.0, 1.0].iter().flat_map(|v| v.to_le_bytes()).collect();
    let mut y = [0.0; 2];
    let w = Matrix { bytes: &bytes, format: Format::F32, columns: 2 };
    product(w, &[1.0, 1.0], &mut y, false);
    assert_eq!(y, [inf, 1.0]);
    product(w, &[inf, 0.0], &mut y, false);
    assert!(y[0].is_nan() && y[1].is_nan());
    let mut z = [0.0; 3];
    Float::new().silumul(&[nan, inf, -1e30], &[1.0, 1.0, 1.0], &mut z);
    assert!(z[0].is_nan() && z[1] == inf && z[2] == 0.0);
    Float::new().gelu(&[nan, 1e30, -1e30], &mut z);
    assert!(z[0].is_nan() && z[1] == 1e30 && z[2] == 0.0);
    let mut out = [0.0];
    let a = Attention {
        n_heads: 1,
        n_kv_heads: 1,
        head_dim: 1,
        positions: 2,
        k: Cache::F32(&[nan, 1.0]),
        v: Cache::F32(&[1.0, 1.0]),
    };
    Float::new().attn(a, &[1.0], &mut out);
    assert!(out[0].is_nan());
}
