//! Small images made by hand, with their scripts in assembler: a decoder whose logits depend on one token only, and an
//! encoder that takes the mean of embedding rows.
#![allow(dead_code, unreachable_pub, reason = "shared by test crates that use a part each")]

use ssnail_isa::image::layout::{HEADER_BYTES, OUTPUT, PAYLOAD, TOKENS};
use ssnail_isa::image::tokenizer::TokenizerFields;
use ssnail_isa::image::{Header, NO_TOKEN, PreSplit, TokenizerBlock, TokenizerKind};
use ssnail_isa::map::MB;
use ssnail_isa::text::assemble;

const VOCAB: u32 = PAYLOAD + 0x800;
const TOKENIZER: u32 = PAYLOAD + 0x900;
const INDEX: u32 = PAYLOAD + 0x940;
const PRIORITIES: u32 = PAYLOAD + 0x9C0;
const BYTE_TABLE: u32 = PAYLOAD + 0xA00;
/// Where the weights stand.
pub const WEIGHTS: u32 = PAYLOAD + 0x1000;
const PAYLOAD_BYTES: u32 = 0x2000;
/// Where scratch memory begins; the decoder's logits stand there.
pub const SCRATCH: u32 = PAYLOAD + PAYLOAD_BYTES;

/// The decoder's tokens: BOS, EOS, text, and the two bytes of an é.
pub const VOCABULARY: [&[u8]; 8] = [b"", b"", b"Once", b" upon", b" a", b" caf", b"\xC3", b"\xA9"];
/// The decoder's BOS.
pub const BOS: u32 = 0;
/// The decoder's EOS.
pub const EOS: u32 = 1;
/// The decoder's context.
pub const CONTEXT: u32 = 12;
/// What follows each token when the most likely one is taken.
pub const FOLLOWS: [u32; 8] = [2, 0, 3, 4, 5, 6, 7, 1];

/// An image of an architecture (0 llama, 2 bert) around a script, over [`VOCABULARY`].
pub fn image(architecture: u32, script: &str, weights: &[f32], output: (u32, u32)) -> Vec<u8> {
    let n_vocab = VOCABULARY.len() as u32;
    let header = Header {
        script: PAYLOAD,
        weights: WEIGHTS,
        scratch: SCRATCH,
        tokens: TOKENS,
        vocab: VOCAB,
        n_vocab,
        context: CONTEXT,
        bos: BOS,
        eos: EOS,
        payload_bytes: PAYLOAD_BYTES,
        output: output.0,
        output_len: output.1,
        memory: MB,
        architecture,
        payload: PAYLOAD,
        tokenizer: TOKENIZER,
    };
    let mut file = header.to_bytes("hand-made").to_vec();
    file.resize((HEADER_BYTES + PAYLOAD_BYTES) as usize, 0);
    let mut put = |addr: u32, bytes: &[u8]| {
        let at = (addr - PAYLOAD + HEADER_BYTES) as usize;
        file[at..at + bytes.len()].copy_from_slice(bytes);
    };
    let words = |w: &[u32]| w.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>();
    put(PAYLOAD, &assemble(script, PAYLOAD).expect("the script assembles").bytes);

    let mut offsets = vec![4 * (n_vocab + 1)];
    offsets.extend(VOCABULARY.iter().scan(offsets[0], |end, t| {
        *end += t.len() as u32;
        Some(*end)
    }));
    put(VOCAB, &[words(&offsets), VOCABULARY.concat()].concat());
    let fields = TokenizerFields {
        n_vocab,
        index: INDEX,
        index_len: 4,
        priorities: PRIORITIES,
        byte_table: BYTE_TABLE,
        begin: BOS,
        end: NO_TOKEN,
        unknown: NO_TOKEN,
    };
    let block = TokenizerBlock {
        kind: TokenizerKind::ByteLevelBpe,
        lowercase: false,
        wide_priorities: false,
        pre_split: PreSplit::Gpt2,
        space_prefix: false,
        fields,
    };
    put(TOKENIZER, &block.to_bytes());
    put(INDEX, &words(&[4, 5, 3, 2]));
    put(BYTE_TABLE, &words(&[NO_TOKEN; 256]));
    put(WEIGHTS, &weights.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>());
    file
}

/// Logits after token `t`: row t of a matrix, 4 for what follows, less for the others.
pub fn logits_after(t: u32) -> Vec<f32> {
    (0..8).map(|n| if n == FOLLOWS[t as usize] { 4.0 } else { -0.25 * ((n + t) % 8) as f32 }).collect()
}

/// The decoder. Its weights: the 8 x 8 unit matrix as embedding, then the classifier.
pub fn decoder() -> Vec<u8> {
    image(0, DECODER, &decoder_weights(), (SCRATCH, 8))
}

/// The decoder with a line of its script replaced.
pub fn spoiled_decoder(line: &str, by: &str) -> Vec<u8> {
    assert!(DECODER.contains(line), "{line}");
    image(0, &DECODER.replacen(line, by, 1), &decoder_weights(), (SCRATCH, 8))
}

fn decoder_weights() -> Vec<f32> {
    let unit = (0..64).map(|i| if i % 9 == 0 { 1.0 } else { 0.0 });
    // Row n of the classifier is column n of the logits.
    let after: Vec<Vec<f32>> = (0..8).map(logits_after).collect();
    unit.chain((0..64).map(|i| after[i % 8][i / 8])).collect()
}

/// The encoder: the mean of rows of 4 elements, row t being (t, t*t, 1, -t).
pub fn encoder() -> Vec<u8> {
    let weights: Vec<f32> = (0..8).flat_map(|t| [t as f32, (t * t) as f32, 1.0, -(t as f32)]).collect();
    image(2, ENCODER, &weights, (OUTPUT, 4))
}

const DECODER: &str = "
        LDR     R1, 0x8000040           ; pos
        LDR     R2, 0x8000044           ; prompt_len
        LDR     R3, 0x8000048           ; n_generate
        LI      R4, 0                   ; generated
        STR     R4, 0x800004C
        LI      R10, 1
        BEQ     R3, R15, stop
loop:   LI      R10, 3
        LI      R5, 12                  ; context
        BLT     R1, R5, run
        BEQ     R15, R15, stop
run:    LEA     A1, R1, 0x8001000, 4
        LDR     R6, [A1]
        LEA     A2, R6, 0x8006000, 32
        SETN    8, 8, 0
        DEQROW  F32, [A2], 0x8007100
        GEMV    F32, 0x8006100, 0x8007100, 0x8007000
        ARGMAX  R7, 0x8007000
        ADDI    R1, R1, 1
        BLT     R1, R2, next
        STR     R7, [A1+4]
        ADDI    R4, R4, 1
        STR     R4, 0x800004C
        SYNC
        LI      R10, 2
        LI      R9, 1                   ; EOS
        BEQ     R7, R9, stop
        LI      R10, 1
        BEQ     R4, R3, stop
        LI      R10, 4
        LDR     R9, 0x8000050           ; stop_request
        BNE     R9, R15, stop
next:   STR     R1, 0x8000040
        BEQ     R15, R15, loop
stop:   STR     R1, 0x8000040
        STR     R10, 0x8000054
        SYNC
        HALT
";

const ENCODER: &str = "
        LDR     R2, 0x8000044           ; prompt_len
        LI      R10, 3
        LI      R5, 13
        BLT     R2, R5, fits
        BEQ     R15, R15, stop
fits:   SETN    4, 0, 0
        LI      R1, 0
loop:   LEA     A1, R1, 0x8001000, 4
        LDR     R6, [A1]
        LEA     A2, R6, 0x8006000, 16
        LEA     A3, R1, 0x8007000, 16
        DEQROW  F32, [A2], [A3]
        ADDI    R1, R1, 1
        BLT     R1, R2, loop
        MEANROWS R2, 0x8007000, 0x8000100
        LI      R10, 1
stop:   STR     R10, 0x8000054
        SYNC
        HALT
";
