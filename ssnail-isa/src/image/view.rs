//! A whole image as bytes, checked before anything in it is used.

use super::header::{FLAG_ENCODER, MAGIC, VERSION};
use super::layout::*;
use super::tokenizer::{self, BYTE_TABLE_LEN, TokenizerBlock};
use super::{Architecture, Header, NO_TOKEN};
use crate::instr::WORD_BYTES;
use crate::map::{MAX_MB, MB, RAM_BASE};
use byteorder::{ByteOrder, LittleEndian};

/// Why bytes are no image. `offset` is in the file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImageError {
    /// Too short to have a header.
    #[error("the file has {have} bytes, an image starts with a header of {HEADER_BYTES}")]
    NoHeader {
        /// Bytes of the file.
        have: usize,
    },
    /// It does not begin with the magic bytes.
    #[error("magic at offset 0: \"{}\" is not \"SSNL\": this is no SSNAIL image", found.escape_ascii())]
    Magic {
        /// The first four bytes.
        found: [u8; 4],
    },
    /// A field that does not hold what it must.
    #[error("{field} at offset {offset:#X}: {value:#X}, expected {expected}")]
    Field {
        /// The field, or the place in a table.
        field: String,
        /// Where it stands in the file.
        offset: usize,
        /// What it holds.
        value: u64,
        /// What it should hold.
        expected: String,
    },
}

/// A checked image. Accessors cannot fail for what the check has covered.
#[derive(Debug, Clone, Copy)]
pub struct Image<'a> {
    bytes: &'a [u8],
    header: Header,
    tokenizer: TokenizerBlock,
}

/// A check of one header field.
struct FieldCheck<'a> {
    name: &'a str,
    offset: usize,
    value: u32,
}

impl FieldCheck<'_> {
    fn require(&self, ok: bool, expected: impl FnOnce() -> String) -> Result<(), ImageError> {
        if ok {
            return Ok(());
        }
        let value = u64::from(self.value);
        Err(ImageError::Field { field: self.name.into(), offset: self.offset, value, expected: expected() })
    }

    /// Requires that `len` bytes at the field's address lie in `from..to`, aligned.
    fn span(&self, len: u64, from: u32, to: u64, align: u32, what: &str) -> Result<(), ImageError> {
        let start = u64::from(self.value);
        let inside = start >= u64::from(from) && start + len <= to;
        self.require(inside && self.value.is_multiple_of(align), || {
            format!("{len} bytes of {what} within {from:#X}..{to:#X}, aligned to {align}")
        })
    }
}

impl<'a> Image<'a> {
    /// Checks a file. Nothing in it is used before it was checked; nothing is allocated.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ImageError> {
        if bytes.len() < HEADER_BYTES as usize {
            return Err(ImageError::NoHeader { have: bytes.len() });
        }
        if bytes[..4] != MAGIC {
            return Err(ImageError::Magic { found: [bytes[0], bytes[1], bytes[2], bytes[3]] });
        }
        let header = Header::read_fields(bytes);
        let flags = LittleEndian::read_u16(&bytes[6..]);
        check_header(&header, LittleEndian::read_u16(&bytes[4..]), flags, bytes.len())?;

        let image = Image { bytes, header, tokenizer: read_tokenizer(bytes, &header)? };
        image.check_vocab()?;
        image.check_tokenizer()?;
        Ok(image)
    }

    /// The static fields.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The whole file.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The payload.
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[HEADER_BYTES as usize..]
    }

    /// Model family.
    pub fn architecture(&self) -> Architecture {
        Architecture::from_code(self.header.architecture).expect("checked")
    }

    /// Whether it gives an embedding instead of tokens.
    pub fn is_encoder(&self) -> bool {
        self.architecture().is_encoder()
    }

    /// The description, up to its NUL; bytes that are no UTF-8 are replaced.
    pub fn description(&self) -> String {
        let field = &self.bytes[DESCRIPTION_OFFSET..DESCRIPTION_OFFSET + DESCRIPTION_BYTES];
        let end = field.iter().position(|&b| b == 0).unwrap_or(field.len());
        String::from_utf8_lossy(&field[..end]).into_owned()
    }

    /// The script and what follows it up to the vocab table or the next known object: its last instruction is a HALT
    /// where it was made by this project's converter, but nothing here relies on it.
    pub fn script(&self) -> &'a [u8] {
        let h = &self.header;
        let next = [h.vocab, h.weights, h.tokenizer, self.tokenizer.fields.index, h.scratch];
        let end = next.into_iter().filter(|&a| a > h.script).min().unwrap_or(h.scratch);
        self.at(h.script, (end - h.script) as usize / WORD_BYTES * WORD_BYTES)
    }

    /// `len` bytes of the payload at an SSNAIL address.
    ///
    /// # Panics
    /// When they are not all inside the payload.
    pub fn at(&self, addr: u32, len: usize) -> &'a [u8] {
        let start = (addr - PAYLOAD) as usize;
        &self.payload()[start..start + len]
    }

    /// The bytes of a token, empty for control tokens and ids beyond the vocabulary.
    pub fn token(&self, id: u32) -> &'a [u8] {
        if id >= self.header.n_vocab {
            return &[];
        }
        let table = self.header.vocab;
        let entry = self.at(table + 4 * id, 8);
        let (from, to) = (LittleEndian::read_u32(entry), LittleEndian::read_u32(&entry[4..]));
        self.at(table + from, (to - from) as usize)
    }

    /// The tokenizer block.
    pub fn tokenizer(&self) -> &TokenizerBlock {
        &self.tokenizer
    }

    /// The sorted index: little-endian u32 token ids.
    pub fn index(&self) -> &'a [u8] {
        self.at(self.tokenizer.fields.index, 4 * self.tokenizer.fields.index_len as usize)
    }

    /// The priorities, one a token, little-endian u16 or u32.
    pub fn priorities(&self) -> &'a [u8] {
        let t = &self.tokenizer;
        self.at(t.fields.priorities, (t.fields.n_vocab * t.priority_bytes()) as usize)
    }

    /// The byte table: 256 little-endian u32.
    pub fn byte_table(&self) -> &'a [u8] {
        self.at(self.tokenizer.fields.byte_table, 4 * BYTE_TABLE_LEN as usize)
    }

    fn check_vocab(&self) -> Result<(), ImageError> {
        let h = &self.header;
        let table = u64::from(h.vocab - PAYLOAD);
        let offsets = self.at(h.vocab, 4 * (h.n_vocab as usize + 1));
        let room = u64::from(h.payload_bytes) - table;
        let mut least = offsets.len() as u32;
        for (i, entry) in offsets.chunks_exact(4).enumerate() {
            let value = LittleEndian::read_u32(entry);
            if value < least || u64::from(value) > room {
                return Err(ImageError::Field {
                    field: format!("vocab offset {i}"),
                    offset: HEADER_BYTES as usize + table as usize + 4 * i,
                    value: u64::from(value),
                    expected: format!("ascending offsets, {least:#X}..={room:#X} here"),
                });
            }
            least = value;
        }
        Ok(())
    }

    fn check_tokenizer(&self) -> Result<(), ImageError> {
        let (t, end) = (&self.tokenizer, u64::from(self.header.scratch));
        let at = (self.header.tokenizer - PAYLOAD + HEADER_BYTES) as usize;
        let field = |name, offset, value| FieldCheck { name, offset: at + offset, value };
        let f = &t.fields;
        field("tokenizer n_vocab", 4, f.n_vocab).require(f.n_vocab == self.header.n_vocab, || {
            format!("the header's {:#X}", self.header.n_vocab)
        })?;
        let n = u64::from(f.n_vocab);
        field("tokenizer index", 8, f.index).span(4 * u64::from(f.index_len), PAYLOAD, end, 4, "index")?;
        let width = t.priority_bytes();
        field("tokenizer priorities", 16, f.priorities).span(
            n * u64::from(width),
            PAYLOAD,
            end,
            width,
            "priorities",
        )?;
        field("tokenizer byte table", 20, f.byte_table).span(1024, PAYLOAD, end, 4, "table")?;
        for (name, offset, id) in
            [("begin token", 24, f.begin), ("end token", 28, f.end), ("unknown token", 32, f.unknown)]
        {
            field(name, offset, id).require(self.is_token_or_none(id), || self.token_range())?;
        }
        self.check_ids("tokenizer index entry", f.index, self.index(), |id| id < f.n_vocab)?;
        self.check_ids("byte table entry", f.byte_table, self.byte_table(), |id| self.is_token_or_none(id))
    }

    fn check_ids(
        &self,
        name: &str,
        addr: u32,
        table: &[u8],
        ok: impl Fn(u32) -> bool,
    ) -> Result<(), ImageError> {
        let mut ids = table.chunks_exact(4).map(LittleEndian::read_u32).enumerate();
        match ids.find(|&(_, id)| !ok(id)) {
            None => Ok(()),
            Some((i, id)) => Err(ImageError::Field {
                field: format!("{name} {i}"),
                offset: (addr - PAYLOAD + HEADER_BYTES) as usize + 4 * i,
                value: u64::from(id),
                expected: self.token_range(),
            }),
        }
    }

    fn is_token_or_none(&self, id: u32) -> bool {
        id < self.header.n_vocab || id == NO_TOKEN
    }

    fn token_range(&self) -> String {
        format!("a token below {:#X}", self.header.n_vocab)
    }
}

/// Checks what the header says of itself, of the file and of the map.
fn check_header(h: &Header, version: u16, flags: u16, file_bytes: usize) -> Result<(), ImageError> {
    let special = |name, offset, value| FieldCheck { name, offset, value };
    let field = |name: &'static str, value: u32| {
        let offset = Header::FIELDS.iter().find(|f| f.name == name).map_or(0, |f| f.offset);
        FieldCheck { name, offset, value }
    };
    special("version", 4, u32::from(version)).require(version == VERSION, || {
        format!("{VERSION}; convert the model again with this version's converter")
    })?;
    let arch = Architecture::from_code(h.architecture);
    field("architecture", h.architecture).require(arch.is_some(), || "0 llama, 1 gpt2 or 2 bert".into())?;
    let encoder = arch.is_some_and(Architecture::is_encoder);
    special("flags", 6, u32::from(flags)).require(flags == if encoder { FLAG_ENCODER } else { 0 }, || {
        format!("{} for this architecture", u8::from(encoder))
    })?;

    let payload_room = u64::from(MAX_MB * MB - (PAYLOAD - RAM_BASE));
    field("payload_bytes", h.payload_bytes).require(
        u64::from(h.payload_bytes) + u64::from(HEADER_BYTES) == file_bytes as u64
            && u64::from(h.payload_bytes) <= payload_room
            && h.payload_bytes.is_multiple_of(PAYLOAD_ALIGN),
        || {
            format!(
                "a multiple of {PAYLOAD_ALIGN} and {:#X}, what the file has after its header",
                file_bytes as u64 - u64::from(HEADER_BYTES)
            )
        },
    )?;
    field("payload", h.payload).require(h.payload == PAYLOAD, || format!("{PAYLOAD:#X}"))?;
    let end = u64::from(PAYLOAD) + u64::from(h.payload_bytes);
    field("scratch", h.scratch)
        .require(u64::from(h.scratch) == end, || format!("{end:#X}, the end of the payload"))?;
    let memory_end = u64::from(RAM_BASE) + u64::from(h.memory);
    field("memory", h.memory).require(memory_end >= end && h.memory <= MAX_MB * MB, || {
        format!("{:#X} (what the file covers) to {:#X}", end - u64::from(RAM_BASE), MAX_MB * MB)
    })?;

    field("tokens", h.tokens).require(h.tokens == TOKENS, || format!("{TOKENS:#X}"))?;
    field("context", h.context)
        .require((1..=MAX_CONTEXT).contains(&h.context), || format!("1..={MAX_CONTEXT}"))?;
    field("script", h.script).span(WORD_BYTES as u64, PAYLOAD, end, WORD_BYTES as u32, "script")?;
    field("weights", h.weights).span(0, PAYLOAD, end, 1, "weights")?;
    let tokens = 4 * (u64::from(h.n_vocab) + 1);
    field("n_vocab", h.n_vocab).require(h.n_vocab > 0, || "at least one token".into())?;
    field("vocab", h.vocab).span(tokens, PAYLOAD, end, 4, "offsets")?;
    field("tokenizer", h.tokenizer).span(tokenizer::BYTES as u64, PAYLOAD, end, 4, "tokenizer block")?;
    for (name, id) in [("bos", h.bos), ("eos", h.eos)] {
        field(name, id)
            .require(id < h.n_vocab || id == NO_TOKEN, || format!("a token below {:#X}", h.n_vocab))?;
    }
    let most = if encoder { OUTPUT_BYTES / 4 } else { h.n_vocab };
    field("output_len", h.output_len)
        .require((1..=most).contains(&h.output_len), || format!("1..={most} elements"))?;
    field("output", h.output).span(4 * u64::from(h.output_len), OUTPUT, memory_end, 4, "output")
}

/// Reads the tokenizer block, whose place has been checked.
fn read_tokenizer(bytes: &[u8], h: &Header) -> Result<TokenizerBlock, ImageError> {
    let at = (h.tokenizer - PAYLOAD + HEADER_BYTES) as usize;
    let block = bytes[at..at + tokenizer::BYTES].try_into().expect("the range has that length");
    TokenizerBlock::from_bytes(block).map_err(|byte| ImageError::Field {
        field: "tokenizer kind or flags".into(),
        offset: at,
        value: u64::from(byte),
        expected: "a kind of 0..=2 and a pre-split rule of 0..=3".into(),
    })
}

#[cfg(test)]
#[path = "view_tests.rs"]
mod tests;
