//! SentencePiece: merges by score, what remains unknown as bytes.

use super::cache::WordCache;
use super::error::VocabError;
use super::merge::{Merger, NONE};
use super::vocabulary::{SPACE_MARK, Vocab};

/// The tables of a SentencePiece vocabulary.
pub(super) struct Spm {
    /// Merge priority of each token: the higher the score the lower.
    priorities: Vec<u32>,
    byte_tokens: [Option<u32>; 256],
    /// What a character becomes that has no token, nor its bytes.
    unk: Option<u32>,
    /// The bytes that stand before a U+2581 inside of some token.
    glued: [bool; 256],
}

impl Spm {
    pub(super) fn new(vocab: &Vocab) -> Result<Self, VocabError> {
        let byte_tokens = std::array::from_fn(|byte| vocab.byte_token(byte as u8));
        if byte_tokens.contains(&None) && vocab.ids.unk.is_none() {
            return Err(VocabError::NoUnknownToken { model: vocab.model.clone() });
        }
        let priorities = (0..vocab.len() as u32).map(|id| priority(vocab.score(id).unwrap_or(0.0))).collect();
        Ok(Self { priorities, byte_tokens, unk: vocab.ids.unk, glued: glued(vocab) })
    }

    /// Appends the ids of `text`, in which spaces are U+2581 already.
    pub(super) fn encode(
        &self,
        vocab: &Vocab,
        text: &str,
        merger: &mut Merger,
        cache: &mut WordCache,
        out: &mut Vec<u32>,
    ) {
        let mut start = 0;
        for at in memchr::memmem::find_iter(text.as_bytes(), SPACE_MARK) {
            if at > start && self.cut_before_space(&text.as_bytes()[start..at]) {
                self.encode_word(vocab, &text[start..at], merger, cache, out);
                start = at;
            }
        }
        self.encode_word(vocab, &text[start..], merger, cache, out);
    }

    /// True if no token crosses from `word` into a U+2581 behind it, so that both can be merged apart.
    fn cut_before_space(&self, word: &[u8]) -> bool {
        word.last().is_some_and(|&last| !self.glued[last as usize])
    }

    fn encode_word(
        &self,
        vocab: &Vocab,
        word: &str,
        merger: &mut Merger,
        cache: &mut WordCache,
        out: &mut Vec<u32>,
    ) {
        cache.extend(word.as_bytes(), out, |out| {
            let bytes = word.as_bytes();
            merger.clear();
            for (start, char) in word.char_indices() {
                let token = vocab.find(&bytes[start..start + char.len_utf8()]);
                merger.push(start, token.unwrap_or(NONE));
            }
            merger.run(bytes.len(), |pair| {
                let token = vocab.find(&bytes[pair.start..pair.end])?;
                Some((self.priorities[token as usize], token))
            });
            for (start, end, token) in merger.result(bytes.len()) {
                if token == NONE {
                    let first = out.len();
                    for &byte in &bytes[start..end] {
                        match self.byte_tokens[byte as usize] {
                            Some(id) => out.push(id),
                            None => {
                                out.truncate(first);
                                out.extend(self.unk);
                                break;
                            }
                        }
                    }
                } else {
                    out.push(token);
                }
            }
        });
    }
}

/// Maps scores to integers of the opposite order; equal scores (0 and -0 too) stay equal.
fn priority(score: f32) -> u32 {
    let bits = (score + 0.0).to_bits();
    if bits >> 31 == 1 { bits } else { !bits & 0x7fff_ffff }
}

fn glued(vocab: &Vocab) -> [bool; 256] {
    let mut glued = [false; 256];
    for token in vocab.tokens.iter() {
        for at in memchr::memmem::find_iter(token, SPACE_MARK).filter(|&at| at > 0) {
            glued[token[at - 1] as usize] = true;
        }
    }
    glued
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priorities_fall_with_the_score() {
        let scores =
            [f32::INFINITY, 1e9, 1.5, 1.0, f32::MIN_POSITIVE, 0.0, -1e-20, -1.0, -1e9, f32::NEG_INFINITY];
        let priorities = scores.map(priority);
        assert!(priorities.is_sorted_by(|left, right| left < right), "{priorities:?}");
        assert_eq!(priority(0.0), priority(-0.0));
        assert!(priorities[9] < NONE);
    }
}
