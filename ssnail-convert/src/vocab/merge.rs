//! Merging neighbours by priority, the step that SentencePiece and byte-level BPE share.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// No piece, no token, no merge.
pub(super) const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Piece {
    start: u32,
    token: u32,
    previous: u32,
    next: u32,
    /// Priority of the merge with the next piece; `NONE` if there is none, or the piece has been taken in.
    priority: u32,
    /// What that merge makes.
    merged: u32,
}

/// What a merge of two neighbours needs to know.
#[derive(Clone, Copy)]
pub(super) struct Pair {
    /// Token of the left piece, or `NONE`.
    pub(super) left: u32,
    /// Token of the right piece, or `NONE`.
    pub(super) right: u32,
    /// First byte of the left piece.
    pub(super) start: usize,
    /// End of the right piece.
    pub(super) end: usize,
}

/// The working memory of a merge, kept from word to word.
#[derive(Default)]
pub(super) struct Merger {
    pieces: Vec<Piece>,
    /// The merges possible at the start, `priority << 32 | piece`, in order. Sorting them once is several times
    /// cheaper than a heap of all.
    first: Vec<u64>,
    /// Those that merges made possible.
    later: BinaryHeap<Reverse<u64>>,
}

impl Merger {
    /// Starts a new word.
    pub(super) fn clear(&mut self) {
        self.pieces.clear();
    }

    /// Appends a piece that begins at byte `start`; its token may be `NONE`.
    pub(super) fn push(&mut self, start: usize, token: u32) {
        let at = self.pieces.len() as u32;
        self.pieces.push(Piece {
            start: start as u32,
            token,
            previous: at.wrapping_sub(1),
            next: at + 1,
            priority: NONE,
            merged: NONE,
        });
    }

    /// Merges the pieces of a word of `len` bytes, lowest priority first and of equal ones the leftmost, until
    /// `merge` has nothing more to offer. `merge` gives priority and token of a pair.
    ///
    /// O(n log n): a queue entry is only trusted if the priority of its piece is still the same. Pieces only
    /// ever grow, so an outdated entry of equal priority stands at the place of a valid one.
    pub(super) fn run(&mut self, len: usize, merge: impl Fn(Pair) -> Option<(u32, u32)>) {
        let Some(last) = self.pieces.last_mut() else { return };
        last.next = NONE;
        self.first.clear();
        for at in 0..self.pieces.len() - 1 {
            let entry = self.look(at, len, &merge);
            self.first.extend(entry);
        }
        self.first.sort_unstable();
        let mut next_first = 0;
        loop {
            let first = self.first.get(next_first).copied().unwrap_or(u64::MAX);
            let later = self.later.peek().map_or(u64::MAX, |entry| entry.0);
            let entry = first.min(later);
            // No entry has this value, since its priority would be `NONE`.
            if entry == u64::MAX {
                break;
            }
            if first <= later {
                next_first += 1;
            } else {
                self.later.pop();
            }
            let (priority, at) = ((entry >> 32) as u32, entry as u32 as usize);
            let piece = self.pieces[at];
            if piece.priority != priority {
                continue;
            }
            let taken = piece.next as usize;
            let after = self.pieces[taken].next;
            self.pieces[taken].priority = NONE;
            self.pieces[at].token = piece.merged;
            self.pieces[at].next = after;
            if after != NONE {
                self.pieces[after as usize].previous = at as u32;
            }
            let right = self.look(at, len, &merge).map(Reverse);
            self.later.extend(right);
            if piece.previous != NONE {
                let left = self.look(piece.previous as usize, len, &merge).map(Reverse);
                self.later.extend(left);
            }
        }
    }

    /// Notes the merge of the piece at `at` with the next and returns its queue entry.
    fn look(&mut self, at: usize, len: usize, merge: &impl Fn(Pair) -> Option<(u32, u32)>) -> Option<u64> {
        let piece = self.pieces[at];
        let found = if piece.next == NONE {
            None
        } else {
            let right = self.pieces[piece.next as usize];
            let end = self.pieces.get(right.next as usize).map_or(len, |next| next.start as usize);
            merge(Pair { left: piece.token, right: right.token, start: piece.start as usize, end })
        };
        let (priority, merged) = found.unwrap_or((NONE, NONE));
        self.pieces[at].priority = priority;
        self.pieces[at].merged = merged;
        found.map(|_| u64::from(priority) << 32 | at as u64)
    }

    /// First byte, end and token of what is left, in order.
    pub(super) fn result(&self, len: usize) -> impl Iterator<Item = (usize, usize, u32)> + '_ {
        let mut at = if self.pieces.is_empty() { NONE } else { 0 };
        std::iter::from_fn(move || {
            let piece = self.pieces.get(at as usize)?;
            at = piece.next;
            let end = self.pieces.get(at as usize).map_or(len, |next| next.start as usize);
            Some((piece.start as usize, end, piece.token))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Merges the letters of `word` by rules "ab" in order of priority; tokens are made up.
    fn merged(word: &str, rules: &[&str]) -> Vec<String> {
        let mut merger = Merger::default();
        for at in 0..word.len() {
            merger.push(at, NONE);
        }
        merger.run(word.len(), |pair| {
            let rank = rules.iter().position(|rule| *rule == &word[pair.start..pair.end])?;
            Some((rank as u32, 1000 + rank as u32))
        });
        merger.result(word.len()).map(|(start, end, _)| word[start..end].to_owned()).collect()
    }

    #[test]
    fn lowest_priority_first_then_leftmost() {
        assert_eq!(merged("aaaaa", &["aa"]), ["aa", "aa", "a"]);
        assert_eq!(merged("aaaaa", &["aa", "aaaa"]), ["aaaa", "a"]);
        assert_eq!(merged("abc", &["bc", "ab"]), ["a", "bc"]);
        assert_eq!(merged("abcd", &["cd", "ab", "abcd"]), ["abcd"]);
        assert_eq!(merged("xyz", &[]), ["x", "y", "z"]);
        assert_eq!(merged("", &["aa"]), [""; 0]);
    }
}
