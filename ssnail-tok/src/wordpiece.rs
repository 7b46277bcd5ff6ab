//! WordPiece: text is cut at blanks and punctuation, then each word is taken apart from its front, longest piece first.

use crate::tables::{Cost, Tables, common_prefix};
use ssnail_isa::image::NO_TOKEN;

/// A word of more characters is the unknown token, as in BERT's own tokenizer.
const LONGEST_WORD: usize = 100;

/// Appends the tokens of `text`, which is in lower case already if the image wants it.
pub(crate) fn encode(tables: &Tables<'_>, text: &[u8], ids: &mut Vec<u32>, cost: &mut Cost) {
    // Write the text again with one space before each word and none elsewhere, since that is how pieces that start a
    // word are kept in the vocab table.
    let mut line = Vec::with_capacity(2 * text.len());
    let mut inside = false;
    for &byte in text {
        if matches!(byte, b'\t' | b'\n' | b' ') {
            inside = false;
            continue;
        }
        let alone = byte.is_ascii_punctuation();
        if alone || !inside {
            line.push(b' ');
        }
        line.push(byte);
        inside = !alone;
    }

    let mut start = 0;
    while start < line.len() {
        let mut end = start + 1;
        while end < line.len() && line[end] != b' ' {
            end += 1;
        }
        encode_word(tables, &line[start..end], ids, cost);
        start = end;
    }
}

/// One word, its space in front. If any part of it is no piece, the whole word is the unknown token.
fn encode_word(tables: &Tables<'_>, word: &[u8], ids: &mut Vec<u32>, cost: &mut Cost) {
    let tokens_before = ids.len();
    let mut start = 0;
    while start < word.len() && word.len() - 1 <= LONGEST_WORD {
        let Some((id, len)) = longest_piece(tables, &word[start..], cost) else { break };
        ids.push(id);
        start += len;
    }
    if start < word.len() {
        ids.truncate(tokens_before);
        if tables.block.fields.unknown != NO_TOKEN {
            ids.push(tables.block.fields.unknown);
        }
    }
}

/// The longest token that `text` starts with, and its length.
///
/// Any token that `text` starts with also is the start of the entry before the place where `text` would stand in
/// the index. So if the search does not find `text`, only as much of it as that entry has in common can be a token.
fn longest_piece(tables: &Tables<'_>, text: &[u8], cost: &mut Cost) -> Option<(u32, usize)> {
    let mut len = text.len().min(tables.longest);
    while len > 0 {
        match tables.search(&text[..len], cost) {
            Ok(entry) => return Some((tables.index_entry(entry), len)),
            Err(0) => return None,
            Err(place) => {
                let before = tables.bytes(tables.index_entry(place - 1));
                len = common_prefix(before, &text[..len - 1]);
                cost.bytes += 4 + 8 + len as u64 + 1;
            }
        }
    }
    None
}
