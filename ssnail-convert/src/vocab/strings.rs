//! Many short byte strings in one allocation, and a hash index from string to position.

use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

/// A list of byte strings kept in one arena.
#[derive(Debug, Clone, Default)]
pub struct ByteStrings {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl ByteStrings {
    /// Number of strings.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True without any string.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Appends a string.
    pub fn push(&mut self, string: &[u8]) {
        self.bytes.extend_from_slice(string);
        self.ends.push(self.bytes.len());
    }

    /// The string at `index`, `None` behind the end.
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        let end = *self.ends.get(index)?;
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        Some(&self.bytes[start..end])
    }

    /// All strings in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> + '_ {
        (0..self.len()).map(|index| self.get(index).unwrap_or_default())
    }
}

impl<S: AsRef<[u8]>> FromIterator<S> for ByteStrings {
    fn from_iter<I: IntoIterator<Item = S>>(strings: I) -> Self {
        let mut list = Self::default();
        for string in strings {
            list.push(string.as_ref());
        }
        list
    }
}

/// Position of each string of a [`ByteStrings`]; of equal strings the first.
#[derive(Debug, Clone, Default)]
pub(super) struct StringIndex {
    table: HashTable<u32>,
    hasher: DefaultHashBuilder,
    longest: usize,
}

impl StringIndex {
    /// Indexes `strings`, of which there are at most 2^32.
    pub(super) fn new(strings: &ByteStrings) -> Self {
        let hasher = DefaultHashBuilder::default();
        let mut table = HashTable::with_capacity(strings.len());
        let mut longest = 0;
        let hash_at = |&id: &u32| hasher.hash_one(strings.get(id as usize).unwrap_or_default());
        for (id, string) in strings.iter().enumerate() {
            let hash = hasher.hash_one(string);
            if table.find(hash, |&other: &u32| strings.get(other as usize) == Some(string)).is_none() {
                table.insert_unique(hash, id as u32, hash_at);
                longest = longest.max(string.len());
            }
        }
        Self { table, hasher, longest }
    }

    /// Position of `string` in the list the index was made from.
    pub(super) fn find(&self, strings: &ByteStrings, string: &[u8]) -> Option<u32> {
        if string.len() > self.longest {
            return None;
        }
        let hash = self.hasher.hash_one(string);
        self.table.find(hash, |&id| strings.get(id as usize) == Some(string)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_first_of_equal_strings() {
        let list: ByteStrings = ["a", "", "bc", "a"].into_iter().collect();
        let index = StringIndex::new(&list);
        assert_eq!(list.iter().collect::<Vec<_>>(), [&b"a"[..], b"", b"bc", b"a"]);
        assert_eq!(index.find(&list, b"a"), Some(0));
        assert_eq!(index.find(&list, b""), Some(1));
        assert_eq!(index.find(&list, b"bc"), Some(2));
        assert_eq!(index.find(&list, b"b"), None);
        assert_eq!(index.find(&list, b"bcd"), None);
        assert_eq!(list.get(4), None);
    }
}
