//! Where byte-level BPE cuts text into words before it merges inside them: four rules, for ASCII.
//!
//! The rules are regular expressions of the models' own tokenizers (as in llama.cpp, `src/llama-vocab.cpp`, MIT
//! licence). For bytes 09, 0A and 20..7E a letter `\p{L}` is A..Z or a..z, a number `\p{N}` is 0..9, and a blank `\s`
//! is 09, 0A or 20. The first alternative that matches is the word:
//!
//! | rule | expression |
//! |---|---|
//! | GPT-2 | `'s\|'t\|'re\|'ve\|'m\|'ll\|'d\| ?\p{L}+\| ?\p{N}+\| ?[^\s\p{L}\p{N}]+\|\s+(?!\S)\|\s+` |
//! | SmolLM | `\p{N}` is cut out of the text, then GPT-2's on what is between |
//! | Llama-3 | `(?i:'s\|'t\|'re\|'ve\|'m\|'ll\|'d)\|[^\r\n\p{L}\p{N}]?\p{L}+\|\p{N}{1,3}\| ?[^\s\p{L}\p{N}]+[\r\n]*\|\s*[\r\n]+\|\s+(?!\S)\|\s+` |
//! | Qwen-2 | the same with `\p{N}` for `\p{N}{1,3}` |

use ssnail_isa::image::PreSplit;

/// What kind of character a byte is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Letter,
    Digit,
    Blank,
    /// Punctuation, symbols, and any byte that folded text does not have.
    Other,
}

fn class(byte: u8) -> Class {
    match byte {
        b'A'..=b'Z' | b'a'..=b'z' => Class::Letter,
        b'0'..=b'9' => Class::Digit,
        b'\t' | b'\n' | b' ' => Class::Blank,
        _ => Class::Other,
    }
}

/// Whether models with this rule take a word that is a token without merging.
pub fn takes_whole_words(rule: PreSplit) -> bool {
    rule == PreSplit::Llama3
}

/// The end of the word that starts at `start`, which must be inside the text. Words follow one another without gaps.
///
/// # Panics
/// When `start` is not inside the text.
pub fn word_end(text: &[u8], start: usize, rule: PreSplit) -> usize {
    match rule {
        PreSplit::Gpt2 => gpt2(text, start, false),
        PreSplit::SmolLm => gpt2(text, start, true),
        PreSplit::Llama3 => llama3(text, start, 3),
        PreSplit::Qwen2 => llama3(text, start, 1),
    }
}

/// GPT-2's rule; with `lone_digits` each digit is a word, and text between digits is text of its own.
fn gpt2(text: &[u8], start: usize, lone_digits: bool) -> usize {
    let contraction = contraction(text, start, false);
    if contraction > 0 {
        return start + contraction;
    }
    if lone_digits && class(text[start]) == Class::Digit {
        return start + 1;
    }
    // One space may stand before letters, digits or others.
    let mut first = start;
    if text[start] == b' ' && start + 1 < text.len() {
        first = start + 1;
        if lone_digits && class(text[first]) == Class::Digit {
            first = start;
        }
    }
    if class(text[first]) != Class::Blank {
        return run_end(text, first, class(text[first]));
    }
    let end = run_end(text, start, Class::Blank);
    if lone_digits && end < text.len() && class(text[end]) == Class::Digit {
        return end;
    }
    leave_last_blank(text, start, end)
}

/// Llama 3's rule, with at most `digits` digits in a word.
fn llama3(text: &[u8], start: usize, digits: usize) -> usize {
    let contraction = contraction(text, start, true);
    if contraction > 0 {
        return start + contraction;
    }
    let first = class(text[start]);
    let next = start + 1;
    if first == Class::Letter {
        return run_end(text, start, Class::Letter);
    }
    if first == Class::Digit {
        let end = run_end(text, start, Class::Digit);
        return end.min(start + digits);
    }
    // Any one character but a line break may stand before letters: a space, a tab, a bracket.
    if text[start] != b'\n' && next < text.len() && class(text[next]) == Class::Letter {
        return run_end(text, next, Class::Letter);
    }
    // Others, with a space before and line breaks after.
    let mut other = start;
    if text[start] == b' ' && next < text.len() {
        other = next;
    }
    if class(text[other]) == Class::Other {
        let mut end = run_end(text, other, Class::Other);
        while end < text.len() && text[end] == b'\n' {
            end += 1;
        }
        return end;
    }
    // Blanks up to the last line break among them; without one, all but the last.
    let end = run_end(text, start, Class::Blank);
    let mut line_end = end;
    while line_end > start {
        if text[line_end - 1] == b'\n' {
            return line_end;
        }
        line_end -= 1;
    }
    leave_last_blank(text, start, end)
}

/// `\s+(?!\S)|\s+`: blanks leave their last one to the word behind them, if there is one and they are two or more.
fn leave_last_blank(text: &[u8], start: usize, end: usize) -> usize {
    if end < text.len() && end - start > 1 { end - 1 } else { end }
}

/// The end of the bytes of one class that begin at `start`.
fn run_end(text: &[u8], start: usize, wanted: Class) -> usize {
    let mut end = start;
    while end < text.len() && class(text[end]) == wanted {
        end += 1;
    }
    end
}

/// The length of a contraction `'s 't 're 've 'm 'll 'd` at `start`, 0 when there is none.
fn contraction(text: &[u8], start: usize, any_case: bool) -> usize {
    if text[start] != b'\'' {
        return 0;
    }
    let letter = |at: usize| match text.get(at) {
        Some(byte) if any_case => byte.to_ascii_lowercase(),
        Some(&byte) => byte,
        None => 0,
    };
    match (letter(start + 1), letter(start + 2)) {
        (b's' | b't' | b'm' | b'd', _) => 2,
        (b'r' | b'v', b'e') | (b'l', b'l') => 3,
        _ => 0,
    }
}

#[cfg(test)]
#[path = "split_tests.rs"]
mod tests;
