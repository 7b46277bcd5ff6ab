//! Reads everything of a GGUF file that comes before the tensor data, and checks all of it.

use super::cursor::Cursor;
use super::error::{GgufError, GgufFault};
use super::metadata::{Entry, MIN_ENTRY_BYTES, Metadata};
use super::named::Named;
use super::tensor::{self, TensorInfo};

pub(super) const MAGIC: &[u8; 4] = b"GGUF";
pub(super) const ALIGNMENT_KEY: &str = "general.alignment";
pub(super) const DEFAULT_ALIGNMENT: u64 = 32;
/// The format's description wants multiples of 8; nobody needs more than a huge page.
pub(super) const MIN_ALIGNMENT: u64 = 8;
pub(super) const MAX_ALIGNMENT: u64 = 1 << 21;

/// What a file says before its tensor data.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) version: u32,
    pub(super) alignment: u64,
    pub(super) metadata: Named<Entry>,
    pub(super) tensors: Named<TensorInfo>,
}

impl Header {
    pub(super) fn read(file: &[u8]) -> Result<Self, GgufError> {
        let mut cursor = Cursor::new(file);
        let version = read_version(&mut cursor)?;
        let tensors_at = cursor.offset();
        let n_tensors = cursor.u64(format_args!("tensor count"))?;
        let entries_at = cursor.offset();
        let n_entries = cursor.u64(format_args!("metadata count"))?;

        let n_entries = cursor.count(n_entries, MIN_ENTRY_BYTES, entries_at, format_args!("metadata"))?;
        let mut entries = Vec::with_capacity(n_entries);
        for i in 0..n_entries {
            entries.push(Entry::read(&mut cursor, i)?);
        }
        let metadata = Named::new(entries).map_err(|(again, first)| {
            GgufFault::DuplicateKey { key: again.key.into(), first: first.key_at }.at(again.key_at)
        })?;
        let view = Metadata::new(file, &metadata, None);
        refuse_split(view)?;
        let alignment = read_alignment(view)?;

        let n_tensors =
            cursor.count(n_tensors, tensor::MIN_INFO_BYTES, tensors_at, format_args!("tensors"))?;
        let mut tensors = Vec::with_capacity(n_tensors);
        for i in 0..n_tensors {
            tensors.push(TensorInfo::read(&mut cursor, i, alignment)?);
        }
        let mut tensors = Named::new(tensors).map_err(|(again, first)| {
            GgufFault::DuplicateTensor { tensor: again.name, first: first.info_at }.at(again.info_at)
        })?;
        let data_start = cursor.offset().next_multiple_of(alignment);
        tensor::place(tensors.items_mut(), data_start, file.len() as u64)?;
        Ok(Self { version, alignment, metadata, tensors })
    }
}

fn read_version(cursor: &mut Cursor<'_>) -> Result<u32, GgufError> {
    let n = cursor.left().min(MAGIC.len() as u64);
    let start = cursor.bytes(n, format_args!("magic"))?;
    if start.is_empty() {
        return Err(GgufFault::Empty.into());
    }
    if start != MAGIC {
        return Err(GgufFault::Magic { start: start.to_vec() }.at(0));
    }
    let at = cursor.offset();
    match cursor.u32(format_args!("version"))? {
        version @ (2 | 3) => Ok(version),
        // Any sensible version number of the other byte order.
        version if version.swap_bytes() < 0x1_0000 && version >= 0x1_0000 => Err(GgufFault::BigEndian.at(at)),
        version => Err(GgufFault::Version { version }.at(at)),
    }
}

fn refuse_split(metadata: Metadata<'_>) -> Result<(), GgufError> {
    let no = metadata.get::<u64>("split.no")?.unwrap_or(0);
    let count = metadata.get::<u64>("split.count")?.unwrap_or(0);
    if no > 0 || count > 1 {
        let key = if no > 0 { "split.no" } else { "split.count" };
        return Err(GgufFault::Split { no, count: count.max(no.saturating_add(1)) }.at(metadata.offset(key)));
    }
    Ok(())
}

fn read_alignment(metadata: Metadata<'_>) -> Result<u64, GgufError> {
    let alignment = metadata.get::<u64>(ALIGNMENT_KEY)?.unwrap_or(DEFAULT_ALIGNMENT);
    if alignment.is_power_of_two() && (MIN_ALIGNMENT..=MAX_ALIGNMENT).contains(&alignment) {
        return Ok(alignment);
    }
    Err(GgufFault::Alignment { alignment }.at(metadata.offset(ALIGNMENT_KEY)))
}
