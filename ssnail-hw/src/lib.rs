//! The arithmetic of the SSNAIL datapath, to the bit: what the RTL computes, and what it is judged by.
//!
//! Every operation has a plain version on slices, written for the reader: its documentation gives the order of
//! arithmetic, special values, and the source where there is one. F32 operations are IEEE 754, nearest even, subnormals
//! kept, never fused; a NaN result is 7FC00000, an F16 one 7E00. Fast kernels stand beside the plain ones and give the
//! same bits.
//!
//! | module | what lives there |
//! |---|---|
//! | [`scalar`] | single operations, conversions, the canonical NaN |
//! | [`operand`] | matrices and caches as they stand in RAM |
//! | [`quantise`](mod@quantise) | Q8_0 of an input vector |
//! | [`gemv`](mod@gemv) | matrix times vector |
//! | [`exact`] | the exact accumulator of unquantised rows |
//! | [`tables`] | SiLU, GELU and exp by chords |
//! | [`vector`] | element by element, ROPE, DEQROW, ARGMAX |
//! | [`norm`] | RMSNORM, LAYERNORM, MEANROWS |
//! | [`attention`](mod@attention) | ATTN |
//! | [`fast`] | all of them again, with kernels |
//!
//! What the definition leaves open is decided, and said, where it is computed: amax and conversion to int8 in
//! [`quantise`](mod@quantise), the largest score in [`attention`](mod@attention). DEQROW and GEMV of F32 give the
//! canonical NaN too. The functions rely on the processor's default float environment, as Rust does.

pub mod attention;
pub mod exact;
pub mod fast;
pub mod gemv;
pub mod norm;
pub mod operand;
pub mod quantise;
pub mod scalar;
pub mod tables;
pub mod vector;

pub use operand::{Attention, Cache, Matrix};
