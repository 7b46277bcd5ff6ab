//! Each pre-tokenizer against the expressions of llama.cpp as they stand there, run by an engine with look-ahead.

use super::*;
use proptest::prelude::*;

const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";
const LLAMA3: &str = r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const QWEN2: &str = r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const DEEPSEEK3: &str = r##"[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"##;

/// Name and llama.cpp's expressions; where its engine departs from them (see `pre.rs`) that is written out.
const ORIGINALS: &[(&str, &[&str])] = &[
    ("gpt-2", &[GPT2]),
    ("smollm", &[r"\p{N}", GPT2]),
    ("llama-bpe", &[LLAMA3]),
    ("qwen2", &[QWEN2]),
    ("laguna", &[r"[^\n]+|[\n]+", QWEN2]),
    ("default", &[r"[\p{P}\$\+<=>\^~\|]+", GPT2, r"\p{N}+", "[0-9][0-9][0-9]"]),
    ("falcon", &[r"[\p{P}\$\+<=>\^~\|`]+", GPT2, "[0-9][0-9][0-9]"]),
    (
        "qwen35",
        &[
            r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ],
    ),
    ("ufakzeka", &[r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"]),
    (
        "minicpm5",
        &[
            r"\p{N}{1,3}",
            r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ],
    ),
    (
        "bailingmoe",
        &[
            r"'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+",
        ],
    ),
    (
        "seed-coder",
        &[
            r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+",
        ],
    ),
    (
        "exaone-moe",
        &[
            r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+",
        ],
    ),
    (
        "jais-2",
        &[
            r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1}",
        ],
    ),
    (
        "tekken",
        &[
            r"[^\r\n\p{L}\p{N}]?((?=[\p{L}])([^a-z]))*((?=[\p{L}])([^A-Z]))+|[^\r\n\p{L}\p{N}]?((?=[\p{L}])([^a-z]))+((?=[\p{L}])([^A-Z]))*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ],
    ),
    (
        "gpt-4o",
        &[
            r"[^\r\n\p{L}\p{N}]?((?=[\p{L}])([^a-z]))*((?=[\p{L}])([^A-Z]))+(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?|[^\r\n\p{L}\p{N}]?((?=[\p{L}])([^a-z]))+((?=[\p{L}])([^A-Z]))*(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ],
    ),
    (
        "granite-embed-multi-97m",
        &[
            r"[^\r\n\p{L}\p{N}]?((?=[\p{L}\p{M}])([^a-z]))*((?=[\p{L}\p{M}])([^A-Z]))+(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?|[^\r\n\p{L}\p{N}]?((?=[\p{L}\p{M}])([^a-z]))+((?=[\p{L}\p{M}])([^A-Z]))*(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ],
    ),
    (
        "youtu",
        &[
            "[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-\u{303f}︰-﹏]+|[ㄅ-ㄯ]+|[一-龥\u{3040}-ゟ゠-ヿ]+",
            r"[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]*[\p{L}\p{M}]+(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+[\p{L}\p{M}]*(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ],
    ),
    ("deepseek-coder", &[r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[[一-龥ࠀ-一가-\u{d7ff}]&&\\S]+", r"\p{N}"]),
    ("deepseek-v3", &[r"\p{N}{1,3}", "[一-龥\u{3040}-ゟ゠-ヿ]+", DEEPSEEK3]),
    (
        "spark2_5",
        &[
            r"\p{N}{1,3}",
            "[一-龥\u{3040}-ゟ゠-ヿ]+",
            r##"[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+|[\r\n]|\s+(?!\S)|\s+"##,
            r"\p{N}",
        ],
    ),
    ("superbpe", &[r"\p{N}+", r"(?=([0-9]{3})+(?![0-9]))"]),
    (
        "chameleon",
        &[
            "<sentinel:[0-9]+>",
            "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z",
            r"([\t\n]|    |  )",
            r"\p{N}",
            r"[\p{P}!-/:-@\[-`{-~]",
            GPT2,
        ],
    ),
    ("viking", &[" ?[^(\\s|.,!?…。，、।۔،)]+", r"\p{N}"]),
];

fn original(expressions: &[fancy_regex::Regex], text: &str) -> Vec<String> {
    let mut pieces = vec![text.to_owned()];
    for regex in expressions {
        let mut next = Vec::new();
        for piece in &pieces {
            let mut done = 0;
            for found in regex.find_iter(piece) {
                let found = found.unwrap();
                next.push(piece[done..found.start()].to_owned());
                next.push(found.as_str().to_owned());
                done = found.end();
            }
            next.push(piece[done..].to_owned());
        }
        next.retain(|piece| !piece.is_empty());
        pieces = next;
    }
    pieces
}

fn splitter(name: &str) -> Splitter {
    Splitter::new(PreTokenizer::find(name).unwrap())
}

fn ours(splitter: &Splitter, text: &str) -> Vec<String> {
    let mut words = Vec::new();
    splitter.split(text, &mut |word| words.push(word.to_owned()));
    words
}

#[test]
fn every_pre_tokenizer_compiles_and_keeps_the_text() {
    let text = "It's 12345 o'clock:\r\n\r\n  \tfoo(bar) === Äpfel\u{3000}、我想在apple工作1314天～ \u{1f680}\u{200d}\u{301}   ";
    for name in PreTokenizer::known() {
        assert_eq!(ours(&splitter(name), text).concat(), text, "{name}");
    }
}

#[test]
fn digits_by_three_as_llama_cpp_cuts_them() {
    assert_eq!(
        ours(&splitter("superbpe"), "a1234567b12 123456"),
        ["a", "1", "234", "567", "b", "12", " ", "123", "456"]
    );
    assert_eq!(ours(&splitter("tiny_aya"), "ab1234567"), ["ab", "1", "234", "567"]);
}

/// Text in which words, numbers, blanks and odd characters meet often.
fn texts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-cA-C]{1,4}",
        3 => "[ ]{1,3}|\t|\n|\r\n|\u{a0}|\u{3000}|\u{85}",
        2 => "[0-9]{1,7}|[٠-٩]|½|Ⅷ",
        2 => "['’](s|S|t|re|RE|Ve|m|ll|LL|d|x)?",
        2 => r#"[!-/:-@\[-`{-~]{1,3}"#,
        1 => "[äßÅǄéſK我想ｱ가ㄱ؟。、कि\u{301}\u{200d}🦙🚀\u{e000}]{1,3}",
        1 => "<sentinel:12>|IMGIMGABZ|[ ]{1,40}",
        1 => any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

#[test]
fn agrees_with_the_original_expressions() {
    let compile = |pattern: &&str| fancy_regex::Regex::new(pattern).unwrap();
    let pairs: Vec<(_, _, Vec<_>)> = ORIGINALS
        .iter()
        .map(|(name, patterns)| (name, splitter(name), patterns.iter().map(compile).collect()))
        .collect();
    proptest!(ProptestConfig::with_cases(500), |(text in texts())| {
        for (name, splitter, expressions) in &pairs {
            prop_assert_eq!(ours(splitter, &text), original(expressions, &text), "{} on {:?}", name, text);
        }
    });
}
