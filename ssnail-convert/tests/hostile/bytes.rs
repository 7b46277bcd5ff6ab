//! Faults in the bytes: truncations at every boundary of the header, and every length, count, dimension, type and offset
//! pushed out of range.

use super::draft::model;
use super::{Case, check, convert};
use ssnail_convert::gguf::FieldMark;
use ssnail_isa::image::Architecture;

/// Marks of strings inside of one array that are spoiled; all others are like them.
const STRINGS_OF_AN_ARRAY: usize = 2;

/// A field of the header, with the key or tensor that it belongs to.
struct Place {
    mark: FieldMark,
    owner: String,
}

fn places(bytes: &[u8], marks: &[FieldMark]) -> Vec<Place> {
    let (mut owner, mut strings) = (String::new(), 0);
    let mut places = Vec::new();
    for &mark in marks {
        strings = if mark.what == "string length" { strings + 1 } else { 0 };
        if matches!(mark.what, "key length" | "name length") {
            let len = u64::from_le_bytes(bytes[mark.offset..][..8].try_into().unwrap()) as usize;
            owner = String::from_utf8(bytes[mark.offset + 8..][..len].to_vec()).unwrap();
        }
        if strings <= STRINGS_OF_AN_ARRAY {
            places.push(Place { mark, owner: owner.clone() });
        }
    }
    places
}

impl Place {
    /// What a message about this field says; the name of an owner is not known before it is read.
    fn name(&self) -> &str {
        match self.mark.what {
            "version" => "version",
            "tensor count" | "name length" => "tensor",
            "metadata count" | "key length" => "metadata",
            _ => &self.owner,
        }
    }

    /// Numbers that this field can never hold.
    fn out_of_range(&self) -> &'static [u64] {
        match self.mark.what {
            "version" => &[0, 1, 4, u32::MAX as u64],
            "value type" | "element type" => &[13, u32::MAX as u64],
            "tensor type" => &[4, 999, u32::MAX as u64],
            "dimension count" => &[0, 5, u32::MAX as u64],
            "dimension" => &[0, 1 << 40, 1 << 62, u64::MAX],
            "data offset" => &[1, 1 << 40, !31],
            "key length" | "name length" => &[0, 1 << 40, u64::MAX],
            _ => &[1 << 40, 1 << 62, u64::MAX],
        }
    }
}

#[test]
fn every_field_out_of_range_is_refused_by_name() {
    let mut cases = Vec::new();
    for arch in Architecture::ALL {
        let (bytes, marks) = model(arch).to_gguf().to_marked_bytes();
        for place in places(&bytes, &marks) {
            for number in place.out_of_range() {
                let mut bytes = bytes.clone();
                let mark = place.mark;
                bytes[mark.offset..][..mark.width].copy_from_slice(&number.to_le_bytes()[..mark.width]);
                let what = format!("{arch:?}: {} of {} = {number:#x}", mark.what, place.owner);
                cases.push(Case { what, bytes, place: place.name().to_owned() });
            }
        }
    }
    check(cases, 200);
}

#[test]
fn every_truncation_of_the_header_is_refused_by_name() {
    let mut cases = Vec::new();
    for arch in Architecture::ALL {
        let (bytes, marks) = model(arch).to_gguf().to_marked_bytes();
        for place in places(&bytes, &marks) {
            for len in [place.mark.offset, place.mark.offset + place.mark.width - 1] {
                let what = format!("{arch:?}: cut at {len}, {} of {}", place.mark.what, place.owner);
                let bytes = bytes[..len].to_vec();
                // Where even the least that the counts announce cannot be there, the count is what is wrong.
                let message = convert(bytes.clone(), "none".as_ref()).expect_err(&what);
                let place = if message.contains(" of them take ") { "in the file" } else { place.name() };
                cases.push(Case { what, bytes, place: place.to_owned() });
            }
        }
    }
    check(cases, 200);
}

#[test]
fn truncated_weights_are_refused_with_the_tensor() {
    let mut cases = Vec::new();
    for arch in Architecture::ALL {
        let bytes = model(arch).to_gguf().to_bytes();
        let gguf = ssnail_convert::gguf::Gguf::from_bytes(bytes.clone()).unwrap();
        for tensor in gguf.tensors() {
            for end in [tensor.offset, tensor.offset + tensor.n_bytes - 1] {
                let what = format!("{arch:?}: cut at {end}, in {}", tensor.name);
                cases.push(Case { what, bytes: bytes[..end as usize].to_vec(), place: tensor.name.clone() });
            }
        }
    }
    check(cases, 100);
}

#[test]
fn what_is_no_gguf_file_is_refused() {
    let good = model(Architecture::Llama).to_gguf().to_bytes();
    let with_magic = |magic: &[u8; 4]| [&magic[..], &good[4..]].concat();
    let cases = [
        ("nothing", vec![], "empty"),
        ("one byte", vec![b'G'], "not a GGUF file"),
        ("another magic", with_magic(b"GGUf"), "not a GGUF file"),
        ("an image", with_magic(b"SSNL"), "SSNAIL image"),
        ("a checkpoint", with_magic(b"PK\x03\x04"), "PyTorch"),
        ("an old file", with_magic(b"lmgg"), "before GGUF"),
        ("big-endian", [b"GGUF\0\0\0\x03", &good[8..]].concat(), "big-endian"),
    ];
    check(cases.map(|(what, bytes, place)| Case { what: what.into(), bytes, place: place.into() }).into(), 7);
}
