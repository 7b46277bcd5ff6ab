//! Cutting text into the words inside which byte-level BPE merges.

use super::chars::{CharClasses, LETTER, NUMBER, SPACE};
use super::pre::{Blanks, Pass, PreTokenizer};
use regex::Regex;

/// A pre-tokenizer ready to run.
pub(super) struct Splitter {
    classes: &'static CharClasses,
    passes: Vec<ReadyPass>,
}

enum ReadyPass {
    Code(Pass),
    Regex(Regex, Blanks),
}

impl Splitter {
    /// Compiles the expressions of `pre`.
    pub(super) fn new(pre: &PreTokenizer) -> Self {
        let ready = |&pass: &Pass| match pass {
            Pass::Regex(pattern, blanks) => {
                ReadyPass::Regex(Regex::new(pattern).expect("the table's expressions are tested"), blanks)
            }
            code => ReadyPass::Code(code),
        };
        Self { classes: CharClasses::get(), passes: pre.passes.iter().map(ready).collect() }
    }

    /// Hands the words of `text` to `word` in order; together they are the text.
    pub(super) fn split(&self, text: &str, word: &mut dyn FnMut(&str)) {
        self.run(&self.passes, text, word);
    }

    fn run(&self, passes: &[ReadyPass], text: &str, word: &mut dyn FnMut(&str)) {
        let Some((pass, rest)) = passes.split_first() else { return word(text) };
        if rest.is_empty() {
            return self.run_pass(pass, text, word);
        }
        self.run_pass(pass, text, &mut |piece| self.run(rest, piece, word));
    }

    fn run_pass(&self, pass: &ReadyPass, text: &str, word: &mut dyn FnMut(&str)) {
        let scanner = Scanner { text, classes: self.classes };
        match pass {
            ReadyPass::Code(Pass::Gpt2 { lone_digits: false }) => scanner.gpt2::<false>(word),
            ReadyPass::Code(Pass::Gpt2 { lone_digits: true }) => scanner.gpt2::<true>(word),
            ReadyPass::Code(Pass::Llama3 { digits }) => scanner.llama3(*digits, word),
            ReadyPass::Code(Pass::AfmoeDigits) => scanner.afmoe_digits(word),
            ReadyPass::Code(Pass::DigitTriples) => digit_triples(text, word),
            ReadyPass::Regex(regex, blanks) => run_regex(regex, *blanks, text, word),
            ReadyPass::Code(Pass::Regex(..)) => unreachable!("made ready as a regular expression"),
        }
    }
}

fn run_regex(regex: &Regex, blanks: Blanks, text: &str, word: &mut dyn FnMut(&str)) {
    let mut done = 0;
    while let Some(found) = regex.find_at(text, done) {
        if found.start() > done {
            word(&text[done..found.start()]);
        }
        done = cut_blanks(blanks, text, found.start(), found.end(), word);
    }
    if done < text.len() {
        word(&text[done..]);
    }
}

/// Hands over the match `start..end`, as words if it is blank; returns where the next search begins, after `start`.
fn cut_blanks(blanks: Blanks, text: &str, start: usize, end: usize, word: &mut dyn FnMut(&str)) -> usize {
    let run = &text[start..end];
    let of_line =
        matches!(blanks, Blanks::LeaveLastOfLine | Blanks::PowersOfTwo) && run.ends_with(['\r', '\n']);
    if blanks == Blanks::Whole || of_line || !run.chars().all(char::is_whitespace) {
        word(run);
        return end;
    }
    let last = run.char_indices().next_back().map_or(0, |(at, _)| at);
    let kept = if end == text.len() || last == 0 { run } else { &run[..last] };
    if blanks == Blanks::PowersOfTwo {
        powers_of_two(kept, word);
    } else {
        word(kept);
    }
    start + kept.len()
}

/// Words of the largest powers of two of characters, 512 at most.
fn powers_of_two(mut run: &str, word: &mut dyn FnMut(&str)) {
    let mut left = run.chars().count();
    while left > 0 {
        let take = 1usize << left.ilog2().min(9);
        let end = run.char_indices().nth(take).map_or(run.len(), |(at, _)| at);
        word(&run[..end]);
        run = &run[end..];
        left -= take;
    }
}

fn digit_triples(text: &str, word: &mut dyn FnMut(&str)) {
    let bytes = text.as_bytes();
    let (mut done, mut at) = (0, 0);
    while at < bytes.len() {
        let run = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let run_end = at + run;
        // Before the first digit too, when the run is a whole number of triples.
        let mut cut = at + run % 3;
        while cut < run_end {
            if cut > done {
                word(&text[done..cut]);
                done = cut;
            }
            cut += 3;
        }
        at = run_end + 1;
    }
    if done < text.len() {
        word(&text[done..]);
    }
}

/// The expressions that are written as code, over one text.
struct Scanner<'a> {
    text: &'a str,
    classes: &'static CharClasses,
}

impl Scanner<'_> {
    /// Classes and bytes of the character at `at`; no bytes behind the end.
    #[inline]
    fn class(&self, at: usize) -> (u8, usize) {
        match self.text.as_bytes().get(at) {
            None => (0, 0),
            Some(&byte) if byte < 0x80 => (self.classes.of_ascii(byte), 1),
            Some(_) => {
                let char = self.text[at..].chars().next().unwrap_or('\0');
                (self.classes.of(char), char.len_utf8())
            }
        }
    }

    /// First position from `at` on whose character is not, of the classes `mask`, exactly in `kind`.
    #[inline]
    fn run(&self, mut at: usize, mask: u8, kind: u8) -> usize {
        loop {
            let (class, len) = self.class(at);
            if len == 0 || class & mask != kind {
                return at;
            }
            at += len;
        }
    }

    /// Bytes of the apostrophe at `at` and the letters behind it if they are an English contraction.
    fn contraction(&self, at: usize, any_case: bool) -> usize {
        let bytes = &self.text.as_bytes()[at + 1..];
        let letter = |index: usize| match bytes.get(index) {
            Some(byte) if any_case => byte.to_ascii_lowercase(),
            Some(&byte) => byte,
            None => 0,
        };
        match (letter(0), letter(1)) {
            (b's' | b't' | b'm' | b'd', _) => 2,
            (b'r' | b'v', b'e') | (b'l', b'l') => 3,
            _ => 0,
        }
    }

    /// `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`, with `LONE_DIGITS` on the
    /// pieces between the matches of `\p{N}`.
    fn gpt2<const LONE_DIGITS: bool>(&self, word: &mut dyn FnMut(&str)) {
        const KINDS: u8 = LETTER | NUMBER | SPACE;
        let bytes = self.text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            let start = at;
            if bytes[at] == b'\'' {
                let len = self.contraction(at, false);
                if len > 0 {
                    at += len;
                    word(&self.text[start..at]);
                    continue;
                }
            }
            let (mut class, mut len) = self.class(at);
            if bytes[at] == b' ' {
                let (next, next_len) = self.class(at + 1);
                if next_len > 0 && next & SPACE == 0 && !(LONE_DIGITS && next & NUMBER != 0) {
                    at += 1;
                    (class, len) = (next, next_len);
                }
            }
            if class & SPACE != 0 {
                at = self.blanks(at, LONE_DIGITS);
            } else if LONE_DIGITS && class & NUMBER != 0 {
                at += len;
            } else {
                at = self.run(at + len, KINDS, class & KINDS);
            }
            word(&self.text[start..at]);
        }
    }

    /// End of the blanks at `at` by `\s+(?!\S)|\s+`; numbers count as the end of the text if asked.
    fn blanks(&self, at: usize, numbers_end: bool) -> usize {
        let (mut last, mut end) = (at, at);
        loop {
            let (class, len) = self.class(end);
            if class & SPACE == 0 {
                let at_end = len == 0 || (numbers_end && class & NUMBER != 0);
                return if at_end || last == at { end } else { last };
            }
            last = end;
            end += len;
        }
    }

    /// `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,digits}| ?[^\s\p{L}\p{N}]+[\r\n]*`
    /// `|\s*[\r\n]+|\s+(?!\S)|\s+`.
    fn llama3(&self, digits: usize, word: &mut dyn FnMut(&str)) {
        const KINDS: u8 = LETTER | NUMBER | SPACE;
        let bytes = self.text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            let start = at;
            at = self.llama3_word(at, digits, KINDS);
            word(&self.text[start..at]);
        }
    }

    /// End of the word that begins at `at`.
    #[inline]
    fn llama3_word(&self, at: usize, digits: usize, kinds: u8) -> usize {
        let bytes = self.text.as_bytes();
        let byte = bytes[at];
        if byte == b'\'' {
            let len = self.contraction(at, true);
            if len > 0 {
                return at + len;
            }
        }
        let (class, len) = self.class(at);
        if class & NUMBER != 0 {
            let mut end = at + len;
            for _ in 1..digits {
                let (class, len) = self.class(end);
                if class & NUMBER == 0 {
                    break;
                }
                end += len;
            }
            return end;
        }
        let is_break = |at: usize| matches!(bytes.get(at), Some(b'\r' | b'\n'));
        let (next, next_len) = self.class(at + len);
        if class & LETTER != 0 {
            return self.run(at + len, LETTER, LETTER);
        }
        if next & LETTER != 0 && !is_break(at) {
            return self.run(at + len + next_len, LETTER, LETTER);
        }
        let lead = usize::from(byte == b' ');
        let (other, other_len) = if byte == b' ' { (next, next_len) } else { (class, len) };
        if other_len > 0 && other & kinds == 0 {
            let mut end = self.run(at + lead + other_len, kinds, 0);
            while is_break(end) {
                end += 1;
            }
            return end;
        }
        let run_end = self.run(at, SPACE, SPACE);
        match bytes[at..run_end].iter().rposition(|byte| matches!(byte, b'\r' | b'\n')) {
            Some(last_break) => at + last_break + 1,
            None => self.blanks(at, false),
        }
    }

    fn afmoe_digits(&self, word: &mut dyn FnMut(&str)) {
        let (mut done, mut at) = (0, 0);
        loop {
            let (class, len) = self.class(at);
            if len == 0 {
                break;
            }
            if class & NUMBER == 0 {
                at += len;
                continue;
            }
            let end = self.run(at, NUMBER, NUMBER);
            let mut left = self.text[at..end].chars().count();
            while left > 0 {
                let group = if left.is_multiple_of(3) { 3 } else { left % 3 };
                for _ in 0..group {
                    at += self.class(at).1;
                }
                word(&self.text[done..at]);
                done = at;
                left -= group;
            }
        }
        if done < self.text.len() {
            word(&self.text[done..]);
        }
    }
}

#[cfg(test)]
#[path = "split_tests.rs"]
mod tests;
