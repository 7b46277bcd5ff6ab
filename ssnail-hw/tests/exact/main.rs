//! Every operation against the same definition in exact integers, bit for bit. `SSNAIL_HW_CASES` sets how many cases
//! each has (`make campaign`: a million).

mod cases;
mod ggml;
mod halves;
mod kernels;
mod lanes;
mod oracle;

use cases::{Cases, bits, floats};
use oracle::operations as want;
use ssnail_hw::{Attention, Cache, Matrix, attention, exact, gemv, norm, quantise, scalar, tables, vector};
use ssnail_isa::Format;

/// Runs an operation and its oracle on as many cases as asked for: they give (inputs to show, got, wanted).
fn compare(seed: u64, mut case: impl FnMut(&mut Cases) -> (String, Vec<u32>, Vec<u32>)) {
    let mut cases = Cases::new(seed);
    for n in 0..cases::count() {
        let (input, got, want) = case(&mut cases);
        assert!(got == want, "case {n}: {input}\n got {got:08X?}\nwant {want:08X?}");
    }
}

fn unary(seed: u64, f: fn(f32) -> f32, want: fn(u32) -> u32) {
    compare(seed, |c| {
        let x = c.one();
        (format!("{x:08X}"), vec![f(f32::from_bits(x)).to_bits()], vec![want(x)])
    });
}

fn binary(seed: u64, f: fn(f32, f32) -> f32, want: fn(u32, u32) -> u32) {
    compare(seed, |c| {
        let v = c.vector(2);
        let got = f(f32::from_bits(v[0]), f32::from_bits(v[1])).to_bits();
        (format!("{v:08X?}"), vec![got], vec![want(v[0], v[1])])
    });
}

#[test]
fn add_sub_mul() {
    binary(1, scalar::add, oracle::add);
    binary(2, scalar::sub, oracle::sub);
    binary(3, scalar::mul, oracle::mul);
}

#[test]
fn recip_rsqrt() {
    unary(4, scalar::recip, oracle::recip);
    unary(5, scalar::rsqrt, oracle::rsqrt);
}

#[test]
fn function_tables() {
    unary(6, |x| tables::SILU.eval(x), want::silu);
    unary(7, |x| tables::GELU.eval(x), want::gelu);
    unary(8, |x| tables::EXP.eval(x), want::exp);
}

/// Around every end of a segment, where the index may change.
#[test]
fn function_tables_at_the_ends_of_segments() {
    for (t, want) in [
        (&tables::SILU, want::silu as fn(u32) -> u32),
        (&tables::GELU, want::gelu),
        (&tables::EXP, want::exp),
    ] {
        for i in 0..=tables::SEGMENTS {
            let end = t.lo + i as f32 * ((t.hi - t.lo) / 256.0);
            let mut x = end.next_down().next_down();
            for _ in 0..5 {
                assert_eq!(t.eval(x).to_bits(), want(x.to_bits()), "{x}");
                x = x.next_up();
            }
        }
    }
}

#[test]
fn sequential_sum() {
    compare(9, |c| {
        let n = c.below(24);
        let x = c.vector(n);
        let got = scalar::sequential_sum(floats(&x).into_iter()).to_bits();
        (format!("{x:08X?}"), vec![got], vec![want::sequential_sum(&x)])
    });
}

#[test]
fn quantise_block() {
    compare(10, |c| {
        let x = c.vector(32);
        let got = quantise::quantise_block(floats(&x).as_slice().try_into().unwrap());
        let (d, q) = want::quantise(&x);
        let flat = |d: u16, q: Vec<i64>| q.into_iter().map(|q| q as u32).chain([d.into()]).collect();
        (format!("{x:08X?}"), flat(got.d, got.q.iter().copied().map(i64::from).collect()), flat(d, q))
    });
}

#[test]
fn gemv_quantised() {
    for (seed, format, q4) in [(11, Format::Q8_0, false), (12, Format::Q4_0, true)] {
        compare(seed, |c| {
            let (blocks, rows, accumulate) = (1 + c.below(3), 1 + c.below(3), c.below(2) == 1);
            let x = c.vector(32 * blocks);
            let bytes = c.blocks(rows * blocks, format.block_bytes() as usize);
            let old = c.vector(rows);
            let mut y = floats(&old);
            gemv::gemv(Matrix { bytes: &bytes, format, columns: x.len() }, &floats(&x), &mut y, accumulate);
            let row = |(r, &old): (&[u8], &u32)| {
                let dot = want::dot_quantised(q4, r, &x);
                if accumulate { oracle::add(old, dot) } else { dot }
            };
            let want = bytes.chunks(bytes.len() / rows).zip(&old).map(row).collect();
            (format!("{format} {bytes:02X?} {x:08X?} {old:08X?}"), bits(&y), want)
        });
    }
}

fn stored(c: &mut Cases, format: Format, n: usize) -> (Vec<u8>, oracle::Width) {
    match format {
        Format::F32 => (c.vector(n).into_iter().flat_map(u32::to_le_bytes).collect(), oracle::F32),
        Format::F16 => ((0..n).flat_map(|_| c.half().to_le_bytes()).collect(), oracle::F16),
        _ => (c.vector(n).into_iter().flat_map(|v| ((v >> 16) as u16).to_le_bytes()).collect(), oracle::BF16),
    }
}

#[test]
fn gemv_float() {
    for (seed, format) in [(13, Format::F32), (14, Format::F16), (15, Format::Bf16)] {
        compare(seed, |c| {
            let (columns, accumulate) = (1 + c.below(40), c.below(2) == 1);
            let x = c.vector(columns);
            let (bytes, width) = stored(c, format, columns);
            let old = c.one();
            let mut y = [f32::from_bits(old)];
            gemv::gemv(Matrix { bytes: &bytes, format, columns }, &floats(&x), &mut y, accumulate);
            let dot = want::dot_exact(&want::weights(width, &bytes), &x);
            let want = if accumulate { oracle::add(old, dot) } else { dot };
            (format!("{format} {bytes:02X?} {x:08X?} {old:08X}"), bits(&y), vec![want])
        });
    }
}

/// Sums that come back from far away, and end near a tie.
#[test]
fn exact_sums_near_ties() {
    compare(16, |c| {
        let mut w = c.vector(6);
        let mut x = c.vector(6);
        // Everything, then everything but the first away again, in another order; then something small.
        let back: Vec<(u32, u32)> = w.iter().copied().zip(x.iter().copied()).skip(1).rev().collect();
        w.extend(back.iter().map(|p| oracle::neg(p.0)));
        x.extend(back.iter().map(|p| p.1));
        w.extend(c.vector(2));
        x.extend([0x3300_0000, 0x0000_0001]);
        let mut sum = exact::ExactSum::new();
        floats(&w).into_iter().zip(floats(&x)).for_each(|(w, x)| sum.add_product(w, x));
        (format!("{w:08X?} {x:08X?}"), vec![sum.round().to_bits()], vec![want::dot_exact(&w, &x)])
    });
}

#[test]
fn norms() {
    compare(17, |c| {
        let n = 1 + c.below(16);
        let (x, gain, eps) = (c.vector(n), c.vector(n), c.one());
        let mut z = vec![0.0; n];
        norm::rmsnorm(&floats(&x), &floats(&gain), f32::from_bits(eps), &mut z);
        (format!("{x:08X?} {gain:08X?} {eps:08X}"), bits(&z), want::rmsnorm(&x, &gain, eps))
    });
    compare(18, |c| {
        let n = 1 + c.below(16);
        let (x, gain, bias, eps) = (c.vector(n), c.vector(n), c.vector(n), c.one());
        let mut z = vec![0.0; n];
        norm::layernorm(&floats(&x), &floats(&gain), &floats(&bias), f32::from_bits(eps), &mut z);
        let want = want::layernorm(&x, &gain, &bias, eps);
        (format!("{x:08X?} {gain:08X?} {bias:08X?} {eps:08X}"), bits(&z), want)
    });
}

#[test]
fn meanrows() {
    compare(19, |c| {
        let (rows, columns) = (1 + c.below(5), 1 + c.below(4));
        let x = c.vector(rows * columns);
        let mut z = vec![0.0; columns];
        norm::meanrows(&floats(&x), &mut z);
        (format!("{columns} {x:08X?}"), bits(&z), want::meanrows(&x, columns))
    });
}

#[test]
fn element_wise() {
    type Op = (fn(&[f32], &[f32], &mut [f32]), fn(u32, u32) -> u32);
    let ops: [Op; 4] = [
        (vector::vadd, oracle::add),
        (vector::vmul, oracle::mul),
        (vector::silumul, |x, y| oracle::mul(want::silu(x), y)),
        (|x, _, z| vector::gelu(x, z), |x, _| want::gelu(x)),
    ];
    for (seed, (f, want)) in ops.into_iter().enumerate() {
        compare(20 + seed as u64, |c| {
            let n = 1 + c.below(6);
            let (x, y) = (c.vector(n), c.vector(n));
            let mut z = vec![0.0; n];
            f(&floats(&x), &floats(&y), &mut z);
            let want = x.iter().zip(&y).map(|(&x, &y)| want(x, y)).collect();
            (format!("{x:08X?} {y:08X?}"), bits(&z), want)
        });
    }
}

#[test]
fn rope() {
    compare(24, |c| {
        let (pairs, heads) = (1 + c.below(4), 1 + c.below(3));
        let (x, table) = (c.vector(2 * pairs * heads), c.vector(2 * pairs));
        let mut z = floats(&x);
        vector::rope(&mut z, &floats(&table));
        (format!("{x:08X?} {table:08X?}"), bits(&z), want::rope(&x, &table))
    });
}

#[test]
fn attention_over_both_caches() {
    compare(25, |c| {
        let (n_kv_heads, group, head_dim, positions) =
            (1 + c.below(2), 1 + c.below(2), 1 + c.below(4), 1 + c.below(5));
        let (n_heads, row) = (n_kv_heads * group, n_kv_heads * head_dim);
        let q = c.vector(n_heads * head_dim);
        let mut out = vec![0.0; q.len()];
        let heads = |k, v| Attention { n_heads, n_kv_heads, head_dim, positions, k, v };
        let (k, v) = if c.below(2) == 0 {
            let (k, v) = (c.vector(positions * row), c.vector(positions * row));
            let (k_floats, v_floats) = (floats(&k), floats(&v));
            let a = heads(Cache::F32(&k_floats), Cache::F32(&v_floats));
            attention::attention(&a, &floats(&q), &mut out);
            (k, v)
        } else {
            let mut halves = || (0..positions * row).map(|_| c.half()).collect::<Vec<_>>();
            let (k, v) = (halves(), halves());
            attention::attention(&heads(Cache::F16(&k), Cache::F16(&v)), &floats(&q), &mut out);
            let wide = |x: Vec<u16>| {
                x.into_iter().map(|b| oracle::convert(b.into(), oracle::F16, oracle::F32)).collect()
            };
            (wide(k), wide(v))
        };
        let of_head = |x: &[u32], h: usize| -> Vec<Vec<u32>> {
            x.chunks(row).map(|r| r[h / group * head_dim..][..head_dim].to_vec()).collect()
        };
        let want = q
            .chunks(head_dim)
            .enumerate()
            .flat_map(|(h, q)| want::attend(&of_head(&k, h), &of_head(&v, h), q))
            .collect();
        (format!("{n_heads} {n_kv_heads} {head_dim} {q:08X?} {k:08X?} {v:08X?}"), bits(&out), want)
    });
}

#[test]
fn cvt16() {
    compare(26, |c| {
        let x = c.vector(4);
        let mut z = [0; 4];
        vector::cvt16(&floats(&x), &mut z);
        let want = x.iter().map(|&x| oracle::convert(x, oracle::F32, oracle::F16)).collect();
        (format!("{x:08X?}"), z.map(u32::from).to_vec(), want)
    });
}

#[test]
fn deqrow() {
    for (seed, format) in Format::ALL.into_iter().enumerate() {
        compare(27 + seed as u64, |c| {
            let n = 32 * (1 + c.below(2));
            let (row, want) = if format.is_quantised() {
                let row = c.blocks(n / 32, format.block_bytes() as usize);
                let want = want::dequantise(format == Format::Q4_0, &row);
                (row, want)
            } else {
                let (row, width) = stored(c, format, n);
                let want = want::weights(width, &row);
                (row, want)
            };
            let mut z = vec![0.0; n];
            vector::deqrow(format, &row, &mut z);
            (format!("{format} {row:02X?}"), bits(&z), want)
        });
    }
}

#[test]
fn argmax() {
    compare(32, |c| {
        let n = 1 + c.below(6);
        let x = c.vector(n);
        (format!("{x:08X?}"), vec![vector::argmax(&floats(&x))], vec![want::argmax(&x)])
    });
}
