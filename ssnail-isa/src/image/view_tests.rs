//! A small image made in code, and every way to spoil it.

use super::*;
use crate::image::tokenizer::{PreSplit, TokenizerFields, TokenizerKind};
use proptest::prelude::*;

const VOCAB: u32 = PAYLOAD + 0x100;
const TOKENIZER: u32 = PAYLOAD + 0x200;
const INDEX: u32 = PAYLOAD + 0x240;
const PRIORITIES: u32 = PAYLOAD + 0x280;
const BYTE_TABLE: u32 = PAYLOAD + 0x300;
const PAYLOAD_BYTES: u32 = 0x800;

/// Three tokens: empty, `a`, `ab`.
fn small() -> Vec<u8> {
    let header = Header {
        script: PAYLOAD,
        weights: PAYLOAD + 0x700,
        scratch: PAYLOAD + PAYLOAD_BYTES,
        tokens: TOKENS,
        vocab: VOCAB,
        n_vocab: 3,
        context: 16,
        bos: 0,
        eos: NO_TOKEN,
        payload_bytes: PAYLOAD_BYTES,
        output: PAYLOAD + PAYLOAD_BYTES,
        output_len: 3,
        memory: 0x8000,
        architecture: 0,
        payload: PAYLOAD,
        tokenizer: TOKENIZER,
    };
    let mut file = header.to_bytes("small").to_vec();
    file.resize((HEADER_BYTES + PAYLOAD_BYTES) as usize, 0);
    let mut put = |addr: u32, bytes: &[u8]| {
        let at = (addr - PAYLOAD + HEADER_BYTES) as usize;
        file[at..at + bytes.len()].copy_from_slice(bytes);
    };
    put(PAYLOAD, &crate::Instruction::new(crate::Opcode::Halt).encode());
    let words = |w: &[u32]| w.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>();
    put(VOCAB, &words(&[16, 16, 17, 19]));
    put(VOCAB + 16, b"aab");
    let fields = TokenizerFields {
        n_vocab: 3,
        index: INDEX,
        index_len: 2,
        priorities: PRIORITIES,
        byte_table: BYTE_TABLE,
        begin: 0,
        end: NO_TOKEN,
        unknown: NO_TOKEN,
    };
    let block = TokenizerBlock {
        kind: TokenizerKind::ByteLevelBpe,
        lowercase: false,
        wide_priorities: false,
        pre_split: PreSplit::Gpt2,
        space_prefix: true,
        fields,
    };
    put(TOKENIZER, &block.to_bytes());
    put(INDEX, &words(&[1, 2]));
    put(BYTE_TABLE, &words(&[NO_TOKEN; 256]));
    file
}

#[test]
fn a_good_image_is_read() {
    let file = small();
    let image = Image::parse(&file).unwrap();
    assert_eq!(image.description(), "small");
    assert_eq!([0, 1, 2, 3].map(|id| image.token(id)), [&b""[..], b"a", b"ab", b""]);
    assert_eq!(image.index(), [1, 0, 0, 0, 2, 0, 0, 0]);
    assert_eq!((image.priorities().len(), image.byte_table().len()), (6, 1024));
    assert_eq!(image.script().len(), 0x100);
    assert_eq!(image.architecture(), Architecture::Llama);
    assert!(!image.is_encoder());
}

#[test]
fn every_truncation_is_refused() {
    let file = small();
    for n in 0..file.len() {
        assert!(Image::parse(&file[..n]).is_err(), "{n} bytes");
    }
    let mut longer = file;
    longer.push(0);
    assert!(Image::parse(&longer).is_err());
}

/// File offset, value, and how the message begins.
#[test]
fn every_field_pushed_out_of_range_is_refused_by_name() {
    let at = |addr: u32| (addr - PAYLOAD + HEADER_BYTES) as usize;
    let cases = [
        (0x00, 0x4C4E_5354, "magic at offset 0"),
        (0x04, 2, "version at offset 0x4: 0x2, expected 1; convert"),
        (0x04, 0x1_0001, "flags at offset 0x6: 0x1, expected 0"),
        (0x08, PAYLOAD + 8, "script at offset 0x8: 0x8005008, expected"),
        (0x08, PAYLOAD + PAYLOAD_BYTES, "script at"),
        (0x08, 0, "script at"),
        (0x08, u32::MAX, "script at"),
        (0x0C, PAYLOAD + PAYLOAD_BYTES + 1, "weights at offset 0xC"),
        (0x10, PAYLOAD, "scratch at offset 0x10"),
        (0x14, TOKENS + 4, "tokens at offset 0x14"),
        (0x18, PAYLOAD + PAYLOAD_BYTES - 8, "vocab at offset 0x18"),
        (0x18, VOCAB + 1, "vocab at"),
        (0x1C, 0, "n_vocab at offset 0x1C"),
        (0x1C, u32::MAX, "vocab at"),
        (0x20, 0, "context at offset 0x20"),
        (0x20, 4096, "context at"),
        (0x24, 3, "bos at offset 0x24: 0x3, expected a token below 0x3"),
        (0x28, 0x8000_0000, "eos at offset 0x28"),
        (0x2C, PAYLOAD_BYTES + 256, "payload_bytes at offset 0x2C"),
        (0x2C, u32::MAX, "payload_bytes at"),
        (0x30, 0x7FF_FFFC, "output at offset 0x30"),
        (0x30, RAM_BASE + 0x8000, "output at"),
        (0x34, 0, "output_len at offset 0x34"),
        (0x34, u32::MAX, "output_len at"),
        (0x38, 0x5000, "memory at offset 0x38"),
        (0x38, u32::MAX, "memory at"),
        (0x3C, 3, "architecture at offset 0x3C"),
        (0x64, PAYLOAD + 16, "payload at offset 0x64"),
        (0x78, PAYLOAD + PAYLOAD_BYTES - 32, "tokenizer at offset 0x78"),
        (at(VOCAB), 15, "vocab offset 0 at offset 0x200: 0xF, expected ascending offsets, 0x10..=0x700 here"),
        (at(VOCAB + 4), 18, "vocab offset 2"),
        (at(VOCAB + 12), u32::MAX, "vocab offset 3"),
        (at(TOKENIZER), 7, "tokenizer kind or flags at offset 0x300: 0x7"),
        (at(TOKENIZER + 4), 4, "tokenizer n_vocab at offset 0x304"),
        (at(TOKENIZER + 8), u32::MAX, "tokenizer index at"),
        (at(TOKENIZER + 12), u32::MAX, "tokenizer index at"),
        (at(TOKENIZER + 16), PAYLOAD + PAYLOAD_BYTES - 4, "tokenizer priorities at"),
        (at(TOKENIZER + 20), PAYLOAD + PAYLOAD_BYTES - 1020, "tokenizer byte table at"),
        (at(TOKENIZER + 24), 3, "begin token at"),
        (at(TOKENIZER + 28), 3, "end token at"),
        (at(TOKENIZER + 32), 3, "unknown token at"),
        (at(INDEX + 4), 3, "tokenizer index entry 1 at offset 0x344"),
        (at(BYTE_TABLE + 1020), 3, "byte table entry 255 at"),
    ];
    for (offset, value, wanted) in cases {
        let mut file = small();
        file[offset..offset + 4].copy_from_slice(&value.to_le_bytes());
        let text = Image::parse(&file).expect_err(wanted).to_string();
        assert!(text.starts_with(wanted), "at {offset:#X}: `{text}` does not start with `{wanted}`");
    }
}

proptest! {
    #[test]
    fn spoiled_images_never_panic(spoil in prop::collection::vec((0usize..0x700, any::<u32>()), 1..4)) {
        let mut file = small();
        for (at, value) in spoil {
            file[at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
        if let Ok(image) = Image::parse(&file) {
            let _ = (image.script(), image.description(), image.index(), image.priorities(), image.byte_table());
            for id in 0..image.header().n_vocab.min(100) {
                image.token(id);
            }
        }
    }
}
