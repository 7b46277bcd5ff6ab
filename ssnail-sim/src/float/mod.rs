//! Float numerics: what the model means. Every operation is within 1e-6, relative to the largest magnitude of its
//! result, of the exact one: products and sums are F64, exp is the real one, activations are used as they are.
//!
//! Results are the same bits for any number of threads and any instruction set: sums are kept in eight lanes whose
//! order does not depend on either, and threads share rows and heads among them, never a sum.

mod attention;
mod gemv;
mod input;
mod lanes;
mod vector;

use crate::numerics::{Attention, Matrix, Numerics, Product, Weights};
use half::slice::{HalfBitsSliceExt, HalfFloatSliceExt};
use input::Input;
use lanes::vectorised;
use ssnail_hw::fast::{self, PackedMatrix, Pages};
use ssnail_isa::Format;

/// Turns of a loop side by side.
const TURNS: usize = 64;

/// Float numerics.
#[derive(Debug, Default)]
pub struct Float {
    kernel: gemv::Kernel,
    /// The vectors of a GEMV; the next GEMV often has the same.
    inputs: Vec<Input>,
}

impl Float {
    /// Float numerics on rayon's global threads.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Numerics for Float {
    fn name(&self) -> &'static str {
        "float"
    }

    fn look_ahead(&self) -> usize {
        TURNS
    }

    fn pack(&self, matrix: Matrix<'_>, pages: &mut Pages) -> Option<PackedMatrix> {
        PackedMatrix::new_in(matrix, pages)
    }

    fn gemv(&mut self, w: Weights<'_>, products: &mut [Product<'_>], accumulate: bool) {
        let inputs = input::prepared(&mut self.inputs, products, w.matrix.format.is_quantised());
        gemv::gemv(self.kernel, w, inputs, products, accumulate);
    }

    fn deqrow(&self, format: Format, row: &[u8], z: &mut [f32]) {
        format.decode_row(row, z).expect("the machine gives rows of the right length");
    }

    fn argmax(&self, x: &[f32]) -> u32 {
        fast::argmax(fast::Kernel::best(), x)
    }

    fn vadd(&self, x: &[f32], y: &[f32], z: &mut [f32]) {
        vector::zip(x, y, z, |x, y| x + y);
    }

    fn vmul(&self, x: &[f32], y: &[f32], z: &mut [f32]) {
        vector::zip(x, y, z, |x, y| x * y);
    }

    fn rmsnorm(&self, x: &[f32], gain: &[f32], eps: f32, z: &mut [f32]) {
        vector::rmsnorm(x, gain, f64::from(eps), z);
    }

    fn silumul(&self, x: &[f32], y: &[f32], z: &mut [f32]) {
        vectorised(|| vector::zip(x, y, z, |x, y| (vector::silu(f64::from(x)) * f64::from(y)) as f32));
    }

    fn rope(&self, x: &mut [f32], table: &[f32]) {
        vector::rope(x, table);
    }

    fn attn(&self, a: Attention<'_>, q: &[f32], out: &mut [f32]) {
        attention::attention(&a, q, out);
    }

    fn layernorm(&self, x: &[f32], gain: &[f32], bias: &[f32], eps: f32, z: &mut [f32]) {
        vector::layernorm(x, gain, bias, f64::from(eps), z);
    }

    fn gelu(&self, x: &[f32], z: &mut [f32]) {
        vectorised(|| z.iter_mut().zip(x).for_each(|(z, &x)| *z = vector::gelu(f64::from(x)) as f32));
    }

    fn meanrows(&self, x: &[f32], z: &mut [f32]) {
        vector::meanrows(x, z);
    }

    fn cvt16(&self, x: &[f32], z: &mut [u16]) {
        z.reinterpret_cast_mut::<half::f16>().convert_from_f32_slice(x);
    }
}

#[cfg(test)]
mod tests;
