//! Small vocabularies in whole, and all real ones that are there.

use super::*;
use crate::vocab::ByteStrings;

fn strings(list: &[&str]) -> ByteStrings {
    list.iter().collect()
}

fn bpe(tokens: &[&str], merges: &[&str]) -> TokenizerTables {
    TokenizerTables::new(&bpe_model(tokens, merges, "gpt-2")).unwrap()
}

fn bpe_model(tokens: &[&str], merges: &[&str], pre: &str) -> Tokenizer {
    let data = VocabData {
        model: "gpt2".into(),
        pre: Some(pre.into()),
        tokens: strings(tokens),
        merges: Some(strings(merges)),
        bos: Some(0),
        eos: Some(0),
        types: std::iter::once(3).chain(std::iter::repeat(1)).take(tokens.len()).collect(),
        ..VocabData::default()
    };
    Tokenizer::new(data, None).unwrap()
}

fn content(tables: &TokenizerTables, name: &str) -> Vec<u8> {
    let block = tables.block_at(|_| 32);
    let (contents, sizes) = (tables.contents(&block), tables.sizes());
    for ((name, bytes), (other, size)) in contents.iter().zip(&sizes) {
        assert_eq!((name, bytes.len()), (other, *size));
    }
    contents.into_iter().find(|c| c.0 == name).unwrap().1
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks(4).map(|w| u32::from_le_bytes(w.try_into().unwrap())).collect()
}

#[test]
fn byte_level_tables() {
    let tables = bpe(&["<|end|>", "b", "a", "Ġ", "ab", "Ġa", "Ã", "©", "Ã©", "Ċ"], &["a b", "Ġ a", "Ã ©"]);
    let vocab = content(&tables, "vocab");
    assert_eq!(words(&vocab[..44]), [44, 44, 45, 46, 47, 49, 51, 52, 53, 55, 56]);
    assert_eq!(&vocab[44..], b"ba ab a\xC3\xA9\xC3\xA9\n");
    assert_eq!(words(&content(&tables, "index")), [9, 3, 5, 2, 4, 1], "no control token, ASCII only, sorted");
    let never = [0xFF, 0xFF];
    let wanted = [never, never, never, never, [0, 0], [1, 0], never, never, [2, 0], never].concat();
    assert_eq!(content(&tables, "priorities"), wanted);
    let bytes = words(&content(&tables, "bytes"));
    assert_eq!(
        [b'a', b'b', b' ', b'\n', 0xC3, b'x'].map(|b| bytes[usize::from(b)]),
        [2, 1, 3, 9, 6, NO_TOKEN]
    );
    let block = tables.block_at(|name| if name == "index" { 4 } else { 8 });
    assert_eq!((block.fields.index, block.fields.priorities, block.fields.index_len), (4, 8, 6));
    assert_eq!((block.fields.begin, block.fields.unknown, block.fields.n_vocab), (NO_TOKEN, NO_TOKEN, 10));
    assert_eq!(tables.exactness, Exactness { checked: 2, approximate: vec![] });
    assert!(tables.warnings[0].contains("no token for these characters"), "{:?}", tables.warnings);
}

#[test]
fn sentencepiece_tables() {
    let tokens = ["<unk>", "<s>", "</s>", "<0x41>", "<0x42>", "A", "▁", "▁A", "AA", "▁AA", "é"];
    let data = VocabData {
        model: "llama".into(),
        tokens: strings(&tokens),
        types: vec![2, 3, 3, 6, 6, 1, 1, 1, 1, 1, 1],
        scores: vec![0.0, 0.0, 0.0, 0.0, 0.0, -9.0, -8.0, -2.0, -1.0, -1.0, -5.0],
        ..VocabData::default()
    };
    let tables = TokenizerTables::new(&Tokenizer::new(data, None).unwrap()).unwrap();
    assert_eq!(words(&content(&tables, "index")), [6, 7, 9, 5, 8]);
    let bytes = words(&content(&tables, "bytes"));
    assert_eq!([b'A', b'B', b' ', b'C'].map(|b| bytes[usize::from(b)]), [5, 4, 6, NO_TOKEN]);
    let priorities: Vec<u16> =
        content(&tables, "priorities").chunks(2).map(|p| u16::from_le_bytes([p[0], p[1]])).collect();
    assert_eq!(priorities[7..10], [2, 0, 1]);
    assert!(priorities[..7].iter().chain(&priorities[10..]).all(|&p| p == u16::MAX));
    assert_eq!(
        (tables.block.fields.begin, tables.block.fields.end, tables.block.fields.unknown),
        (1, NO_TOKEN, 0)
    );
    assert!(tables.block.space_prefix);
    // Two tokens with one score: which is first depends on their place in the text.
    assert_eq!(tables.exactness, Exactness { checked: 3, approximate: vec![9, 8] });
}

#[test]
fn wordpiece_tables() {
    let data = VocabData {
        model: "bert".into(),
        tokens: strings(&["[PAD]", "[UNK]", "[CLS]", "[SEP]", "▁the", "ing", "▁["]),
        types: vec![3, 3, 3, 3, 1, 1, 1],
        unk: Some(1),
        cls: Some(2),
        sep: Some(3),
        mask: Some(u32::MAX),
        ..VocabData::default()
    };
    let tables = TokenizerTables::new(&Tokenizer::new(data, None).unwrap()).unwrap();
    assert_eq!(&content(&tables, "vocab")[32..], b" theing [");
    assert_eq!(words(&content(&tables, "index")), [6, 4, 5]);
    let f = tables.block.fields;
    assert_eq!((f.begin, f.end, f.unknown, tables.block.lowercase), (2, 3, 1, true));
    assert_eq!(tables.summary().line(), "WordPiece, 3 tokens can be typed");
}

#[test]
fn merges_that_one_priority_cannot_tell_apart_are_counted() {
    let base = ["<|end|>", "a", "b", "c", "ab", "bc", "abc"];
    assert_eq!(bpe(&base, &["a b", "b c", "ab c"]).exactness.approximate, [0u32; 0]);
    // The list makes `abc` of `a` and `bc` only, but `a b` comes first: the list stops at `ab c`, the image does not.
    let tables = bpe(&base, &["a b", "b c", "a bc"]);
    assert_eq!(tables.exactness, Exactness { checked: 3, approximate: vec![6] });
    assert_eq!(
        tables.summary().line(),
        "byte-level BPE, text split by GPT-2's rule, 6 tokens can be typed, 1 of 3 merges approximate"
    );
    assert_eq!(tables.details(), "    approximate: token 6 \"abc\"\n");
    // The first merge with the result is never the one that makes it, so its rank is too early.
    let tables = bpe(&base, &["a bc", "a b", "b c", "ab c"]);
    assert_eq!(tables.exactness.approximate, [6]);
    // Several merges for one token, one after the other, are as good as one.
    assert_eq!(bpe(&base, &["a b", "b c", "a bc", "ab c"]).exactness.approximate, [0u32; 0]);
    // No merge makes `abc`: with Llama 3's rule the word is taken whole all the same.
    let tables = TokenizerTables::new(&bpe_model(&base, &["a b"], "llama-bpe")).unwrap();
    assert_eq!(tables.exactness.approximate, [0u32; 0]);
    let tables = TokenizerTables::new(&bpe_model(&base, &["a b"], "dbrx")).unwrap();
    assert_eq!(tables.exactness.approximate, [6, 5], "a model with that rule that does not");
}

#[test]
fn ranks_beyond_16_bits_are_wide() {
    let mut merges = vec!["a b"; 0xFFFF];
    merges.push("b c");
    let tables = bpe(&["<|end|>", "a", "b", "c", "ab", "bc"], &merges);
    assert!(tables.block.wide_priorities);
    assert_eq!(words(&content(&tables, "priorities"))[4..], [0, 0xFFFF]);
    merges.truncate(0xFFFE);
    merges.push("b c");
    assert!(!bpe(&["<|end|>", "a", "b", "c", "ab", "bc"], &merges).block.wide_priorities);
}

#[test]
fn a_rule_of_another_kind_is_told() {
    let tables = TokenizerTables::new(&bpe_model(&["<|end|>", "a"], &[], "falcon")).unwrap();
    assert!(
        tables.warnings[0].starts_with("text is split by GPT-2's rule instead of falcon's"),
        "{:?}",
        tables.warnings
    );
}

#[test]
fn numbers_are_grouped() {
    assert_eq!([0, 999, 1000, 48102, 1234567].map(thousands), ["0", "999", "1,000", "48,102", "1,234,567"]);
}
