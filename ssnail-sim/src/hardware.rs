//! Hardware numerics: what the datapath computes, to the bit, by [`ssnail_hw`].
//!
//! The bits are the same with and without fast kernels and for any number of threads, which share rows and heads.

use crate::numerics::{Attention, Matrix, Numerics, Product, Weights};
use crate::share;
use rayon::prelude::*;
use ssnail_hw::fast::{self, AttentionScratch, GROUP, Input, Kernel, PackedMatrix, Pages};
use ssnail_hw::{attention, gemv, norm, vector};
use ssnail_isa::Format;
use std::cell::RefCell;

/// Turns of a loop side by side.
const TURNS: usize = 64;
/// Products (positions * heads * dimension) above which heads are shared among threads.
const PARALLEL_HEADS: usize = 1 << 15;

thread_local! {
    static SCRATCH: RefCell<AttentionScratch> = RefCell::default();
}

/// Hardware numerics.
#[derive(Debug)]
pub struct Hardware {
    kernel: Kernel,
    /// The vectors of a GEMV, as kernels want them; the next GEMV often has the same.
    inputs: Vec<Input>,
}

impl Default for Hardware {
    fn default() -> Self {
        Self { kernel: Kernel::best(), inputs: Vec::new() }
    }
}

impl Hardware {
    /// Hardware numerics with the fastest kernels of this processor, on rayon's global threads.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Numerics for Hardware {
    fn name(&self) -> &'static str {
        "hardware"
    }

    fn look_ahead(&self) -> usize {
        TURNS
    }

    fn pack(&self, matrix: Matrix<'_>, pages: &mut Pages) -> Option<PackedMatrix> {
        PackedMatrix::new_in(matrix, pages)
    }

    fn gemv(&mut self, w: Weights<'_>, products: &mut [Product<'_>], accumulate: bool) {
        let matrix = w.matrix;
        let kernel = self.kernel;
        self.inputs.resize_with(self.inputs.len().max(products.len()), Input::new);
        self.inputs.iter_mut().zip(&*products).for_each(|(input, p)| input.prepare(matrix.format, p.x));
        let inputs: Vec<&Input> = self.inputs[..products.len()].iter().collect();
        let row_bytes = matrix.row_bytes();
        share::rows(matrix.columns, GROUP, products, |rows, ys| match w.packed {
            Some(packed) => packed.gemm(kernel, &inputs, rows.start / GROUP, ys, accumulate),
            None => {
                let bytes = &matrix.bytes[rows.start * row_bytes..rows.end * row_bytes];
                fast::gemm(kernel, Matrix { bytes, ..matrix }, &inputs, ys, accumulate);
            }
        });
    }

    fn deqrow(&self, format: Format, row: &[u8], z: &mut [f32]) {
        fast::deqrow(self.kernel, format, row, z);
    }

    fn argmax(&self, x: &[f32]) -> u32 {
        fast::argmax(self.kernel, x)
    }

    fn vadd(&self, x: &[f32], y: &[f32], z: &mut [f32]) {
        fast::vadd(self.kernel, x, y, z);
    }

    fn vmul(&self, x: &[f32], y: &[f32], z: &mut [f32]) {
        fast::vmul(self.kernel, x, y, z);
    }

    fn rmsnorm(&self, x: &[f32], gain: &[f32], eps: f32, z: &mut [f32]) {
        fast::rmsnorm(self.kernel, x, gain, eps, z);
    }

    fn silumul(&self, x: &[f32], y: &[f32], z: &mut [f32]) {
        fast::silumul(self.kernel, x, y, z);
    }

    fn rope(&self, x: &mut [f32], table: &[f32]) {
        fast::rope(self.kernel, x, table);
    }

    fn attn(&self, a: Attention<'_>, q: &[f32], out: &mut [f32]) {
        let attend = |first: usize, q: &[f32], out: &mut [f32]| {
            SCRATCH.with_borrow_mut(|scratch| fast::attention(self.kernel, &a, first, q, out, scratch));
        };
        if a.positions * q.len() < PARALLEL_HEADS || rayon::current_num_threads() == 1 {
            return attend(0, q, out);
        }
        share::stay_awake();
        // The heads of a group share what is read of K and V.
        let group = a.group() * a.head_dim;
        q.par_chunks(group).zip(out.par_chunks_mut(group)).enumerate().for_each(|(n, (q, out))| {
            attend(n * a.group(), q, out);
        });
    }

    fn layernorm(&self, x: &[f32], gain: &[f32], bias: &[f32], eps: f32, z: &mut [f32]) {
        fast::layernorm(self.kernel, x, gain, bias, eps, z);
    }

    fn gelu(&self, x: &[f32], z: &mut [f32]) {
        fast::gelu(self.kernel, x, z);
    }

    fn meanrows(&self, x: &[f32], z: &mut [f32]) {
        fast::meanrows(self.kernel, x, z);
    }

    fn cvt16(&self, x: &[f32], z: &mut [u16]) {
        fast::cvt16(self.kernel, x, z);
    }
}

/// The same by the plain versions, on one thread: slow, and what the others are judged by.
#[derive(Debug, Clone, Copy, Default)]
pub struct Plain;

impl Numerics for Plain {
    fn name(&self) -> &'static str {
        "plain hardware"
    }

    fn gemv(&mut self, w: Weights<'_>, products: &mut [Product<'_>], accumulate: bool) {
        products.iter_mut().for_each(|p| gemv::gemv(w.matrix, p.x, p.y, accumulate));
    }

    fn deqrow(&self, format: Format, row: &[u8], z: &mut [f32]) {
        vector::deqrow(format, row, z);
    }

    fn vadd(&self, x: &[f32], y: &[f32], z: &mut [f32]) {
        vector::vadd(x, y, z);
    }

    fn vmul(&self, x: &[f32], y: &[f32], z: &mut [f32]) {
        vector::vmul(x, y, z);
    }

    fn rmsnorm(&self, x: &[f32], gain: &[f32], eps: f32, z: &mut [f32]) {
        norm::rmsnorm(x, gain, eps, z);
    }

    fn silumul(&self, x: &[f32], y: &[f32], z: &mut [f32]) {
        vector::silumul(x, y, z);
    }

    fn rope(&self, x: &mut [f32], table: &[f32]) {
        vector::rope(x, table);
    }

    fn attn(&self, a: Attention<'_>, q: &[f32], out: &mut [f32]) {
        attention::attention(&a, q, out);
    }

    fn layernorm(&self, x: &[f32], gain: &[f32], bias: &[f32], eps: f32, z: &mut [f32]) {
        norm::layernorm(x, gain, bias, eps, z);
    }

    fn gelu(&self, x: &[f32], z: &mut [f32]) {
        vector::gelu(x, z);
    }

    fn meanrows(&self, x: &[f32], z: &mut [f32]) {
        norm::meanrows(x, z);
    }

    fn cvt16(&self, x: &[f32], z: &mut [u16]) {
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
        let (mut fast, mut plain) = (Hardware::new(), Plain);
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
                fast.gemv(w.into(), &mut [Product { x: &x, y: &mut got }], accumulate);
                plain.gemv(w.into(), &mut [Product { x: &x, y: &mut want }], accumulate);
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
        Plain.attn(a, &q, &mut want);
        assert_eq!(bits(&got), bits(&want));
    }
}
