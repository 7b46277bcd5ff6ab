//! Tests of the reader and the writer together; the parts have their own beside them.

mod files;
mod hostile;
mod roundtrip;
mod rules;

use super::{ArrayBuf, Gguf, GgufWriter};
use crate::ggml::GgmlType;

/// A file with one of everything: each type of value, arrays of fixed-size elements, of strings and of
/// arrays, and three tensors. The data of the last fill their alignment, so that every byte of the file is
/// needed.
fn one_of_everything() -> GgufWriter {
    let mut writer = GgufWriter::new();
    writer
        .meta("general.architecture", "llama")
        .meta("a.u8", 200u8)
        .meta("a.i8", -100i8)
        .meta("a.u16", 60_000u16)
        .meta("a.i16", -30_000i16)
        .meta("a.u32", 4_000_000_000u32)
        .meta("a.i32", -2_000_000_000i32)
        .meta("a.u64", u64::MAX)
        .meta("a.i64", i64::MIN)
        .meta("a.f32", 1e-5f32)
        .meta("a.f64", 0.1f64)
        .meta("a.bool", true)
        .meta("a.bytes", &b"\xff\x00"[..])
        .meta("a.scores", &ArrayBuf::new([0.5f32, -1.0]))
        .meta("a.types", &ArrayBuf::new([1i32, 3, 6]))
        .meta("a.flags", &ArrayBuf::new([true, false]))
        .meta("a.tokens", &ArrayBuf::new([&b"<unk>"[..], b"", b"\xc3"]))
        .meta("a.nested", &ArrayBuf::new([&ArrayBuf::new([1u8, 2]), &ArrayBuf::new(["x"])]))
        .alignment(64)
        .tensor("one", GgmlType::F32, &[3], [1u8; 12])
        .tensor("two", GgmlType::Q4_0, &[64, 2], [2u8; 72])
        .tensor("three", GgmlType::F16, &[2, 4, 2, 2], [3u8; 64]);
    writer
}

/// The message about a file that has to be refused.
fn refusal(writer: &GgufWriter) -> String {
    refusal_of(writer.to_bytes())
}

fn refusal_of(bytes: Vec<u8>) -> String {
    Gguf::from_bytes(bytes).expect_err("this file breaks a rule").to_string()
}
