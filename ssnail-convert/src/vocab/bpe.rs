//! Byte-level byte-pair encoding: words, their bytes, merges by rank.

use super::bytes;
use super::cache::WordCache;
use super::error::VocabError;
use super::merge::{Merger, NONE};
use super::pre::PreTokenizer;
use super::split::Splitter;
use super::strings::ByteStrings;
use super::vocabulary::Vocab;
use hashbrown::HashMap;

/// One entry of the merge list: two tokens that become a third.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Merge {
    /// Left token.
    pub left: u32,
    /// Right token.
    pub right: u32,
    /// The token both become.
    pub result: u32,
}

/// The tables of a byte-level vocabulary.
pub(super) struct Bpe {
    splitter: Splitter,
    /// Rank and result by `left << 32 | right`.
    ranks: HashMap<u64, (u32, u32)>,
    pub(super) merges: Vec<Merge>,
    byte_tokens: [Option<u32>; 256],
    pub(super) ignore_merges: bool,
}

impl Bpe {
    /// Only Kimi K2 may go without a list of merges.
    pub(super) fn new(
        vocab: &Vocab,
        pre: &PreTokenizer,
        merges: Option<&ByteStrings>,
    ) -> Result<Self, VocabError> {
        let none = ByteStrings::default();
        let merges = match merges {
            None if vocab.pre.as_deref() == Some("kimi-k2") => &none,
            merges => merges.ok_or(VocabError::MissingKey { key: "tokenizer.ggml.merges" })?,
        };
        let merges = read_merges(vocab, merges)?;
        let mut ranks = HashMap::with_capacity(merges.len());
        for (rank, merge) in merges.iter().enumerate() {
            ranks.entry(key(merge.left, merge.right)).or_insert((rank as u32, merge.result));
        }
        Ok(Self {
            splitter: Splitter::new(pre),
            ranks,
            merges,
            byte_tokens: std::array::from_fn(|byte| vocab.byte_token(byte as u8)),
            ignore_merges: pre.ignore_merges,
        })
    }

    pub(super) fn encode(
        &self,
        vocab: &Vocab,
        text: &str,
        merger: &mut Merger,
        cache: &mut WordCache,
        out: &mut Vec<u32>,
    ) {
        self.splitter.split(text, &mut |word| {
            let word = word.as_bytes();
            cache.extend(word, out, |out| self.encode_word(vocab, word, merger, out));
        });
    }

    fn encode_word(&self, vocab: &Vocab, word: &[u8], merger: &mut Merger, out: &mut Vec<u32>) {
        if self.ignore_merges {
            let mut spelled = String::with_capacity(2 * word.len());
            bytes::spell(word, &mut spelled);
            if let Some(id) = vocab.find(spelled.as_bytes()) {
                return out.push(id);
            }
        }
        merger.clear();
        for (start, &byte) in word.iter().enumerate() {
            merger.push(start, self.byte_tokens[byte as usize].unwrap_or(NONE));
        }
        merger.run(word.len(), |pair| self.ranks.get(&key(pair.left, pair.right)).copied());
        // llama.cpp too drops bytes for which a vocabulary has no token.
        out.extend(merger.result(word.len()).map(|(_, _, token)| token).filter(|&token| token != NONE));
    }
}

fn key(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}

fn read_merges(vocab: &Vocab, list: &ByteStrings) -> Result<Vec<Merge>, VocabError> {
    let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut result = Vec::new();
    list.iter()
        .enumerate()
        .map(|(rank, merge)| {
            // The left part has at least one character, which may be the space itself.
            let space = memchr::memchr(b' ', merge.get(1..).unwrap_or_default());
            let Some(space) = space.map(|at| at + 1).filter(|at| at + 1 < merge.len()) else {
                return Err(VocabError::BadMerge { rank, merge: lossy(merge) });
            };
            let (left, right) = (&merge[..space], &merge[space + 1..]);
            result.clear();
            result.extend_from_slice(left);
            result.extend_from_slice(right);
            let find = |piece: &[u8]| {
                vocab.find(piece).ok_or_else(|| VocabError::MergeNotToken {
                    rank,
                    merge: lossy(merge),
                    piece: lossy(piece),
                })
            };
            Ok(Merge { left: find(left)?, right: find(right)?, result: find(&result)? })
        })
        .collect()
}
