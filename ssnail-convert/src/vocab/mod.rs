//! The reference tokenizers: a model's own, to the id, from the metadata of its GGUF file.
//!
//! [`VocabData`] is what the file says, [`Tokenizer`] what can be done with it. Three algorithms: SentencePiece
//! (`spm`), byte-level BPE (`pre`, `split`, `bpe`) and WordPiece (`wordpiece`). They follow llama.cpp,
//! with which such files are run.

mod bpe;
mod bytes;
mod cache;
mod chars;
pub mod cli;
mod data;
mod error;
mod image_rule;
mod merge;
mod pre;
mod special;
mod split;
mod spm;
mod strings;
mod tokenizer;
mod vocabulary;
mod wordpiece;

pub use bpe::Merge;
pub(crate) use bytes::byte_char;
pub use data::{MAX_TOKENS, TokenType, VocabData};
pub use error::VocabError;
pub use image_rule::{ImageRule, image_rule};
pub use strings::ByteStrings;
pub use tokenizer::{DecodeOptions, EncodeOptions, Tokenizer};
pub use vocabulary::{SpecialIds, Vocab, VocabKind};

/// Names that `--pre` takes, in alphabetical order.
pub fn pre_tokenizers() -> Vec<&'static str> {
    pre::PreTokenizer::known()
}

#[cfg(test)]
mod tests;
