//! WordPiece: BERT's clean-up of text, then the longest tokens that make up each word.
//!
//! The clean-up is that of BERT's own tokenizer as the `tokenizers` library has it, since the models were trained with it.
//! llama.cpp departs in a few places: it keeps but the first jamo of a Hangul syllable, strips spacing marks (`\p{Mc}`)
//! too, splits at vertical tabs and form feeds, lets a U+2581 in the text begin a token, and knows no longest word.

use super::cache::WordCache;
use super::chars::{CONTROL, CharClasses, NONSPACING_MARK, PUNCTUATION};
use super::error::VocabError;
use super::vocabulary::{SPACE_MARK, Vocab};
use hashbrown::HashMap;
use unicode_normalization::UnicodeNormalization;

/// A word of more characters is unknown as a whole.
const MAX_WORD_CHARS: usize = 100;

/// Root of the tokens that go on with a word.
const INSIDE: u32 = 0;
/// Root of those that begin one, after their space mark.
const WORD_START: u32 = 1;

/// The tables of a WordPiece vocabulary. Tokens that begin a word carry U+2581, those that go on with one are
/// plain, as GGUF has them.
pub(super) struct WordPiece {
    classes: &'static CharClasses,
    unk: u32,
    lowercase: bool,
    strip_accents: bool,
    /// Child of a node of the tree of tokens by `node << 8 | byte`.
    children: HashMap<u64, u32>,
    /// Token that ends at a node.
    ends: Vec<Option<u32>>,
}

impl WordPiece {
    pub(super) fn new(vocab: &Vocab) -> Result<Self, VocabError> {
        let unk = vocab.ids.unk.ok_or_else(|| VocabError::NoUnknownToken { model: vocab.model.clone() })?;
        let mut tree = Self {
            classes: CharClasses::get(),
            unk,
            lowercase: vocab.lowercase,
            strip_accents: vocab.strip_accents,
            children: HashMap::new(),
            ends: vec![None; 2],
        };
        for (id, token) in vocab.tokens.iter().enumerate() {
            let node = match token.strip_prefix(SPACE_MARK.as_bytes()) {
                Some(start) => tree.node(WORD_START, start),
                None => tree.node(INSIDE, token),
            };
            tree.ends[node as usize].get_or_insert(id as u32);
        }
        Ok(tree)
    }

    /// The node that `bytes` lead to from `root`, made if need be.
    fn node(&mut self, root: u32, bytes: &[u8]) -> u32 {
        bytes.iter().fold(root, |node, &byte| {
            *self.children.entry(edge(node, byte)).or_insert_with(|| {
                self.ends.push(None);
                self.ends.len() as u32 - 1
            })
        })
    }

    /// Appends the ids of `text`.
    pub(super) fn encode(&self, text: &str, cache: &mut WordCache, out: &mut Vec<u32>) {
        let mut word = String::new();
        let mut rest = text;
        while !rest.is_empty() {
            let ascii = rest.bytes().position(|byte| !byte.is_ascii()).unwrap_or(rest.len());
            for &byte in &rest.as_bytes()[..ascii] {
                self.ascii(byte, &mut word, cache, out);
            }
            rest = &rest[ascii..];
            let other = rest.bytes().position(|byte| byte.is_ascii()).unwrap_or(rest.len());
            if other > 0 {
                self.other(&rest[..other], &mut word, cache, out);
            }
            rest = &rest[other..];
        }
        self.flush(&mut word, cache, out);
    }

    fn ascii(&self, byte: u8, word: &mut String, cache: &mut WordCache, out: &mut Vec<u32>) {
        match byte {
            b'\t' | b'\n' | b'\r' | b' ' => self.flush(word, cache, out),
            0..0x20 | 0x7f => {}
            _ if byte.is_ascii_punctuation() => self.lone(char::from(byte), word, cache, out),
            _ if self.lowercase => word.push(char::from(byte.to_ascii_lowercase())),
            _ => word.push(char::from(byte)),
        }
    }

    /// Text without ASCII; what stands before and behind it neither composes nor reorders with it.
    fn other(&self, text: &str, word: &mut String, cache: &mut WordCache, out: &mut Vec<u32>) {
        let clean = text.chars().filter(|&char| char != '\u{fffd}' && self.classes.of(char) & CONTROL == 0);
        // A space on both sides of each CJK character, as BERT does before it decomposes.
        let spaced = clean.flat_map(|char| {
            let space = is_cjk(char).then_some(' ');
            space.into_iter().chain([char]).chain(space)
        });
        let mut take = |char: char| {
            if char.is_whitespace() {
                self.flush(word, cache, out);
            } else if char.is_ascii_punctuation() || self.classes.of(char) & PUNCTUATION != 0 {
                self.lone(char, word, cache, out);
            } else {
                word.push(char);
            }
        };
        let mut lower = |char: char| {
            if self.lowercase { char.to_lowercase().for_each(&mut take) } else { take(char) }
        };
        if self.strip_accents {
            spaced.nfd().filter(|&char| self.classes.of(char) & NONSPACING_MARK == 0).for_each(&mut lower);
        } else {
            spaced.for_each(&mut lower);
        }
    }

    /// A character that is a word of its own.
    fn lone(&self, char: char, word: &mut String, cache: &mut WordCache, out: &mut Vec<u32>) {
        self.flush(word, cache, out);
        word.push(char);
        self.flush(word, cache, out);
    }

    /// Ends the word.
    fn flush(&self, word: &mut String, cache: &mut WordCache, out: &mut Vec<u32>) {
        if !word.is_empty() {
            cache.extend(word.as_bytes(), out, |out| self.encode_word(word, out));
            word.clear();
        }
    }

    fn encode_word(&self, word: &str, out: &mut Vec<u32>) {
        let first = out.len();
        let mut rest = word.as_bytes();
        let mut root = WORD_START;
        if word.chars().count() > MAX_WORD_CHARS {
            return out.push(self.unk);
        }
        while !rest.is_empty() {
            match self.longest(root, rest) {
                // Where the space mark alone is a token the word goes on as if inside.
                Some((len, id)) => {
                    out.push(id);
                    rest = &rest[len..];
                    root = INSIDE;
                }
                None => {
                    out.truncate(first);
                    return out.push(self.unk);
                }
            }
        }
    }

    /// Bytes of `text` and id of the longest token that goes on from `node`.
    fn longest(&self, mut node: u32, text: &[u8]) -> Option<(usize, u32)> {
        let mut best = self.ends[node as usize].map(|id| (0, id));
        for (at, &byte) in text.iter().enumerate() {
            let Some(&child) = self.children.get(&edge(node, byte)) else { break };
            node = child;
            best = self.ends[node as usize].map(|id| (at + 1, id)).or(best);
        }
        best
    }
}

fn edge(node: u32, byte: u8) -> u64 {
    u64::from(node) << 8 | u64::from(byte)
}

/// The ranges BERT calls Chinese, with the start of one that the `tokenizers` library has differently (U+2B920).
fn is_cjk(char: char) -> bool {
    matches!(char,
        '\u{4e00}'..='\u{9fff}' | '\u{3400}'..='\u{4dbf}' | '\u{20000}'..='\u{2a6df}' | '\u{2a700}'..='\u{2b73f}'
        | '\u{2b740}'..='\u{2b81f}' | '\u{2b920}'..='\u{2ceaf}' | '\u{f900}'..='\u{faff}' | '\u{2f800}'..='\u{2fa1f}')
}
