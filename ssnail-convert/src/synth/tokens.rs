//! Vocabularies of the three kinds, made of pronounceable words.

use super::{MIN_VOCAB, SynthModel};
use crate::gguf::{ArrayBuf, GgufWriter};
use crate::vocab::{TokenType, byte_char};
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};
use ssnail_isa::image::Architecture;
use std::collections::HashSet;

/// Letters by how common they are in English, so that small vocabularies have the useful ones.
const LETTERS: &str = "etaoinshrdlucmfwypvbgkjqxz";
const DIGITS: &str = "0123456789";
const PUNCTUATION: &str = ".,!?'-";
/// U+2581, a space of SentencePiece; in WordPiece files the start of a word.
const SPACE: char = '\u{2581}';

/// Adds the `tokenizer.ggml` keys.
///
/// # Panics
/// If the vocabulary is smaller than [`MIN_VOCAB`].
pub(super) fn add(model: &SynthModel, writer: &mut GgufWriter) {
    assert!(model.vocab >= MIN_VOCAB, "a vocabulary of {} tokens, {MIN_VOCAB} are needed", model.vocab);
    let vocab = Tokens { max: model.vocab as usize, ..Tokens::default() };
    let words = Words(Pcg64Mcg::seed_from_u64(model.seed));
    match model.arch {
        Architecture::Llama => sentence_piece(vocab, words, writer),
        Architecture::Gpt2 => byte_bpe(vocab, words, writer),
        Architecture::Bert => word_piece(vocab, words, writer),
    }
}

/// Tokens up to a maximum, none of them twice.
#[derive(Default)]
struct Tokens {
    max: usize,
    tokens: Vec<String>,
    types: Vec<TokenType>,
    known: HashSet<String>,
}

impl Tokens {
    fn is_full(&self) -> bool {
        self.tokens.len() >= self.max
    }

    /// Adds a token if there is room and it is new; says whether it was added.
    fn add(&mut self, token: impl Into<String>, kind: TokenType) -> bool {
        let token = token.into();
        let new = !self.is_full() && self.known.insert(token.clone());
        if new {
            self.tokens.push(token);
            self.types.push(kind);
        }
        new
    }

    fn write(&self, model: &str, writer: &mut GgufWriter) {
        writer.meta("tokenizer.ggml.model", model);
        writer.meta("tokenizer.ggml.tokens", &ArrayBuf::new(self.tokens.iter().map(String::as_str)));
        writer.meta("tokenizer.ggml.token_type", &ArrayBuf::new(self.types.iter().map(|&kind| kind as i32)));
    }
}

fn ids(writer: &mut GgufWriter, ids: &[(&str, u32)]) {
    for (name, id) in ids {
        writer.meta(format!("tokenizer.ggml.{name}_token_id"), *id);
    }
}

/// As Llama's: unknown, begin and end, bytes, then pieces of falling score.
fn sentence_piece(mut vocab: Tokens, words: Words, writer: &mut GgufWriter) {
    vocab.add("<unk>", TokenType::Unknown);
    vocab.add("<s>", TokenType::Control);
    vocab.add("</s>", TokenType::Control);
    for byte in 0..=255u8 {
        vocab.add(format!("<0x{byte:02X}>"), TokenType::Byte);
    }
    let first_piece = vocab.tokens.len();
    for c in [SPACE].into_iter().chain(LETTERS.chars()).chain(PUNCTUATION.chars()) {
        vocab.add(c, TokenType::Normal);
    }
    for word in words {
        if vocab.is_full() {
            break;
        }
        // Every beginning of a word is a piece, so that merging a letter at a time gets to the whole word.
        for (end, c) in word.char_indices() {
            vocab.add(format!("{SPACE}{}", &word[..end + c.len_utf8()]), TokenType::Normal);
        }
    }
    vocab.write("llama", writer);
    let score = |i: usize| if i < first_piece { 0.0 } else { -((i - first_piece) as f32) };
    writer.meta("tokenizer.ggml.scores", &ArrayBuf::new((0..vocab.tokens.len()).map(score)));
    ids(writer, &[("bos", 1), ("eos", 2), ("unknown", 0)]);
}

/// As GPT-2's: bytes, the results of merges, the end of text.
fn byte_bpe(mut vocab: Tokens, words: Words, writer: &mut GgufWriter) {
    for byte in 0..=255u8 {
        vocab.add(byte_char(byte), TokenType::Normal);
    }
    let mut merges = Vec::new();
    vocab.max -= 1;
    for word in words {
        if vocab.is_full() {
            break;
        }
        let spelled: Vec<char> = format!(" {word}").bytes().map(byte_char).collect();
        for end in 1..spelled.len() {
            let (left, right): (String, char) = (spelled[..end].iter().collect(), spelled[end]);
            if vocab.add(format!("{left}{right}"), TokenType::Normal) {
                merges.push(format!("{left} {right}"));
            }
        }
    }
    vocab.max += 1;
    let end = vocab.tokens.len() as u32;
    vocab.add("<|endoftext|>", TokenType::Control);
    vocab.write("gpt2", writer);
    writer.meta("tokenizer.ggml.pre", "gpt-2");
    writer.meta("tokenizer.ggml.merges", &ArrayBuf::new(merges.iter().map(String::as_str)));
    ids(writer, &[("bos", end), ("eos", end)]);
}

/// As BERT's: special tokens, characters at the start of a word and inside, whole words and their ends.
fn word_piece(mut vocab: Tokens, words: Words, writer: &mut GgufWriter) {
    for special in ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] {
        vocab.add(special, TokenType::Control);
    }
    for c in LETTERS.chars().chain(DIGITS.chars()) {
        vocab.add(format!("{SPACE}{c}"), TokenType::Normal);
        vocab.add(c, TokenType::Normal);
    }
    for c in PUNCTUATION.chars() {
        vocab.add(format!("{SPACE}{c}"), TokenType::Normal);
    }
    for word in words {
        if vocab.is_full() {
            break;
        }
        vocab.add(format!("{SPACE}{word}"), TokenType::Normal);
        vocab.add(&word[word.len() / 2..], TokenType::Normal);
    }
    vocab.write("bert", writer);
    writer.meta("tokenizer.ggml.token_type_count", 2u32);
    ids(
        writer,
        &[("bos", 2), ("eos", 3), ("unknown", 1), ("seperator", 3), ("padding", 0), ("cls", 2), ("mask", 4)],
    );
}

/// Pronounceable words of ASCII letters, without end.
struct Words(Pcg64Mcg);

impl Words {
    fn pick(&mut self, from: &[&'static str]) -> &'static str {
        from[self.0.next_u32() as usize % from.len()]
    }
}

impl Iterator for Words {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        const ONSETS: [&str; 20] = [
            "", "b", "br", "ch", "d", "f", "g", "h", "k", "l", "m", "n", "p", "r", "s", "sh", "st", "t", "v",
            "w",
        ];
        const VOWELS: [&str; 8] = ["a", "e", "i", "o", "u", "ai", "ea", "oo"];
        const CODAS: [&str; 8] = ["", "", "", "n", "r", "s", "l", "nd"];
        let syllables = 1 + self.0.next_u32() % 4;
        Some(
            (0..syllables).flat_map(|_| [&ONSETS[..], &VOWELS, &CODAS].map(|part| self.pick(part))).collect(),
        )
    }
}
