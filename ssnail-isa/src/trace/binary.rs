//! The compact form: a header, then records of some 30 to 130 bytes, all numbers little-endian.

use super::{OPERANDS, Record, Register, SHORT, VERSION, Write};
use crate::check::Span;
use crate::fault::Fault;
use crate::instr::WORD_BYTES;
use byteorder::{ByteOrder, LittleEndian};

/// How a trace in this form begins.
pub const MAGIC: [u8; 8] = *b"SSNLTRAC";
/// Bytes before the first record: magic, u32 version, u32 0.
pub const HEADER_BYTES: usize = 16;

const HAS_WORD: u8 = 1;
const HAS_WRITE: u8 = 2;

/// Why bytes are no record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// The bytes end inside it.
    #[error("the trace ends inside a record: {field} needs {need} bytes, {have} are left")]
    Truncated {
        /// The field that is not whole.
        field: &'static str,
        /// Bytes that it takes.
        need: usize,
        /// Bytes that there are.
        have: usize,
    },
    /// A field holds what it cannot.
    #[error("{field} is {found:#X}, must be {expected}")]
    Field {
        /// The field.
        field: &'static str,
        /// What it holds.
        found: u64,
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
}

/// The header.
pub fn header() -> [u8; HEADER_BYTES] {
    let mut out = [0; HEADER_BYTES];
    out[..8].copy_from_slice(&MAGIC);
    LittleEndian::write_u32(&mut out[8..12], VERSION);
    out
}

/// Appends a record.
pub fn append(r: &Record, out: &mut Vec<u8>) {
    let flag = |on: bool, bit: u8| if on { bit } else { 0 };
    let present = (0..).zip(&r.operands).map(|(bit, o)| flag(o.is_some(), 1 << bit)).sum::<u8>();
    out.extend([
        flag(r.word.is_some(), HAS_WORD) | flag(r.write.is_some(), HAS_WRITE),
        present,
        r.registers.len() as u8,
        r.fault.map_or(0, Fault::code),
    ]);
    let span = |out: &mut Vec<u8>, s: Span| out.extend([s.addr, s.len].iter().flat_map(|w| w.to_le_bytes()));
    out.extend(r.number.to_le_bytes());
    out.extend([r.pc, r.next].iter().flat_map(|w| w.to_le_bytes()));
    out.extend(r.word.iter().flatten());
    r.operands.iter().flatten().for_each(|&s| span(out, s));
    for (register, value) in &r.registers {
        out.push(register.code());
        out.extend(value.to_le_bytes());
    }
    if let Some(w) = &r.write {
        span(out, w.span());
        out.extend(w.digest().to_le_bytes());
        out.extend(w.bytes().into_iter().flatten());
    }
}

/// Reads the record at the beginning of `bytes`, and says how long it is.
///
/// # Errors
/// When the bytes are no record, or not a whole one.
pub fn read(bytes: &[u8]) -> Result<(Record, usize), RecordError> {
    let mut input = Input { bytes, at: 0 };
    let [flags, present, n_registers, fault] = input.take("flags")?;
    let most = |field, found: u8, most: u8, expected| {
        if found <= most { Ok(()) } else { Err(wrong(field, found, expected)) }
    };
    most("flags", flags, HAS_WORD | HAS_WRITE, "a sum of 1 (word) and 2 (write)")?;
    most("operands", present, (1 << OPERANDS.len()) - 1, "below 32, a bit for each of x, y, z, k, v")?;
    most("registers", n_registers, Register::COUNT as u8, "34 at most: there are no more registers")?;
    let fault = match fault {
        0 => None,
        code => Some(Fault::from_code(code).ok_or_else(|| wrong("fault", code, "0 or a fault code"))?),
    };
    let number = u64::from_le_bytes(input.take("number")?);
    let (pc, next) = (input.u32("pc")?, input.u32("next")?);
    let word = if flags & HAS_WORD != 0 { Some(input.take("word")?) } else { None };
    let mut operands = [None; OPERANDS.len()];
    for (bit, operand) in operands.iter_mut().enumerate() {
        if present & 1 << bit != 0 {
            *operand = Some(input.span(OPERANDS[bit])?);
        }
    }
    let mut registers = Vec::with_capacity(n_registers.into());
    for _ in 0..n_registers {
        let [code] = input.take("register")?;
        let register =
            Register::from_code(code).ok_or_else(|| wrong("register", code, "0..14, 16..31 or 32..34"))?;
        registers.push((register, input.u32("register value")?));
    }
    let write = if flags & HAS_WRITE != 0 { Some(input.write()?) } else { None };
    let record = Record { number, pc, word, operands, registers, next, write, fault };
    record.check().map_err(|(field, expected)| RecordError::Record { field, expected })?;
    Ok((record, input.at))
}

fn wrong(field: &'static str, found: impl Into<u64>, expected: &'static str) -> RecordError {
    RecordError::Field { field, found: found.into(), expected }
}

/// Bytes, and how many of them have been read.
struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Input<'_> {
    fn slice(&mut self, field: &'static str, need: usize) -> Result<&[u8], RecordError> {
        let left = &self.bytes[self.at..];
        let part = left.get(..need).ok_or(RecordError::Truncated { field, need, have: left.len() })?;
        self.at += need;
        Ok(part)
    }

    fn take<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], RecordError> {
        Ok(self.slice(field, N)?.try_into().expect("as many bytes as were asked for"))
    }

    fn u32(&mut self, field: &'static str) -> Result<u32, RecordError> {
        Ok(u32::from_le_bytes(self.take(field)?))
    }

    fn span(&mut self, field: &'static str) -> Result<Span, RecordError> {
        Ok(Span { addr: self.u32(field)?, len: self.u32(field)? })
    }

    fn write(&mut self) -> Result<Write, RecordError> {
        let span = self.span("write")?;
        let digest = u64::from_le_bytes(self.take("digest")?);
        if let Some(write) = Write::long(span, digest) {
            return Ok(write);
        }
        let bytes = self.slice("bytes", span.len as usize)?; // at most SHORT
        let write = Write::new(span.addr, bytes).ok_or_else(|| wrong("length written", 0u8, "1 or more"))?;
        if write.digest() == digest { Ok(write) } else { Err(wrong("digest", digest, "that of the bytes")) }
    }
}

/// The longest record there is.
pub const MAX_RECORD_BYTES: usize =
    20 + WORD_BYTES + 8 * OPERANDS.len() + 5 * Register::COUNT + 16 + SHORT as usize;
