//! The vocabularies of the demo models: ids that SentencePiece and the `tokenizers` library gave for the same text.

use ssnail_convert::vocab::{DecodeOptions, EncodeOptions, cli};
use std::path::Path;

const TEXTS: [&str; 4] = [
    "Once upon a time",
    "In a green garden, the snail said: \"Hello!\"",
    "  12 old  computers\n",
    "Zoë's café, don't",
];

fn check(model: &str, ids: [&[u32]; 4]) {
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets").join(model);
    let tokenizer = cli::open(&model, None).unwrap();
    for (text, ids) in TEXTS.into_iter().zip(ids) {
        assert_eq!(tokenizer.encode(text, EncodeOptions::default()), ids, "{text:?}");
        assert_eq!(String::from_utf8_lossy(&tokenizer.decode(ids, DecodeOptions::default())), text);
    }
}

#[test]
#[rustfmt::skip]
fn snailtales() {
    check("snailtales.gguf", [
        &[318, 363, 402, 278, 261, 430],
        &[300, 462, 261, 295, 443, 447, 473, 263, 398, 290, 507, 273, 495, 321, 461, 494, 476],
        &[457, 457, 457, 52, 53, 400, 457, 379, 467, 13],
        &[457, 93, 461, 198, 174, 502, 467, 319, 479, 198, 172, 473, 283, 278, 502, 459],
    ]);
}

#[test]
#[rustfmt::skip]
fn snailtales_gpt2() {
    check("snailtales-gpt2.gguf", [
        &[499, 510, 258, 428],
        &[40, 77, 258, 487, 445, 11, 260, 395, 287, 25, 270, 39, 317, 78, 0, 1],
        &[220, 220, 16, 17, 397, 220, 375, 82, 198],
        &[57, 78, 127, 104, 6, 82, 315, 69, 127, 102, 11, 280, 275, 6, 83],
    ]);
}
