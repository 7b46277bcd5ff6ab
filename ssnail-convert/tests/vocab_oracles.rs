//! The tokenizers against the ids that llama.cpp, SentencePiece and BERT's own tokenizer gave for the models of the
//! test data (`SSNAIL_TEST_DATA`, else `../shared/data` beside the repository). Without the data the tests say so and pass.

use serde_json::Value;
use ssnail_convert::gguf::Gguf;
use ssnail_convert::testdata;
use ssnail_convert::vocab::{DecodeOptions, EncodeOptions, Tokenizer, VocabData, VocabKind};
use std::fs;
use std::path::{Path, PathBuf};

const PLAIN: EncodeOptions = EncodeOptions { add_special: false, parse_special: false };

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|found| found == extension));
    files.sort();
    files
}

fn tokenizer(path: &Path) -> Tokenizer {
    let gguf = Gguf::open(path).unwrap();
    Tokenizer::new(VocabData::from_gguf(&gguf).unwrap(), None).unwrap()
}

/// The tests and ids beside a vocabulary, if it has them.
fn oracle(vocabulary: &Path) -> Option<Vec<(String, Vec<u32>)>> {
    let read = |extension| fs::read_to_string(vocabulary.with_extension(extension)).ok();
    let (tests, ids) = (read("gguf.inp")?, read("gguf.out")?);
    let tests: Vec<_> = tests.split("\n__ggml_vocab_test__\n").collect();
    let ids: Vec<Vec<u32>> =
        ids.lines().map(|line| line.split_whitespace().map(|id| id.parse().unwrap()).collect()).collect();
    // llama.cpp's files end in one separator more.
    let tests = &tests[..tests.len() - usize::from(tests.last() == Some(&""))];
    assert_eq!(tests.len(), ids.len(), "{}", vocabulary.display());
    Some(tests.iter().map(|&test| test.to_owned()).zip(ids).collect())
}

#[test]
fn every_line_of_the_oracles() {
    let Some(folder) = testdata::find("vocab") else { return };
    let mut compared = 0;
    for path in files(&folder, "gguf") {
        let Some(tests) = oracle(&path) else { continue };
        let tokenizer = tokenizer(&path);
        for (text, ids) in tests {
            assert_eq!(tokenizer.encode(&text, PLAIN), ids, "{}: {text:?}", path.display());
            if tokenizer.kind() != VocabKind::WordPiece {
                let back = tokenizer.decode(&ids, DecodeOptions::default());
                assert_eq!(String::from_utf8_lossy(&back), text, "{}", path.display());
            }
            compared += 1;
        }
    }
    eprintln!("{compared} lines matched");
    assert!(compared > 0, "no oracle in {}", folder.display());
}

#[test]
fn the_prompts_of_the_golden_files() {
    let (Some(golden), Some(models)) = (testdata::find("golden"), testdata::find("models")) else { return };
    let mut compared = 0;
    for path in files(&golden, "json") {
        let golden: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let tokenizer = tokenizer(&models.join(golden["model"].as_str().unwrap()));
        for case in golden["cases"].as_array().unwrap() {
            let ids = |key: &str| -> Vec<u32> {
                let ids = case[key].as_array().map(Vec::as_slice).unwrap_or_default();
                ids.iter().map(|id| id.as_u64().unwrap() as u32).collect()
            };
            let prompt = case["prompt"].as_str().unwrap();
            let options = EncodeOptions { add_special: true, parse_special: true };
            assert_eq!(tokenizer.encode(prompt, options), ids("ids"), "{}: {prompt:?}", path.display());
            if let Some(text) = case["text"].as_str() {
                let options = DecodeOptions { show_special: true, continuation: true };
                let decoded = tokenizer.decode(&ids("greedy"), options);
                assert_eq!(String::from_utf8_lossy(&decoded), text, "{}: after {prompt:?}", path.display());
            }
            compared += 1;
        }
    }
    eprintln!("{compared} prompts matched");
    assert!(compared > 0);
}
