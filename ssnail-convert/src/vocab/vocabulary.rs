//! A checked vocabulary: tokens, what they print, their types and the special ones among them.

use super::bytes;
use super::data::{MAX_TOKENS, TokenType, VocabData};
use super::error::VocabError;
use super::pre::PreTokenizer;
use super::strings::{ByteStrings, StringIndex};

/// U+2581, which stands for a space in SentencePiece and WordPiece vocabularies.
pub(super) const SPACE_MARK: &str = "\u{2581}";

/// The algorithm a vocabulary is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VocabKind {
    /// SentencePiece merges by score, `tokenizer.ggml.model` = `llama`.
    SentencePiece,
    /// Byte-level byte-pair encoding, `gpt2`.
    ByteBpe,
    /// Longest match in words, `bert`.
    WordPiece,
}

/// The special tokens by their part; `None` where the model has no such token.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpecialIds {
    /// Begin of text; of a WordPiece vocabulary the class token.
    pub bos: Option<u32>,
    /// End of text.
    pub eos: Option<u32>,
    /// End of turn in a chat.
    pub eot: Option<u32>,
    /// What cannot be written otherwise.
    pub unk: Option<u32>,
    /// Separator, which ends a WordPiece text.
    pub sep: Option<u32>,
    /// Padding.
    pub pad: Option<u32>,
    /// Mask.
    pub mask: Option<u32>,
}

/// A vocabulary that has been checked.
#[derive(Debug)]
pub struct Vocab {
    pub(super) kind: VocabKind,
    pub(super) model: String,
    pub(super) pre: Option<String>,
    pub(super) tokens: ByteStrings,
    pub(super) index: StringIndex,
    outputs: ByteStrings,
    types: Vec<TokenType>,
    scores: Vec<f32>,
    pub(super) ids: SpecialIds,
    pub(super) add_bos: bool,
    pub(super) add_eos: bool,
    pub(super) add_space_prefix: bool,
    pub(super) lowercase: bool,
    pub(super) strip_accents: bool,
}

impl Vocab {
    /// Checks everything in `data` but the merges and the special tokens found by their text.
    pub(super) fn new(data: &VocabData, pre: Option<&PreTokenizer>) -> Result<Self, VocabError> {
        let kind = kind_of(&data.model)?;
        let count = data.tokens.len();
        if count == 0 || count > MAX_TOKENS {
            return Err(VocabError::TokenCount { count, max: MAX_TOKENS });
        }
        let tokens: ByteStrings = data
            .tokens
            .iter()
            .enumerate()
            .map(
                |(id, token)| {
                    if token.is_empty() { format!("[EMPTY_{id}]").into_bytes() } else { token.to_vec() }
                },
            )
            .collect();
        let lowercase = data.lowercase.unwrap_or(true);
        let mut vocab = Self {
            kind,
            model: data.model.clone(),
            pre: data.pre.clone(),
            index: StringIndex::new(&tokens),
            tokens,
            outputs: ByteStrings::default(),
            types: token_types(&data.types, count)?,
            scores: scores(&data.scores, count)?,
            ids: special_ids(data, kind, pre.is_some_and(|pre| pre.no_default_bos))?,
            add_bos: data.add_bos.unwrap_or(match kind {
                VocabKind::ByteBpe => pre.is_some_and(|pre| pre.add_bos),
                VocabKind::SentencePiece | VocabKind::WordPiece => true,
            }),
            add_eos: data.add_eos.unwrap_or(false),
            add_space_prefix: kind == VocabKind::SentencePiece && data.add_space_prefix.unwrap_or(true),
            lowercase,
            strip_accents: data.strip_accents.unwrap_or(lowercase),
        };
        vocab.make_outputs();
        Ok(vocab)
    }

    /// Works out what each token prints, after a change of types.
    pub(super) fn make_outputs(&mut self) {
        let mut outputs = ByteStrings::default();
        let mut output = Vec::new();
        for (token, &kind) in self.tokens.iter().zip(&self.types) {
            output.clear();
            match (kind, self.kind) {
                (TokenType::Unused | TokenType::Undefined, _) => {}
                (TokenType::Control | TokenType::Unknown | TokenType::UserDefined, _) => {
                    output.extend_from_slice(token);
                }
                (TokenType::Byte, _) => match bytes::byte_of(token) {
                    Some(byte) => output.push(byte),
                    None => output.extend_from_slice(token),
                },
                (TokenType::Normal, VocabKind::ByteBpe) => bytes::unspell(token, &mut output),
                (TokenType::Normal, VocabKind::SentencePiece | VocabKind::WordPiece) => {
                    unmark_spaces(token, &mut output);
                }
            }
            outputs.push(&output);
        }
        self.outputs = outputs;
    }

    /// Id of the token spelled `text`; of equal ones the lowest.
    pub fn find(&self, text: &[u8]) -> Option<u32> {
        self.index.find(&self.tokens, text)
    }

    /// Number of tokens.
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Never true: a vocabulary has a token at least.
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// The token in the model's own spelling, as the file has it.
    pub fn text(&self, id: u32) -> Option<&[u8]> {
        self.tokens.get(id as usize)
    }

    /// The bytes a token prints. Control and unknown tokens print their name here, so ask
    /// [`Self::is_special`] first; unused ones print nothing.
    pub fn bytes(&self, id: u32) -> Option<&[u8]> {
        self.outputs.get(id as usize)
    }

    /// Type of a token.
    pub fn token_type(&self, id: u32) -> Option<TokenType> {
        self.types.get(id as usize).copied()
    }

    pub(super) fn set_type(&mut self, id: u32, kind: TokenType) {
        if let Some(slot) = self.types.get_mut(id as usize) {
            *slot = kind;
        }
    }

    /// True of control and unknown tokens, which are no text.
    pub fn is_special(&self, id: u32) -> bool {
        matches!(self.token_type(id), Some(TokenType::Control | TokenType::Unknown))
    }

    /// Score of a token; 0 where the file has no scores.
    pub fn score(&self, id: u32) -> Option<f32> {
        self.scores.get(id as usize).copied()
    }

    /// The token that `byte` becomes for want of a better one: the token of that one byte, else
    /// `<0xHH>`; in SentencePiece the other way round.
    pub fn byte_token(&self, byte: u8) -> Option<u32> {
        let hex = || self.find(format!("<0x{byte:02X}>").as_bytes());
        match self.kind {
            VocabKind::SentencePiece => hex().or_else(|| self.find(&[byte])),
            VocabKind::ByteBpe => self.find(bytes::byte_char(byte).encode_utf8(&mut [0; 4]).as_bytes()),
            VocabKind::WordPiece => self.find(&[byte]),
        }
    }
}

fn kind_of(model: &str) -> Result<VocabKind, VocabError> {
    match model {
        "llama" => Ok(VocabKind::SentencePiece),
        "gpt2" => Ok(VocabKind::ByteBpe),
        "bert" => Ok(VocabKind::WordPiece),
        other => Err(VocabError::UnknownModel { model: other.to_owned() }),
    }
}

/// Appends `token` with each U+2581 as a space.
fn unmark_spaces(token: &[u8], out: &mut Vec<u8>) {
    let mut done = 0;
    for at in memchr::memmem::find_iter(token, SPACE_MARK) {
        out.extend_from_slice(&token[done..at]);
        out.push(b' ');
        done = at + SPACE_MARK.len();
    }
    out.extend_from_slice(&token[done..]);
}

fn token_types(types: &[i32], tokens: usize) -> Result<Vec<TokenType>, VocabError> {
    if types.is_empty() {
        return Ok(vec![TokenType::Normal; tokens]);
    }
    if types.len() != tokens {
        return Err(VocabError::LengthMismatch {
            key: "tokenizer.ggml.token_type",
            found: types.len(),
            tokens,
        });
    }
    let known = |(id, &value)| TokenType::from_gguf(value).ok_or(VocabError::UnknownTokenType { id, value });
    types.iter().enumerate().map(known).collect()
}

fn scores(scores: &[f32], tokens: usize) -> Result<Vec<f32>, VocabError> {
    if scores.is_empty() {
        return Ok(vec![0.0; tokens]);
    }
    if scores.len() != tokens {
        return Err(VocabError::LengthMismatch { key: "tokenizer.ggml.scores", found: scores.len(), tokens });
    }
    match scores.iter().position(|score| score.is_nan()) {
        Some(id) => Err(VocabError::BadScore { id, score: scores[id] }),
        None => Ok(scores.to_vec()),
    }
}

/// The ids in the file, llama.cpp's defaults where a key is missing and the default is in the vocabulary.
fn special_ids(data: &VocabData, kind: VocabKind, no_default_bos: bool) -> Result<SpecialIds, VocabError> {
    let tokens = data.tokens.len();
    let id = |key: &'static str, value: Option<u32>, default: Option<u32>| match value {
        Some(u32::MAX) => Ok(None),
        Some(id) if id as usize >= tokens => Err(VocabError::IdOutOfRange { key, id, tokens }),
        Some(id) => Ok(Some(id)),
        None => Ok(default.filter(|&id| (id as usize) < tokens)),
    };
    let defaults = match kind {
        VocabKind::SentencePiece => {
            SpecialIds { bos: Some(1), eos: Some(2), unk: Some(0), ..SpecialIds::default() }
        }
        VocabKind::ByteBpe => SpecialIds { bos: Some(11), eos: Some(11), ..SpecialIds::default() },
        VocabKind::WordPiece => SpecialIds {
            bos: Some(101),
            unk: Some(100),
            sep: Some(102),
            pad: Some(0),
            mask: Some(103),
            ..SpecialIds::default()
        },
    };
    let default_bos = id("tokenizer.ggml.cls_token_id", data.cls, defaults.bos)?;
    let default_bos = if kind == VocabKind::WordPiece { default_bos } else { defaults.bos };
    Ok(SpecialIds {
        bos: id("tokenizer.ggml.bos_token_id", data.bos, default_bos.filter(|_| !no_default_bos))?,
        eos: id("tokenizer.ggml.eos_token_id", data.eos, defaults.eos)?,
        eot: id("tokenizer.ggml.eot_token_id", data.eot, None)?,
        unk: id("tokenizer.ggml.unknown_token_id", data.unk, defaults.unk)?,
        sep: id("tokenizer.ggml.seperator_token_id", data.sep, defaults.sep)?,
        pad: id("tokenizer.ggml.padding_token_id", data.pad, defaults.pad)?,
        mask: id("tokenizer.ggml.mask_token_id", data.mask, defaults.mask)?,
    })
}
