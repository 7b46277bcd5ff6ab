//! Weights on their way from the file to the image: dequantised and quantised in parallel, a chunk of rows at a time.

use crate::ggml::{DequantError, GgmlType, dequantize_row};
use crate::gguf::{Gguf, TensorInfo};
use rayon::prelude::*;
use ssnail_isa::Format;
use std::io::{self, Write};

/// Output bytes of a chunk, about: enough work for all cores, little memory.
const CHUNK_BYTES: usize = 4 << 20;
/// Rows converted by one task, at least.
const MIN_TASK_ROWS: usize = 4;

/// Why a tensor could not be stored.
#[derive(Debug, thiserror::Error)]
pub enum WeightError {
    /// The tensor's type has no weights.
    #[error("tensor `{tensor}`")]
    Dequant {
        /// The tensor.
        tensor: String,
        /// What its bytes lack.
        source: DequantError,
    },
    /// Writing failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Writes the first `rows` rows of a tensor in `format`, and reports the bytes written after each chunk.
///
/// Rows that are stored in that format already are copied as they are. Memory: one chunk.
pub fn write_rows(
    gguf: &Gguf,
    tensor: &TensorInfo,
    rows: usize,
    format: Format,
    out: &mut dyn Write,
    progress: &dyn Fn(u64),
) -> Result<(), WeightError> {
    let cols = tensor.row_len() as usize;
    let source_row = tensor.ggml_type.row_bytes(cols as u64).expect("checked by the reader") as usize;
    let source = &gguf.tensor_data(tensor)[..rows * source_row];
    if Format::from_ggml(tensor.ggml_type.number()) == Some(format) {
        for chunk in source.chunks(CHUNK_BYTES) {
            out.write_all(chunk)?;
            progress(chunk.len() as u64);
        }
        return Ok(());
    }

    let target_row = format.row_bytes(cols as u64) as usize;
    let chunk_rows = (CHUNK_BYTES / target_row).max(1);
    let task_rows = (chunk_rows / (4 * rayon::current_num_threads())).max(MIN_TASK_ROWS);
    let mut target = vec![0; chunk_rows.min(rows) * target_row];
    for chunk in source.chunks(chunk_rows * source_row) {
        let target = &mut target[..chunk.len() / source_row * target_row];
        target
            .par_chunks_mut(task_rows * target_row)
            .zip(chunk.par_chunks(task_rows * source_row))
            .try_for_each(|(target, source)| {
                convert(tensor.ggml_type, source, source_row, format, target, cols)
            })
            .map_err(|source| WeightError::Dequant { tensor: tensor.name.clone(), source })?;
        out.write_all(target)?;
        progress(target.len() as u64);
    }
    Ok(())
}

/// Converts whole rows.
fn convert(
    from: GgmlType,
    source: &[u8],
    source_row: usize,
    to: Format,
    target: &mut [u8],
    cols: usize,
) -> Result<(), DequantError> {
    let mut row = vec![0.0; cols];
    let target_row = to.row_bytes(cols as u64) as usize;
    for (source, target) in source.chunks_exact(source_row).zip(target.chunks_exact_mut(target_row)) {
        dequantize_row(from, source, &mut row)?;
        to.encode_row(&row, target).expect("the target was made for this row");
    }
    Ok(())
}
