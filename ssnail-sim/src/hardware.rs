//! Hardware numerics: what the datapath computes, to the bit, by [`ssnail_hw`].
//!
//! The bits are the same with and without fast kernels and for any number of threads, which share rows and heads.

use crate::numerics::{Attention, Matrix, Numerics};
use rayon::prelude::*;
use ssnail_hw::fast::{self, Input, Kernel};
use ssnail_hw::{attention, gemv, norm, vector};
use ssnail_isa::Format;

/// Weights above which a product is worth sharing among threads.
const PARALLEL: usize = 1 << 17;
/// Weights that a thread takes at a time, about.
const SHARE: usize = 1 << 16;
/// Rows that kernels take at a time.
const ROWS: usize = 8;
/// Products (positions * heads * dimension) above which heads are shared among threads.
const PARALLEL_HEADS: usize = 1 << 15;

/// Hardware numerics.
#[derive(Debug)]
pub struct Hardware {
    /// What GEMV computes with; `None` for the plain versions.
    kernel: Option<Kernel>,
    input: Input,
}

impl Default for Hardware {
    fn default() -> Self {
        Self { kernel: Some(Kernel::best()), input: Input::new() }
    }
}

impl Hardware {
    /// Hardware numerics with the fastest kernels of this processor, on rayon's global threads.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same by the plain versions, on one thread: slow, and what the others are judged by.
    pub fn plain() -> Self {
        Self { kernel: None, ..Self::default() }
    }
}

impl Numerics for Hardware {
    fn name(&self) -> &'static str {
        "hardware"
    }

    fn gemv(&mut self, w: Matrix<'_>, x: &[f32], y: &mut [f32], accumulate: bool) {
        let Some(kernel) = self.kernel else {
            return gemv::gemv(w, x, y, accumulate);
        };
        self.input.prepare(w.format, x);
        let input = &self.input;
        if w.columns * y.len() < PARALLEL {
            return fast::gemv(kernel, w, input, y, accumulate);
        }
        let rows = (SHARE / w.columns).next_multiple_of(ROWS).max(ROWS);
        y.par_chunks_mut(rows)
            .zip(w.bytes.par_chunks(rows * w.row_bytes()))
            .for_each(|(y, bytes)| fast::gemv(kernel, Matrix { bytes, ..w }, input, y, accumulate));
    }

    fn deqrow(&mut self, format: Format, row: &[u8], z: &mut [f32]) {
        vector::deqrow(format, row, z);
    }

    fn vadd(&mut self, x: &[f32], y: &[f32], z: &mut [f32]) {
        vector::vadd(x, y, z);
    }

    fn vmul(&mut self, x: &[f32], y: &[f32], z: &mut [f32]) {
        vector::vmul(x, y, z);
    }

    fn rmsnorm(&mut self, x: &[f32], gain: &[f32], eps: f32, z: &mut [f32]) {
        norm::rmsnorm(x, gain, eps, z);
    }

    fn silumul(&mut self, x: &[f32], y: &[f32], z: &mut [f32]) {
        vector::silumul(x, y, z);
    }

    fn rope(&mut self, x: &mut [f32], table: &[f32]) {
        vector::rope(x, table);
    }

    fn attn(&mut self, a: Attention<'_>, q: &[f32], out: &mut [f32]) {
        if self.kernel.is_none() || a.positions * q.len() < PARALLEL_HEADS {
            return attention::attention(&a, q, out);
        }
        q.par_chunks_exact(a.head_dim)
            .zip(out.par_chunks_exact_mut(a.head_dim))
            .enumerate()
            .for_each(|(h, (q, out))| attention::attend(&a, h / a.group(), q, out));
    }

    fn layernorm(&mut self, x: &[f32], gain: &[f32], bias: &[f32], eps: f32, z: &mut [f32]) {
        norm::layernorm(x, gain, bias, eps, z);
    }

    fn gelu(&mut self, x: &[f32], z: &mut [f32]) {
        vector::gelu(x, z);
    }

    fn meanrows(&mut self, x: &[f32], z: &mut [f32]) {
        norm::meanrows(x, z);
    }

    fn cvt16(&mut self, x: &[f32], z: &mut [u16]) {
        vector::cvt16(x, z);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numerics::Cache;
    use rand_pcg::Pcg64Mcg;
    use rand_pcg::rand_core::{Rng, SeedableRng};

    /// Numbers between -1 and 1.
    fn numbers(random: &mut Pcg64Mcg, n: usize) -> Vec<f32> {
        (0..n).map(|_| (random.next_u32() >> 8) as f32 / (1 << 23) as f32 - 1.0).collect()
    }

    fn bits(x: &[f32]) -> Vec<u32> {
        x.iter().map(|v| v.to_bits()).collect()
    }

    #[test]
    fn threads_and_kernels_give_the_plain_bits() {
        let mut random = Pcg64Mcg::seed_from_u64(1);
        let (mut fast, mut plain) = (Hardware::new(), Hardware::plain());
        let (rows, columns) = (1003, 160);
        let x = numbers(&mut random, columns);
        for format in Format::ALL {
            let mut bytes = vec![0; rows * format.row_bytes(columns as u64) as usize];
            for row in bytes.chunks_mut(format.row_bytes(columns as u64) as usize) {
                format.encode_row(&numbers(&mut random, columns), row).unwrap();
            }
            let w = Matrix { bytes: &bytes, format, columns };
            for accumulate in [false, true] {
                let mut got = numbers(&mut random, rows);
                let mut want = got.clone();
                fast.gemv(w, &x, &mut got, accumulate);
                plain.gemv(w, &x, &mut want, accumulate);
                assert_eq!(bits(&got), bits(&want), "{format}");
            }
        }
    }

    #[test]
    fn threads_give_the_plain_attention() {
        let mut random = Pcg64Mcg::seed_from_u64(2);
        let (n_heads, n_kv_heads, head_dim, positions) = (6, 3, 32, 200);
        let (k, v) = (
            numbers(&mut random, positions * n_kv_heads * head_dim),
            numbers(&mut random, positions * n_kv_heads * head_dim),
        );
        let q = numbers(&mut random, n_heads * head_dim);
        let a = Attention { n_heads, n_kv_heads, head_dim, positions, k: Cache::F32(&k), v: Cache::F32(&v) };
        let (mut got, mut want) = (vec![0.0; q.len()], vec![0.0; q.len()]);
        Hardware::new().attn(a, &q, &mut got);
        Hardware::plain().attn(a, &q, &mut want);
        assert_eq!(bits(&got), bits(&want));
    }
}
