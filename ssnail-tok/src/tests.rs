//! Each kind on a small image made in code, and any image and any text without a panic.

use crate::test_image::TestImage;
use crate::{Cost, Tokenizer};
use proptest::prelude::*;
use ssnail_isa::image::{Image, NO_TOKEN, PreSplit, TokenizerKind};

const NONE: u32 = u32::MAX;

fn encode(image: &TestImage, text: &str) -> Vec<u32> {
    Tokenizer::new(&Image::parse(&image.build()).unwrap()).encode(text)
}

fn decode(image: &TestImage, ids: &[u32]) -> String {
    let file = image.build();
    let bytes = Tokenizer::new(&Image::parse(&file).unwrap()).decode(ids);
    String::from_utf8(bytes).unwrap()
}

/// 0 unknown, 1 begin, 2 end, 3 the byte token of 0A, then text.
fn sentencepiece() -> TestImage {
    let tokens = [
        ("", NONE),
        ("", NONE),
        ("", NONE),
        ("", NONE),
        (" ", NONE),
        ("a", NONE),
        ("b", NONE),
        ("ab", 0),
        (" a", 1),
        (" ab", 2),
        ("ba", 1),
        ("  ", 0),
    ];
    let mut image = TestImage::new(TokenizerKind::SentencePiece, &tokens);
    image.block.fields.unknown = 0;
    image.block.fields.begin = 1;
    image.byte_table[0x0A] = 3;
    image
}

#[test]
fn sentencepiece_merges_by_priority_then_from_the_left() {
    let image = sentencepiece();
    assert_eq!(encode(&image, ""), [1]);
    assert_eq!(encode(&image, "ab"), [1, 9]);
    assert_eq!(encode(&image, "abab ab"), [1, 9, 7, 9]);
    // `ba` and ` a` are equally early: the one further left merges.
    assert_eq!(encode(&image, "baa"), [1, 4, 10, 5]);
    assert_eq!(encode(&image, "aba"), [1, 9, 5]);
    assert_eq!(encode(&image, "a  a"), [1, 8, 11, 5]);
    assert_eq!(encode(&image, "a\nz"), [1, 8, 3, 0]);
}

#[test]
fn sentencepiece_may_go_without_the_space() {
    let mut image = sentencepiece();
    image.block.space_prefix = false;
    assert_eq!(encode(&image, "ab ab"), [1, 7, 9]);
    assert_eq!(decode(&image, &[1, 9, 9]), " ab ab");
}

#[test]
fn sentencepiece_decodes_without_the_space_it_put_there() {
    let image = sentencepiece();
    assert_eq!(decode(&image, &[1, 9, 9, 7]), "ab abab");
    assert_eq!(decode(&image, &[11, 5]), " a");
    assert_eq!(decode(&image, &[0xFFFF_FFFF, 12]), "");
}

#[test]
fn tokens_across_words_are_found_too() {
    let mut image = sentencepiece();
    image.tokens.push((b"a a".to_vec(), 0));
    image.index = (4..13).collect();
    image.index.sort_by_key(|&id| &image.tokens[id as usize].0);
    // ` ` `a a` can only come from `a` + ` a` or `a ` + `a`; ` a` (1) comes first on the left.
    assert_eq!(encode(&image, "a a"), [1, 8, 8]);
    image.block.space_prefix = false;
    assert_eq!(encode(&image, "a a"), [1, 12]);
}

fn bpe() -> TestImage {
    let tokens = [
        ("h", NONE),
        ("e", NONE),
        ("l", NONE),
        ("o", NONE),
        (" ", NONE),
        ("ll", 0),
        ("he", 1),
        ("hell", 2),
        (" hell", 70),
    ];
    TestImage::new(TokenizerKind::ByteLevelBpe, &tokens)
}

#[test]
fn byte_level_bpe_merges_inside_words() {
    let image = bpe();
    assert_eq!(encode(&image, "hello hell"), [7, 3, 8]);
    assert_eq!(encode(&image, "lll"), [5, 2]);
    assert_eq!(encode(&image, "zoo"), [3, 3], "a byte without token is lost where there is no unknown token");
    assert_eq!(decode(&image, &[8, 3]), " hello");
}

#[test]
fn priorities_may_be_wide() {
    let mut image = bpe();
    image.block.wide_priorities = true;
    image.tokens[8].1 = 0x1_0000;
    image.tokens[7].1 = 0xFFFF;
    assert_eq!(encode(&image, " hell"), [8]);
    image.block.wide_priorities = false;
    assert_eq!(encode(&image, "hell"), [6, 5], "FFFF in 16 bits is never");
}

#[test]
fn llama3_takes_a_word_that_is_a_token_whole() {
    let mut image = bpe();
    image.tokens[8].1 = 0xFFFF;
    assert_eq!(encode(&image, " hell"), [4, 7]);
    image.block.pre_split = PreSplit::Llama3;
    assert_eq!(encode(&image, " hell"), [8]);
}

#[test]
fn begin_and_end_stand_around_the_text() {
    let mut image = bpe();
    (image.block.fields.begin, image.block.fields.end) = (1, 2);
    assert_eq!(encode(&image, "o"), [1, 3, 2]);
    let file = image.build();
    let parsed = Image::parse(&file).unwrap();
    assert_eq!(Tokenizer::new(&parsed).encode_raw("o"), [3]);
}

fn wordpiece() -> TestImage {
    let tokens = [
        ("", NONE),
        ("", NONE),
        ("", NONE),
        (" un", NONE),
        (" u", NONE),
        ("able", NONE),
        ("ab", NONE),
        (" !", NONE),
        ("a", NONE),
    ];
    let mut image = TestImage::new(TokenizerKind::WordPiece, &tokens);
    let fields = &mut image.block.fields;
    (fields.unknown, fields.begin, fields.end) = (0, 1, 2);
    image.block.lowercase = true;
    image
}

#[test]
fn wordpiece_takes_the_longest_piece_from_the_front() {
    let image = wordpiece();
    assert_eq!(encode(&image, "Unable"), [1, 3, 5, 2]);
    assert_eq!(encode(&image, "unaba  un\t!!U"), [1, 3, 6, 8, 3, 7, 7, 4, 2]);
    assert_eq!(encode(&image, "unabx un x"), [1, 0, 3, 0, 2], "one unknown token a word");
    assert_eq!(encode(&image, " \n"), [1, 2]);
    assert_eq!(encode(&image, &format!("un{}", "a".repeat(98))).len(), 101);
    assert_eq!(encode(&image, &format!("un{}", "a".repeat(99))), [1, 0, 2], "more than 100 characters");
    assert_eq!(decode(&image, &[1, 3, 5, 7, 2]), "unable !");
}

#[test]
fn streams_show_characters_that_lie_across_tokens() {
    let mut image =
        TestImage::new(TokenizerKind::SentencePiece, &[(" a", 0), ("", NONE), ("", NONE), ("", NONE)]);
    for (id, byte) in [(1, 0xE2), (2, 0x80), (3, 0x99)] {
        image.tokens[id].0 = vec![byte];
    }
    let file = image.build();
    let tokenizer = Tokenizer::new(&Image::parse(&file).unwrap());
    let shown = |mut stream: crate::TextStream<'_>, ids: &[u32]| {
        let mut out = String::new();
        ids.iter().for_each(|&id| stream.push(id, &mut out));
        stream.finish(&mut out);
        out
    };
    assert_eq!(shown(tokenizer.stream(), &[0, 1, 2, 3, 0]), "a' a");
    assert_eq!(shown(tokenizer.stream_after(), &[0, 1, 2]), " a?");
    assert_eq!(shown(tokenizer.stream(), &[9, 0]), "a");
}

#[test]
fn cost_counts_what_is_read() {
    let image = bpe();
    let file = image.build();
    let (ids, cost) = Tokenizer::new(&Image::parse(&file).unwrap()).encode_with_cost("o");
    // One byte: one entry of the byte table, no pair to look up.
    assert_eq!((ids, cost), (vec![3], Cost { tokens: 1, probes: 0, bytes: 4 }));
    let (_, cost) = Tokenizer::new(&Image::parse(&file).unwrap()).encode_with_cost("oo");
    // Nine entries are searched in at most four steps.
    assert!((3..=4).contains(&cost.probes), "{cost:?}");
    assert!(cost.bytes >= 8 + cost.probes * 13, "{cost:?}");
}

#[test]
fn a_long_prompt_is_merged() {
    let text = "ab".repeat(2000);
    assert_eq!(encode(&sentencepiece(), &text).len(), 2001);
}

/// All of printable ASCII as bytes, and some random longer tokens.
fn ascii_bpe(longer: &[(String, u32)]) -> TestImage {
    let singles: Vec<String> = (32u8..127).chain([9, 10]).map(|b| char::from(b).to_string()).collect();
    let mut tokens: Vec<(&str, u32)> = singles.iter().map(|s| (s.as_str(), NONE)).collect();
    let mut more: Vec<_> = longer.iter().filter(|t| t.0.len() > 1).collect();
    more.sort();
    more.dedup_by(|a, b| a.0 == b.0);
    tokens.extend(more.into_iter().map(|(s, p)| (s.as_str(), *p)));
    TestImage::new(TokenizerKind::ByteLevelBpe, &tokens)
}

proptest! {
    #[test]
    fn byte_level_bpe_round_trips(
        longer in prop::collection::vec(("[ a-d0-2'\n]{2,5}", 0u32..50), 0..40),
        text in "([ a-d0-2'\n]{0,20}|[\t\n -~]{0,20})", rule in 0usize..4,
    ) {
        let mut image = ascii_bpe(&longer);
        image.block.pre_split = PreSplit::ALL[rule];
        prop_assert_eq!(decode(&image, &encode(&image, &text)), text);
    }

    #[test]
    fn cutting_sentencepiece_at_spaces_changes_nothing(
        longer in prop::collection::vec(("[ ]{0,2}[a-c]{1,3}", 0u32..9), 0..30), text in "[ a-c]{0,24}",
    ) {
        let mut image = ascii_bpe(&longer);
        image.block.kind = TokenizerKind::SentencePiece;
        let cut = encode(&image, &text);
        // A token nobody can type makes the whole text one word.
        image.tokens.push((b"~ ~".to_vec(), NONE));
        image.index.push(image.tokens.len() as u32 - 1);
        image.index.sort_by_key(|&id| &image.tokens[id as usize].0);
        prop_assert_eq!(encode(&image, &text), cut.clone());
        prop_assert_eq!(decode(&image, &cut), text);
    }

    #[test]
    fn any_tables_and_any_text_go_without_panic(
        tokens in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..6), any::<u32>()), 1..20),
        ids in prop::collection::vec(any::<u32>(), 0..300), kind in 0usize..3, rule in 0usize..4, flags: [bool; 3],
        text in "(\\PC{0,30}|[a-z \n]{0,30})", shown in prop::collection::vec(any::<u32>(), 0..10),
    ) {
        let n = tokens.len() as u32;
        let mut image = TestImage::new(TokenizerKind::ALL[kind], &[]);
        image.tokens = tokens;
        image.index = ids.iter().map(|id| id % n).collect();
        image.byte_table = (0..256).map(|i| ids.get(i).map_or(NO_TOKEN, |id| id % n)).collect();
        image.block.pre_split = PreSplit::ALL[rule];
        [image.block.lowercase, image.block.wide_priorities, image.block.space_prefix] = flags;
        let file = image.build();
        let tokenizer = Tokenizer::new(&Image::parse(&file).unwrap());
        let encoded = tokenizer.encode(&text);
        prop_assert!(encoded.iter().all(|&id| id < n));
        tokenizer.decode(&encoded);
        tokenizer.decode(&shown);
        let mut stream = tokenizer.stream();
        let mut out = String::new();
        shown.iter().for_each(|&id| stream.push(id, &mut out));
        stream.finish(&mut out);
        prop_assert!(out.is_ascii());
    }
}
