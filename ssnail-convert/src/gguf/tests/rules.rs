//! Each rule of the format, broken alone: the message that the owner of such a file reads.

use insta::assert_snapshot;

use super::*;

/// A file with this tensor alone.
fn tensor(type_number: u32, dims: &[u64], offset: u64, data: usize) -> GgufWriter {
    let mut writer = GgufWriter::new();
    writer.raw_tensor("t", type_number, dims, Some(offset), vec![0; data]);
    writer
}

/// A file with two tensors "a" and "b" of 64 bytes each, whose data are said to be at these offsets.
fn two_tensors(names: [&str; 2], offsets: [u64; 2]) -> GgufWriter {
    let mut writer = GgufWriter::new();
    for (name, offset) in names.into_iter().zip(offsets) {
        writer.raw_tensor(name, GgmlType::F32.number(), &[16], Some(offset), [0u8; 64]);
    }
    writer
}

fn with_alignment(alignment: u32) -> GgufWriter {
    let mut writer = GgufWriter::new();
    writer.meta("general.alignment", alignment);
    writer
}

/// A file with the key "k" whose value starts with these bytes, type included.
fn raw_value(value_type: u32, value: &[u8]) -> Vec<u8> {
    let mut writer = GgufWriter::new();
    writer.meta("k", "");
    let mut bytes = writer.to_bytes();
    bytes.truncate(bytes.len() - 12);
    bytes.extend(value_type.to_le_bytes());
    bytes.extend(value);
    bytes
}

/// `bytes` with `number` at `offset`.
fn patched<const N: usize>(mut bytes: Vec<u8>, offset: usize, number: [u8; N]) -> Vec<u8> {
    bytes[offset..offset + N].copy_from_slice(&number);
    bytes
}

#[test]
fn other_files() {
    assert_snapshot!(refusal_of(vec![]), @"");
    assert_snapshot!(refusal_of(b"GG".to_vec()), @"");
    assert_snapshot!(refusal_of(b"\x7fELF\x02\x01\x01".to_vec()), @"");
    assert_snapshot!(refusal_of(b"SSNL\x01\x00".to_vec()), @"");
    assert_snapshot!(refusal_of(b"tjgg\x01\x00".to_vec()), @"");
    assert_snapshot!(refusal_of(b"PK\x03\x04\x00\x00".to_vec()), @"");
}

#[test]
fn versions() {
    let version = |version| refusal(GgufWriter::new().version(version));
    assert_snapshot!(version(0), @"");
    assert_snapshot!(version(1), @"");
    assert_snapshot!(version(4), @"");
    assert_snapshot!(version(u32::MAX), @"");
    assert_snapshot!(version(3u32.swap_bytes()), @"");
    for good in [2, 3] {
        assert_eq!(Gguf::from_bytes(GgufWriter::new().version(good).to_bytes()).unwrap().version(), good);
    }
}

#[test]
fn split_files() {
    let mut whole = GgufWriter::new();
    whole.meta("split.no", 0u16).meta("split.count", 1u16).meta("split.tensors.count", 0i32);
    assert!(Gguf::from_bytes(whole.to_bytes()).is_ok());

    let mut first = GgufWriter::new();
    first.meta("split.no", 0u16).meta("split.count", 3u16);
    assert_snapshot!(refusal(&first), @"");
    let mut second = GgufWriter::new();
    second.meta("split.no", 1u16).meta("split.count", 3u16);
    assert_snapshot!(refusal(&second), @"");
    assert_snapshot!(refusal(GgufWriter::new().meta("split.no", u64::MAX)), @"");
    assert_snapshot!(refusal(GgufWriter::new().meta("split.count", "three")), @"");
}

#[test]
fn counts_beyond_the_file() {
    let bytes = GgufWriter::new().to_bytes();
    assert_snapshot!(refusal_of(patched(bytes.clone(), 8, u64::MAX.to_le_bytes())), @"");
    assert_snapshot!(refusal_of(patched(bytes.clone(), 8, 1u64.to_le_bytes())), @"");
    assert_snapshot!(refusal_of(patched(bytes.clone(), 16, (1u64 << 63).to_le_bytes())), @"");
    assert_snapshot!(refusal_of(patched(bytes, 16, 1u64.to_le_bytes())), @"");
}

#[test]
fn truncated_header() {
    let bytes = one_of_everything().to_bytes();
    assert_snapshot!(refusal_of(bytes[..6].to_vec()), @"");
    assert_snapshot!(refusal_of(bytes[..12].to_vec()), @"");
    assert_snapshot!(refusal_of(bytes[..23].to_vec()), @"");
}

#[test]
fn keys() {
    assert_snapshot!(refusal(GgufWriter::new().meta("", 1u8)), @"");
    assert_snapshot!(refusal(GgufWriter::new().meta(b"a\xff\x1b", 1u8)), @"");
    assert_snapshot!(refusal(GgufWriter::new().meta("a", 1u8).meta("b", 2u8).meta("a", 3u8)), @"");
    let key_length =
        patched(GgufWriter::new().meta("key", 1u64).to_bytes(), 24, (u64::MAX - 3).to_le_bytes());
    assert_snapshot!(refusal_of(key_length), @"");
}

#[test]
fn values() {
    assert_snapshot!(refusal_of(raw_value(13, &[0; 8])), @"");
    assert_snapshot!(refusal_of(raw_value(4, &[0; 3])), @"");
    assert_snapshot!(refusal_of(raw_value(7, &[2])), @"");
    assert_snapshot!(refusal_of(raw_value(8, &[0xff; 8])), @"");
    assert_snapshot!(refusal_of(raw_value(8, &[5, 0, 0, 0, 0, 0, 0, 0, b'a'])), @"");
}

#[test]
fn arrays() {
    let array = |element_type: u32, len: u64, elements: &[u8]| {
        let mut value = element_type.to_le_bytes().to_vec();
        value.extend(len.to_le_bytes());
        value.extend(elements);
        raw_value(9, &value)
    };
    assert_snapshot!(refusal_of(array(13, 0, &[])), @"");
    assert_snapshot!(refusal_of(array(6, 3, &[0; 8])), @"");
    // Lengths whose product with the size of an element wraps to something small.
    assert_snapshot!(refusal_of(array(10, 1 << 61, &[0; 8])), @"");
    assert_snapshot!(refusal_of(array(6, (1 << 62) + 1, &[0; 8])), @"");
    // Billions of strings, said to be empty, take 8 bytes each.
    assert_snapshot!(refusal_of(array(8, 4_000_000_000, &[0; 80])), @"");
    assert_snapshot!(refusal_of(array(8, 2, &[0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0])), @"");
    assert_snapshot!(refusal_of(array(7, 3, &[0, 1, 2])), @"");
    assert_snapshot!(refusal_of(array(9, u64::MAX, &[0; 12])), @"");
}

#[test]
fn nested_arrays() {
    let mut array = ArrayBuf::new([1u8]);
    for _ in 1..4 {
        array = ArrayBuf::new([&array]);
    }
    assert!(Gguf::from_bytes(GgufWriter::new().meta("k", &array).to_bytes()).is_ok());
    array = ArrayBuf::new([&array]);
    assert_snapshot!(refusal(GgufWriter::new().meta("k", &array)), @"");
    for _ in 0..100_000 / 12 {
        array = ArrayBuf::new([&array]);
    }
    assert_snapshot!(refusal(GgufWriter::new().meta("k", &array)), @"");
}

#[test]
fn alignments() {
    for good in [8, 16, 32, 4096] {
        let mut writer = GgufWriter::new();
        writer.alignment(good).tensor("t", GgmlType::F32, &[1], [0u8; 4]);
        let gguf = Gguf::from_bytes(writer.to_bytes()).unwrap();
        assert_eq!(gguf.alignment(), u64::from(good));
        assert_eq!(gguf.tensors()[0].offset % u64::from(good), 0);
    }
    assert_eq!(Gguf::from_bytes(GgufWriter::new().to_bytes()).unwrap().alignment(), 32);
    assert_snapshot!(refusal(&with_alignment(0)), @"");
    assert_snapshot!(refusal(&with_alignment(33)), @"");
    assert_snapshot!(refusal(&with_alignment(96)), @"");
    assert_snapshot!(refusal(&with_alignment(4)), @"");
    assert_snapshot!(refusal(&with_alignment(1 << 31)), @"");
    assert_snapshot!(refusal(GgufWriter::new().meta("general.alignment", -32i32)), @"");
    assert_snapshot!(refusal(GgufWriter::new().meta("general.alignment", 32.0f32)), @"");
}

#[test]
fn tensor_names() {
    let named = |name: &[u8]| {
        let mut writer = GgufWriter::new();
        writer.tensor(name, GgmlType::F32, &[1], [0u8; 4]);
        writer
    };
    assert_snapshot!(refusal(&named(b"")), @"");
    assert_snapshot!(refusal(&named(b"blk.0\xfe")), @"");
    assert_snapshot!(refusal(&two_tensors(["t", "t"], [0, 64])), @"");
    assert_snapshot!(refusal(&two_tensors(["t", "t"], [0, 0])), @"");
}

#[test]
fn shapes() {
    assert_snapshot!(refusal(&tensor(0, &[], 0, 4)), @"");
    assert_snapshot!(refusal(&tensor(0, &[1, 1, 1, 1, 1], 0, 4)), @"");
    assert_snapshot!(refusal(&tensor(0, &[0], 0, 4)), @"");
    assert_snapshot!(refusal(&tensor(0, &[4, 1, 0], 0, 4)), @"");
    assert_snapshot!(refusal(&tensor(0, &[u64::MAX], 0, 4)), @"");
    assert_snapshot!(refusal(&tensor(0, &[1 << 32, 1 << 32], 0, 4)), @"");
    // Elements can be counted, bytes cannot.
    assert_snapshot!(refusal(&tensor(28, &[1 << 30, 1 << 32], 0, 4)), @"");
    assert_snapshot!(refusal(&tensor(0, &[i64::MAX as u64], 0, 4)), @"");
}

#[test]
fn tensor_types() {
    assert_snapshot!(refusal(&tensor(43, &[32], 0, 32)), @"");
    assert_snapshot!(refusal(&tensor(u32::MAX, &[32], 0, 32)), @"");
    assert_snapshot!(refusal(&tensor(4, &[32], 0, 32)), @"");
    assert_snapshot!(refusal(&tensor(40, &[64], 0, 36)), @"");
    assert_snapshot!(refusal(&tensor(2, &[48, 2], 0, 64)), @"");
    assert_snapshot!(refusal(&tensor(14, &[128], 0, 210)), @"");
}

#[test]
fn data_places() {
    assert_snapshot!(refusal(&tensor(0, &[1], 16, 64)), @"");
    assert_snapshot!(refusal(&tensor(0, &[17], 0, 64)), @"");
    assert_snapshot!(refusal(&tensor(0, &[16], 32, 64)), @"");
    assert_snapshot!(refusal(&tensor(0, &[16], !31, 64)), @"");
    assert_snapshot!(refusal(&tensor(0, &[1 << 40], 0, 64)), @"");
    assert_snapshot!(refusal(&two_tensors(["a", "b"], [0, 32])), @"");
    assert_snapshot!(refusal(&two_tensors(["a", "b"], [64, 32])), @"");
    assert_snapshot!(refusal(&two_tensors(["a", "b"], [0, 0])), @"");
    // Neither order nor gaps matter.
    assert!(Gguf::from_bytes(two_tensors(["a", "b"], [64, 0]).to_bytes()).is_ok());
    let mut gap = two_tensors(["a", "b"], [0, 96]);
    gap.raw_tensor("c", 0, &[8], Some(64), [0u8; 32]);
    assert!(Gguf::from_bytes(gap.to_bytes()).is_ok());
}

#[test]
fn getters_name_what_is_wrong() {
    let gguf = Gguf::from_bytes(one_of_everything().to_bytes()).unwrap();
    assert_eq!(gguf.get::<u32>("b").unwrap(), None);
    assert_snapshot!(gguf.require::<u32>("llama.block_count").unwrap_err(), @"");
    assert_snapshot!(gguf.require::<u32>("general.architecture").unwrap_err(), @"");
    assert_snapshot!(gguf.get::<u32>("a.i32").unwrap_err(), @"");
    assert_snapshot!(gguf.get::<f32>("a.u8").unwrap_err(), @"");
    assert_snapshot!(gguf.get::<&str>("a.bytes").unwrap_err(), @"");
    assert_snapshot!(gguf.get::<super::super::Strings>("a.scores").unwrap_err(), @"");
    assert_snapshot!(gguf.get::<Vec<u8>>("a.tokens").unwrap_err(), @"");
    assert_snapshot!(gguf.get::<bool>("a.u8").unwrap_err(), @"");
    assert_snapshot!(gguf.require_tensor("token_embd.weight").unwrap_err(), @"");
}
