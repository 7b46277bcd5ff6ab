//! Words and what they became, since text repeats itself.

use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

/// Longer words are rare, and not kept.
const MAX_WORD: usize = 64;
/// At this many words the cache starts anew.
const MAX_WORDS: usize = 1 << 16;

#[derive(Clone, Copy)]
struct Entry {
    hash: u64,
    word: u32,
    ids: u32,
    word_len: u8,
    ids_len: u8,
}

/// A bounded map from word to ids without an allocation per word.
#[derive(Default)]
pub(super) struct WordCache {
    table: HashTable<Entry>,
    hasher: DefaultHashBuilder,
    words: Vec<u8>,
    ids: Vec<u32>,
}

impl WordCache {
    /// Appends the ids of `word` to `out`; those not known yet come from `encode`.
    #[inline]
    pub(super) fn extend(&mut self, word: &[u8], out: &mut Vec<u32>, encode: impl FnOnce(&mut Vec<u32>)) {
        if word.len() > MAX_WORD {
            return encode(out);
        }
        let hash = self.hasher.hash_one(word);
        let same = |entry: &Entry| {
            let start = entry.word as usize;
            entry.hash == hash && &self.words[start..start + entry.word_len as usize] == word
        };
        if let Some(entry) = self.table.find(hash, same) {
            let start = entry.ids as usize;
            out.extend_from_slice(&self.ids[start..start + entry.ids_len as usize]);
            return;
        }
        let first = out.len();
        encode(out);
        self.insert(hash, word, &out[first..]);
    }

    fn insert(&mut self, hash: u64, word: &[u8], ids: &[u32]) {
        let Ok(ids_len) = u8::try_from(ids.len()) else { return };
        if self.table.len() == MAX_WORDS {
            self.table.clear();
            self.words.clear();
            self.ids.clear();
        }
        // Both arenas hold at most MAX_WORDS entries of 255 bytes or ids, so their offsets fit in 32 bits.
        let entry = Entry {
            hash,
            word: self.words.len() as u32,
            ids: self.ids.len() as u32,
            word_len: word.len() as u8,
            ids_len,
        };
        self.words.extend_from_slice(word);
        self.ids.extend_from_slice(ids);
        self.table.insert_unique(hash, entry, |entry| entry.hash);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remembers_words_and_starts_anew_when_full() {
        let mut cache = WordCache::default();
        let mut out = Vec::new();
        for round in 0..2 {
            for number in 0..MAX_WORDS as u32 + 10 {
                out.clear();
                cache.extend(&number.to_le_bytes(), &mut out, |ids| ids.extend([number, number + 1]));
                assert_eq!(out, [number, number + 1], "round {round}");
            }
        }
        out.clear();
        cache.extend(b"word", &mut out, |ids| ids.push(7));
        cache.extend(b"word", &mut out, |_| panic!("was kept"));
        cache.extend(&[b'x'; 65], &mut out, |ids| ids.push(8));
        cache.extend(&[b'x'; 65], &mut out, |ids| ids.push(9));
        assert_eq!(out, [7, 7, 8, 9]);
    }
}
