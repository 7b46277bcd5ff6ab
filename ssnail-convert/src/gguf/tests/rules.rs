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
    assert_snapshot!(refusal_of(vec![]), @"the file is empty");
    assert_snapshot!(refusal_of(b"GG".to_vec()), @r#"not a GGUF file: it starts with "GG", not "GGUF" (at byte 0)"#);
    assert_snapshot!(refusal_of(b"\x7fELF\x02\x01\x01".to_vec()), @r#"not a GGUF file: it starts with "\u{7f}ELF", not "GGUF" (at byte 0)"#);
    assert_snapshot!(refusal_of(b"SSNL\x01\x00".to_vec()), @r#"not a GGUF file: it starts with "SSNL", not "GGUF"; this is a SSNAIL image, converted already (at byte 0)"#);
    assert_snapshot!(refusal_of(b"tjgg\x01\x00".to_vec()), @r#"not a GGUF file: it starts with "tjgg", not "GGUF"; this is a GGML file from before GGUF: convert the model anew (at byte 0)"#);
    assert_snapshot!(refusal_of(b"PK\x03\x04\x00\x00".to_vec()), @r#"not a GGUF file: it starts with "PK\u{3}\u{4}", not "GGUF"; this looks like a PyTorch checkpoint: llama.cpp's convert_hf_to_gguf.py makes a GGUF (at byte 0)"#);
}

#[test]
fn versions() {
    let version = |version| refusal(GgufWriter::new().version(version));
    assert_snapshot!(version(0), @"GGUF version 0 cannot be read, versions 2 and 3 can; convert the model anew with a current llama.cpp (at byte 4)");
    assert_snapshot!(version(1), @"GGUF version 1 cannot be read, versions 2 and 3 can; convert the model anew with a current llama.cpp (at byte 4)");
    assert_snapshot!(version(4), @"GGUF version 4 cannot be read, versions 2 and 3 can (at byte 4)");
    assert_snapshot!(version(u32::MAX), @"GGUF version 4294967295 cannot be read, versions 2 and 3 can (at byte 4)");
    assert_snapshot!(version(3u32.swap_bytes()), @"a big-endian GGUF file; only little-endian ones can be read (gguf-convert-endian FILE little, of Python's gguf package, converts it) (at byte 4)");
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
    assert_snapshot!(refusal(&first), @"part 1 of a model split into 3 files; merge them first: llama-gguf-split --merge FIRST-PART.gguf MERGED.gguf (at byte 69)");
    let mut second = GgufWriter::new();
    second.meta("split.no", 1u16).meta("split.count", 3u16);
    assert_snapshot!(refusal(&second), @"part 2 of a model split into 3 files; merge them first: llama-gguf-split --merge FIRST-PART.gguf MERGED.gguf (at byte 44)");
    assert_snapshot!(refusal(GgufWriter::new().meta("split.no", u64::MAX)), @"part 18446744073709551615 of a model split into 18446744073709551615 files; merge them first: llama-gguf-split --merge FIRST-PART.gguf MERGED.gguf (at byte 44)");
    assert_snapshot!(refusal(GgufWriter::new().meta("split.count", "three")), @r#"metadata "split.count": wanted an integer that fits u64, found string "three" (at byte 47)"#);
}

#[test]
fn counts_beyond_the_file() {
    let bytes = GgufWriter::new().to_bytes();
    assert_snapshot!(refusal_of(patched(bytes.clone(), 8, u64::MAX.to_le_bytes())), @"tensors: 18446744073709551615 of them take 18446744073709551615 bytes or more, 0 are left in the file; is the file complete? (at byte 8)");
    assert_snapshot!(refusal_of(patched(bytes.clone(), 8, 1u64.to_le_bytes())), @"tensors: 1 of them take 33 bytes or more, 0 are left in the file; is the file complete? (at byte 8)");
    assert_snapshot!(refusal_of(patched(bytes.clone(), 16, (1u64 << 63).to_le_bytes())), @"metadata: 9223372036854775808 of them take 18446744073709551615 bytes or more, 0 are left in the file; is the file complete? (at byte 16)");
    assert_snapshot!(refusal_of(patched(bytes, 16, 1u64.to_le_bytes())), @"metadata: 1 of them take 14 bytes or more, 0 are left in the file; is the file complete? (at byte 16)");
}

#[test]
fn truncated_header() {
    let bytes = one_of_everything().to_bytes();
    assert_snapshot!(refusal_of(bytes[..6].to_vec()), @"version: 4 bytes needed, 2 are left in the file; is the file complete? (at byte 4)");
    assert_snapshot!(refusal_of(bytes[..12].to_vec()), @"tensor count: 8 bytes needed, 4 are left in the file; is the file complete? (at byte 8)");
    assert_snapshot!(refusal_of(bytes[..23].to_vec()), @"metadata count: 8 bytes needed, 7 are left in the file; is the file complete? (at byte 16)");
}

#[test]
fn keys() {
    assert_snapshot!(refusal(GgufWriter::new().meta("", 1u64)), @"key of metadata entry 0 is empty (at byte 24)");
    assert_snapshot!(refusal(GgufWriter::new().meta(b"a\xff\x1b", 1u8)), @r#"key of metadata entry 0 is not UTF-8: "a\xff\u{1b}" (at byte 24)"#);
    assert_snapshot!(refusal(GgufWriter::new().meta("a", 1u8).meta("b", 2u8).meta("a", 3u8)), @r#"metadata key "a" occurs twice, first at byte 24 (at byte 52)"#);
    let key_length =
        patched(GgufWriter::new().meta("key", 1u64).to_bytes(), 24, (u64::MAX - 3).to_le_bytes());
    assert_snapshot!(refusal_of(key_length), @"key of metadata entry 0: 18446744073709551612 bytes needed, 15 are left in the file; is the file complete? (at byte 24)");
}

#[test]
fn values() {
    assert_snapshot!(refusal_of(raw_value(13, &[0; 8])), @r#"metadata "k": value type 13 is unknown (0 to 12 are known) (at byte 33)"#);
    assert_snapshot!(refusal_of(raw_value(4, &[0; 3])), @r#"metadata "k": 4 bytes needed, 3 are left in the file; is the file complete? (at byte 37)"#);
    assert_snapshot!(refusal_of(raw_value(7, &[2])), @r#"metadata "k": a bool must be 0 or 1, not 2 (at byte 37)"#);
    assert_snapshot!(refusal_of(raw_value(8, &[0xff; 8])), @r#"metadata "k": 18446744073709551615 bytes needed, 0 are left in the file; is the file complete? (at byte 37)"#);
    assert_snapshot!(refusal_of(raw_value(8, &[5, 0, 0, 0, 0, 0, 0, 0, b'a'])), @r#"metadata "k": 5 bytes needed, 1 are left in the file; is the file complete? (at byte 37)"#);
}

#[test]
fn arrays() {
    let array = |element_type: u32, len: u64, elements: &[u8]| {
        let mut value = element_type.to_le_bytes().to_vec();
        value.extend(len.to_le_bytes());
        value.extend(elements);
        raw_value(9, &value)
    };
    assert_snapshot!(refusal_of(array(13, 0, &[])), @r#"elements of metadata "k": value type 13 is unknown (0 to 12 are known) (at byte 37)"#);
    assert_snapshot!(refusal_of(array(6, 3, &[0; 8])), @r#"elements of metadata "k": 3 of them take 12 bytes or more, 8 are left in the file; is the file complete? (at byte 41)"#);
    // Lengths whose product with the size of an element wraps to something small.
    assert_snapshot!(refusal_of(array(10, 1 << 61, &[0; 8])), @r#"elements of metadata "k": 2305843009213693952 of them take 18446744073709551615 bytes or more, 8 are left in the file; is the file complete? (at byte 41)"#);
    assert_snapshot!(refusal_of(array(6, (1 << 62) + 1, &[0; 8])), @r#"elements of metadata "k": 4611686018427387905 of them take 18446744073709551615 bytes or more, 8 are left in the file; is the file complete? (at byte 41)"#);
    // Billions of strings, said to be empty, take 8 bytes each.
    assert_snapshot!(refusal_of(array(8, 4_000_000_000, &[0; 80])), @r#"elements of metadata "k": 4000000000 of them take 32000000000 bytes or more, 80 are left in the file; is the file complete? (at byte 41)"#);
    assert_snapshot!(refusal_of(array(8, 2, &[0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0])), @r#"metadata "k": 9 bytes needed, 0 are left in the file; is the file complete? (at byte 57)"#);
    assert_snapshot!(refusal_of(array(7, 3, &[0, 1, 2])), @r#"metadata "k": a bool must be 0 or 1, not 2 (at byte 51)"#);
    assert_snapshot!(refusal_of(array(9, u64::MAX, &[0; 12])), @r#"elements of metadata "k": 18446744073709551615 of them take 18446744073709551615 bytes or more, 12 are left in the file; is the file complete? (at byte 41)"#);
}

#[test]
fn nested_arrays() {
    let mut array = ArrayBuf::new([1u8]);
    for _ in 1..4 {
        array = ArrayBuf::new([&array]);
    }
    assert!(Gguf::from_bytes(GgufWriter::new().meta("k", &array).to_bytes()).is_ok());
    array = ArrayBuf::new([&array]);
    assert_snapshot!(refusal(GgufWriter::new().meta("k", &array)), @r#"metadata "k": arrays nested more than 4 deep (at byte 85)"#);
    for _ in 0..100_000 / 12 {
        array = ArrayBuf::new([&array]);
    }
    assert_snapshot!(refusal(GgufWriter::new().meta("k", &array)), @r#"metadata "k": arrays nested more than 4 deep (at byte 85)"#);
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
    assert_snapshot!(refusal(&with_alignment(0)), @"general.alignment is 0; it must be a power of two from 8 to 2097152 (at byte 53)");
    assert_snapshot!(refusal(&with_alignment(33)), @"general.alignment is 33; it must be a power of two from 8 to 2097152 (at byte 53)");
    assert_snapshot!(refusal(&with_alignment(96)), @"general.alignment is 96; it must be a power of two from 8 to 2097152 (at byte 53)");
    assert_snapshot!(refusal(&with_alignment(4)), @"general.alignment is 4; it must be a power of two from 8 to 2097152 (at byte 53)");
    assert_snapshot!(refusal(&with_alignment(1 << 31)), @"general.alignment is 2147483648; it must be a power of two from 8 to 2097152 (at byte 53)");
    assert_snapshot!(refusal(GgufWriter::new().meta("general.alignment", -32i32)), @r#"metadata "general.alignment": wanted an integer that fits u64, found i32 -32 (at byte 53)"#);
    assert_snapshot!(refusal(GgufWriter::new().meta("general.alignment", 32.0f32)), @r#"metadata "general.alignment": wanted an integer that fits u64, found f32 32.0 (at byte 53)"#);
}

#[test]
fn tensor_names() {
    let named = |name: &[u8]| {
        let mut writer = GgufWriter::new();
        writer.tensor(name, GgmlType::F32, &[1], [0u8; 4]);
        writer
    };
    assert_snapshot!(refusal(&named(b"")), @"name of tensor 0 is empty (at byte 24)");
    assert_snapshot!(refusal(&named(b"blk.0\xfe")), @r#"name of tensor 0 is not UTF-8: "blk.0\xfe" (at byte 24)"#);
    assert_snapshot!(refusal(&two_tensors(["t", "t"], [0, 64])), @r#"tensor "t" occurs twice, first at byte 24 (at byte 57)"#);
    assert_snapshot!(refusal(&two_tensors(["t", "t"], [0, 0])), @r#"tensor "t" occurs twice, first at byte 24 (at byte 57)"#);
}

#[test]
fn shapes() {
    assert_snapshot!(refusal(&tensor(0, &[], 0, 4)), @r#"tensor "t": 0 dimensions, 1 to 4 are possible (at byte 33)"#);
    assert_snapshot!(refusal(&tensor(0, &[1, 1, 1, 1, 1], 0, 4)), @r#"tensor "t": 5 dimensions, 1 to 4 are possible (at byte 33)"#);
    assert_snapshot!(refusal(&tensor(0, &[0], 0, 4)), @r#"tensor "t": dimension 0 is 0 (at byte 37)"#);
    assert_snapshot!(refusal(&tensor(0, &[4, 1, 0], 0, 4)), @r#"tensor "t": dimension 2 is 0 (at byte 53)"#);
    assert_snapshot!(refusal(&tensor(0, &[u64::MAX], 0, 4)), @r#"tensor "t": 18446744073709551615 is too large to count (at byte 37)"#);
    assert_snapshot!(refusal(&tensor(0, &[1 << 32, 1 << 32], 0, 4)), @r#"tensor "t": 4294967296 x 4294967296 is too large to count (at byte 37)"#);
    // Elements can be counted, bytes cannot.
    assert_snapshot!(refusal(&tensor(28, &[1 << 30, 1 << 32], 0, 4)), @r#"tensor "t": 1073741824 x 4294967296 is too large to count (at byte 37)"#);
    assert_snapshot!(refusal(&tensor(0, &[i64::MAX as u64], 0, 4)), @r#"tensor "t": 9223372036854775807 is too large to count (at byte 37)"#);
}

#[test]
fn tensor_types() {
    assert_snapshot!(refusal(&tensor(43, &[32], 0, 32)), @r#"tensor "t": type 43 is unknown (at byte 45)"#);
    assert_snapshot!(refusal(&tensor(u32::MAX, &[32], 0, 32)), @r#"tensor "t": type 4294967295 is unknown (at byte 45)"#);
    assert_snapshot!(refusal(&tensor(4, &[32], 0, 32)), @r#"tensor "t": type 4 (Q4_2, retired by ggml) is not supported; requantise the model, for example to Q8_0 (at byte 45)"#);
    assert_snapshot!(refusal(&tensor(40, &[64], 0, 36)), @r#"tensor "t": type 40 (NVFP4) is not supported; requantise the model, for example to Q8_0 (at byte 45)"#);
    assert_snapshot!(refusal(&tensor(2, &[48, 2], 0, 64)), @r#"tensor "t": rows of 48 elements, but Q4_0 comes in blocks of 32 (at byte 37)"#);
    assert_snapshot!(refusal(&tensor(14, &[128], 0, 210)), @r#"tensor "t": rows of 128 elements, but Q6_K comes in blocks of 256 (at byte 37)"#);
}

#[test]
fn data_places() {
    assert_snapshot!(refusal(&tensor(0, &[1], 16, 64)), @r#"tensor "t": data offset 16 is no multiple of the alignment, 32 (at byte 49)"#);
    assert_snapshot!(refusal(&tensor(0, &[17], 0, 64)), @r#"tensor "t": 68 bytes of data from byte 64 on, 64 are there; is the file complete? (at byte 24)"#);
    assert_snapshot!(refusal(&tensor(0, &[16], 32, 64)), @r#"tensor "t": 64 bytes of data from byte 96 on, 32 are there; is the file complete? (at byte 24)"#);
    assert_snapshot!(refusal(&tensor(0, &[16], !31, 64)), @r#"tensor "t": 64 bytes of data from byte 18446744073709551615 on, 0 are there; is the file complete? (at byte 24)"#);
    assert_snapshot!(refusal(&tensor(0, &[1 << 40], 0, 64)), @r#"tensor "t": 4398046511104 bytes of data from byte 64 on, 64 are there; is the file complete? (at byte 24)"#);
    assert_snapshot!(refusal(&two_tensors(["a", "b"], [0, 32])), @r#"tensor "b": its data at byte 128 overlaps that of tensor "a", which ends at byte 160 (at byte 57)"#);
    assert_snapshot!(refusal(&two_tensors(["a", "b"], [64, 32])), @r#"tensor "a": its data at byte 160 overlaps that of tensor "b", which ends at byte 192 (at byte 24)"#);
    assert_snapshot!(refusal(&two_tensors(["a", "b"], [0, 0])), @r#"tensor "b": its data at byte 96 overlaps that of tensor "a", which ends at byte 160 (at byte 57)"#);
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
    assert_snapshot!(gguf.require::<u32>("llama.block_count").unwrap_err(), @r#"metadata key "llama.block_count" is missing"#);
    assert_snapshot!(gguf.require::<u32>("general.architecture").unwrap_err(), @r#"metadata "general.architecture": wanted an integer that fits u32, found string "llama" (at byte 56)"#);
    assert_snapshot!(gguf.get::<u32>("a.i32").unwrap_err(), @r#"metadata "a.i32": wanted an integer that fits u32, found i32 -2000000000 (at byte 179)"#);
    assert_snapshot!(gguf.get::<f32>("a.u8").unwrap_err(), @r#"metadata "a.u8": wanted a float that fits f32, found u8 200 (at byte 85)"#);
    assert_snapshot!(gguf.get::<&str>("a.bytes").unwrap_err(), @r#"metadata "a.bytes": wanted a UTF-8 string, found string "\xff\0" (at byte 317)"#);
    assert_snapshot!(gguf.get::<super::super::Strings>("a.scores").unwrap_err(), @r#"metadata "a.scores": wanted an array of strings, found array [2 x f32] (at byte 347)"#);
    assert_snapshot!(gguf.get::<Vec<u8>>("a.tokens").unwrap_err(), @r#"metadata "a.tokens": wanted an array of integers that fit u8, found array [3 x string] (at byte 463)"#);
    assert_snapshot!(gguf.get::<bool>("a.u8").unwrap_err(), @r#"metadata "a.u8": wanted a bool, found u8 200 (at byte 85)"#);
    assert_snapshot!(gguf.require_tensor("token_embd.weight").unwrap_err(), @r#"tensor "token_embd.weight" is missing"#);
}
