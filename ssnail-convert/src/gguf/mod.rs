//! GGUF files: the reader, which trusts nothing in them, and a writer for models made by code.
//!
//! The format is described in ggml's `docs/gguf.md`. A file is: magic, version, counts; metadata (key, type,
//! value); descriptions of the tensors; padding to `general.alignment`; the tensors' data. Little-endian
//! throughout.
//!
//! [`Gguf::open`] and [`Gguf::from_bytes`] check the whole of this before they return: every count and length
//! against the bytes that are there, names against each other, the data of the tensors against the file and
//! against each other. They allocate no more than a small multiple of the metadata's size and never panic.

mod cursor;
mod error;
mod metadata;
mod named;
mod reader;
mod source;
mod tensor;
#[cfg(test)]
mod tests;
mod value;
mod writer;

use std::path::{Path, PathBuf};

pub use error::{GgufError, GgufFault};
pub use metadata::Metadata;
use reader::Header;
use source::Source;
pub use tensor::TensorInfo;
pub use value::{Array, ArrayIter, FromValue, Strings, Value, ValueType};
pub use writer::{ArrayBuf, Element, FieldMark, GgufWriter};

/// A GGUF file that has been read and found in order.
#[derive(Debug)]
pub struct Gguf {
    source: Source,
    path: Option<PathBuf>,
    header: Header,
}

impl Gguf {
    /// Maps a file and reads it.
    ///
    /// The file must not be changed or shortened by others while the `Gguf` lives: where its pages are gone,
    /// the operating system ends the process.
    ///
    /// # Errors
    /// The file cannot be read, is no regular file, or breaks a rule of the format; the error names the file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, GgufError> {
        let path = path.as_ref();
        let read = || {
            let source = Source::map(path)?;
            let header = Header::read(&source)?;
            Ok(Self { source, path: Some(path.to_path_buf()), header })
        };
        read().map_err(|error: GgufError| error.in_file(Some(path)))
    }

    /// Reads a file that is in memory already.
    ///
    /// # Errors
    /// The bytes break a rule of the format.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, GgufError> {
        let header = Header::read(&bytes)?;
        Ok(Self { source: Source::Memory(bytes), path: None, header })
    }

    /// The file that was opened, if one was.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Length of the file in bytes.
    pub fn file_len(&self) -> u64 {
        self.source.len() as u64
    }

    /// Version of the format: 2 or 3.
    pub fn version(&self) -> u32 {
        self.header.version
    }

    /// Alignment in bytes of the data section and of each tensor in it.
    pub fn alignment(&self) -> u64 {
        self.header.alignment
    }

    /// The metadata.
    pub fn metadata(&self) -> Metadata<'_> {
        Metadata::new(&self.source, &self.header.metadata, self.path())
    }

    /// The metadata value of a key as a `T`, `None` if the key is not there:
    /// `gguf.get::<u32>("llama.block_count")`.
    ///
    /// # Errors
    /// [`GgufFault::WrongType`] if the value has another type or does not fit.
    pub fn get<'a, T: FromValue<'a>>(&'a self, key: &str) -> Result<Option<T>, GgufError> {
        self.metadata().get(key)
    }

    /// The metadata value of a key that must be there, as a `T`.
    ///
    /// # Errors
    /// [`GgufFault::MissingKey`], or as [`get`](Self::get).
    pub fn require<'a, T: FromValue<'a>>(&'a self, key: &str) -> Result<T, GgufError> {
        self.metadata().require(key)
    }

    /// The tensors in the order of the file.
    pub fn tensors(&self) -> &[TensorInfo] {
        self.header.tensors.items()
    }

    /// The tensor of this name.
    pub fn tensor(&self, name: &str) -> Option<&TensorInfo> {
        self.header.tensors.get(name)
    }

    /// The tensor of this name, which must be there.
    ///
    /// # Errors
    /// [`GgufFault::MissingTensor`].
    pub fn require_tensor(&self, name: &str) -> Result<&TensorInfo, GgufError> {
        let missing = || GgufError::from(GgufFault::MissingTensor { tensor: name.to_owned() });
        self.tensor(name).ok_or_else(|| missing().in_file(self.path()))
    }

    /// The data of a tensor: `n_bytes` bytes, encoded as its type says.
    ///
    /// # Panics
    /// If `tensor` describes a tensor of another file, beyond the end of this one.
    pub fn tensor_data(&self, tensor: &TensorInfo) -> &[u8] {
        // Both fit `usize`: they were checked against a length in memory.
        &self.source[tensor.offset as usize..][..tensor.n_bytes as usize]
    }
}
