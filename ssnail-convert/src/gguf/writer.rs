//! Writes GGUF files: models made by code for tests, seeds for fuzzing, and broken files on purpose.

use std::io::Write;
use std::path::Path;

use super::error::{GgufError, GgufFault};
use super::reader::{ALIGNMENT_KEY, DEFAULT_ALIGNMENT, MAGIC};
use super::value::{Array, Value, ValueType};
use crate::ggml::GgmlType;
use crate::output::{OutputError, write_whole};

/// Where a number stands in a written file that says how long, how many, where or of which type something is:
/// the places where a fault can be put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldMark {
    /// What the number is, for example `string length`.
    pub what: &'static str,
    /// Absolute offset in the file.
    pub offset: usize,
    /// Bytes of the number: 4 or 8.
    pub width: usize,
}

/// Bytes under construction, with the marks of the fields.
#[derive(Debug, Clone, Default)]
struct Encoder {
    bytes: Vec<u8>,
    marks: Vec<FieldMark>,
}

impl Encoder {
    fn mark(&mut self, what: &'static str, offset: usize, width: usize) {
        self.marks.push(FieldMark { what, offset, width });
    }

    fn field<const N: usize>(&mut self, what: &'static str, number: [u8; N]) {
        self.mark(what, self.bytes.len(), N);
        self.bytes.extend(number);
    }

    fn string(&mut self, what: &'static str, string: &[u8]) {
        self.field(what, (string.len() as u64).to_le_bytes());
        self.bytes.extend(string);
    }

    fn value(&mut self, value: Value<'_>) {
        match value {
            Value::U8(v) => self.bytes.push(v),
            Value::I8(v) => self.bytes.extend(v.to_le_bytes()),
            Value::U16(v) => self.bytes.extend(v.to_le_bytes()),
            Value::I16(v) => self.bytes.extend(v.to_le_bytes()),
            Value::U32(v) => self.bytes.extend(v.to_le_bytes()),
            Value::I32(v) => self.bytes.extend(v.to_le_bytes()),
            Value::F32(v) => self.bytes.extend(v.to_le_bytes()),
            Value::Bool(v) => self.bytes.push(v.into()),
            Value::String(v) => self.string("string length", v),
            Value::Array(v) => {
                self.field("element type", v.element_type().number().to_le_bytes());
                self.field("array length", (v.len() as u64).to_le_bytes());
                self.mark_elements(v, self.bytes.len());
                self.bytes.extend(v.bytes);
            }
            Value::U64(v) => self.bytes.extend(v.to_le_bytes()),
            Value::I64(v) => self.bytes.extend(v.to_le_bytes()),
            Value::F64(v) => self.bytes.extend(v.to_le_bytes()),
        }
    }

    /// Marks the fields in the elements of an array that stand at offset `at`.
    fn mark_elements(&mut self, array: Array<'_>, mut at: usize) {
        for element in array.iter() {
            match element {
                Value::String(v) => {
                    self.mark("string length", at, 8);
                    at += 8 + v.len();
                }
                Value::Array(v) => {
                    self.mark("element type", at, 4);
                    self.mark("array length", at + 4, 8);
                    self.mark_elements(v, at + 12);
                    at += 12 + v.bytes.len();
                }
                _ => return, // plain numbers
            }
        }
    }

    fn append(&mut self, other: &Encoder) {
        let start = self.bytes.len();
        self.bytes.extend(&other.bytes);
        self.marks.extend(other.marks.iter().map(|mark| FieldMark { offset: start + mark.offset, ..*mark }));
    }

    fn pad(&mut self, alignment: usize) {
        self.bytes.resize(self.bytes.len().next_multiple_of(alignment), 0);
    }
}

/// Types that arrays are made of.
pub trait Element<'a>: Into<Value<'a>> {
    /// Type of such elements in a file.
    const VALUE_TYPE: ValueType;
}

macro_rules! elements {
    ($($t:ty => $variant:ident($v:ident) $convert:expr;)*) => {
        $(impl<'a> From<$t> for Value<'a> {
            fn from($v: $t) -> Self {
                Value::$variant($convert)
            }
        }

        impl<'a> Element<'a> for $t {
            const VALUE_TYPE: ValueType = ValueType::$variant;
        })*
    };
}

elements! {
    u8 => U8(v) v;
    i8 => I8(v) v;
    u16 => U16(v) v;
    i16 => I16(v) v;
    u32 => U32(v) v;
    i32 => I32(v) v;
    f32 => F32(v) v;
    bool => Bool(v) v;
    &'a [u8] => String(v) v;
    &'a str => String(v) v.as_bytes();
    Array<'a> => Array(v) v;
    &'a ArrayBuf => Array(v) v.as_array();
    u64 => U64(v) v;
    i64 => I64(v) v;
    f64 => F64(v) v;
}

/// An array made by code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArrayBuf {
    element_type: ValueType,
    len: usize,
    bytes: Vec<u8>,
}

impl ArrayBuf {
    /// An array of these elements.
    pub fn new<'a, T: Element<'a>>(elements: impl IntoIterator<Item = T>) -> Self {
        let mut encoder = Encoder::default();
        let mut len = 0;
        for element in elements {
            encoder.value(element.into());
            len += 1;
        }
        Self { element_type: T::VALUE_TYPE, len, bytes: encoder.bytes }
    }

    /// The array as a value.
    pub fn as_array(&self) -> Array<'_> {
        Array { element_type: self.element_type, len: self.len, bytes: &self.bytes }
    }
}

#[derive(Debug, Clone)]
struct Tensor {
    name: Vec<u8>,
    type_number: u32,
    dims: Vec<u64>,
    offset: Option<u64>,
    data: Vec<u8>,
}

/// Builds a GGUF file. It writes what it is told, also what no reader should accept: the judge is
/// [`Gguf`](super::Gguf).
///
/// ```
/// use ssnail_convert::ggml::GgmlType;
/// use ssnail_convert::gguf::{ArrayBuf, Gguf, GgufWriter};
///
/// let mut writer = GgufWriter::new();
/// writer.meta("general.architecture", "llama");
/// writer.meta("tokenizer.ggml.tokens", &ArrayBuf::new(["<unk>", "a"]));
/// writer.tensor("output_norm.weight", GgmlType::F32, &[2], vec![0; 8]);
/// let gguf = Gguf::from_bytes(writer.to_bytes())?;
/// assert_eq!(gguf.require::<&str>("general.architecture")?, "llama");
/// # Ok::<(), ssnail_convert::gguf::GgufError>(())
/// ```
#[derive(Debug, Clone)]
pub struct GgufWriter {
    version: u32,
    alignment: u64,
    n_entries: u64,
    metadata: Encoder,
    tensors: Vec<Tensor>,
}

impl Default for GgufWriter {
    fn default() -> Self {
        Self::new()
    }
}

impl GgufWriter {
    /// An empty file of version 3, aligned to 32 bytes.
    pub fn new() -> Self {
        Self {
            version: 3,
            alignment: DEFAULT_ALIGNMENT,
            n_entries: 0,
            metadata: Encoder::default(),
            tensors: Vec::new(),
        }
    }

    /// Sets the version of the format.
    pub fn version(&mut self, version: u32) -> &mut Self {
        self.version = version;
        self
    }

    /// Sets the alignment of the data and adds `general.alignment`.
    ///
    /// # Panics
    /// If `alignment` is 0; for a faulty one add the key alone, with [`meta`](Self::meta).
    pub fn alignment(&mut self, alignment: u32) -> &mut Self {
        assert_ne!(alignment, 0, "data cannot be aligned to 0 bytes");
        self.alignment = alignment.into();
        self.meta(ALIGNMENT_KEY, alignment)
    }

    /// Adds a metadata entry.
    pub fn meta<'a>(&mut self, key: impl AsRef<[u8]>, value: impl Into<Value<'a>>) -> &mut Self {
        let value = value.into();
        self.n_entries += 1;
        self.metadata.string("key length", key.as_ref());
        self.metadata.field("value type", value.value_type().number().to_le_bytes());
        self.metadata.value(value);
        self
    }

    /// Adds a tensor; `dims[0]` is the length of a row, `data` the rows as `ggml_type` encodes them. Its
    /// place is after the tensor before it.
    pub fn tensor(
        &mut self,
        name: impl AsRef<[u8]>,
        ggml_type: GgmlType,
        dims: &[u64],
        data: impl Into<Vec<u8>>,
    ) -> &mut Self {
        self.raw_tensor(name, ggml_type.number(), dims, None, data)
    }

    /// Adds a tensor with any type number and, if `offset` is given, a description that says its data are
    /// there in the data section, wherever they are.
    pub fn raw_tensor(
        &mut self,
        name: impl AsRef<[u8]>,
        type_number: u32,
        dims: &[u64],
        offset: Option<u64>,
        data: impl Into<Vec<u8>>,
    ) -> &mut Self {
        let (name, dims, data) = (name.as_ref().to_vec(), dims.to_vec(), data.into());
        self.tensors.push(Tensor { name, type_number, dims, offset, data });
        self
    }

    /// The file.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.encode().bytes
    }

    /// The file, and where the lengths, counts, offsets and types stand in it.
    pub fn to_marked_bytes(&self) -> (Vec<u8>, Vec<FieldMark>) {
        let Encoder { bytes, marks } = self.encode();
        (bytes, marks)
    }

    fn encode(&self) -> Encoder {
        let mut file = Encoder::default();
        file.bytes.extend(MAGIC);
        file.field("version", self.version.to_le_bytes());
        file.field("tensor count", (self.tensors.len() as u64).to_le_bytes());
        file.field("metadata count", self.n_entries.to_le_bytes());
        file.append(&self.metadata);
        let mut offset = 0u64;
        for tensor in &self.tensors {
            file.string("name length", &tensor.name);
            file.field("dimension count", (tensor.dims.len() as u32).to_le_bytes());
            tensor.dims.iter().for_each(|n| file.field("dimension", n.to_le_bytes()));
            file.field("tensor type", tensor.type_number.to_le_bytes());
            file.field("data offset", tensor.offset.unwrap_or(offset).to_le_bytes());
            offset = (offset + tensor.data.len() as u64).next_multiple_of(self.alignment);
        }
        if !self.tensors.is_empty() {
            file.pad(self.alignment as usize);
        }
        for tensor in &self.tensors {
            file.bytes.extend(&tensor.data);
            file.pad(self.alignment as usize);
        }
        file
    }

    /// Writes the file whole, or leaves what was there.
    ///
    /// # Errors
    /// [`GgufFault::Write`], with the path.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), GgufError> {
        let path = path.as_ref();
        let content = |out: &mut dyn Write| {
            out.write_all(&self.to_bytes()).map_err(|source| OutputError { path: path.to_owned(), source })
        };
        write_whole(path, content)
            .map_err(|e: OutputError| GgufError::from(GgufFault::Write(e.source)).in_file(Some(path)))
    }
}
