//! GGUF model in, SSNAIL memory image out.
pub mod vocab;
