//! Fast kernels against the plain versions, on any bits.

use crate::cases::{Cases, bits, count, floats};
use ssnail_hw::fast::{self, AttentionScratch, GROUP, Input, Kernel, PackedMatrix};
use ssnail_hw::{Attention, Cache, Matrix, attention, gemv};
use ssnail_isa::Format;

/// A matrix of any size up to 40 rows and some blocks, x, old y, and what the plain version makes of them.
struct Case {
    format: Format,
    columns: usize,
    bytes: Vec<u8>,
    x: Vec<f32>,
    old: Vec<f32>,
    accumulate: bool,
    want: Vec<u32>,
}

impl Case {
    fn new(c: &mut Cases, format: Format) -> Self {
        let rows = 1 + c.below(40);
        let blocks = 1 + c.below(5);
        let (columns, bytes) = if format.is_quantised() {
            (32 * blocks, c.blocks(rows * blocks, format.block_bytes() as usize))
        } else {
            let longest = if c.below(8) == 0 { 600 } else { 40 };
            let columns = 1 + c.below(longest);
            let row = |_| -> Vec<u8> {
                match format {
                    Format::F32 => c.vector(columns).into_iter().flat_map(u32::to_le_bytes).collect(),
                    Format::F16 => (0..columns).flat_map(|_| c.half().to_le_bytes()).collect(),
                    _ => {
                        c.vector(columns).into_iter().flat_map(|v| ((v >> 16) as u16).to_le_bytes()).collect()
                    }
                }
            };
            (columns, (0..rows).flat_map(row).collect())
        };
        let x = floats(&c.vector(columns));
        let (old, accumulate) = (floats(&c.vector(rows)), c.below(2) == 1);
        let mut y = old.clone();
        gemv::gemv(Matrix { bytes: &bytes, format, columns }, &x, &mut y, accumulate);
        Self { format, columns, bytes, x, old, accumulate, want: bits(&y) }
    }

    fn matrix(&self) -> Matrix<'_> {
        Matrix { bytes: &self.bytes, format: self.format, columns: self.columns }
    }

    fn check(&self, what: &str, kernel: Kernel, y: &[f32]) {
        let Self { format, columns, bytes, x, .. } = self;
        let (got, want) = (bits(y), &self.want);
        assert!(
            got == *want,
            "{what} {} {format} {columns} {bytes:02X?} {:08X?}\n got {got:08X?}\nwant {want:08X?}",
            kernel.name(),
            bits(x)
        );
    }
}

#[test]
fn the_best_is_first_and_portable_last() {
    let all = Kernel::all();
    println!("kernels of this processor: {}", all.iter().map(|k| k.name()).collect::<Vec<_>>().join(", "));
    assert_eq!((all.first(), all.last()), (Some(&Kernel::best()), Some(&Kernel::PORTABLE)));
}

/// Fewer cases than of single operations, since each has many rows.
fn matrices() -> u64 {
    count().div_ceil(10)
}

#[test]
fn rows_where_they_stand() {
    let mut c = Cases::new(50);
    let mut input = Input::new();
    for n in 0..matrices() {
        let case = Case::new(&mut c, Format::ALL[n as usize % 5]);
        input.prepare(case.format, &case.x);
        for kernel in Kernel::all() {
            let mut y = case.old.clone();
            fast::gemv(kernel, case.matrix(), &input, &mut y, case.accumulate);
            case.check("in place", kernel, &y);
        }
    }
}

#[test]
fn packed_rows() {
    let mut c = Cases::new(51);
    let mut input = Input::new();
    for n in 0..matrices() {
        let case = Case::new(&mut c, [Format::Q8_0, Format::Q4_0][n as usize % 2]);
        input.prepare(case.format, &case.x);
        let packed = PackedMatrix::new(case.matrix()).unwrap();
        assert_eq!(packed.rows(), case.old.len());
        for kernel in Kernel::all() {
            let mut y = case.old.clone();
            // In parts, as threads would.
            let part = GROUP * (1 + c.below(2));
            for (i, y) in y.chunks_mut(part).enumerate() {
                packed.gemv(kernel, &input, i * part / GROUP, y, case.accumulate);
            }
            case.check("packed", kernel, &y);
        }
    }
}

/// The largest sums that each format's integers can have.
#[test]
fn extreme_integers() {
    for format in [Format::Q8_0, Format::Q4_0] {
        for w in [0x80, 0x7F, 0x88, 0xFF, 0x00, 0x08, 0xF0] {
            for (odd, even) in [(1.0, 1.0), (-1.0, -1.0), (1.0, -1.0), (0.0, 1.0)] {
                let block = format.block_bytes() as usize;
                let mut bytes = vec![w; 16 * block];
                bytes.chunks_mut(block).for_each(|b| b[..2].copy_from_slice(&0x3C00u16.to_le_bytes()));
                let x: Vec<f32> = (0..32).map(|i| if i % 2 == 0 { even } else { odd }).collect();
                let w = Matrix { bytes: &bytes, format, columns: 32 };
                let (mut want, mut got, mut input) = ([0.0; 16], [0.0; 16], Input::new());
                gemv::gemv(w, &x, &mut want, false);
                input.prepare(format, &x);
                for kernel in Kernel::all() {
                    fast::gemv(kernel, w, &input, &mut got, false);
                    assert_eq!(bits(&got), bits(&want));
                    PackedMatrix::new(w).unwrap().gemv(kernel, &input, 0, &mut got, false);
                    assert_eq!(bits(&got), bits(&want));
                }
            }
        }
    }
}

/// Several inputs at a time, in place and packed, against one after the other by the plain version.
#[test]
fn several_inputs() {
    let mut c = Cases::new(52);
    for n in 0..matrices() {
        let case = Case::new(&mut c, Format::ALL[n as usize % 5]);
        let (w, rows) = (case.matrix(), case.old.len());
        let xs: Vec<Vec<f32>> = (0..c.below(11)).map(|_| floats(&c.vector(case.columns))).collect();
        let mut inputs: Vec<Input> = xs.iter().map(|_| Input::new()).collect();
        inputs.iter_mut().zip(&xs).for_each(|(input, x)| input.prepare(case.format, x));
        let inputs: Vec<&Input> = inputs.iter().collect();
        let old: Vec<f32> = (0..xs.len()).flat_map(|_| floats(&c.vector(rows))).collect();
        let mut want = old.clone();
        want.chunks_mut(rows).zip(&xs).for_each(|(y, x)| gemv::gemv(w, x, y, case.accumulate));
        for kernel in Kernel::all() {
            let mut got = old.clone();
            let mut ys: Vec<&mut [f32]> = got.chunks_mut(rows).collect();
            fast::gemm(kernel, w, &inputs, &mut ys, case.accumulate);
            assert_eq!(bits(&got), bits(&want), "in place {} {} {xs:?}", kernel.name(), case.format);
            if let Some(packed) = PackedMatrix::new(w) {
                let mut got = old.clone();
                let mut ys: Vec<&mut [f32]> = got.chunks_mut(rows).collect();
                packed.gemm(kernel, &inputs, 0, &mut ys, case.accumulate);
                assert_eq!(bits(&got), bits(&want), "packed {} {} {xs:?}", kernel.name(), case.format);
            }
        }
    }
}

#[test]
fn floats_are_not_packed() {
    assert!(PackedMatrix::new(Matrix { bytes: &[0; 4], format: Format::F32, columns: 1 }).is_none());
}

/// Any part of the heads, both kinds of cache, head sizes that vectors do not divide.
#[test]
fn attention_by_kernels() {
    let mut c = Cases::new(53);
    let mut scratch = AttentionScratch::new();
    for n in 0..matrices() {
        let (n_kv_heads, group) = (1 + c.below(3), 1 + c.below(6));
        let (head_dim, positions) = (1 + c.below(if n % 2 == 0 { 70 } else { 20 }), 1 + c.below(80));
        let (heads, row) = (n_kv_heads * group, n_kv_heads * head_dim);
        let mut ordinary = |n: usize| -> Vec<f32> {
            // A softmax of wild numbers has a single weight that is not 0, or is NaN; so half of the cases are tame.
            let numbers = |c: &mut Cases| (c.bits() >> 8) as f32 / (1 << 22) as f32 - 2.0;
            if c.below(2) == 0 { (0..n).map(|_| numbers(&mut c)).collect() } else { floats(&c.vector(n)) }
        };
        let (q, k, v) = (ordinary(heads * head_dim), ordinary(positions * row), ordinary(positions * row));
        let halves =
            |x: &[f32]| -> Vec<u16> { x.iter().map(|&x| ssnail_hw::scalar::f32_to_f16(x)).collect() };
        let (mut k16, v16) = (halves(&k), halves(&v));
        if c.below(4) == 0 {
            k16.iter_mut().for_each(|k| *k = c.half());
        }
        let caches = [(Cache::F32(&k), Cache::F32(&v)), (Cache::F16(&k16), Cache::F16(&v16))];
        for (k, v) in caches {
            let a = Attention { n_heads: heads, n_kv_heads, head_dim, positions, k, v };
            let mut want = vec![0.0; q.len()];
            attention::attention(&a, &q, &mut want);
            let first = c.below(heads);
            let part = first..first + 1 + c.below(heads - first);
            for (kernel, part) in Kernel::all().into_iter().flat_map(|k| [(k, 0..heads), (k, part.clone())]) {
                let elements = part.start * head_dim..part.end * head_dim;
                let mut out = vec![9.0; elements.len()];
                fast::attention(kernel, &a, part.start, &q[elements.clone()], &mut out, &mut scratch);
                assert_eq!(bits(&out), bits(&want[elements]), "{} {part:?} {q:?} {a:?}", kernel.name());
            }
        }
    }
}
