//! Token ids to text: the raw bytes at once, or ASCII as tokens come in.

use crate::{Folder, Tokenizer};
use ssnail_isa::image::TokenizerKind;

impl<'a> Tokenizer<'a> {
    /// The raw bytes of tokens, one after the other. Of the first token that has bytes a leading space is dropped where
    /// encoding had put it there. Ids beyond the vocabulary are empty, as control tokens are.
    pub fn decode(&self, ids: &[u32]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut at_start = true;
        for &id in ids {
            let bytes = self.token_text(id, at_start);
            at_start &= self.tables.bytes(id).is_empty();
            out.extend_from_slice(bytes);
        }
        out
    }

    /// What one token adds to the text; `at_start` when no token with bytes came before it.
    pub fn token_text(&self, id: u32, at_start: bool) -> &'a [u8] {
        let bytes = self.tables.bytes(id);
        let drops_space = match self.kind() {
            TokenizerKind::SentencePiece => self.tables.block.space_prefix,
            TokenizerKind::ByteLevelBpe => false,
            TokenizerKind::WordPiece => true,
        };
        if at_start && drops_space { bytes.strip_prefix(b" ").unwrap_or(bytes) } else { bytes }
    }

    /// A decoder for tokens that start a text.
    pub fn stream(&self) -> TextStream<'a> {
        TextStream { tokenizer: *self, folder: Folder::new(), at_start: true }
    }

    /// A decoder for tokens that go on after others: the first one keeps its space.
    pub fn stream_after(&self) -> TextStream<'a> {
        TextStream { at_start: false, ..self.stream() }
    }
}

/// Tokens in, ASCII for display out. A character may be spread over tokens; it appears when its last byte has come.
#[derive(Debug, Clone)]
pub struct TextStream<'a> {
    tokenizer: Tokenizer<'a>,
    folder: Folder,
    at_start: bool,
}

impl TextStream<'_> {
    /// Appends what `id` adds to the display.
    pub fn push(&mut self, id: u32, out: &mut String) {
        self.folder.push(self.tokenizer.token_text(id, self.at_start), out);
        self.at_start &= self.tokenizer.tables.bytes(id).is_empty();
    }

    /// Ends the text: a character that is not complete shows as `?`.
    pub fn finish(&mut self, out: &mut String) {
        self.folder.finish(out);
    }
}
