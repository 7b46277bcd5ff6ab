//! What can be wrong with a GGUF file, in words for the person who has the file.

use std::fmt;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::cursor::ARRAY_DEPTH;
use super::reader::{MAX_ALIGNMENT, MIN_ALIGNMENT};
use crate::ggml::GgmlType;
use crate::ggml::types::unsupported_name;

/// A fault of a GGUF file and its place: which file, at which byte.
#[derive(Debug, Error)]
#[error("{}{fault}{}", Before(.file.as_deref()), After(*.offset))]
pub struct GgufError {
    /// The file, when one was opened.
    pub file: Option<PathBuf>,
    /// Absolute offset in the file of the field at fault.
    pub offset: Option<u64>,
    /// What is wrong.
    pub fault: GgufFault,
}

impl GgufError {
    pub(super) fn in_file(mut self, file: Option<&Path>) -> Self {
        self.file = file.map(Path::to_path_buf);
        self
    }
}

impl From<GgufFault> for GgufError {
    fn from(fault: GgufFault) -> Self {
        Self { file: None, offset: None, fault }
    }
}

/// What is wrong with a GGUF file. `need` and `have` are bytes.
#[derive(Debug, Error)]
#[allow(missing_docs)] // the messages say what the fields are
pub enum GgufFault {
    #[error("cannot be read: {0}")]
    Read(std::io::Error),
    #[error("cannot be written: {0}")]
    Write(std::io::Error),
    #[error("not a regular file")]
    NotAFile,
    #[error("the file is empty")]
    Empty,
    #[error("not a GGUF file: it starts with {}, not \"GGUF\"{}", Quoted(.start), magic_hint(.start))]
    Magic { start: Vec<u8> },
    #[error(
        "a big-endian GGUF file; only little-endian ones can be read (gguf-convert-endian FILE little, of \
         Python's gguf package, converts it)"
    )]
    BigEndian,
    #[error("GGUF version {version} cannot be read, versions 2 and 3 can{}", version_hint(*.version))]
    Version { version: u32 },
    #[error(
        "part {} of a model split into {count} files; merge them first: \
         llama-gguf-split --merge FIRST-PART.gguf MERGED.gguf", .no.saturating_add(1)
    )]
    Split { no: u64, count: u64 },
    #[error("{field}: {need} bytes needed, {have} are left in the file{INCOMPLETE}")]
    Truncated { field: String, need: u64, have: u64 },
    #[error("{field}: {count} of them take {need} bytes or more, {have} are left in the file{INCOMPLETE}")]
    Count { field: String, count: u64, need: u64, have: u64 },
    #[error("{field} is empty")]
    EmptyName { field: String },
    #[error("{field} is not UTF-8: {}", Quoted(.bytes))]
    NameNotUtf8 { field: String, bytes: Vec<u8> },
    #[error("metadata key {} occurs twice, first at byte {first}", Quoted(.key.as_bytes()))]
    DuplicateKey { key: String, first: u64 },
    #[error("tensor {} occurs twice, first at byte {first}", Quoted(.tensor.as_bytes()))]
    DuplicateTensor { tensor: String, first: u64 },
    #[error("{field}: value type {number} is unknown (0 to 12 are known)")]
    ValueType { field: String, number: u32 },
    #[error("{field}: arrays nested more than {ARRAY_DEPTH} deep")]
    ArrayDepth { field: String },
    #[error("{field}: a bool must be 0 or 1, not {byte}")]
    Bool { field: String, byte: u8 },
    #[error(
        "general.alignment is {alignment}; it must be a power of two from {MIN_ALIGNMENT} to {MAX_ALIGNMENT}"
    )]
    Alignment { alignment: u64 },
    #[error("tensor {}: {n_dims} dimensions, 1 to 4 are possible", Quoted(.tensor.as_bytes()))]
    DimensionCount { tensor: String, n_dims: u32 },
    #[error("tensor {}: dimension {dim} is 0", Quoted(.tensor.as_bytes()))]
    ZeroDimension { tensor: String, dim: usize },
    #[error("tensor {}: {} is too large to count", Quoted(.tensor.as_bytes()), Shape(.dims))]
    SizeOverflow { tensor: String, dims: Vec<u64> },
    #[error("tensor {}: type {number} {}", Quoted(.tensor.as_bytes()), type_hint(*.number))]
    TensorType { tensor: String, number: u32 },
    #[error(
        "tensor {}: rows of {row} elements, but {ggml_type} comes in blocks of {}",
        Quoted(.tensor.as_bytes()), .ggml_type.block_len()
    )]
    RowLength { tensor: String, ggml_type: GgmlType, row: u64 },
    #[error(
        "tensor {}: data offset {offset} is no multiple of the alignment, {alignment}",
        Quoted(.tensor.as_bytes())
    )]
    Misaligned { tensor: String, offset: u64, alignment: u64 },
    #[error(
        "tensor {}: {need} bytes of data from byte {start} on, {have} are there{INCOMPLETE}",
        Quoted(.tensor.as_bytes())
    )]
    DataRange { tensor: String, start: u64, need: u64, have: u64 },
    #[error(
        "tensor {}: its data at byte {start} overlaps that of tensor {}, which ends at byte {other_end}",
        Quoted(.tensor.as_bytes()), Quoted(.other.as_bytes())
    )]
    Overlap { tensor: String, start: u64, other: String, other_end: u64 },
    #[error("metadata key {} is missing", Quoted(.key.as_bytes()))]
    MissingKey { key: String },
    #[error("tensor {} is missing", Quoted(.tensor.as_bytes()))]
    MissingTensor { tensor: String },
    #[error("metadata {}: wanted {wanted}, found {found}", Quoted(.key.as_bytes()))]
    WrongType { key: String, wanted: &'static str, found: String },
}

const INCOMPLETE: &str = "; is the file complete?";

impl GgufFault {
    /// The fault at an absolute offset of the file, where one is known.
    pub(super) fn at(self, offset: impl Into<Option<u64>>) -> GgufError {
        GgufError { file: None, offset: offset.into(), fault: self }
    }
}

fn magic_hint(start: &[u8]) -> &'static str {
    match start {
        b"SSNL" => "; this is a SSNAIL image, converted already",
        b"lmgg" | b"fmgg" | b"tjgg" => "; this is a GGML file from before GGUF: convert the model anew",
        b"PK\x03\x04" => {
            "; this looks like a PyTorch checkpoint: llama.cpp's convert_hf_to_gguf.py makes a GGUF"
        }
        _ => "",
    }
}

const fn version_hint(version: u32) -> &'static str {
    match version {
        0 | 1 => "; convert the model anew with a current llama.cpp",
        _ => "",
    }
}

fn type_hint(number: u32) -> String {
    match unsupported_name(number) {
        Some(name) => format!("({name}) is not supported; requantise the model, for example to Q8_0"),
        None => "is unknown".to_owned(),
    }
}

struct Before<'a>(Option<&'a Path>);

impl fmt::Display for Before<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |file| write!(f, "{}: ", file.display()))
    }
}

struct After(Option<u64>);

impl fmt::Display for After {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |offset| write!(f, " (at byte {offset})"))
    }
}

/// Dimensions as `64 x 32`.
pub(super) struct Shape<'a>(pub(super) &'a [u64]);

impl fmt::Display for Shape<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, n) in self.0.iter().enumerate() {
            write!(f, "{}{n}", if i == 0 { "" } else { " x " })?;
        }
        Ok(())
    }
}

/// Bytes of a file in quotes, safe on a terminal: control characters and invalid UTF-8 escaped, cut when
/// long.
pub(super) struct Quoted<'a>(pub(super) &'a [u8]);

impl Quoted<'_> {
    const MAX_CHARS: usize = 64;
}

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        let mut left = Self::MAX_CHARS;
        for chunk in self.0.utf8_chunks() {
            for c in chunk.valid().chars() {
                if left == 0 {
                    return f.write_str("…\"");
                }
                left -= 1;
                write!(f, "{}", c.escape_debug())?;
            }
            if !chunk.invalid().is_empty() {
                if left == 0 {
                    return f.write_str("…\"");
                }
                left -= 1;
                write!(f, "{}", chunk.invalid().escape_ascii())?;
            }
        }
        f.write_str("\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_text_is_safe_and_short() {
        assert_eq!(Quoted(b"blk.0").to_string(), r#""blk.0""#);
        assert_eq!(Quoted(b"\x1b[31m\n\xff\"").to_string(), r#""\u{1b}[31m\n\xff\"""#);
        assert_eq!(Quoted("ä▁".as_bytes()).to_string(), "\"ä▁\"");
        assert_eq!(Quoted(&[b'x'; 1000]).to_string(), format!("\"{}…\"", "x".repeat(64)));
        assert_eq!(Quoted(&[b'x'; 64]).to_string(), format!("\"{}\"", "x".repeat(64)));
        assert_eq!(Quoted(&[0xff; 1000]).to_string(), format!("\"{}…\"", r"\xff".repeat(64)));
    }
}
