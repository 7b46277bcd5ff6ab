//! [`Reader`]: the records of a trace, one after the other, whichever form it has.

use super::binary::{self, RecordError};
use super::text::{self, LineError};
use super::{Record, VERSION};
use byteorder::{ByteOrder, LittleEndian};

/// How a trace is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Bytes, for machines.
    Binary,
    /// Lines, for people.
    Text,
}

impl Form {
    /// What stands before the first record.
    pub fn header(self) -> Vec<u8> {
        match self {
            Form::Binary => binary::header().to_vec(),
            Form::Text => text::header().into_bytes(),
        }
    }

    /// Appends a record.
    pub fn append(self, record: &Record, out: &mut Vec<u8>) {
        match self {
            Form::Binary => binary::append(record, out),
            Form::Text => out.extend(format!("{record}\n").into_bytes()),
        }
    }
}

/// Why a trace cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// Neither form begins like this.
    #[error("this is no SSNAIL trace: it begins neither with `SSNLTRAC` nor with `{}`", text::MAGIC.trim_end())]
    Magic,
    /// A version that there was not when this was written.
    #[error("the trace has version {found}, this reads version {VERSION}")]
    Version {
        /// Version of the trace.
        found: String,
    },
    /// What should be a record of the compact form is none.
    #[error("record at offset {offset:#X}: {error}")]
    Record {
        /// Offset of the record.
        offset: usize,
        /// What is wrong with it.
        error: RecordError,
    },
    /// What should be a line is none.
    #[error("line {line}: {error}")]
    Line {
        /// Line, from 1.
        line: usize,
        /// What is wrong with it.
        error: LineError,
    },
}

/// The records of a trace in memory or in a map. It holds one record at a time and ends after the first error. In
/// lines, empty ones and those that begin with `#` are skipped.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    form: Form,
    /// What has been read.
    at: usize,
    /// Lines that have been read.
    line: usize,
}

impl<'a> Reader<'a> {
    /// Looks at the header.
    ///
    /// # Errors
    /// When the bytes do not begin as a trace does, or as one of another version.
    pub fn new(bytes: &'a [u8]) -> Result<Self, TraceError> {
        if let Some(header) = bytes.get(..binary::HEADER_BYTES).filter(|h| h.starts_with(&binary::MAGIC)) {
            let (found, zero) = (LittleEndian::read_u32(&header[8..]), LittleEndian::read_u32(&header[12..]));
            if (found, zero) != (VERSION, 0) {
                let extension = if zero == 0 { String::new() } else { format!(" with {zero:#X} after it") };
                return Err(TraceError::Version { found: format!("{found}{extension}") });
            }
            return Ok(Reader { bytes, form: Form::Binary, at: binary::HEADER_BYTES, line: 0 });
        }
        let mut reader = Reader { bytes, form: Form::Text, at: 0, line: 0 };
        let first = reader.next_line().unwrap_or_default();
        let version = first.strip_prefix(text::MAGIC.as_bytes()).ok_or(TraceError::Magic)?.trim_ascii();
        if version != VERSION.to_string().as_bytes() {
            return Err(TraceError::Version { found: String::from_utf8_lossy(version).into_owned() });
        }
        Ok(reader)
    }

    /// The form that the trace has.
    pub fn form(&self) -> Form {
        self.form
    }

    fn next_line(&mut self) -> Option<&'a [u8]> {
        let left = &self.bytes[self.at..];
        let line = left.split_inclusive(|&b| b == b'\n').next()?;
        self.at += line.len();
        self.line += 1;
        Some(line)
    }

    fn next_binary(&mut self) -> Option<Result<Record, TraceError>> {
        let (offset, left) = (self.at, &self.bytes[self.at..]);
        if left.is_empty() {
            return None;
        }
        Some(binary::read(left).map_err(|error| TraceError::Record { offset, error }).map(|(record, len)| {
            self.at += len;
            record
        }))
    }

    fn next_text(&mut self) -> Option<Result<Record, TraceError>> {
        let line = loop {
            let line = self.next_line()?.trim_ascii();
            if !line.is_empty() && !line.starts_with(b"#") {
                break line;
            }
        };
        // What is no UTF-8 is refused as any other odd character, wherever it matters.
        let record = text::read(&String::from_utf8_lossy(line));
        Some(record.map_err(|error| TraceError::Line { line: self.line, error }))
    }
}

impl Iterator for Reader<'_> {
    type Item = Result<Record, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        let item = match self.form {
            Form::Binary => self.next_binary(),
            Form::Text => self.next_text(),
        };
        if matches!(item, Some(Err(_))) {
            self.at = self.bytes.len();
        }
        item
    }
}
