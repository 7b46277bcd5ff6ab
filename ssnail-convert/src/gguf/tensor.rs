//! What a file says about a tensor, and the rules that shape, type and place of the data must keep.

use super::cursor::Cursor;
use super::error::{GgufError, GgufFault, Quoted};
use super::named::HasName;
use crate::ggml::GgmlType;

/// Least bytes of a tensor's description: length and one byte of name, one dimension, type, offset.
pub(super) const MIN_INFO_BYTES: u64 = 8 + 1 + 4 + 8 + 4 + 8;

const MAX_DIMS: u32 = 4;

/// Name, shape, type and place of a tensor. All of it is checked: the data lie inside the file and overlap no
/// other tensor's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorInfo {
    /// Name, unique in the file.
    pub name: String,
    /// How the elements are stored.
    pub ggml_type: GgmlType,
    /// One to four dimensions in ggml's order: `dims[0]` is the length of a row, the fastest to change.
    pub dims: Vec<u64>,
    /// Absolute offset of the data in the file.
    pub offset: u64,
    /// Bytes of data.
    pub n_bytes: u64,
    /// Where in the file this description stands.
    pub(super) info_at: u64,
}

impl TensorInfo {
    /// Elements in a row.
    pub fn row_len(&self) -> u64 {
        self.dims[0]
    }

    /// Number of rows: the product of all dimensions but the first.
    pub fn n_rows(&self) -> u64 {
        self.dims[1..].iter().product()
    }

    /// Number of elements, at most `i64::MAX`.
    pub fn n_elements(&self) -> u64 {
        self.dims.iter().product()
    }

    fn end(&self) -> u64 {
        self.offset + self.n_bytes
    }

    /// Reads the description with this index. `offset` is still relative to the data section: see [`place`].
    pub(super) fn read(cursor: &mut Cursor<'_>, index: usize, alignment: u64) -> Result<Self, GgufError> {
        let info_at = cursor.offset();
        let name = cursor.name(format_args!("name of tensor {index}"))?;
        let field = format_args!("tensor {}", Quoted(name.as_bytes()));
        let tensor = || name.to_owned();

        let at = cursor.offset();
        let n_dims = cursor.u32(format_args!("{field}: dimension count"))?;
        if !(1..=MAX_DIMS).contains(&n_dims) {
            return Err(GgufFault::DimensionCount { tensor: tensor(), n_dims }.at(at));
        }
        let dims_at = cursor.offset();
        let mut dims = Vec::with_capacity(n_dims as usize);
        for dim in 0..n_dims as usize {
            let at = cursor.offset();
            match cursor.u64(format_args!("{field}: dimension {dim}"))? {
                0 => return Err(GgufFault::ZeroDimension { tensor: tensor(), dim }.at(at)),
                n => dims.push(n),
            }
        }
        let overflow =
            |dims: &[u64]| GgufFault::SizeOverflow { tensor: tensor(), dims: dims.to_vec() }.at(dims_at);
        // ggml counts with signed integers.
        let elements = dims.iter().try_fold(1u64, |product, &n| product.checked_mul(n));
        if elements.is_none_or(|n| n > i64::MAX as u64) {
            return Err(overflow(&dims));
        }

        let at = cursor.offset();
        let number = cursor.u32(format_args!("{field}: type"))?;
        // Without the type there is no size, so an unknown one cannot be passed over.
        let ggml_type = GgmlType::from_number(number)
            .ok_or_else(|| GgufFault::TensorType { tensor: tensor(), number }.at(at))?;
        let row = dims[0];
        if !row.is_multiple_of(ggml_type.block_len().into()) {
            return Err(GgufFault::RowLength { tensor: tensor(), ggml_type, row }.at(dims_at));
        }
        let n_bytes = dims[1..].iter().fold(ggml_type.row_bytes(row), |bytes, &n| bytes?.checked_mul(n));
        let n_bytes = n_bytes.ok_or_else(|| overflow(&dims))?;

        let at = cursor.offset();
        let offset = cursor.u64(format_args!("{field}: data offset"))?;
        if !offset.is_multiple_of(alignment) {
            return Err(GgufFault::Misaligned { tensor: tensor(), offset, alignment }.at(at));
        }
        Ok(Self { name: tensor(), ggml_type, dims, offset, n_bytes, info_at })
    }
}

impl HasName for TensorInfo {
    fn name(&self) -> &str {
        &self.name
    }
}

/// Makes the offsets absolute, and checks that the data lie inside the file without overlap.
pub(super) fn place(tensors: &mut [TensorInfo], data_start: u64, file_len: u64) -> Result<(), GgufError> {
    for tensor in &mut *tensors {
        let start = tensor.offset.saturating_add(data_start);
        let have = file_len.saturating_sub(start);
        if tensor.n_bytes > have {
            let fault =
                GgufFault::DataRange { tensor: tensor.name.clone(), start, need: tensor.n_bytes, have };
            return Err(fault.at(tensor.info_at));
        }
        tensor.offset = start;
    }
    let mut by_offset: Vec<&TensorInfo> = tensors.iter().collect();
    by_offset.sort_unstable_by_key(|tensor| (tensor.offset, tensor.info_at));
    for pair in by_offset.windows(2) {
        let (before, after) = (pair[0], pair[1]);
        if after.offset < before.end() {
            let fault = GgufFault::Overlap {
                tensor: after.name.clone(),
                start: after.offset,
                other: before.name.clone(),
                other_end: before.end(),
            };
            return Err(fault.at(after.info_at));
        }
    }
    Ok(())
}
