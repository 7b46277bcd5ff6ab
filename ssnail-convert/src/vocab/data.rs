//! A vocabulary as it is in a GGUF file, before anything is made of it.

use super::error::VocabError;
use super::strings::ByteStrings;
use crate::gguf::{Gguf, GgufError, Strings, Value};

/// Most tokens a vocabulary may have; the largest in use today has about 260,000.
pub const MAX_TOKENS: usize = 1 << 24;

/// `tokenizer.ggml.token_type`, numbered as in GGUF.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum TokenType {
    /// No type was given.
    Undefined = 0,
    /// Ordinary text.
    Normal = 1,
    /// Stands for what the vocabulary cannot write.
    Unknown = 2,
    /// Steers the model and is no text: begin, end, a chat turn.
    Control = 3,
    /// Text of its own that is never split or merged.
    UserDefined = 4,
    /// A place kept free.
    Unused = 5,
    /// One byte, written `<0xHH>`.
    Byte = 6,
}

impl TokenType {
    /// The type of GGUF's number.
    pub fn from_gguf(value: i32) -> Option<Self> {
        Some(match value {
            0 => Self::Undefined,
            1 => Self::Normal,
            2 => Self::Unknown,
            3 => Self::Control,
            4 => Self::UserDefined,
            5 => Self::Unused,
            6 => Self::Byte,
            _ => return None,
        })
    }

    /// The name in lower case, as messages and listings print it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Undefined => "undefined",
            Self::Normal => "normal",
            Self::Unknown => "unknown",
            Self::Control => "control",
            Self::UserDefined => "user-defined",
            Self::Unused => "unused",
            Self::Byte => "byte",
        }
    }
}

/// A vocabulary's keys of a GGUF file, unchecked: [`super::Tokenizer::new`] checks them.
///
/// Each `Option` is `None` when the file lacks the key, so that the default of the tokenizer's kind holds.
/// An id of `u32::MAX` says that there is no such token.
#[derive(Debug, Clone, Default)]
pub struct VocabData {
    /// `general.architecture`; a few special tokens take blanks beside them along, by architecture or name.
    pub architecture: String,
    /// `general.name`.
    pub name: String,
    /// `tokenizer.ggml.model`: `llama`, `gpt2` or `bert`.
    pub model: String,
    /// `tokenizer.ggml.pre`.
    pub pre: Option<String>,
    /// `tokenizer.ggml.tokens`, in the spelling of the model.
    pub tokens: ByteStrings,
    /// `tokenizer.ggml.scores`; empty when the file has none.
    pub scores: Vec<f32>,
    /// `tokenizer.ggml.token_type`, GGUF's numbers; empty when the file has none.
    pub types: Vec<i32>,
    /// `tokenizer.ggml.merges`, `left right`, by falling priority; `None` when the file has no list.
    pub merges: Option<ByteStrings>,
    /// `tokenizer.ggml.bos_token_id`.
    pub bos: Option<u32>,
    /// `tokenizer.ggml.eos_token_id`.
    pub eos: Option<u32>,
    /// `tokenizer.ggml.eot_token_id`.
    pub eot: Option<u32>,
    /// `tokenizer.ggml.unknown_token_id`.
    pub unk: Option<u32>,
    /// `tokenizer.ggml.seperator_token_id` (GGUF's spelling).
    pub sep: Option<u32>,
    /// `tokenizer.ggml.padding_token_id`.
    pub pad: Option<u32>,
    /// `tokenizer.ggml.cls_token_id`.
    pub cls: Option<u32>,
    /// `tokenizer.ggml.mask_token_id`.
    pub mask: Option<u32>,
    /// Whether the file has `tokenizer.ggml.fim_{pre,suf,mid,pad,rep,sep}_token_id`, in this order: only where it
    /// has not are such tokens known by their text.
    pub has_fim: [bool; 6],
    /// `tokenizer.ggml.add_bos_token`.
    pub add_bos: Option<bool>,
    /// `tokenizer.ggml.add_eos_token`.
    pub add_eos: Option<bool>,
    /// `tokenizer.ggml.add_space_prefix`.
    pub add_space_prefix: Option<bool>,
    /// `tokenizer.ggml.remove_extra_whitespaces`; kept for listings, llama.cpp heeds it in unigram models only.
    pub remove_extra_whitespaces: Option<bool>,
    /// `tokenizer.ggml.normalizer.lowercase`.
    pub lowercase: Option<bool>,
    /// `tokenizer.ggml.normalizer.strip_accents`.
    pub strip_accents: Option<bool>,
}

impl VocabData {
    /// Reads the vocabulary's keys from a model.
    ///
    /// # Errors
    /// A key that is needed is missing, or one has a type that it may not have; nothing is checked beyond.
    pub fn from_gguf(gguf: &Gguf) -> Result<Self, VocabError> {
        let text = |key| {
            Ok::<_, GgufError>(gguf.get::<&[u8]>(key)?.map(|text| String::from_utf8_lossy(text).into_owned()))
        };
        // Some writers say "none" as -1 instead of 0xFFFFFFFF.
        let id = |key| match gguf.metadata().value(key).and_then(|value| value.as_int()) {
            Some(-1) => Ok(Some(u32::MAX)),
            _ => gguf.get::<u32>(key),
        };
        let tokens = match gguf.get::<Strings>("tokenizer.ggml.tokens")? {
            Some(tokens) => tokens.collect(),
            None => return Err(VocabError::MissingKey { key: "tokenizer.ggml.tokens" }),
        };
        let fim = |part| gguf.metadata().value(&format!("tokenizer.ggml.fim_{part}_token_id")).is_some();
        Ok(Self {
            architecture: text("general.architecture")?.unwrap_or_default(),
            name: text("general.name")?.unwrap_or_default(),
            model: text("tokenizer.ggml.model")?
                .ok_or(VocabError::MissingKey { key: "tokenizer.ggml.model" })?,
            pre: text("tokenizer.ggml.pre")?,
            tokens,
            scores: read_scores(gguf)?,
            types: gguf.get("tokenizer.ggml.token_type")?.unwrap_or_default(),
            merges: gguf.get::<Strings>("tokenizer.ggml.merges")?.map(Iterator::collect),
            bos: id("tokenizer.ggml.bos_token_id")?,
            eos: id("tokenizer.ggml.eos_token_id")?,
            eot: id("tokenizer.ggml.eot_token_id")?,
            unk: id("tokenizer.ggml.unknown_token_id")?,
            sep: id("tokenizer.ggml.seperator_token_id")?,
            pad: id("tokenizer.ggml.padding_token_id")?,
            cls: id("tokenizer.ggml.cls_token_id")?,
            mask: id("tokenizer.ggml.mask_token_id")?,
            has_fim: ["pre", "suf", "mid", "pad", "rep", "sep"].map(fim),
            add_bos: gguf.get("tokenizer.ggml.add_bos_token")?,
            add_eos: gguf.get("tokenizer.ggml.add_eos_token")?,
            add_space_prefix: gguf.get("tokenizer.ggml.add_space_prefix")?,
            remove_extra_whitespaces: gguf.get("tokenizer.ggml.remove_extra_whitespaces")?,
            lowercase: gguf.get("tokenizer.ggml.normalizer.lowercase")?,
            strip_accents: gguf.get("tokenizer.ggml.normalizer.strip_accents")?,
        })
    }
}

/// Scores are floats, or integers in a few old files.
fn read_scores(gguf: &Gguf) -> Result<Vec<f32>, GgufError> {
    let key = "tokenizer.ggml.scores";
    match gguf.metadata().value(key) {
        Some(Value::Array(scores)) if scores.iter().all(|score| score.as_int().is_some()) => {
            Ok(scores.iter().filter_map(|score| score.as_int()).map(|score| score as f32).collect())
        }
        _ => Ok(gguf.get(key)?.unwrap_or_default()),
    }
}
