//! Elements a second of everything but GEMV, plain and fast, one thread, with the sizes of a small model.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ssnail_hw::fast::{self, AttentionScratch, Input, Kernel};
use ssnail_hw::{Attention, Cache, attention, norm, quantise, scalar, vector};
use ssnail_isa::Format;
use std::hint::black_box;
use std::time::Duration;

/// Elements of a vector.
const N: usize = 1536;

/// Numbers between -1 and 1, the same every time.
fn numbers(n: usize) -> Vec<f32> {
    (0..n as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 8) as f32 / (1 << 23) as f32 - 1.0).collect()
}

/// An operation on x, y and z.
type Operation<'a> = &'a dyn Fn(&[f32], &[f32], &mut [f32]);

fn vectors(c: &mut Criterion) {
    let kernel = Kernel::best();
    let x: Vec<f32> = numbers(N).into_iter().map(|x| 10.0 * x).collect();
    let (y, mut z) = (numbers(N), vec![0.0; N]);
    let table = &y[..64];
    let operations: [(&str, Operation<'_>, Operation<'_>); 8] = [
        ("vadd", &vector::vadd, &|x, y, z| fast::vadd(kernel, x, y, z)),
        ("silumul", &vector::silumul, &|x, y, z| fast::silumul(kernel, x, y, z)),
        ("gelu", &|x, _, z| vector::gelu(x, z), &|x, _, z| fast::gelu(kernel, x, z)),
        ("rmsnorm", &|x, y, z| norm::rmsnorm(x, y, 1e-5, z), &|x, y, z| fast::rmsnorm(kernel, x, y, 1e-5, z)),
        ("rope", &|_, _, z| vector::rope(z, table), &|_, _, z| fast::rope(kernel, z, table)),
        ("meanrows", &|x, _, z| norm::meanrows(x, &mut z[..N / 4]), &|x, _, z| {
            fast::meanrows(kernel, x, &mut z[..N / 4]);
        }),
        ("argmax", &|x, _, z| z[0] = vector::argmax(x) as f32, &|x, _, z| {
            z[0] = fast::argmax(kernel, x) as f32;
        }),
        (
            "quantise",
            &|x, _, _| {
                let mut blocks = Vec::new();
                quantise::quantise(x, &mut blocks);
                black_box(blocks);
            },
            &|x, _, _| {
                let mut input = Input::with(kernel);
                input.prepare(Format::Q8_0, x);
                black_box(input);
            },
        ),
    ];
    for (name, plain, fast) in operations {
        let mut group = c.benchmark_group(name);
        group.throughput(Throughput::Elements(N as u64)).sample_size(20);
        group.warm_up_time(Duration::from_millis(200)).measurement_time(Duration::from_millis(500));
        for (which, f) in [("plain", plain), (kernel.name(), fast)] {
            group.bench_function(which, |b| b.iter(|| f(black_box(&x), black_box(&y), &mut z)));
        }
        group.finish();
    }
}

fn halves(c: &mut Criterion) {
    let kernel = Kernel::best();
    let (x, mut z) = (numbers(N), vec![0; N]);
    let mut group = c.benchmark_group("cvt16");
    group.throughput(Throughput::Elements(N as u64));
    group.warm_up_time(Duration::from_millis(200)).measurement_time(Duration::from_millis(500));
    group.bench_function("plain", |b| b.iter(|| vector::cvt16(black_box(&x), &mut z)));
    group.bench_function(kernel.name(), |b| b.iter(|| fast::cvt16(kernel, black_box(&x), &mut z)));
    group.finish();
}

/// Products a second.
fn attentions(c: &mut Criterion) {
    let kernel = Kernel::best();
    let mut group = c.benchmark_group("attention");
    group
        .sample_size(20)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(500));
    for (n_heads, n_kv_heads, head_dim, positions) in [(9, 3, 64, 256), (6, 6, 48, 128), (8, 4, 8, 128)] {
        let cache: Vec<u16> =
            numbers(positions * n_kv_heads * head_dim).into_iter().map(scalar::f32_to_f16).collect();
        let q = numbers(n_heads * head_dim);
        let (k, v) = (Cache::F16(&cache), Cache::F16(&cache));
        let a = Attention { n_heads, n_kv_heads, head_dim, positions, k, v };
        let mut out = vec![0.0; q.len()];
        let mut scratch = AttentionScratch::new();
        group.throughput(Throughput::Elements((2 * positions * q.len()) as u64));
        let shape = format!("{n_heads} heads {n_kv_heads} KV {head_dim} wide {positions} positions");
        group.bench_function(BenchmarkId::new("plain", &shape), |b| {
            b.iter(|| attention::attention(&a, black_box(&q), &mut out));
        });
        group.bench_function(BenchmarkId::new(kernel.name(), &shape), |b| {
            b.iter(|| fast::attention(kernel, &a, 0, black_box(&q), &mut out, &mut scratch));
        });
    }
    group.finish();
}

criterion_group!(benches, vectors, halves, attentions);
criterion_main!(benches);
