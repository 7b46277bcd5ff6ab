//! The form for people: a line a record.
//!
//! ```text
//! # ssnail trace 1
//! 3 8005030 0A010000 08020000 00000000 00000000 | STR      R1, 0x8020000 | x=0x8020000+4 next=0x8005040 write=0x8020000+4 digest=AF63BA4C8601B2C6 bytes=07000000
//! ```
//!
//! Numbers are decimal, or hexadecimal with `0x`; columns and strings of digits need no `0x`. What stands between the
//! bars is derived from the word and skipped when read.

use super::{OPERANDS, Record, Register, Write};
use crate::check::Span;
use crate::fault::Fault;
use crate::instr::WORD_BYTES;
use byteorder::{ByteOrder, LittleEndian};
use std::fmt;

/// How the first line begins; the version follows.
pub const MAGIC: &str = "# ssnail trace ";

/// Why a line is no record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// A column or field is missing.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// A column or field holds what it cannot.
    #[error("{field} is `{found}`, must be {expected}")]
    Field {
        /// The column or field.
        field: String,
        /// What it holds.
        found: String,
        /// What it could hold.
        expected: &'static str,
    },
    /// Fields do not go together.
    #[error("{field}: must be {expected}")]
    Record {
        /// The field.
        field: &'static str,
        /// What it had to be.
        expected: &'static str,
    },
    /// A field that there is not, or that was there before.
    #[error("`{0}` is no field, or comes twice")]
    Unknown(String),
}

/// The first line.
pub fn header() -> String {
    format!("{MAGIC}{}\n", super::VERSION)
}

impl Record {
    /// Names and values of what the record says, as in its line, in that order.
    pub fn fields(&self) -> Vec<(String, String)> {
        let mut out = vec![
            ("number".into(), self.number.to_string()),
            ("pc".into(), format!("{:07X}", self.pc)),
            ("word".into(), self.word.as_ref().map_or_else(|| "- - - -".into(), word_text)),
        ];
        let span = |s: Span| format!("{:#X}+{}", s.addr, s.len);
        let operands = OPERANDS.into_iter().zip(self.operands);
        out.extend(operands.filter_map(|(name, operand)| Some((name.into(), span(operand?)))));
        out.extend(self.registers.iter().map(|(r, value)| (r.to_string(), format!("{value:#X}"))));
        out.push(("next".into(), format!("{:#X}", self.next)));
        if let Some(w) = &self.write {
            out.push(("write".into(), span(w.span())));
            out.push(("digest".into(), format!("{:016X}", w.digest())));
            out.extend(w.bytes().map(|b| ("bytes".into(), b.iter().map(|b| format!("{b:02X}")).collect())));
        }
        out.extend(self.fault.map(|f| ("fault".into(), f.code().to_string())));
        out
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = self.fields();
        let (columns, rest) = fields.split_at(3);
        columns.iter().try_for_each(|(_, value)| write!(f, "{value} "))?;
        write!(f, "| {} |", self.disassembly())?;
        rest.iter().try_for_each(|(key, value)| write!(f, " {key}={value}"))
    }
}

/// The word as its first four bytes, then X, Y, Z.
fn word_text(word: &[u8; WORD_BYTES]) -> String {
    let (first, xyz) = word.split_at(4);
    let first: String = first.iter().map(|b| format!("{b:02X}")).collect();
    xyz.chunks_exact(4).fold(first, |text, w| format!("{text} {:08X}", LittleEndian::read_u32(w)))
}

/// Reads a line.
///
/// # Errors
/// When it is no record.
pub fn read(line: &str) -> Result<Record, LineError> {
    let mut parts = line.splitn(3, '|');
    let columns = parts.next().unwrap_or_default();
    parts.next().ok_or(LineError::Missing("the bar before the instruction"))?;
    let fields = parts.next().ok_or(LineError::Missing("the bar after the instruction"))?;

    let mut columns = columns.split_whitespace();
    let mut column = |name| columns.next().ok_or(LineError::Missing(name));
    let number = column("number")?;
    let number = number.parse().map_err(|_| wrong("number", number, "a decimal number"))?;
    let pc = column("pc")?;
    let pc = hex(pc).ok_or_else(|| wrong("pc", pc, "a hexadecimal number"))?;
    let word = read_word([column("word")?, column("X")?, column("Y")?, column("Z")?])?;
    if let Some(extra) = columns.next() {
        return Err(LineError::Unknown(extra.into()));
    }

    let mut record = Record { number, pc, word, ..Record::faulted(0, 0, None, Fault::Illegal) };
    record.fault = None;
    let (mut next, mut write, mut digest, mut bytes) = (None, None, None, None);
    for field in fields.split_whitespace() {
        let unknown = || LineError::Unknown(field.into());
        let (key, value) = field.split_once('=').ok_or_else(unknown)?;
        let twice = match key {
            "next" => next.replace(number_of(key, value)?).is_some(),
            "write" => write.replace(span_of(key, value)?).is_some(),
            "digest" => digest.replace(digest_of(value)?).is_some(),
            "bytes" => bytes.replace(bytes_of(value)?).is_some(),
            "fault" => {
                let fault = value.parse().ok().and_then(Fault::from_code);
                record.fault.replace(fault.ok_or_else(|| wrong(key, value, "a fault code"))?).is_some()
            }
            _ => match OPERANDS.iter().position(|&name| name == key) {
                Some(at) => record.operands[at].replace(span_of(key, value)?).is_some(),
                None => {
                    let register: Register = key.parse().map_err(|_| unknown())?;
                    record.registers.push((register, number_of(key, value)?));
                    false // noticed by Record::check
                }
            },
        };
        if twice {
            return Err(unknown());
        }
    }
    record.next = next.ok_or(LineError::Missing("next"))?;
    record.write = read_write(write, digest, bytes)?;
    record.check().map_err(|(field, expected)| LineError::Record { field, expected })?;
    Ok(record)
}

fn wrong(field: &str, found: &str, expected: &'static str) -> LineError {
    LineError::Field { field: field.into(), found: found.into(), expected }
}

/// Hexadecimal digits and nothing else, not even a sign.
fn hex(text: &str) -> Option<u32> {
    u32::from_str_radix(text, 16).ok().filter(|_| !text.starts_with('+'))
}

fn read_word(columns: [&str; 4]) -> Result<Option<[u8; WORD_BYTES]>, LineError> {
    if columns == ["-"; 4] {
        return Ok(None);
    }
    let mut word = [0; WORD_BYTES];
    for (k, column) in columns.into_iter().enumerate() {
        let value = hex(column).filter(|_| column.len() == 8);
        let value = value.ok_or_else(|| wrong("word", column, "8 hexadecimal digits, or `-` four times"))?;
        // The first four bytes stand in their order, X, Y and Z are numbers.
        let bytes = if k == 0 { value.to_be_bytes() } else { value.to_le_bytes() };
        word[4 * k..4 * k + 4].copy_from_slice(&bytes);
    }
    Ok(Some(word))
}

fn number_of(key: &str, value: &str) -> Result<u32, LineError> {
    let number = match value.strip_prefix("0x") {
        Some(digits) => hex(digits),
        None => value.parse().ok(),
    };
    number.ok_or_else(|| wrong(key, value, "a number of 32 bits"))
}

fn span_of(key: &str, value: &str) -> Result<Span, LineError> {
    let (addr, len) = value.split_once('+').ok_or_else(|| wrong(key, value, "address+length"))?;
    Ok(Span { addr: number_of(key, addr)?, len: number_of(key, len)? })
}

fn digest_of(value: &str) -> Result<u64, LineError> {
    let digits = value.len() == 16 && value.bytes().all(|b| b.is_ascii_hexdigit());
    let digest = u64::from_str_radix(value, 16).ok().filter(|_| digits);
    digest.ok_or_else(|| wrong("digest", value, "16 hexadecimal digits"))
}

fn bytes_of(value: &str) -> Result<Vec<u8>, LineError> {
    let digit = |b: &u8| char::from(*b).to_digit(16).map(|d| d as u8);
    let pair = |p: &[u8]| Some(digit(p.first()?)? << 4 | digit(p.get(1)?)?);
    let bytes = value.as_bytes().chunks(2).map(pair).collect::<Option<Vec<u8>>>();
    bytes.ok_or_else(|| wrong("bytes", value, "pairs of hexadecimal digits"))
}

/// The three fields of a write, which come together.
fn read_write(
    span: Option<Span>,
    digest: Option<u64>,
    bytes: Option<Vec<u8>>,
) -> Result<Option<Write>, LineError> {
    let Some(span) = span else {
        return if digest.is_none() && bytes.is_none() { Ok(None) } else { Err(LineError::Missing("write")) };
    };
    let digest = digest.ok_or(LineError::Missing("digest"))?;
    if let Some(write) = Write::long(span, digest) {
        return match bytes {
            None => Ok(Some(write)),
            Some(b) => {
                Err(wrong("bytes", &format!("{} bytes", b.len()), "left out where so many were written"))
            }
        };
    }
    let bytes = bytes.ok_or(LineError::Missing("bytes"))?;
    let write = Write::new(span.addr, &bytes).filter(|w| w.span() == span);
    let write = write.ok_or_else(|| {
        wrong("bytes", &format!("{} bytes", bytes.len()), "as many as write says, and some")
    })?;
    if write.digest() != digest {
        return Err(wrong("digest", &format!("{digest:016X}"), "that of the bytes"));
    }
    Ok(Some(write))
}
