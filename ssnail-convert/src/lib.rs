//! GGUF model in, SSNAIL memory image out.

pub mod ggml;
pub mod gguf;
pub mod image_tokenizer;
pub mod tokcheck;
pub mod vocab;
