//! The tokenizer that a MEGA65 runs: nothing but the tables of an image.
//!
//! It is written to be followed line by line by whoever writes it for a 45GS02: bytes in, token ids out, one list
//! that shrinks in place, and binary searches that compare a few bytes. It depends on nothing but the image, and
//! allocates nothing beyond the text, the list it works on and the ids it gives.
//!
//! | module | what lives there |
//! |---|---|
//! | [`ascii`] | UTF-8 in, ASCII out: for what is typed and for what is displayed |
//! | `tables` | how the image's tables are read and searched, and what that costs |
//! | [`split`] | cutting text into words before byte-level BPE merges inside them |
//! | `merge` | SentencePiece and byte-level BPE: merging neighbours, lowest priority first |
//! | `wordpiece` | WordPiece: the longest piece first |
//! | [`decode`] | token ids to text |
//!
//! # Words and continuations in WordPiece images
//! The vocab table keeps what a token adds to the text. A piece that starts a word is kept with a space in front
//! (` the`), a continuation without (`ing`), control tokens are empty. GGUF files write the same with U+2581 for the
//! space. So a word is looked up with its space, what is left of it without, and joining the bytes gives text.
//!
//! # User-defined tokens
//! They are in the index, but no table says which they are, so text becomes one only if merging arrives at it.

pub mod ascii;
pub mod decode;
mod merge;
pub mod split;
mod tables;
mod wordpiece;

#[cfg(test)]
mod test_image;
#[cfg(test)]
mod tests;

pub use ascii::Folder;
pub use decode::TextStream;
pub use tables::Cost;

use ssnail_isa::image::{Image, NO_TOKEN, TokenizerKind};
use tables::Tables;

/// The tokenizer of an image.
#[derive(Debug, Clone, Copy)]
pub struct Tokenizer<'a> {
    tables: Tables<'a>,
}

impl<'a> Tokenizer<'a> {
    /// The tokenizer of `image`. Reads the index once, for the length of the longest token.
    pub fn new(image: &Image<'a>) -> Self {
        Tokenizer { tables: Tables::new(image) }
    }

    /// How text becomes tokens.
    pub fn kind(&self) -> TokenizerKind {
        self.tables.block.kind
    }

    /// The tokens of `text` with the begin and end token that the image asks for. Characters beyond ASCII are folded
    /// first, see [`ascii`]. Time grows with the square of the longest word; in SentencePiece a word is what lies
    /// between spaces, or the whole text if some token has a space inside.
    pub fn encode(&self, text: &str) -> Vec<u32> {
        self.encode_with_cost(text).0
    }

    /// The tokens of `text` and what finding them cost.
    pub fn encode_with_cost(&self, text: &str) -> (Vec<u32>, Cost) {
        let fields = &self.tables.block.fields;
        let mut ids = Vec::new();
        let mut cost = Cost::default();
        if fields.begin != NO_TOKEN {
            ids.push(fields.begin);
        }
        self.append(text, &mut ids, &mut cost);
        if fields.end != NO_TOKEN {
            ids.push(fields.end);
        }
        cost.tokens = ids.len() as u64;
        (ids, cost)
    }

    /// The tokens of `text` alone, without begin and end token.
    pub fn encode_raw(&self, text: &str) -> Vec<u32> {
        let mut ids = Vec::new();
        self.append(text, &mut ids, &mut Cost::default());
        ids
    }

    fn append(&self, text: &str, ids: &mut Vec<u32>, cost: &mut Cost) {
        let tables = &self.tables;
        let mut text = ascii::fold(text.as_bytes());
        if tables.block.lowercase {
            text.make_ascii_lowercase();
        }
        match tables.block.kind {
            TokenizerKind::SentencePiece => merge::sentencepiece(tables, &text, ids, cost),
            TokenizerKind::ByteLevelBpe => merge::byte_level_bpe(tables, text.as_bytes(), ids, cost),
            TokenizerKind::WordPiece => wordpiece::encode(tables, text.as_bytes(), ids, cost),
        }
    }
}
