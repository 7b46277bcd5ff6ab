//! What can be wrong with a vocabulary.

use crate::gguf::GgufError;
use thiserror::Error;

/// A vocabulary that cannot be read, or that no tokenizer here can follow.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum VocabError {
    /// The file has no key that every vocabulary needs.
    #[error("{key}: missing; the file has no vocabulary that can be used")]
    MissingKey {
        /// GGUF key.
        key: &'static str,
    },
    /// A key of the file holds something else than it must.
    #[error(transparent)]
    Gguf(#[from] GgufError),
    /// `tokenizer.ggml.model` names an algorithm that is not one of the three here.
    #[error(
        "tokenizer.ggml.model: no tokenizer for '{model}'; known: llama (SentencePiece), gpt2 (byte-level BPE), bert (WordPiece)"
    )]
    UnknownModel {
        /// The name in the file.
        model: String,
    },
    /// `tokenizer.ggml.pre`, or the name given for it, is not known.
    #[error("tokenizer.ggml.pre: no pre-tokenizer '{pre}'; known: {}; `--pre NAME` takes another than the file says", .known.join(", "))]
    UnknownPre {
        /// The name in the file or on the command line.
        pre: String,
        /// Every name that would do.
        known: Vec<&'static str>,
    },
    /// The token list is empty or longer than any id can count.
    #[error("tokenizer.ggml.tokens: {count} tokens; 1 to {max} can be used")]
    TokenCount {
        /// Tokens in the file.
        count: usize,
        /// Most that are taken.
        max: usize,
    },
    /// An array does not have one entry per token.
    #[error("{key}: {found} entries for {tokens} tokens")]
    LengthMismatch {
        /// GGUF key.
        key: &'static str,
        /// Entries in the array.
        found: usize,
        /// Tokens in the vocabulary.
        tokens: usize,
    },
    /// A special token's id is not in the vocabulary.
    #[error("{key}: id {id} is outside the vocabulary of {tokens} tokens (4294967295 stands for none)")]
    IdOutOfRange {
        /// GGUF key.
        key: &'static str,
        /// The id in the file.
        id: u32,
        /// Tokens in the vocabulary.
        tokens: usize,
    },
    /// A token's type is none of GGUF's.
    #[error("tokenizer.ggml.token_type: token {id} has type {value}; known: 0 to 6")]
    UnknownTokenType {
        /// Token id.
        id: usize,
        /// The value in the file.
        value: i32,
    },
    /// A score is not a number.
    #[error("tokenizer.ggml.scores: token {id} has score {score}")]
    BadScore {
        /// Token id.
        id: usize,
        /// The value in the file.
        score: f32,
    },
    /// A merge does not have the form `left right`.
    #[error("tokenizer.ggml.merges: merge {rank} is '{merge}', needs two tokens with a space between")]
    BadMerge {
        /// Position in the list.
        rank: usize,
        /// The merge as it is in the file.
        merge: String,
    },
    /// A merge names or makes something that is not a token.
    #[error(
        "tokenizer.ggml.merges: merge {rank} is '{merge}', but '{piece}' is no token; the list belongs to another vocabulary"
    )]
    MergeNotToken {
        /// Position in the list.
        rank: usize,
        /// The merge as it is in the file.
        merge: String,
        /// The part, or the result, that the vocabulary lacks.
        piece: String,
    },
    /// The vocabulary cannot encode what it has no token for.
    #[error("tokenizer.ggml.unknown_token_id: none, and a {model} vocabulary needs one")]
    NoUnknownToken {
        /// The name in the file.
        model: String,
    },
}
