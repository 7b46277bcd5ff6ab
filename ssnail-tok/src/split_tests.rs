//! The rules against the expressions they come from.

use super::*;
use fancy_regex::Regex;
use proptest::prelude::*;
use std::sync::LazyLock;

static GPT2: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+").unwrap()
});
static LLAMA3: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+").unwrap()
});
static QWEN2: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+").unwrap()
});

static DIGIT: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\p{N}").unwrap());

/// Every match is a word, and so is what lies between two matches.
fn by_regex<'t>(pattern: &Regex, text: &'t str) -> Vec<&'t str> {
    let (mut words, mut done) = (Vec::new(), 0);
    for found in pattern.find_iter(text) {
        let found = found.unwrap();
        if found.start() > done {
            words.push(&text[done..found.start()]);
        }
        words.push(found.as_str());
        done = found.end();
    }
    if done < text.len() {
        words.push(&text[done..]);
    }
    words
}

fn expected(rule: PreSplit, text: &str) -> Vec<&str> {
    match rule {
        PreSplit::Gpt2 => by_regex(&GPT2, text),
        PreSplit::SmolLm => {
            by_regex(&DIGIT, text).into_iter().flat_map(|piece| by_regex(&GPT2, piece)).collect()
        }
        PreSplit::Llama3 => by_regex(&LLAMA3, text),
        PreSplit::Qwen2 => by_regex(&QWEN2, text),
    }
}

fn words(rule: PreSplit, text: &str) -> Vec<&str> {
    let (mut out, mut start) = (Vec::new(), 0);
    while start < text.len() {
        let end = word_end(text.as_bytes(), start, rule);
        assert!(end > start && end <= text.len());
        out.push(&text[start..end]);
        start = end;
    }
    out
}

#[test]
fn known_texts_are_cut_as_published() {
    let text = "I'LL pay  1234 \n\t(now), it's";
    let cut = |rule| words(rule, text).join("|");
    assert_eq!(cut(PreSplit::Gpt2), "I|'|LL| pay| | 1234| \n|\t|(|now|),| it|'s");
    assert_eq!(cut(PreSplit::SmolLm), "I|'|LL| pay|  |1|2|3|4| \n|\t|(|now|),| it|'s");
    assert_eq!(cut(PreSplit::Llama3), "I|'LL| pay| | |123|4| \n|\t|(now|),| it|'s");
    assert_eq!(cut(PreSplit::Qwen2), "I|'LL| pay| | |1|2|3|4| \n|\t|(now|),| it|'s");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_ascii_is_cut_as_the_expressions_say(text in "[\t\n -~]{0,40}") {
        for rule in PreSplit::ALL {
            prop_assert_eq!(words(rule, &text), expected(rule, &text), "{}", rule.name());
        }
    }

    #[test]
    fn so_is_text_full_of_hard_places(text in "([ \t\n]{1,3}|['][stremvldSTREMVLD]{1,2}|[0-9]{1,4}|[a-z]{1,2}|[!(.,]){0,16}") {
        for rule in PreSplit::ALL {
            prop_assert_eq!(words(rule, &text), expected(rule, &text), "{}", rule.name());
        }
    }
}
