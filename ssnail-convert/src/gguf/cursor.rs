//! The reader's position in a file, and the primitives of the format: numbers, strings, values.
//! Every read is checked against the bytes that are left and names the field if there are too few.

use std::fmt;

use nom::IResult;
use nom::bytes::complete::take;
use nom::number::complete::{le_f32, le_f64, le_i8, le_i16, le_i32, le_i64, le_u8, le_u16, le_u32, le_u64};

use super::error::{GgufError, GgufFault};
use super::value::{Array, Value, ValueType};

/// Arrays may be nested so deep; real files have no nested arrays at all.
pub(super) const ARRAY_DEPTH: u32 = 4;

#[derive(Debug, Clone)]
pub(super) struct Cursor<'a> {
    file: &'a [u8],
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(super) const fn new(file: &'a [u8]) -> Self {
        Self { file, rest: file }
    }

    /// Absolute offset of the next byte.
    pub(super) const fn offset(&self) -> u64 {
        (self.file.len() - self.rest.len()) as u64
    }

    /// Bytes that are left.
    pub(super) const fn left(&self) -> u64 {
        self.rest.len() as u64
    }

    fn truncated(&self, field: fmt::Arguments<'_>, need: u64) -> GgufError {
        GgufFault::Truncated { field: field.to_string(), need, have: self.left() }.at(self.offset())
    }

    /// A number as wide as its type is in memory.
    fn number<T>(
        &mut self,
        parser: impl Fn(&'a [u8]) -> IResult<&'a [u8], T>,
        field: fmt::Arguments<'_>,
    ) -> Result<T, GgufError> {
        let (rest, number) = parser(self.rest).map_err(|_| self.truncated(field, size_of::<T>() as u64))?;
        self.rest = rest;
        Ok(number)
    }

    pub(super) fn u32(&mut self, field: fmt::Arguments<'_>) -> Result<u32, GgufError> {
        self.number(le_u32, field)
    }

    pub(super) fn u64(&mut self, field: fmt::Arguments<'_>) -> Result<u64, GgufError> {
        self.number(le_u64, field)
    }

    pub(super) fn bytes(&mut self, n: u64, field: fmt::Arguments<'_>) -> Result<&'a [u8], GgufError> {
        let parsed = usize::try_from(n).ok().and_then(|n| {
            let parsed: IResult<&'a [u8], &'a [u8]> = take(n)(self.rest);
            parsed.ok()
        });
        let (rest, bytes) = parsed.ok_or_else(|| self.truncated(field, n))?;
        self.rest = rest;
        Ok(bytes)
    }

    /// A string: its length, then raw bytes. A length that is too large is reported at the length's own
    /// offset.
    pub(super) fn string(&mut self, field: fmt::Arguments<'_>) -> Result<&'a [u8], GgufError> {
        let at = self.offset();
        let len = self.u64(format_args!("length of {field}"))?;
        self.bytes(len, field).map_err(|error| error.fault.at(at))
    }

    /// A name: a string that is UTF-8 and not empty.
    pub(super) fn name(&mut self, field: fmt::Arguments<'_>) -> Result<&'a str, GgufError> {
        let at = self.offset();
        let name = self.string(field)?;
        if name.is_empty() {
            return Err(GgufFault::EmptyName { field: field.to_string() }.at(at));
        }
        std::str::from_utf8(name)
            .map_err(|_| GgufFault::NameNotUtf8 { field: field.to_string(), bytes: name.to_vec() }.at(at))
    }

    /// Checks a count read at offset `at` against the bytes that are left, so that it may be allocated.
    pub(super) fn count(
        &self,
        count: u64,
        min_bytes: u64,
        at: u64,
        field: fmt::Arguments<'_>,
    ) -> Result<usize, GgufError> {
        let need = count.saturating_mul(min_bytes);
        match usize::try_from(count) {
            Ok(count) if need <= self.left() => Ok(count),
            _ => Err(GgufFault::Count { field: field.to_string(), count, need, have: self.left() }.at(at)),
        }
    }

    pub(super) fn value_type(&mut self, field: fmt::Arguments<'_>) -> Result<ValueType, GgufError> {
        let at = self.offset();
        let number = self.u32(format_args!("value type of {field}"))?;
        ValueType::from_number(number)
            .ok_or_else(|| GgufFault::ValueType { field: field.to_string(), number }.at(at))
    }

    /// A value of the given type with arrays at most `depth` deep, checked through and through.
    pub(super) fn value(
        &mut self,
        value_type: ValueType,
        depth: u32,
        field: fmt::Arguments<'_>,
    ) -> Result<Value<'a>, GgufError> {
        match value_type {
            ValueType::String => self.string(field).map(Value::String),
            ValueType::Array => self.array(depth, field).map(Value::Array),
            scalar => self.scalar(scalar, field),
        }
    }

    /// A value of a type other than string and array: it borrows nothing.
    pub(super) fn scalar(
        &mut self,
        value_type: ValueType,
        field: fmt::Arguments<'_>,
    ) -> Result<Value<'static>, GgufError> {
        Ok(match value_type {
            ValueType::U8 => Value::U8(self.number(le_u8, field)?),
            ValueType::I8 => Value::I8(self.number(le_i8, field)?),
            ValueType::U16 => Value::U16(self.number(le_u16, field)?),
            ValueType::I16 => Value::I16(self.number(le_i16, field)?),
            ValueType::U32 => Value::U32(self.number(le_u32, field)?),
            ValueType::I32 => Value::I32(self.number(le_i32, field)?),
            ValueType::F32 => Value::F32(self.number(le_f32, field)?),
            ValueType::U64 => Value::U64(self.number(le_u64, field)?),
            ValueType::I64 => Value::I64(self.number(le_i64, field)?),
            ValueType::F64 => Value::F64(self.number(le_f64, field)?),
            ValueType::Bool => Value::Bool(self.bool(field)?),
            ValueType::String | ValueType::Array => {
                let fault = GgufFault::ValueType { field: field.to_string(), number: value_type.number() };
                return Err(fault.at(self.offset()));
            }
        })
    }

    fn bool(&mut self, field: fmt::Arguments<'_>) -> Result<bool, GgufError> {
        let at = self.offset();
        match self.number(le_u8, field)? {
            0 => Ok(false),
            1 => Ok(true),
            byte => Err(GgufFault::Bool { field: field.to_string(), byte }.at(at)),
        }
    }

    /// An array at most `depth` deep.
    pub(super) fn array(&mut self, depth: u32, field: fmt::Arguments<'_>) -> Result<Array<'a>, GgufError> {
        let depth = depth
            .checked_sub(1)
            .ok_or_else(|| GgufFault::ArrayDepth { field: field.to_string() }.at(self.offset()))?;
        let element_type = self.value_type(format_args!("elements of {field}"))?;
        let at = self.offset();
        let len = self.u64(format_args!("array length of {field}"))?;
        let len = self.count(len, element_type.min_bytes(), at, format_args!("elements of {field}"))?;
        let elements = self.rest;
        match element_type {
            ValueType::String | ValueType::Array | ValueType::Bool => {
                for _ in 0..len {
                    self.value(element_type, depth, field)?;
                }
            }
            // The count is checked, so the product cannot overflow.
            _ => {
                self.bytes(len as u64 * element_type.min_bytes(), field)?;
            }
        }
        let bytes = &elements[..elements.len() - self.rest.len()];
        Ok(Array { element_type, len, bytes })
    }
}
