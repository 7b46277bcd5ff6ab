//! GGUF model in, SSNAIL memory image out.
