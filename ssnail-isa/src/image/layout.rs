//! Fixed addresses, sizes and alignments of an image.

use crate::map::RAM_BASE;

/// The header, static fields and runtime block.
pub const HEADER: u32 = RAM_BASE;
/// Bytes of the header, in memory and at the start of the file.
pub const HEADER_BYTES: u32 = 256;
/// The instruction slots that the host may use for jobs of its own once the image is loaded.
pub const HOST_SLOTS: u32 = RAM_BASE + 0x80;
/// How many instructions fit the host slots.
pub const HOST_SLOT_COUNT: u32 = 4;
/// The output vector of encoders.
pub const OUTPUT: u32 = RAM_BASE + 0x100;
/// Bytes of the output vector at most.
pub const OUTPUT_BYTES: u32 = 3840;
/// The token buffer, one u32 a token.
pub const TOKENS: u32 = RAM_BASE + 0x1000;
/// Bytes of the token buffer.
pub const TOKENS_BYTES: u32 = 0x4000;
/// The longest context: the buffer holds one token more, the one after the last position.
pub const MAX_CONTEXT: u32 = TOKENS_BYTES / 4 - 1;
/// Where the payload loads: script, vocabulary, tokenizer, weights, tables.
pub const PAYLOAD: u32 = RAM_BASE + 0x5000;
/// Alignment of objects in the payload.
pub const OBJECT_ALIGN: u32 = 32;
/// Alignment of objects in scratch memory.
pub const SCRATCH_ALIGN: u32 = 256;
/// The payload is padded to a multiple of this.
pub const PAYLOAD_ALIGN: u32 = 256;
/// Where the description stands in the header.
pub const DESCRIPTION_OFFSET: usize = 0x80;
/// Bytes of the description, its NUL included.
pub const DESCRIPTION_BYTES: usize = 128;
