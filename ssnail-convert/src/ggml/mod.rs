//! ggml's tensor formats.

pub mod types;

pub use types::GgmlType;
