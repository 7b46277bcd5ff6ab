//! Bytes of weights a second of GEMV, one thread: plain, fast where the matrix stands, and packed; for several inputs
//! at a time, bytes times inputs. Matrices of 4 MB
//! stay in a cache, those of 64 MB do not.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ssnail_hw::fast::{self, Input, Kernel, PackedMatrix};
use ssnail_hw::{Matrix, gemv};
use ssnail_isa::Format;
use std::hint::black_box;
use std::time::Duration;

const COLUMNS: usize = 576;

/// Numbers between -1 and 1, the same every time.
fn numbers(n: usize) -> impl Iterator<Item = f32> {
    (0..n as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 8) as f32 / (1 << 23) as f32 - 1.0)
}

fn benchmarks(c: &mut Criterion) {
    let x: Vec<f32> = numbers(COLUMNS).collect();
    for format in Format::ALL {
        let mut row = vec![0; format.row_bytes(COLUMNS as u64) as usize];
        for megabytes in [4, 64] {
            let rows = (megabytes << 20) / row.len();
            let mut bytes = Vec::with_capacity(rows * row.len());
            for r in 0..rows {
                let weights: Vec<f32> = numbers(COLUMNS + r).skip(r).collect();
                format.encode_row(&weights, &mut row).expect("a row of the right length");
                bytes.extend_from_slice(&row);
            }
            let w = Matrix { bytes: &bytes, format, columns: COLUMNS };
            let mut y = vec![0.0; rows];
            let mut input = Input::new();
            input.prepare(format, &x);

            let mut group = c.benchmark_group(format!("{format}/{megabytes}MB"));
            group.throughput(Throughput::Bytes(bytes.len() as u64)).sample_size(10);
            group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
            if megabytes == 4 {
                group.bench_function("plain", |b| b.iter(|| gemv::gemv(w, black_box(&x), &mut y, false)));
            }
            for kernel in [Kernel::PORTABLE, Kernel::best()] {
                group.bench_function(BenchmarkId::new("in place", kernel.name()), |b| {
                    b.iter(|| fast::gemv(kernel, w, black_box(&input), &mut y, false));
                });
                if let Some(packed) = PackedMatrix::new(w) {
                    group.bench_function(BenchmarkId::new("packed", kernel.name()), |b| {
                        b.iter(|| packed.gemv(kernel, black_box(&input), 0, &mut y, false));
                    });
                }
            }
            // Bytes a second of each input, so that the gain of sharing a pass over the weights is seen.
            const INPUTS: usize = 8;
            group.throughput(Throughput::Bytes((INPUTS * bytes.len()) as u64));
            let inputs = [&input; INPUTS];
            let mut out = vec![0.0; INPUTS * rows];
            let mut ys: Vec<&mut [f32]> = out.chunks_mut(rows).collect();
            let kernel = Kernel::best();
            group.bench_function("8 inputs in place", |b| {
                b.iter(|| fast::gemm(kernel, w, black_box(&inputs), &mut ys, false));
            });
            if let Some(packed) = PackedMatrix::new(w) {
                group.bench_function("8 inputs packed", |b| {
                    b.iter(|| packed.gemm(kernel, black_box(&inputs), 0, &mut ys, false));
                });
            }
            group.finish();
        }
    }
}

criterion_group!(benches, benchmarks);
criterion_main!(benches);
