//! The image's tables: reading entries, and the one binary search that every kind of tokenizer uses.

use ssnail_isa::image::{Image, NO_TOKEN, TokenizerBlock};
use std::cmp::Ordering;
use std::ops::AddAssign;

/// The priority of a pair that does not merge.
pub(crate) const NEVER: u32 = u32::MAX;

/// What encoding cost, to estimate the time on a 45GS02.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cost {
    /// Tokens that came out, begin and end token included.
    pub tokens: u64,
    /// Index entries that a binary search looked at.
    pub probes: u64,
    /// Bytes read from the image's tables: index entries, offsets, compared bytes, priorities, byte table.
    pub bytes: u64,
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Cost) {
        self.tokens += other.tokens;
        self.probes += other.probes;
        self.bytes += other.bytes;
    }
}

/// The tables of an image, and two facts about its tokens that save searches.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tables<'a> {
    image: Image<'a>,
    /// The tokenizer block.
    pub(crate) block: TokenizerBlock,
    index: &'a [u8],
    priorities: &'a [u8],
    byte_table: &'a [u8],
    /// Bytes of the longest token in the index. Nothing longer needs to be searched for.
    pub(crate) longest: usize,
    /// Whether some token has a space after another character, as `a b` has. When none has, no
    /// merge goes from one word into the next, and SentencePiece text can be cut before its spaces.
    pub(crate) joins_words: bool,
}

impl<'a> Tables<'a> {
    pub(crate) fn new(image: &Image<'a>) -> Self {
        let mut tables = Tables {
            image: *image,
            block: *image.tokenizer(),
            index: image.index(),
            priorities: image.priorities(),
            byte_table: image.byte_table(),
            longest: 0,
            joins_words: false,
        };
        for entry in 0..tables.index_len() {
            let token = tables.bytes(tables.index_entry(entry));
            tables.longest = tables.longest.max(token.len());
            tables.joins_words |= token.windows(2).any(|pair| pair[0] != b' ' && pair[1] == b' ');
        }
        tables
    }

    /// Entries of the index.
    fn index_len(&self) -> usize {
        self.index.len() / 4
    }

    /// The token id at a place of the index.
    pub(crate) fn index_entry(&self, entry: usize) -> u32 {
        read_u32(self.index, entry)
    }

    /// The bytes of a token.
    pub(crate) fn bytes(&self, id: u32) -> &'a [u8] {
        self.image.token(id)
    }

    /// The token that a byte starts as, `NO_TOKEN` when there is none.
    pub(crate) fn byte_token(&self, byte: u8, cost: &mut Cost) -> u32 {
        cost.bytes += 4;
        read_u32(self.byte_table, usize::from(byte))
    }

    /// The priority of a token, lower merges first; `NEVER` in both widths when no merge makes it.
    pub(crate) fn priority(&self, id: u32, cost: &mut Cost) -> u32 {
        cost.bytes += u64::from(self.block.priority_bytes());
        if self.block.wide_priorities {
            return read_u32(self.priorities, id as usize);
        }
        let at = 2 * id as usize;
        match u16::from_le_bytes([self.priorities[at], self.priorities[at + 1]]) {
            u16::MAX => NEVER,
            priority => u32::from(priority),
        }
    }

    /// Binary search. `Ok` is the place in the index of the token whose bytes are `text`, `Err` the place where it
    /// would stand.
    pub(crate) fn search(&self, text: &[u8], cost: &mut Cost) -> Result<usize, usize> {
        let mut low = 0;
        let mut high = self.index_len();
        while low < high {
            let middle = (low + high) / 2;
            let token = self.bytes(self.index_entry(middle));
            // Compare up to the first byte that differs; then the shorter one comes first.
            let same = common_prefix(token, text);
            cost.probes += 1;
            cost.bytes += 4 + 8 + (same + 1).min(token.len()) as u64;
            match token.get(same).cmp(&text.get(same)) {
                Ordering::Equal => return Ok(middle),
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
            }
        }
        Err(low)
    }

    /// The token whose bytes are `text`, `NO_TOKEN` when there is none.
    pub(crate) fn find(&self, text: &[u8], cost: &mut Cost) -> u32 {
        if text.len() > self.longest {
            return NO_TOKEN;
        }
        match self.search(text, cost) {
            Ok(entry) => self.index_entry(entry),
            Err(_) => NO_TOKEN,
        }
    }
}

/// How many bytes two texts have in common at their start.
pub(crate) fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let mut same = 0;
    while same < a.len() && same < b.len() && a[same] == b[same] {
        same += 1;
    }
    same
}

fn read_u32(table: &[u8], entry: usize) -> u32 {
    let at = 4 * entry;
    u32::from_le_bytes([table[at], table[at + 1], table[at + 2], table[at + 3]])
}
