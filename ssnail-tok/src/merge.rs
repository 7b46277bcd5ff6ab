//! SentencePiece and byte-level BPE: every byte starts as a token, then neighbours merge, lowest priority first.

use crate::split;
use crate::tables::{Cost, NEVER, Tables};
use ssnail_isa::image::NO_TOKEN;

/// One token of the list, and what it would become together with the token after it.
///
/// Tokens of a word lie one after the other in its text, so the text of two neighbours is one piece of the text:
/// from the start of the first to the start of the one after the second. Nothing is copied to look a pair up.
#[derive(Debug, Clone, Copy)]
struct Piece {
    /// Where it starts in the word.
    start: usize,
    /// The token.
    id: u32,
    /// The token that this one and the next would be.
    merged: u32,
    /// The priority of `merged`; `NEVER` when the two do not merge.
    priority: u32,
}

/// SentencePiece. The text gets a space in front (unless the image says no), and then is merged as one word. Where no
/// token goes across the start of a word the words are merged one by one, which gives the same in less time.
pub(crate) fn sentencepiece(tables: &Tables<'_>, text: &str, ids: &mut Vec<u32>, cost: &mut Cost) {
    let mut line = String::with_capacity(text.len() + 1);
    if tables.block.space_prefix && !text.is_empty() {
        line.push(' ');
    }
    line.push_str(text);

    let line = line.as_bytes();
    let mut pieces = Vec::new();
    let mut start = 0;
    while start < line.len() {
        let end = if tables.joins_words { line.len() } else { end_before_space(line, start) };
        merge(tables, &line[start..end], &mut pieces, ids, cost);
        start = end;
    }
}

/// The end of a SentencePiece word: first the spaces it starts with, then all up to the next space.
fn end_before_space(line: &[u8], start: usize) -> usize {
    let mut at = start;
    while at < line.len() && line[at] == b' ' {
        at += 1;
    }
    while at < line.len() && line[at] != b' ' {
        at += 1;
    }
    at
}

/// Byte-level BPE. The text is cut into words by the image's rule, merges stay inside a word.
pub(crate) fn byte_level_bpe(tables: &Tables<'_>, text: &[u8], ids: &mut Vec<u32>, cost: &mut Cost) {
    let rule = tables.block.pre_split;
    let mut pieces = Vec::new();
    let mut start = 0;
    while start < text.len() {
        let end = split::word_end(text, start, rule);
        let word = &text[start..end];
        start = end;
        // Models with Llama 3's rule take a word that is a token as it is, even where merges would not arrive at it.
        if split::takes_whole_words(rule) {
            let id = tables.find(word, cost);
            if id != NO_TOKEN {
                ids.push(id);
                continue;
            }
        }
        merge(tables, word, &mut pieces, ids, cost);
    }
}

/// Merges inside one word and appends its tokens. `pieces` is only memory to work in.
fn merge(tables: &Tables<'_>, word: &[u8], pieces: &mut Vec<Piece>, ids: &mut Vec<u32>, cost: &mut Cost) {
    // Every byte starts as a token.
    pieces.clear();
    for (start, &byte) in word.iter().enumerate() {
        let id = tables.byte_token(byte, cost);
        pieces.push(Piece { start, id, merged: NO_TOKEN, priority: NEVER });
    }
    for at in 0..pieces.len() {
        look_up_pair(tables, word, pieces, at, cost);
    }

    loop {
        // The lowest priority; of equal ones the first.
        let mut lowest = NEVER;
        let mut best = 0;
        for (at, piece) in pieces.iter().enumerate() {
            if piece.priority < lowest {
                lowest = piece.priority;
                best = at;
            }
        }
        if lowest == NEVER {
            break;
        }
        // The first of the pair becomes the merged token, the second leaves the list.
        pieces[best].id = pieces[best].merged;
        pieces.remove(best + 1);
        // It has new neighbours on both sides now.
        look_up_pair(tables, word, pieces, best, cost);
        if best > 0 {
            look_up_pair(tables, word, pieces, best - 1, cost);
        }
    }

    for piece in pieces.iter() {
        if piece.id != NO_TOKEN {
            ids.push(piece.id);
        } else if tables.block.fields.unknown != NO_TOKEN {
            ids.push(tables.block.fields.unknown);
        }
        // A byte without a token, in a vocabulary without an unknown token, is lost.
    }
}

/// Finds out what the token at `at` and the next one would be together.
fn look_up_pair(tables: &Tables<'_>, word: &[u8], pieces: &mut [Piece], at: usize, cost: &mut Cost) {
    pieces[at].priority = NEVER;
    if at + 1 == pieces.len() {
        return;
    }
    let start = pieces[at].start;
    let end = if at + 2 < pieces.len() { pieces[at + 2].start } else { word.len() };
    let merged = tables.find(&word[start..end], cost);
    if merged != NO_TOKEN {
        pieces[at].merged = merged;
        pieces[at].priority = tables.priority(merged, cost);
    }
}
