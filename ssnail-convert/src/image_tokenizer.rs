//! The tables of the image's tokenizer, made from the model's vocabulary.
//!
//! The image has one priority per token where the model has a list of merges; `exactness` proves for each token
//! that both arrive at it by the same steps.

mod exactness;

pub use exactness::Exactness;

use crate::gguf::Gguf;
use crate::tokcheck;
use crate::vocab::{self, TokenType, Tokenizer, VocabData, VocabError, VocabKind};
use hashbrown::HashMap;
use serde::Serialize;
use ssnail_isa::image::tokenizer::{BYTE_TABLE_LEN, BYTES, TokenizerFields};
use ssnail_isa::image::{NO_TOKEN, PreSplit, TokenizerBlock, TokenizerKind};
use std::fmt::Write;

/// A priority that is none.
const NEVER: u32 = u32::MAX;
/// Names of the objects, in their order in the image.
const OBJECTS: [&str; 5] = ["vocab", "tokenizer", "index", "priorities", "bytes"];

/// The tokenizer of an image before it has addresses.
#[derive(Debug)]
pub struct TokenizerTables {
    /// The model's begin token.
    pub bos: Option<u32>,
    /// The model's end token.
    pub eos: Option<u32>,
    /// What the image's tokenizer does otherwise than the model's, a sentence each.
    pub warnings: Vec<String>,
    /// How far priorities stand in for merges.
    pub exactness: Exactness,
    /// Without addresses.
    block: TokenizerBlock,
    /// The pre-tokenizer of byte-level BPE.
    pre: Option<String>,
    /// End of each token in `text`.
    ends: Vec<usize>,
    /// The bytes of all tokens.
    text: Vec<u8>,
    index: Vec<u32>,
    priorities: Vec<u32>,
    byte_table: Vec<u32>,
}

/// The tokenizer in the report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Algorithm.
    pub kind: &'static str,
    /// Pre-split rule of byte-level BPE.
    pub pre_split: Option<&'static str>,
    /// Tokens that typed text can become.
    pub index: usize,
    /// Merges compared.
    pub merges: usize,
    /// Merges that the image may do otherwise than the model.
    pub approximate: usize,
}

impl Summary {
    /// One line for the report.
    pub fn line(&self) -> String {
        let mut line = self.kind.to_owned();
        if let Some(rule) = self.pre_split {
            let _ = write!(line, ", text split by {rule}'s rule");
        }
        let _ = write!(line, ", {} tokens can be typed", thousands(self.index));
        if self.merges > 0 {
            let (few, all) = (thousands(self.approximate), thousands(self.merges));
            let _ = write!(line, ", {few} of {all} merges approximate");
        }
        line
    }
}

impl TokenizerTables {
    /// The tables for a model. `pre` takes the place of the file's `tokenizer.ggml.pre`.
    ///
    /// # Errors
    /// The file's vocabulary cannot be read or used.
    pub fn from_gguf(gguf: &Gguf, pre: Option<&str>) -> Result<Self, VocabError> {
        Self::new(&Tokenizer::new(VocabData::from_gguf(gguf)?, pre)?)
    }

    /// The tables for a vocabulary.
    ///
    /// # Errors
    /// [`VocabError::UnknownPre`], which a [`Tokenizer`] does not come to.
    pub fn new(model: &Tokenizer) -> Result<Self, VocabError> {
        let (mut text, mut ends) = (Vec::new(), Vec::with_capacity(model.len()));
        for id in 0..model.len() as u32 {
            if !model.is_special(id) {
                text.extend_from_slice(model.bytes(id).unwrap_or_default());
            }
            ends.push(text.len());
        }
        let mut tables = Self {
            bos: model.ids().bos,
            eos: model.ids().eos,
            warnings: Vec::new(),
            exactness: Exactness::default(),
            block: block(model),
            pre: model.pre().filter(|_| model.kind() == VocabKind::ByteBpe).map(str::to_owned),
            ends,
            text,
            index: Vec::new(),
            priorities: Vec::new(),
            byte_table: Vec::new(),
        };
        tables.index = tables.make_index(model);
        tables.byte_table = tables.make_byte_table(model);
        tables.priorities = tables.make_priorities(model);
        tables.block.fields.index_len = tables.index.len() as u32;
        tables.block.wide_priorities =
            tables.priorities.iter().any(|&p| p != NEVER && p >= u32::from(u16::MAX));
        tables.choose_rule()?;
        tables.exactness = Exactness::prove(model, &tables);
        tables.warn(model);
        Ok(tables)
    }

    /// What a token adds to text; empty for control tokens.
    fn token(&self, id: u32) -> &[u8] {
        let end = self.ends[id as usize];
        let start = if id == 0 { 0 } else { self.ends[id as usize - 1] };
        &self.text[start..end]
    }

    fn ids(&self) -> std::ops::Range<u32> {
        0..self.ends.len() as u32
    }

    /// Tokens that typed ASCII text can become, sorted by their bytes; of equal ones the lowest id.
    fn make_index(&self, model: &Tokenizer) -> Vec<u32> {
        let typed = |&id: &u32| {
            let text = self.token(id);
            matches!(model.token_type(id), Some(TokenType::Normal | TokenType::UserDefined))
                && !text.is_empty()
                && text.iter().all(|byte| matches!(byte, b'\t' | b'\n' | b' '..=b'~'))
        };
        let mut index: Vec<u32> = self.ids().filter(typed).collect();
        index.sort_by_key(|&id| self.token(id));
        index.dedup_by_key(|id| self.token(*id));
        index
    }

    /// The one-byte token of each byte, else its `<0xHH>` token.
    fn make_byte_table(&self, model: &Tokenizer) -> Vec<u32> {
        let (mut plain, mut escaped) = (vec![NO_TOKEN; 256], vec![NO_TOKEN; 256]);
        for id in self.ids().rev() {
            if let &[byte] = self.token(id) {
                let of_type =
                    if model.token_type(id) == Some(TokenType::Byte) { &mut escaped } else { &mut plain };
                of_type[usize::from(byte)] = id;
            }
        }
        plain
            .into_iter()
            .zip(escaped)
            .map(|(plain, escaped)| if plain == NO_TOKEN { escaped } else { plain })
            .collect()
    }

    fn make_priorities(&self, model: &Tokenizer) -> Vec<u32> {
        match model.kind() {
            VocabKind::WordPiece => vec![NEVER; self.ends.len()],
            // The place among all that can be made by a merge, highest score first.
            VocabKind::SentencePiece => {
                let mut made: Vec<u32> =
                    self.index.iter().copied().filter(|&id| self.token(id).len() > 1).collect();
                let score = |id: u32| model.score(id).unwrap_or(0.0);
                made.sort_by(|&a, &b| score(b).total_cmp(&score(a)).then(a.cmp(&b)));
                let mut priorities = vec![NEVER; self.ends.len()];
                for (place, id) in (0..).zip(made) {
                    priorities[id as usize] = place;
                }
                priorities
            }
            // The rank of the first merge with that result.
            VocabKind::ByteBpe => {
                let mut ranks = HashMap::with_capacity(model.merges().len());
                for (rank, merge) in (0..).zip(model.merges()) {
                    ranks.entry(self.token(merge.result)).or_insert(rank);
                }
                ranks.remove(&b""[..]);
                self.ids().map(|id| ranks.get(self.token(id)).copied().unwrap_or(NEVER)).collect()
            }
        }
    }

    /// Sets the pre-split rule, and says so when it is not the model's own.
    fn choose_rule(&mut self) -> Result<(), VocabError> {
        let Some(pre) = &self.pre else { return Ok(()) };
        let choice = vocab::image_rule(pre, tokcheck::SAMPLE.lines())?;
        self.block.pre_split = choice.rule;
        if let Some(lines) = choice.different_lines {
            self.warnings.push(format!(
                "text is split by {}'s rule instead of {pre}'s, which an image cannot have: {lines} of {} sample lines \
                 are split otherwise",
                choice.rule.name(),
                tokcheck::SAMPLE.lines().count()
            ));
        }
        Ok(())
    }

    fn warn(&mut self, model: &Tokenizer) {
        let user_defined =
            self.index.iter().filter(|&&id| model.token_type(id) == Some(TokenType::UserDefined)).count();
        if user_defined > 0 {
            self.warnings.push(format!(
                "{} user-defined tokens are cut out of text by the model, but merged like any text by the image",
                thousands(user_defined)
            ));
        }
        let typed = (b' '..=b'~').chain(*b"\t\n");
        let lost: String =
            typed.filter(|&b| self.byte_table[usize::from(b)] == NO_TOKEN).map(char::from).collect();
        if model.kind() == VocabKind::ByteBpe && !lost.is_empty() {
            self.warnings
                .push(format!("the vocabulary has no token for these characters and drops them: {lost:?}"));
        }
    }

    /// Names and sizes in bytes of the objects, in their order in the image.
    pub fn sizes(&self) -> Vec<(&'static str, usize)> {
        let sizes = [
            4 * (self.ends.len() + 1) + self.text.len(),
            BYTES,
            4 * self.index.len(),
            self.block.priority_bytes() as usize * self.priorities.len(),
            4 * BYTE_TABLE_LEN as usize,
        ];
        OBJECTS.into_iter().zip(sizes).collect()
    }

    /// The tokenizer block, given the address of each object by its name.
    pub fn block_at(&self, at: impl Fn(&str) -> u32) -> TokenizerBlock {
        let fields = TokenizerFields {
            index: at("index"),
            priorities: at("priorities"),
            byte_table: at("bytes"),
            ..self.block.fields
        };
        TokenizerBlock { fields, ..self.block }
    }

    /// The objects' bytes, with `block` as [`Self::block_at`] gave it. For vocabularies below 4 GB, far above what an
    /// image can have.
    pub fn contents(&self, block: &TokenizerBlock) -> Vec<(&'static str, Vec<u8>)> {
        let words = |words: &[u32]| words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>();
        let table = 4 * (self.ends.len() + 1);
        let offsets: Vec<u32> = [0].iter().chain(&self.ends).map(|end| (table + end) as u32).collect();
        let priorities = if block.wide_priorities {
            words(&self.priorities)
        } else {
            self.priorities.iter().flat_map(|&p| u16::try_from(p).unwrap_or(u16::MAX).to_le_bytes()).collect()
        };
        let contents = [
            [words(&offsets), self.text.clone()].concat(),
            block.to_bytes().to_vec(),
            words(&self.index),
            priorities,
            words(&self.byte_table),
        ];
        OBJECTS.into_iter().zip(contents).collect()
    }

    /// The tokenizer in the report.
    pub fn summary(&self) -> Summary {
        Summary {
            kind: self.block.kind.name(),
            pre_split: self.pre.is_some().then(|| self.block.pre_split.name()),
            index: self.index.len(),
            merges: self.exactness.checked,
            approximate: self.exactness.approximate.len(),
        }
    }

    /// The approximate merges, a line each, for `--verbose`.
    pub fn details(&self) -> String {
        let mut out = String::new();
        for &id in &self.exactness.approximate {
            let _ =
                writeln!(out, "    approximate: token {id} {:?}", String::from_utf8_lossy(self.token(id)));
        }
        out
    }
}

/// The block as far as the vocabulary says it.
fn block(model: &Tokenizer) -> TokenizerBlock {
    let ids = model.ids();
    let (kind, end, unknown) = match model.kind() {
        VocabKind::SentencePiece => (TokenizerKind::SentencePiece, ids.eos, ids.unk),
        // Byte-level models drop a byte that they have no token for.
        VocabKind::ByteBpe => (TokenizerKind::ByteLevelBpe, ids.eos, None),
        VocabKind::WordPiece => (TokenizerKind::WordPiece, ids.sep, ids.unk),
    };
    let or_none = |id: Option<u32>| id.unwrap_or(NO_TOKEN);
    TokenizerBlock {
        kind,
        lowercase: model.lowercases(),
        wide_priorities: false,
        pre_split: PreSplit::default(),
        // The flag speaks of SentencePiece only and stays 0 elsewhere.
        space_prefix: model.adds_space_prefix() || model.kind() != VocabKind::SentencePiece,
        fields: TokenizerFields {
            n_vocab: model.len() as u32,
            begin: or_none(ids.bos.filter(|_| model.adds_bos())),
            end: or_none(end.filter(|_| model.adds_eos())),
            unknown: or_none(unknown),
            ..TokenizerFields::default()
        },
    }
}

/// 48102 as `48,102`.
fn thousands(n: usize) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
#[path = "image_tokenizer/tests.rs"]
mod tests;
