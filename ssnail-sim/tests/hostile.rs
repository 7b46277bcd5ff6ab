//! Images with a single fault each: a bad header or table is refused by name before anything runs; a bad script ends
//! in an error with PC and instruction. Nothing panics.

use byteorder::{ByteOrder, LittleEndian};
use ssnail_convert::convert::{Conversion, ConvertOptions};
use ssnail_convert::gguf::Gguf;
use ssnail_convert::synth::SynthModel;
use ssnail_isa::image::layout::{HEADER_BYTES, MAX_CONTEXT, OUTPUT, PAYLOAD, TOKENS};
use ssnail_isa::image::tokenizer::TokenizerFields;
use ssnail_isa::image::{Architecture, Header, Image};
use ssnail_isa::instr::WORD_BYTES;
use ssnail_sim::Float;
use ssnail_sim::session::{Session, SessionError};
use std::ops::ControlFlow;

/// Instructions that a spoiled script may run: several times what the sound one takes.
const LIMIT: u64 = 5_000;

fn image_of(arch: Architecture) -> Vec<u8> {
    let model = SynthModel { layers: 1, context: 8, ..SynthModel::tiny(arch) };
    let gguf = Gguf::from_bytes(model.to_gguf().to_bytes()).unwrap();
    Conversion::plan(&gguf, &ConvertOptions::default()).unwrap().to_bytes().unwrap()
}

/// Loads and runs: three tokens in, and three out where it is a decoder. Gives the message of what goes wrong.
fn run(bytes: &[u8]) -> Result<(), String> {
    let image = Image::parse(bytes).map_err(|e| e.to_string())?;
    let session = || -> Result<(), SessionError> {
        let mut session = Session::load(&image, None, Box::new(Float::new()))?;
        session.set_limit(LIMIT);
        session.push(&[1, 2, 3])?;
        if image.is_encoder() {
            session.embed()?;
        } else {
            session.generate(3, |_| ControlFlow::Continue(()))?;
        }
        session.output().map(|_| ())
    };
    session().map_err(|e| e.to_string())
}

const fn file_offset(addr: u32) -> usize {
    (addr - PAYLOAD + HEADER_BYTES) as usize
}

/// Values that a field of the header cannot hold.
fn bad_values(name: &str, h: &Header) -> Vec<u32> {
    let end = PAYLOAD + h.payload_bytes;
    let address = |bytes: u32| vec![0, PAYLOAD - 4, end - bytes + 4, end, !3];
    match name {
        "script" => [address(16), vec![h.script + 8]].concat(),
        "weights" => vec![0, PAYLOAD - 1, end + 1, u32::MAX],
        "scratch" => vec![0, end - 256, end + 256, u32::MAX],
        "tokens" => vec![0, TOKENS - 4, TOKENS + 4, u32::MAX],
        "vocab" => [address(4 * (h.n_vocab + 1)), vec![h.vocab + 1]].concat(),
        "n_vocab" => vec![0, h.n_vocab + 1, u32::MAX],
        "context" => vec![0, MAX_CONTEXT + 1, u32::MAX],
        "bos" | "eos" => vec![h.n_vocab, 1 << 31, u32::MAX - 1],
        "payload_bytes" => vec![0, h.payload_bytes - 256, h.payload_bytes + 256, u32::MAX],
        "output" => vec![0, OUTPUT - 4, h.output + 1, !3],
        "output_len" => vec![0, h.n_vocab.max(960) + 1, u32::MAX],
        "memory" => vec![0, end - 0x800_0000 - 1, (128 << 20) + 1, u32::MAX],
        "architecture" => vec![3, 1 << 16, u32::MAX],
        "payload" => vec![0, PAYLOAD - 16, PAYLOAD + 16, u32::MAX],
        "tokenizer" => [address(36), vec![h.tokenizer + 1]].concat(),
        other => panic!("no bad values for {other}"),
    }
}

/// Values that a field of the tokenizer block cannot hold, and what the message calls the field.
fn bad_tokenizer_values(name: &str, h: &Header, t: &TokenizerFields) -> (&'static str, Vec<u32>) {
    let end = PAYLOAD + h.payload_bytes;
    let address = |bytes: u32| vec![0, PAYLOAD - 4, end - bytes + 4, !3];
    let token = vec![h.n_vocab, 1 << 31, u32::MAX - 1];
    match name {
        "n_vocab" => ("tokenizer n_vocab", vec![0, h.n_vocab - 1, h.n_vocab + 1, u32::MAX]),
        "index" => ("tokenizer index", [address(4 * t.index_len), vec![t.index + 1]].concat()),
        "index_len" => ("tokenizer index", vec![1 << 24, 1 << 30, u32::MAX]),
        "priorities" => ("tokenizer priorities", [address(2 * h.n_vocab), vec![t.priorities + 1]].concat()),
        "byte_table" => ("byte table", [address(1024), vec![t.byte_table + 2]].concat()),
        "begin" => ("begin token", token),
        "end" => ("end token", token),
        "unknown" => ("unknown token", token),
        other => panic!("no bad values for {other}"),
    }
}

/// File offset, value, place that the message names.
fn faults(good: &[u8]) -> Vec<(usize, u32, String)> {
    let image = Image::parse(good).unwrap();
    let (h, t) = (image.header(), &image.tokenizer().fields);
    let mut faults = vec![
        (0, 0, "magic".to_owned()),
        (0, u32::from_le_bytes(*b"GGUF"), "magic".into()),
        (4, 0, "version".into()),
        (4, 2, "version".into()),
        (4, 0xFFFF_0001, "flags".into()),
        (4, 0x0002_0001, "flags".into()),
    ];
    for field in Header::FIELDS {
        let named = |value| (field.offset, value, format!("{} at offset {:#X}", field.name, field.offset));
        // The number of tokens decides the room for the offsets, so the table may be named instead.
        let place = |value| match field.name {
            "n_vocab" => (field.offset, value, "vocab".to_owned()),
            _ => named(value),
        };
        faults.extend(bad_values(field.name, h).into_iter().map(place));
    }
    let block = file_offset(h.tokenizer);
    for field in TokenizerFields::FIELDS {
        let (place, values) = bad_tokenizer_values(field.name, h, t);
        faults.extend(values.into_iter().map(|value| (block + field.offset, value, place.to_owned())));
    }
    faults.push((block, 3, "tokenizer kind".into()));
    for i in [0, 1, h.n_vocab / 2, h.n_vocab] {
        let at = file_offset(h.vocab) + 4 * i as usize;
        faults.extend([0, u32::MAX].map(|value| (at, value, "vocab offset".to_owned())));
    }
    for i in [0, t.index_len - 1] {
        let at = file_offset(t.index) + 4 * i as usize;
        faults.extend([h.n_vocab, u32::MAX].map(|value| (at, value, format!("index entry {i}"))));
    }
    for i in [0, 255] {
        faults.push((file_offset(t.byte_table) + 4 * i, h.n_vocab, format!("byte table entry {i}")));
    }
    faults
}

#[test]
fn every_field_out_of_range_is_refused_by_name() {
    let mut count = 0;
    for arch in Architecture::ALL {
        let good = image_of(arch);
        run(&good).unwrap();
        for (offset, value, place) in faults(&good) {
            let mut bytes = good.clone();
            LittleEndian::write_u32(&mut bytes[offset..], value);
            let message = run(&bytes).expect_err(&format!("{arch:?}: {value:#X} at {offset:#X}"));
            assert!(
                message.contains(&place),
                "{arch:?}: {value:#X} at {offset:#X}: `{message}` lacks `{place}`"
            );
            count += 1;
        }
    }
    assert!(count >= 200, "only {count} cases");
}

#[test]
fn every_other_length_is_refused() {
    for arch in Architecture::ALL {
        let good = image_of(arch);
        let h = *Image::parse(&good).unwrap().header();
        let objects = [h.script, h.vocab, h.tokenizer, h.weights, h.scratch].map(file_offset);
        let boundaries = objects.into_iter().chain([0, 1, 4, 255, 256, 257]);
        for len in boundaries.flat_map(|at| [at.saturating_sub(1), at]).filter(|&len| len < good.len()) {
            let message = run(&good[..len]).expect_err(&format!("{arch:?}: {len} bytes"));
            let place = if len < HEADER_BYTES as usize { "header" } else { "payload_bytes" };
            assert!(message.contains(place), "{arch:?}: {len} bytes: {message}");
        }
        let longer = [&good[..], &[0]].concat();
        assert!(run(&longer).unwrap_err().contains("payload_bytes"));
    }
}

#[test]
fn a_spoiled_script_ends_in_an_error_or_harmless() {
    for arch in Architecture::ALL {
        let good = image_of(arch);
        let image = Image::parse(&good).unwrap();
        let start = file_offset(image.header().script);
        let mut refused = 0;
        for slot in 0..image.script().len() / WORD_BYTES {
            let at = start + slot * WORD_BYTES;
            let pc = image.header().script + (slot * WORD_BYTES) as u32;
            // Illegal whatever the instruction was.
            for (byte, value) in [(0, 0xEE), (3, 1)] {
                let mut bytes = good.clone();
                bytes[at + byte] = value;
                if let Err(message) = run(&bytes) {
                    let expected = format!("fault 1 at PC {pc:07X}");
                    assert!(message.starts_with(&expected), "{arch:?}: {message}, expected {expected}");
                    refused += 1;
                }
            }
            // Operands that may be anything: registers, addresses, counts, targets of jumps.
            for (word, value) in
                [(4, 0), (4, 0x0800_0000), (8, u32::MAX), (12, 0x0FFF_FFF0), (12, 0x8000_0001)]
            {
                let mut bytes = good.clone();
                LittleEndian::write_u32(&mut bytes[at + word..], value);
                if let Err(message) = run(&bytes) {
                    // A fault, an impossible runtime block, or a script that stops with "context full" at once.
                    let reasons = ["PC ", "in the runtime block", "do not fit the context"];
                    assert!(reasons.iter().any(|r| message.contains(r)), "{arch:?}: {message}");
                }
            }
        }
        // All but the paths that this run does not take.
        assert!(refused >= 50, "{arch:?}: {refused}");
    }
}
