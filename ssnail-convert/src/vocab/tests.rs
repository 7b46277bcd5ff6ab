//! Small vocabularies made by hand: what each algorithm does with them, and what is refused.

use super::bytes::byte_char;
use super::*;
use proptest::prelude::*;

const ALL: EncodeOptions = EncodeOptions { add_special: true, parse_special: true };
const PLAIN: EncodeOptions = EncodeOptions { add_special: false, parse_special: false };

/// Tokens from (text, type, score).
fn data(model: &str, tokens: &[(String, i32, f32)]) -> VocabData {
    VocabData {
        model: model.to_owned(),
        tokens: tokens.iter().map(|(text, ..)| text).collect(),
        types: tokens.iter().map(|&(_, kind, _)| kind).collect(),
        scores: tokens.iter().map(|&(.., score)| score).collect(),
        ..VocabData::default()
    }
}

/// `<unk>`, `<s>`, `</s>`, all bytes, then pieces of falling score.
fn spm() -> VocabData {
    let mut tokens =
        vec![("<unk>".to_owned(), 2, 0.0), ("<s>".to_owned(), 3, 0.0), ("</s>".to_owned(), 3, 0.0)];
    tokens.extend((0..256).map(|byte| (format!("<0x{byte:02X}>"), 6, 0.0)));
    let pieces = ["▁t", "he", "▁the", "er", "▁▁", "x▁", "x▁y", "▁", "t", "h", "e", "r", "x", "y"];
    tokens.extend(pieces.iter().enumerate().map(|(rank, piece)| ((*piece).to_owned(), 1, -(rank as f32))));
    tokens.push(("<|user|>".to_owned(), 4, 0.0));
    data("llama", &tokens)
}

/// The bytes in GPT-2's order of characters, pieces, one control token.
fn bpe(pre: &str) -> VocabData {
    let mut tokens: Vec<_> = (0..=255).map(|byte| (byte_char(byte).to_string(), 1, 0.0)).collect();
    let merges = ["h e", "Ġ t", "Ġt he", "e r", "1 2", "12 3", "' s"];
    for merge in merges {
        tokens.push((merge.replace(' ', ""), 1, 0.0));
    }
    tokens.push(("<|im_end|>".to_owned(), 3, 0.0));
    VocabData {
        pre: Some(pre.to_owned()),
        merges: Some(merges.into_iter().collect()),
        bos: Some(u32::MAX),
        eos: Some(263),
        scores: Vec::new(),
        ..data("gpt2", &tokens)
    }
}

fn wordpiece() -> VocabData {
    let tokens = [
        "[PAD]", "[UNK]", "[CLS]", "[SEP]", "▁un", "aff", "able", "▁a", "b", "▁我", "▁爱", "▁!", "▁cafe",
        "▁ᄒ", "ᅡ", "ᆫ", "▁x", "x",
    ];
    let tokens: Vec<_> = tokens
        .iter()
        .enumerate()
        .map(|(id, text)| ((*text).to_owned(), if id < 4 { 3 } else { 1 }, 0.0))
        .collect();
    VocabData { unk: Some(1), cls: Some(2), sep: Some(3), ..data("bert", &tokens) }
}

fn tokenizer(data: VocabData) -> Tokenizer {
    Tokenizer::new(data, None).unwrap()
}

/// The pieces of `text` as the vocabulary spells them.
fn spelled(tokenizer: &Tokenizer, text: &str, options: EncodeOptions) -> Vec<String> {
    let spell = |&id| String::from_utf8(tokenizer.text(id).unwrap().to_vec()).unwrap();
    tokenizer.encode(text, options).iter().map(spell).collect()
}

#[test]
fn sentencepiece_merges_by_score_and_falls_back_to_bytes() {
    let tokenizer = tokenizer(spm());
    let cases: &[(&str, &[&str])] = &[
        ("", &[]),
        ("the", &["▁the"]),
        ("ther", &["▁the", "r"]),
        ("er", &["▁", "er"]),
        ("  the", &["▁▁", "▁the"]),
        ("x y", &["▁", "x▁y"]),
        ("x  y", &["▁", "x", "▁▁", "y"]),
        ("é\n", &["▁", "<0xC3>", "<0xA9>", "<0x0A>"]),
        ("he<|user|>he", &["▁", "he", "<|user|>", "▁", "he"]),
        // Not asked for, so it is text.
        ("</s>", &["▁", "<0x3C>", "<0x2F>", "<0x73>", "<0x3E>"]),
    ];
    for (text, pieces) in cases {
        assert_eq!(spelled(&tokenizer, text, PLAIN), *pieces, "{text:?}");
    }
    assert_eq!(spelled(&tokenizer, "he</s>he", ALL), ["<s>", "▁", "he", "</s>", "▁", "he"]);
    assert_eq!(spelled(&tokenizer, "", ALL), ["<s>"]);
}

#[test]
fn flags_of_the_file_are_heeded() {
    let data =
        VocabData { add_bos: Some(false), add_eos: Some(true), add_space_prefix: Some(false), ..spm() };
    assert_eq!(spelled(&tokenizer(data), "he he", ALL), ["he", "▁", "he", "</s>"]);
    let data = VocabData { eos: Some(u32::MAX), add_eos: Some(true), ..spm() };
    assert_eq!(spelled(&tokenizer(data), "t", ALL), ["<s>", "▁t"]);
}

#[test]
fn byte_level_bpe_merges_by_rank() {
    let tokenizer = tokenizer(bpe("gpt-2"));
    let cases: &[(&str, &[&str])] = &[
        ("the", &["t", "he"]),
        (" the", &["Ġthe"]),
        ("her's", &["he", "r", "'s"]),
        ("1234", &["123", "4"]),
        ("é", &["Ã", "©"]),
        ("<|im_end|>", &["<", "|", "i", "m", "_", "e", "n", "d", "|", ">"]),
    ];
    for (text, pieces) in cases {
        assert_eq!(spelled(&tokenizer, text, PLAIN), *pieces, "{text:?}");
    }
    assert_eq!(spelled(&tokenizer, " the<|im_end|>", ALL), ["Ġthe", "<|im_end|>"]);
    assert_eq!(tokenizer.merges()[2], Merge { left: 257, right: 256, result: 258 });
    assert_eq!(tokenizer.ends_of_generation(), [263]);
}

#[test]
fn the_pre_tokenizer_decides_what_merges() {
    assert_eq!(spelled(&tokenizer(bpe("smollm")), "123", PLAIN), ["1", "2", "3"]);
    let given = Tokenizer::new(bpe("smollm"), Some("gpt-2")).unwrap();
    assert_eq!(spelled(&given, "123", PLAIN), ["123"]);
    assert_eq!(given.pre(), Some("gpt-2"));
    let none = tokenizer(VocabData { pre: None, ..bpe("") });
    assert_eq!(none.pre(), Some("default"));
    // Llama 3 takes a word that is a token whole.
    let mut data = bpe("llama-bpe");
    data.merges = Some(["h e"].into_iter().collect());
    assert_eq!(spelled(&tokenizer(data), " the the", PLAIN), ["Ġthe", "Ġthe"]);
}

#[test]
fn wordpiece_cleans_up_and_takes_the_longest() {
    let tokenizer = tokenizer(wordpiece());
    let cases: &[(&str, &[&str])] = &[
        ("UNaffable!", &["▁un", "aff", "able", "▁!"]),
        ("  Café\tcafe\u{301} ", &["▁cafe", "▁cafe"]),
        ("我爱ab", &["▁我", "▁爱", "▁a", "b"]),
        ("a\u{0}\u{200d}b", &["▁a", "b"]),
        ("abz un", &["[UNK]", "▁un"]),
        ("한", &["▁ᄒ", "ᅡ", "ᆫ"]),
        ("", &[]),
    ];
    for (text, pieces) in cases {
        assert_eq!(spelled(&tokenizer, text, PLAIN), *pieces, "{text:?}");
    }
    assert_eq!(spelled(&tokenizer, "a[SEP]a", ALL), ["[CLS]", "▁a", "[SEP]", "▁a", "[SEP]"]);
    assert_eq!(tokenizer.encode(&"x".repeat(100), PLAIN).len(), 100);
    assert_eq!(spelled(&tokenizer, &"x".repeat(101), PLAIN), ["[UNK]"]);
    assert_eq!(tokenizer.decode(&[2, 4, 5, 11, 3], DecodeOptions::default()), b"unaff !");
}

#[test]
fn cased_wordpiece_keeps_case_and_accents() {
    let data = VocabData { lowercase: Some(false), ..wordpiece() };
    assert_eq!(spelled(&tokenizer(data), "A a café", PLAIN), ["[UNK]", "▁a", "[UNK]"]);
}

#[test]
fn decoding_shows_or_hides_special_tokens() {
    let tokenizer = tokenizer(spm());
    let ids = tokenizer.encode("the the</s>", ALL);
    let decode = |show_special, continuation| {
        String::from_utf8(tokenizer.decode(&ids, DecodeOptions { show_special, continuation })).unwrap()
    };
    assert_eq!(decode(false, false), "the the");
    assert_eq!(decode(true, false), "<s>the the</s>");
    assert_eq!(decode(true, true), "<s> the the</s>");
    let pieces: Vec<_> = tokenizer.encode("é\n", PLAIN).iter().map(|&id| tokenizer.piece(id)).collect();
    assert_eq!(pieces, [" ", "\\xc3", "\\xa9", "\\n"]);
    assert_eq!(tokenizer.decode(&[u32::MAX, 100_000], DecodeOptions::default()), b"");
}

#[test]
fn longest_special_token_first_and_blanks_of_phi_3() {
    let mut data = spm();
    data.tokens.push("<|user|>x".as_bytes());
    data.types.push(4);
    data.scores.push(0.0);
    assert_eq!(spelled(&tokenizer(data.clone()), "<|user|>x<|user|>", PLAIN), ["<|user|>x", "<|user|>"]);
    data.name = "Phi-3 mini".to_owned();
    assert_eq!(spelled(&tokenizer(data), "<|user|> \n he", PLAIN), ["<|user|>", "▁", "he"]);
}

#[test]
fn one_long_word_is_encoded_too() {
    let text = "the".repeat(50_000);
    assert_eq!(tokenizer(bpe("gpt-2")).encode(&text, PLAIN).len(), 100_000);
    assert_eq!(tokenizer(spm()).encode(&text, PLAIN).len(), 99_999);
}

#[test]
fn what_is_refused() {
    let many = |count| (0..count).map(|_| b"a").collect::<ByteStrings>();
    let merges = |merge: &str| Some([merge].into_iter().collect());
    let cases: Vec<(VocabData, &str)> = vec![
        (VocabData { model: "t5".into(), ..spm() }, "'t5'"),
        (VocabData { tokens: many(0), ..spm() }, "0 tokens"),
        (VocabData { tokens: many(3), ..spm() }, "token_type: 274 entries for 3 tokens"),
        (VocabData { scores: vec![0.0; 9], ..spm() }, "scores: 9 entries for 274 tokens"),
        (VocabData { scores: vec![f32::NAN; 274], ..spm() }, "token 0 has score NaN"),
        (VocabData { types: vec![7; 274], ..spm() }, "token 0 has type 7"),
        (VocabData { bos: Some(274), ..spm() }, "bos_token_id: id 274"),
        (bpe("gpt-3"), "'gpt-3'"),
        (VocabData { merges: None, ..bpe("gpt-2") }, "merges: missing"),
        (VocabData { merges: merges("he"), ..bpe("gpt-2") }, "merge 0 is 'he'"),
        (VocabData { merges: merges("h "), ..bpe("gpt-2") }, "merge 0 is 'h '"),
        (VocabData { merges: merges("h ex"), ..bpe("gpt-2") }, "'ex' is no token"),
        (VocabData { merges: merges("h h"), ..bpe("gpt-2") }, "'hh' is no token"),
        (VocabData { unk: Some(u32::MAX), ..wordpiece() }, "unknown_token_id: none"),
    ];
    for (data, expected) in cases {
        let message = Tokenizer::new(data, None).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
    assert!(Tokenizer::new(spm(), Some("nonsense")).is_err());
}

#[test]
fn text_comes_back() {
    let tokenizers = [spm(), bpe("gpt-2"), bpe("llama-bpe")].map(tokenizer);
    proptest!(|(text in any::<String>(), blanks in "[ \t\n]{0,3}(the|her|12 ?){0,4}[ ]{0,3}")| {
        for tokenizer in &tokenizers {
            for text in [format!("{blanks}{text}"), format!("{text}{blanks}{text}")] {
                let back = tokenizer.decode(&tokenizer.encode(&text, PLAIN), DecodeOptions::default());
                // U+2581 is a space to SentencePiece.
                let marked = tokenizer.kind() == VocabKind::SentencePiece;
                let expected = if marked { text.replace('▁', " ") } else { text };
                prop_assert_eq!(String::from_utf8_lossy(&back), expected);
            }
        }
    });
}
