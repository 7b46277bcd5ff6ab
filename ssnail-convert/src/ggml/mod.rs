//! ggml's tensor formats: the types, and their weights as F32.
//!
//! Results equal those of ggml's `dequantize_row_*` in every bit: the same operations in the same order, each rounded to
//! F32, nothing fused. A NaN is a NaN there and here; its sign and payload are not specified.

mod dequant;
mod field;
mod float;
mod iquant_tables;
mod iquants;
mod kquants;
mod legacy;
mod levels;
mod mxfp4;
mod ternary;
pub mod types;

pub use dequant::{DequantError, dequantize_row};
pub use types::GgmlType;
