//! Special tokens: which tokens are special, by llama.cpp's rules, and finding them in text.
//!
//! The lists of names follow llama.cpp 0c1e57098, `src/llama-vocab.cpp` (MIT licence, Copyright (c) 2023-2026 The ggml
//! authors): files often fail to mark such tokens, so it knows them by their text.

use super::data::{TokenType, VocabData};
use super::vocabulary::Vocab;
use aho_corasick::{AhoCorasick, MatchKind};
use std::ops::Range;

/// Tokens that end a turn or a text.
const END_OF_GENERATION: &[&str] = &[
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<|flush|>",
    "<|calls|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "</s>",
    "<|eom_id|>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "[EOS]",
    "<|end_of_text|>",
    "<end_of_utterance>",
    "<eos>",
    "<turn|>",
    "<|tool_response>",
    "<｜end▁of▁sentence｜>",
    "[e~[",
];

/// Those of them that end a turn, in order of preference.
const END_OF_TURN: &[&str] = &[
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "<｜end▁of▁sentence｜>",
    "<end_of_utterance>",
];

/// Tokens for filling a gap in code: prefix, suffix, middle, padding, repository, file.
const FILL_IN_MIDDLE: [&[&str]; 6] = [
    &[
        "<|fim_prefix|>",
        "<fim-prefix>",
        "<fim_prefix>",
        "<｜fim▁begin｜>",
        "<PRE>",
        "▁<PRE>",
        "<|code_prefix|>",
        "<|prefix|>",
    ],
    &[
        "<|fim_suffix|>",
        "<fim-suffix>",
        "<fim_suffix>",
        "<｜fim▁hole｜>",
        "<SUF>",
        "▁<SUF>",
        "<|code_suffix|>",
        "<|suffix|>",
    ],
    &[
        "<|fim_middle|>",
        "<fim-middle>",
        "<fim_middle>",
        "<｜fim▁end｜>",
        "<MID>",
        "▁<MID>",
        "<|code_middle|>",
        "<|middle|>",
    ],
    &["<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"],
    &["<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"],
    &["<|file_sep|>"],
];

/// Control tokens of gpt-oss that are to be seen all the same.
const SHOWN: &[&str] = &["<|channel|>", "<|message|>", "<|start|>", "<|constrain|>"];

/// Corrects the types of tokens known by their text; returns the ids that end generation, ascending.
pub(super) fn mark(vocab: &mut Vocab, data: &VocabData) -> Vec<u32> {
    let find = |vocab: &Vocab, text: &str| vocab.find(text.as_bytes());
    let mut ends = Vec::new();
    for (part, names) in FILL_IN_MIDDLE.iter().enumerate().filter(|(part, _)| !data.has_fim[*part]) {
        if let Some(id) = names.iter().filter_map(|name| find(vocab, name)).min() {
            vocab.set_type(id, TokenType::Control);
            if part >= 3 {
                ends.push(id);
            }
        }
    }
    for id in END_OF_GENERATION.iter().filter_map(|name| find(vocab, name)).collect::<Vec<_>>() {
        vocab.set_type(id, TokenType::Control);
        ends.push(id);
    }
    if data.eot.is_none() {
        vocab.ids.eot = END_OF_TURN.iter().find_map(|name| find(vocab, name));
    }
    ends.extend([vocab.ids.eos, vocab.ids.eot].into_iter().flatten());
    let mut release = |vocab: &mut Vocab, name: &str, kind: TokenType| {
        if let Some(id) = find(vocab, name) {
            vocab.set_type(id, kind);
            ends.retain(|&end| end != id);
        }
    };
    for name in SHOWN {
        if let Some(id) = find(vocab, name) {
            vocab.set_type(id, TokenType::UserDefined);
        }
    }
    let has = |vocab: &Vocab, name: &str| find(vocab, name).is_some();
    // "<|end|>" ends but a message where a turn has an end of its own.
    let called = has(vocab, "<|call|>") || has(vocab, "<|calls|>");
    if called && (has(vocab, "<|return|>") || has(vocab, "<|flush|>")) {
        release(vocab, "<|end|>", TokenType::UserDefined);
    }
    if has(vocab, "<|tool_response>") {
        release(vocab, "</s>", TokenType::Normal);
    }
    ends.sort_unstable();
    ends.dedup();
    vocab.make_outputs();
    ends
}

/// A token that is found in text before anything else is done with it.
#[derive(Debug)]
struct Special {
    id: u32,
    text: Vec<u8>,
    /// Blanks before it are dropped.
    lstrip: bool,
    /// Blanks behind it are dropped.
    rstrip: bool,
}

/// A part of a text: a special token, or what is between two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fragment {
    /// Ordinary text, its bytes.
    Text(Range<usize>),
    /// A special token.
    Token(u32),
}

/// Finds special tokens, the longest ones first.
#[derive(Debug)]
pub(super) struct Finder {
    /// By falling length, of one length by id.
    specials: Vec<Special>,
    /// Says at once which ones a text has at all.
    present: Option<AhoCorasick>,
}

impl Finder {
    /// A finder of user-defined tokens, and of control and unknown ones if asked.
    pub(super) fn new(vocab: &Vocab, data: &VocabData, with_control: bool) -> Self {
        let wanted = |id: &u32| match vocab.token_type(*id) {
            Some(TokenType::UserDefined) => true,
            Some(TokenType::Control | TokenType::Unknown) => with_control,
            _ => false,
        };
        let mut specials: Vec<_> = (0..vocab.len() as u32)
            .filter(wanted)
            .map(|id| {
                let text = vocab.text(id).unwrap_or_default().to_vec();
                let (lstrip, rstrip) = strips(data, &text);
                Special { id, text, lstrip, rstrip }
            })
            .collect();
        specials.sort_by_key(|special| std::cmp::Reverse(special.text.len()));
        // Too many for an automaton is not an error: then every token is searched for.
        let texts = specials.iter().map(|special| &special.text);
        let present = AhoCorasick::builder().match_kind(MatchKind::Standard).build(texts).ok();
        Self { specials, present }
    }

    /// Cuts `text` at its special tokens.
    ///
    /// As in llama.cpp each token, longest first, is searched for in all the text that is left, so
    /// a long token later in the text goes before a shorter one that overlaps its beginning.
    pub(super) fn fragments(&self, text: &str) -> Vec<Fragment> {
        let mut fragments = Vec::new();
        if !text.is_empty() {
            fragments.push(Fragment::Text(0..text.len()));
        }
        for special in self.candidates(text) {
            let mut next = Vec::with_capacity(fragments.len());
            for fragment in fragments {
                match fragment {
                    Fragment::Text(range) => special.cut(text.as_bytes(), range, &mut next),
                    token @ Fragment::Token(_) => next.push(token),
                }
            }
            fragments = next;
        }
        fragments
    }

    fn candidates(&self, text: &str) -> impl Iterator<Item = &Special> {
        let mut present = vec![self.present.is_none(); self.specials.len()];
        if let (Some(finder), false) = (&self.present, self.specials.is_empty()) {
            for found in finder.find_overlapping_iter(text) {
                present[found.pattern().as_usize()] = true;
            }
        }
        self.specials.iter().zip(present).filter_map(|(special, present)| present.then_some(special))
    }
}

impl Special {
    fn cut(&self, text: &[u8], range: Range<usize>, out: &mut Vec<Fragment>) {
        let is_blank = |byte: u8| matches!(byte, b'\t'..=b'\r' | b' ');
        let mut start = range.start;
        while let Some(at) = memchr::memmem::find(&text[start..range.end], &self.text) {
            let mut end = start + at;
            let next = end + self.text.len();
            while self.lstrip && end > start && is_blank(text[end - 1]) {
                end -= 1;
            }
            if end > start {
                out.push(Fragment::Text(start..end));
            }
            out.push(Fragment::Token(self.id));
            start = next;
            while self.rstrip && start < range.end && is_blank(text[start]) {
                start += 1;
            }
        }
        if start < range.end {
            out.push(Fragment::Text(start..range.end));
        }
    }
}

/// Whether a special token takes blanks before and behind it along. GGUF does not say, so llama.cpp goes by model.
fn strips(data: &VocabData, token: &[u8]) -> (bool, bool) {
    let name = data.name.to_ascii_lowercase();
    let pre = data.pre.as_deref().unwrap_or_default();
    let any = |text: &str, parts: &[&str]| parts.iter().any(|part| text.contains(part));
    if any(pre, &["jina-v2-de", "jina-v2-es", "jina-v2-code"])
        || any(&data.architecture, &["nomic-bert-moe", "jina-bert-v3"])
    {
        (token == b"<mask>", false)
    } else if any(&name, &["phi-3", "phi3"]) {
        (false, !matches!(token, b"<unk>" | b"<s>" | b"<|endoftext|>"))
    } else if name.contains("modern-bert") {
        (token == b"[MASK]", false)
    } else {
        (false, false)
    }
}
