//! Metadata values: their types in a file, a borrowed view of each, and conversion to the type a caller
//! wants.

use std::fmt;

use super::cursor::{ARRAY_DEPTH, Cursor};
use super::error::Quoted;

macro_rules! value_types {
    ($($variant:ident = $number:literal, $name:literal, $min_bytes:literal;)*) => {
        /// Type of a metadata value or of the elements of an array.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum ValueType {
            $(#[doc = $name] $variant = $number,)*
        }

        impl ValueType {
            /// Every type, in the order of the numbers.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The type with this number in a file.
            pub const fn from_number(number: u32) -> Option<Self> {
                match number {
                    $($number => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// Number of the type in a file.
            pub const fn number(self) -> u32 {
                self as u32
            }

            /// Short name: `u32`, `string`, …
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// Least number of bytes that a value takes in a file: an empty string is its length, an empty
            /// array its element type and length.
            pub const fn min_bytes(self) -> u64 {
                match self {
                    $(Self::$variant => $min_bytes,)*
                }
            }
        }
    };
}

value_types! {
    U8     = 0,  "u8",     1;
    I8     = 1,  "i8",     1;
    U16    = 2,  "u16",    2;
    I16    = 3,  "i16",    2;
    U32    = 4,  "u32",    4;
    I32    = 5,  "i32",    4;
    F32    = 6,  "f32",    4;
    Bool   = 7,  "bool",   1;
    String = 8,  "string", 8;
    Array  = 9,  "array",  12;
    U64    = 10, "u64",    8;
    I64    = 11, "i64",    8;
    F64    = 12, "f64",    8;
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A metadata value. Strings and arrays are views into the file. `Display` gives the value for a reader's
/// eye: strings quoted, escaped and cut short, of arrays only length and type.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs)] // each variant is the type it is named after
pub enum Value<'a> {
    U8(u8),
    I8(i8),
    U16(u16),
    I16(i16),
    U32(u32),
    I32(i32),
    F32(f32),
    Bool(bool),
    /// Usually UTF-8, but tokens may be any bytes.
    String(&'a [u8]),
    Array(Array<'a>),
    U64(u64),
    I64(i64),
    F64(f64),
}

impl<'a> Value<'a> {
    /// Type of the value.
    pub const fn value_type(&self) -> ValueType {
        match self {
            Value::U8(_) => ValueType::U8,
            Value::I8(_) => ValueType::I8,
            Value::U16(_) => ValueType::U16,
            Value::I16(_) => ValueType::I16,
            Value::U32(_) => ValueType::U32,
            Value::I32(_) => ValueType::I32,
            Value::F32(_) => ValueType::F32,
            Value::Bool(_) => ValueType::Bool,
            Value::String(_) => ValueType::String,
            Value::Array(_) => ValueType::Array,
            Value::U64(_) => ValueType::U64,
            Value::I64(_) => ValueType::I64,
            Value::F64(_) => ValueType::F64,
        }
    }

    /// The value of an integer of any width and sign.
    pub fn as_int(&self) -> Option<i128> {
        Some(match *self {
            Value::U8(v) => v.into(),
            Value::I8(v) => v.into(),
            Value::U16(v) => v.into(),
            Value::I16(v) => v.into(),
            Value::U32(v) => v.into(),
            Value::I32(v) => v.into(),
            Value::U64(v) => v.into(),
            Value::I64(v) => v.into(),
            _ => return None,
        })
    }

    /// The value of a float of either width.
    pub fn as_float(&self) -> Option<f64> {
        match *self {
            Value::F32(v) => Some(v.into()),
            Value::F64(v) => Some(v),
            _ => None,
        }
    }

    /// The value as a `T`, if that loses nothing (see [`FromValue`]).
    pub fn to<T: FromValue<'a>>(self) -> Option<T> {
        T::from_value(self)
    }
}

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::F32(v) => write!(f, "{v:?}"),
            Value::F64(v) => write!(f, "{v:?}"),
            Value::Bool(v) => write!(f, "{v}"),
            Value::String(v) => write!(f, "{}", Quoted(v)),
            Value::Array(v) => write!(f, "[{} x {}]", v.len, v.element_type),
            integer => match integer.as_int() {
                Some(v) => write!(f, "{v}"),
                None => Ok(()),
            },
        }
    }
}

/// An array in a file: element type, length, and the elements as they are encoded there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Array<'a> {
    pub(super) element_type: ValueType,
    pub(super) len: usize,
    pub(super) bytes: &'a [u8],
}

impl<'a> Array<'a> {
    /// Type of the elements.
    pub const fn element_type(&self) -> ValueType {
        self.element_type
    }

    /// Number of elements.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The elements in order.
    pub fn iter(&self) -> ArrayIter<'a> {
        ArrayIter { element_type: self.element_type, left: self.len, cursor: Cursor::new(self.bytes) }
    }

    fn collect<T>(&self, convert: impl Fn(Value<'a>) -> Option<T>) -> Option<Vec<T>> {
        self.iter().map(convert).collect()
    }
}

/// The elements of an [`Array`], decoded one at a time.
#[derive(Debug, Clone)]
pub struct ArrayIter<'a> {
    element_type: ValueType,
    left: usize,
    cursor: Cursor<'a>,
}

impl<'a> Iterator for ArrayIter<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Value<'a>> {
        self.left = self.left.checked_sub(1)?;
        // The elements were checked when the file was read, so this fails only if a mapped file has changed
        // since.
        self.cursor.value(self.element_type, ARRAY_DEPTH, format_args!("array element")).ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.left))
    }
}

/// The elements of an array of strings, as raw bytes.
#[derive(Debug, Clone)]
pub struct Strings<'a>(ArrayIter<'a>);

impl Strings<'_> {
    /// Number of strings that are still to come.
    pub const fn len(&self) -> usize {
        self.0.left
    }

    /// Whether no string is to come.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<'a> Iterator for Strings<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        match self.0.next()? {
            Value::String(bytes) => Some(bytes),
            _ => None,
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

/// Types that a metadata value can be read as: integers (from any integer that fits), floats (from either
/// width, as long as no finite value becomes infinite), `bool`, `&[u8]`, `&str` (if it is UTF-8),
/// [`Strings`], [`Array`], and vectors of numbers (each element by the same rules).
pub trait FromValue<'a>: Sized {
    /// What is wanted, for the error message.
    const WANTED: &'static str;

    /// The value as this type; `None` if it has another type or does not fit.
    fn from_value(value: Value<'a>) -> Option<Self>;
}

macro_rules! from_integers {
    ($($t:ty)*) => {
        $(impl<'a> FromValue<'a> for $t {
            const WANTED: &'static str = concat!("an integer that fits ", stringify!($t));

            fn from_value(value: Value<'a>) -> Option<Self> {
                value.as_int()?.try_into().ok()
            }
        })*
    };
}

from_integers!(u8 u16 u32 u64 usize i8 i16 i32 i64);

macro_rules! from_values {
    ($($t:ty: $wanted:literal, $value:ident => $convert:expr;)*) => {
        $(impl<'a> FromValue<'a> for $t {
            const WANTED: &'static str = $wanted;

            fn from_value($value: Value<'a>) -> Option<Self> {
                $convert
            }
        })*
    };
}

from_values! {
    f64: "a float", value => value.as_float();
    f32: "a float that fits f32", value => value.as_float().and_then(narrow);
    bool: "a bool", value => match value { Value::Bool(v) => Some(v), _ => None };
    &'a [u8]: "a string", value => match value { Value::String(v) => Some(v), _ => None };
    &'a str: "a UTF-8 string", value => std::str::from_utf8(value.to()?).ok();
    Array<'a>: "an array", value => match value { Value::Array(v) => Some(v), _ => None };
    Strings<'a>: "an array of strings", value => match value {
        Value::Array(v) if v.element_type == ValueType::String => Some(Strings(v.iter())),
        _ => None,
    };
    Vec<u8>: "an array of integers that fit u8", value => value.to::<Array>()?.collect(Value::to);
    Vec<u32>: "an array of integers that fit u32", value => value.to::<Array>()?.collect(Value::to);
    Vec<i32>: "an array of integers that fit i32", value => value.to::<Array>()?.collect(Value::to);
    Vec<u64>: "an array of integers that fit u64", value => value.to::<Array>()?.collect(Value::to);
    Vec<f32>: "an array of floats that fit f32", value => value.to::<Array>()?.collect(Value::to);
    Vec<bool>: "an array of bools", value => value.to::<Array>()?.collect(Value::to);
}

/// `v` rounded to F32, unless that makes a finite value infinite.
fn narrow(v: f64) -> Option<f32> {
    let narrowed = v as f32;
    (narrowed.is_finite() || !v.is_finite()).then_some(narrowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_types_are_inverse() {
        for number in 0..=13 {
            assert_eq!(
                ValueType::from_number(number).map(ValueType::number),
                (number < 13).then_some(number)
            );
        }
        assert_eq!(ValueType::from_number(u32::MAX), None);
        assert_eq!(ValueType::ALL.len(), 13);
    }

    #[test]
    fn integers_of_any_width_are_taken_if_they_fit() {
        assert_eq!(Value::U8(7).to::<u32>(), Some(7));
        assert_eq!(Value::I64(7).to::<u32>(), Some(7));
        assert_eq!(Value::I64(-1).to::<u32>(), None);
        assert_eq!(Value::I8(-1).to::<i64>(), Some(-1));
        assert_eq!(Value::U64(u64::MAX).to::<u64>(), Some(u64::MAX));
        assert_eq!(Value::U64(u64::MAX).to::<i64>(), None);
        assert_eq!(Value::F32(1.0).to::<u32>(), None);
        assert_eq!(Value::Bool(true).to::<u32>(), None);
    }

    #[test]
    fn floats_do_not_become_infinite() {
        assert_eq!(Value::F64(0.5).to::<f32>(), Some(0.5));
        assert_eq!(Value::F64(1e300).to::<f32>(), None);
        assert_eq!(Value::F64(f64::INFINITY).to::<f32>(), Some(f32::INFINITY));
        assert_eq!(Value::F32(1e-5).to::<f64>(), Some(f64::from(1e-5f32)));
        assert_eq!(Value::U32(1).to::<f32>(), None);
    }

    #[test]
    fn strings_may_be_any_bytes() {
        assert_eq!(Value::String(b"\xff").to::<&[u8]>(), Some(&b"\xff"[..]));
        assert_eq!(Value::String(b"\xff").to::<&str>(), None);
        assert_eq!(Value::String("π".as_bytes()).to::<&str>(), Some("π"));
    }
}
