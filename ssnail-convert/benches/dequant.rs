//! Weights dequantised a second, on one core, for each type: `cargo bench -p ssnail-convert --bench dequant -- Q4_0`.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ssnail_convert::ggml::{DequantError, GgmlType, dequantize_row};

/// Weights a call, a few rows of a small model: bytes and results stay in the second-level cache.
const WEIGHTS: usize = 16 * 1024;

fn dequant(c: &mut Criterion) {
    let mut group = c.benchmark_group("dequant");
    group.throughput(Throughput::Elements(WEIGHTS as u64));
    let mut out = vec![0.0; WEIGHTS];
    for &ty in GgmlType::ALL {
        // Any bytes do: time does not depend on values, but for subnormal and NaN scales, which these bytes do not make.
        let size = WEIGHTS / ty.block_len() as usize * ty.block_bytes() as usize;
        let bytes: Vec<u8> = (0..size).map(|i| (i * 7 % 64) as u8 | 0x20).collect();
        match dequantize_row(ty, &bytes, &mut out) {
            Err(DequantError::NotWeights { .. }) => continue,
            result => result.unwrap(),
        }
        group.bench_function(ty.name(), |b| b.iter(|| dequantize_row(ty, &bytes, &mut out)));
    }
    group.finish();
}

criterion_group!(benches, dequant);
criterion_main!(benches);
