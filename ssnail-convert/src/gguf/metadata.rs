//! The metadata of a file: entries in file order, found by key and read as the type that is wanted.

use std::ops::Range;
use std::path::Path;

use super::cursor::{ARRAY_DEPTH, Cursor};
use super::error::{GgufError, GgufFault, Quoted};
use super::named::{HasName, Named};
use super::value::{Array, FromValue, Value, ValueType};

/// Least bytes of an entry: length and one byte of key, type, a value of one byte.
pub(super) const MIN_ENTRY_BYTES: u64 = 8 + 1 + 4 + 1;

/// An entry, with what must be kept of its value once the file's bytes are no longer borrowed.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) key: Box<str>,
    pub(super) key_at: u64,
    value_at: u64,
    value: Stored,
}

/// A [`Value`] with ranges of the file instead of borrowed bytes.
#[derive(Debug)]
enum Stored {
    Scalar(Value<'static>),
    String(Range<usize>),
    Array { element_type: ValueType, len: usize, elements: Range<usize> },
}

impl HasName for Entry {
    fn name(&self) -> &str {
        &self.key
    }
}

impl Entry {
    /// Reads the entry with this index.
    pub(super) fn read(cursor: &mut Cursor<'_>, index: usize) -> Result<Self, GgufError> {
        let key_at = cursor.offset();
        let key = cursor.name(format_args!("key of metadata entry {index}"))?;
        let field = format_args!("metadata {}", Quoted(key.as_bytes()));
        let value_type = cursor.value_type(field)?;
        let value_at = cursor.offset();
        let value = match value_type {
            ValueType::String => {
                let bytes = cursor.string(field)?;
                Stored::String(just_read(cursor, bytes))
            }
            ValueType::Array => {
                let Array { element_type, len, bytes } = cursor.array(ARRAY_DEPTH, field)?;
                Stored::Array { element_type, len, elements: just_read(cursor, bytes) }
            }
            scalar => Stored::Scalar(cursor.scalar(scalar, field)?),
        };
        Ok(Self { key: key.into(), key_at, value_at, value })
    }

    fn value<'a>(&self, file: &'a [u8]) -> Value<'a> {
        match &self.value {
            Stored::Scalar(value) => *value,
            Stored::String(range) => Value::String(&file[range.clone()]),
            Stored::Array { element_type, len, elements } => {
                let bytes = &file[elements.clone()];
                Value::Array(Array { element_type: *element_type, len: *len, bytes })
            }
        }
    }
}

/// Where in the file the bytes are that the cursor has just passed.
fn just_read(cursor: &Cursor<'_>, bytes: &[u8]) -> Range<usize> {
    let end = cursor.offset() as usize; // an offset into memory
    end - bytes.len()..end
}

/// The metadata of a file: values by key, or all entries in the order of the file.
#[derive(Debug, Clone, Copy)]
pub struct Metadata<'a> {
    file: &'a [u8],
    entries: &'a Named<Entry>,
    path: Option<&'a Path>,
}

impl<'a> Metadata<'a> {
    pub(super) const fn new(file: &'a [u8], entries: &'a Named<Entry>, path: Option<&'a Path>) -> Self {
        Self { file, entries, path }
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.items().len()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Keys and values in the order of the file.
    pub fn iter(self) -> impl Iterator<Item = (&'a str, Value<'a>)> {
        self.entries.items().iter().map(move |entry| (&*entry.key, entry.value(self.file)))
    }

    /// The value of a key.
    pub fn value(self, key: &str) -> Option<Value<'a>> {
        self.entries.get(key).map(|entry| entry.value(self.file))
    }

    /// Absolute offset in the file of the value of a key.
    pub fn offset(self, key: &str) -> Option<u64> {
        self.entries.get(key).map(|entry| entry.value_at)
    }

    /// The value of a key as a `T`, `None` if the key is not there.
    ///
    /// # Errors
    /// [`GgufFault::WrongType`] if the value has another type or does not fit.
    pub fn get<T: FromValue<'a>>(self, key: &str) -> Result<Option<T>, GgufError> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let wrong = || {
            let found = format!("{} {value}", value.value_type());
            let fault = GgufFault::WrongType { key: key.to_owned(), wanted: T::WANTED, found };
            fault.at(self.offset(key)).in_file(self.path)
        };
        value.to().ok_or_else(wrong).map(Some)
    }

    /// The value of a key that must be there, as a `T`.
    ///
    /// # Errors
    /// [`GgufFault::MissingKey`], or as [`get`](Self::get).
    pub fn require<T: FromValue<'a>>(self, key: &str) -> Result<T, GgufError> {
        let missing = || GgufError::from(GgufFault::MissingKey { key: key.to_owned() }).in_file(self.path);
        self.get(key)?.ok_or_else(missing)
    }
}
