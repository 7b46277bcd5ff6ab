//! Writing an image: the header, then every object of the payload in order of addresses.

use crate::gguf::Gguf;
use crate::plan::{Content, Layout, Places};
use crate::weights::{WeightError, write_rows};
use byteorder::{ByteOrder, LittleEndian};
use ssnail_isa::Format;
use ssnail_isa::check::AttnBlock;
use ssnail_isa::image::layout::{HEADER_BYTES, PAYLOAD};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Why an image was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// A tensor.
    #[error(transparent)]
    Weights(#[from] WeightError),
    /// The output.
    #[error("{}: {source}", path.display())]
    File {
        /// The file, or its folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// Writes an image to `out`; `progress` is told the bytes of each piece.
pub fn write(
    gguf: &Gguf,
    layout: &Layout,
    description: &str,
    out: &mut dyn Write,
    progress: &dyn Fn(u64),
) -> Result<(), WeightError> {
    out.write_all(&layout.header.to_bytes(description))?;
    progress(u64::from(HEADER_BYTES));
    let places = Places::new(layout.objects());
    let mut at = u64::from(PAYLOAD);
    for placed in &layout.payload {
        pad(out, u64::from(placed.addr) - at)?;
        match &placed.object.content {
            Content::Matrix { rows, .. } => {
                let tensor = gguf.tensor(&placed.object.name).expect("the model was read from this file");
                let format = placed.format.expect("a matrix has a format");
                write_rows(gguf, tensor, *rows as usize, format, out, progress)?;
            }
            Content::Floats { tensors, len } => {
                for name in tensors {
                    let tensor = gguf.tensor(name).expect("the model was read from this file");
                    write_rows(gguf, tensor, (len / tensor.row_len()) as usize, Format::F32, out, progress)?;
                }
            }
            Content::Bytes(bytes) => {
                out.write_all(bytes)?;
                progress(bytes.len() as u64);
            }
            Content::Attention { params, k, v } => {
                let block = AttnBlock { k: places.addr(k), v: places.addr(v), ..*params };
                let mut bytes = [0; AttnBlock::BYTES as usize];
                LittleEndian::write_u32_into(&block.words(), &mut bytes);
                out.write_all(&bytes)?;
            }
            Content::Scratch { .. } => unreachable!("scratch memory is not in the payload"),
        }
        at = u64::from(placed.addr) + placed.bytes;
    }
    pad(out, u64::from(layout.header.scratch) - at)?;
    Ok(())
}

fn pad(out: &mut dyn Write, bytes: u64) -> io::Result<()> {
    io::copy(&mut io::Read::take(io::repeat(0), bytes), out).map(|_| ())
}

/// Writes a file whole or not at all: into a temporary one beside it, then under its name.
pub fn write_file<E: From<WriteError>>(
    path: &Path,
    content: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let file_error = |path: &Path, source| WriteError::File { path: path.to_owned(), source };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".ssnail-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666)); // less the umask, as for any new file
    let temporary = builder.tempfile_in(folder).map_err(|e| file_error(folder, e))?;
    let mut buffered = BufWriter::with_capacity(1 << 20, temporary);
    content(&mut buffered)?;
    let temporary = buffered.into_inner().map_err(|e| file_error(path, e.into_error()))?;
    temporary.persist(path).map_err(|e| file_error(path, e.error))?;
    Ok(())
}
