//! Both tokenizers on every vocabulary there is: the sample, and thousands of lines made from a seed.

use super::*;
use crate::gguf::Gguf;
use crate::image_tokenizer::TokenizerTables;
use crate::testdata;
use crate::vocab::{ByteStrings, VocabData};
use proptest::prelude::*;
use ssnail_isa::image::header::Header;
use ssnail_isa::image::layout::{PAYLOAD, TOKENS};
use ssnail_isa::image::{Image, NO_TOKEN};
use std::path::PathBuf;

/// An image with a tokenizer and next to nothing else.
fn image_of(tables: &TokenizerTables) -> Vec<u8> {
    use ssnail_isa::{Instruction, Opcode};
    let mut payload = Instruction::new(Opcode::Halt).encode().to_vec();
    let mut at = std::collections::HashMap::new();
    for (name, size) in tables.sizes() {
        payload.resize(payload.len().next_multiple_of(32), 0);
        at.insert(name, payload.len());
        payload.resize(payload.len() + size, 0);
    }
    let block = tables.block_at(|name| PAYLOAD + at[name] as u32);
    for (name, bytes) in tables.contents(&block) {
        payload[at[name]..at[name] + bytes.len()].copy_from_slice(&bytes);
    }
    payload.resize(payload.len().next_multiple_of(256), 0);
    let payload_bytes = payload.len() as u32;
    let end = PAYLOAD + payload_bytes;
    let header = Header {
        script: PAYLOAD,
        weights: end,
        scratch: end,
        tokens: TOKENS,
        vocab: PAYLOAD + at["vocab"] as u32,
        n_vocab: block.fields.n_vocab,
        context: 16,
        bos: NO_TOKEN,
        eos: NO_TOKEN,
        payload_bytes,
        output: end,
        output_len: 1,
        memory: 32 << 20,
        architecture: 0,
        payload: PAYLOAD,
        tokenizer: PAYLOAD + at["tokenizer"] as u32,
    };
    [header.to_bytes("test").to_vec(), payload].concat()
}

/// A generator of text (xorshift), always the same for a seed.
struct TextMaker(u64);

impl TextMaker {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % n
    }

    fn pick(&mut self, from: &[&str]) -> String {
        from[self.below(from.len())].to_owned()
    }

    /// A word of the sample as it is, in capitals, or with another's end.
    fn word(&mut self, words: &[&str]) -> String {
        let word = self.pick(words);
        match self.below(12) {
            0 => word.to_ascii_uppercase(),
            1 => {
                let other = self.pick(words);
                word[..word.len() / 2].to_owned() + &other[other.len() / 2..]
            }
            2 => word + &self.pick(&["'s", "'re", "n't", "'LL", "'d", "'ve", "'m", "'x"]),
            _ => word,
        }
    }

    fn number(&mut self) -> String {
        let digits = 1 + self.below(9);
        let mut number: String = (0..digits).map(|_| char::from(b'0' + self.below(10) as u8)).collect();
        if self.below(4) == 0 {
            number.insert_str(number.len() / 2, &self.pick(&[".", ",", ":", "-", "/", "e"]));
        }
        number
    }

    fn line(&mut self, words: &[&str]) -> String {
        let mut line = String::new();
        for _ in 0..1 + self.below(14) {
            line += &match self.below(16) {
                0 => self.pick(&["  ", "   ", "\t", "        ", " \t ", "\n", "\n\n", " \n  "]),
                1..=2 => self.number(),
                3..=4 => {
                    let marks: String =
                        (0..1 + self.below(3)).map(|_| char::from(b'!' + self.below(15) as u8)).collect();
                    marks
                }
                5 => char::from(b' ' + self.below(95) as u8).to_string(),
                6 => {
                    self.word(words)
                        + &self.pick(&["_", "@", ".", "/", "(", "->", "::", "="])
                        + &self.word(words)
                }
                _ => self.word(words),
            };
            line += &self.pick(&[" ", " ", " ", " ", "", ", ", ". "]);
        }
        line
    }
}

fn generated() -> Vec<String> {
    let words: Vec<&str> = SAMPLE.split_ascii_whitespace().collect();
    let mut maker = TextMaker(0x5EED_5A11);
    (0..2500).map(|_| maker.line(&words)).collect()
}

/// Every GGUF file with a vocabulary among the test data and the demo models.
fn vocabularies() -> Vec<PathBuf> {
    let own = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("assets");
    let folders: Vec<PathBuf> =
        ["vocab", "models"].into_iter().filter_map(testdata::find).chain([own]).collect();
    let mut files: Vec<PathBuf> = folders
        .iter()
        .filter_map(|folder| std::fs::read_dir(folder).ok())
        .flatten()
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "gguf"))
        .collect();
    files.sort();
    files
}

#[test]
fn the_sample_is_plain_ascii_and_the_generator_makes_much_text() {
    assert_eq!(ssnail_tok::ascii::fold(SAMPLE.as_bytes()), SAMPLE);
    assert!(SAMPLE.lines().count() > 150);
    let lines = generated();
    assert!(lines.len() >= 2000 && lines.iter().all(|l| ssnail_tok::ascii::fold(l.as_bytes()) == *l));
}

#[test]
fn every_vocabulary_at_hand_is_cut_as_the_model_does() {
    let lines = generated();
    for path in vocabularies() {
        let gguf = Gguf::open(&path).unwrap();
        if gguf.metadata().value("tokenizer.ggml.model").is_none() {
            continue;
        }
        let name = path.file_name().unwrap().display();
        let is_model = !path.parent().is_some_and(|folder| folder.ends_with("vocab"));
        let model = match VocabData::from_gguf(&gguf).and_then(|data| Tokenizer::new(data, None)) {
            Ok(model) => model,
            Err(error) => {
                assert!(!is_model, "{name}: {error}");
                eprintln!("{name}: {error}");
                continue;
            }
        };
        let tables = TokenizerTables::new(&model).unwrap();
        let file = image_of(&tables);
        let image = Image::parse(&file).unwrap();
        let tokenizer = ssnail_tok::Tokenizer::new(&image);
        let texts = SAMPLE.lines().chain(lines.iter().map(String::as_str)).chain([SAMPLE]);
        let found = check(&tokenizer, &model, texts);
        eprintln!(
            "{name}: {}; {} of {} lines differ",
            tables.summary().line(),
            found.differences.len(),
            found.lines
        );
        // Models that the project is tried on must come out equal; other vocabularies where the image says they do.
        let exact = tables.warnings.is_empty() && tables.exactness.approximate.is_empty();
        if exact || is_model {
            assert!(found.is_equal(), "{name}: {}", found.report());
        }
        for line in SAMPLE.lines() {
            let ids = model.encode(line, EncodeOptions::default());
            assert_eq!(
                tokenizer.decode(&ids),
                model.decode(&ids, crate::vocab::DecodeOptions::default()),
                "{name}"
            );
        }
    }
}

#[test]
fn differences_are_shown_side_by_side() {
    let model = |merges: &[&str]| {
        let data = VocabData {
            model: "gpt2".into(),
            pre: Some("gpt-2".into()),
            tokens: ["a", "b", "ab", "Ġ"].iter().collect(),
            merges: Some(merges.iter().collect::<ByteStrings>()),
            ..VocabData::default()
        };
        Tokenizer::new(data, None).unwrap()
    };
    let tables = TokenizerTables::new(&model(&["a b"])).unwrap();
    let file = image_of(&tables);
    let tokenizer = ssnail_tok::Tokenizer::new(&Image::parse(&file).unwrap());
    let found = check(&tokenizer, &model(&[]), ["ba", "ab b", "\u{201c}"]);
    assert_eq!(found.lines, 3);
    assert_eq!(
        found.differences,
        [Difference { line: 2, text: "ab b".into(), image: vec![2, 3, 1], model: vec![0, 1, 3, 1] }]
    );
    let report = found.report();
    assert!(
        report.starts_with(
            "line 2: \"ab b\"\n  image 2 3 1 -\n  model 0 1 3 1\n1 of 3 lines differ; 5 tokens, "
        ),
        "{report}"
    );
}

/// A vocabulary with merges in random order: whatever the proof calls exact must come out as the list says.
fn random_model() -> impl Strategy<Value = Tokenizer> {
    prop::collection::vec((0usize..100, 0usize..100), 0..14).prop_map(|pairs| {
        let mut tokens: Vec<String> = ["a", "b", "c", "Ġ"].map(str::to_owned).to_vec();
        let mut merges = Vec::new();
        for (left, right) in pairs {
            let (left, right) = (tokens[left % tokens.len()].clone(), tokens[right % tokens.len()].clone());
            let both = format!("{left}{right}");
            if !tokens.contains(&both) {
                tokens.push(both);
            }
            merges.push(format!("{left} {right}"));
        }
        // Half of them by falling index, so that later tokens can come first.
        let half = merges.len() / 2;
        merges[half..].reverse();
        let data = VocabData {
            model: "gpt2".into(),
            pre: Some("gpt-2".into()),
            tokens: tokens.iter().collect(),
            merges: Some(merges.iter().collect::<ByteStrings>()),
            ..VocabData::default()
        };
        Tokenizer::new(data, None).unwrap()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn what_is_proved_exact_is_equal(model in random_model(), texts in prop::collection::vec("[abc ]{0,24}", 20)) {
        let tables = TokenizerTables::new(&model).unwrap();
        if tables.exactness.approximate.is_empty() {
            let file = image_of(&tables);
            let tokenizer = ssnail_tok::Tokenizer::new(&Image::parse(&file).unwrap());
            let found = check(&tokenizer, &model, texts.iter().map(String::as_str));
            prop_assert!(found.is_equal(), "{:?}\n{}", model.merges(), found.report());
        }
    }
}
