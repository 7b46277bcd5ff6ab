//! Writing an image: the header, then every object of the payload in order of addresses.

use crate::gguf::Gguf;
use crate::plan::{Content, Layout, Places};
use crate::weights::{WeightError, write_rows};
use byteorder::{ByteOrder, LittleEndian};
use ssnail_isa::Format;
use ssnail_isa::check::AttnBlock;
use ssnail_isa::image::layout::{HEADER_BYTES, PAYLOAD};
use std::io::{self, Write};

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
