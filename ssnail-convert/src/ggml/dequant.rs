//! Rows of any type that holds weights, as F32.

use ssnail_isa::format::Format;

use super::{GgmlType, float, iquants, kquants, legacy, mxfp4, ternary};

/// Why a row could not be dequantised.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DequantError {
    /// The type holds integers, or activations inside ggml.
    #[error("{ty} does not hold weights")]
    NotWeights {
        /// The tensor's type.
        ty: GgmlType,
    },
    /// A row must be a whole number of blocks.
    #[error("a row of {elements} elements is not a whole number of {ty} blocks, of {block_len} elements each", block_len = ty.block_len())]
    PartialBlock {
        /// The tensor's type.
        ty: GgmlType,
        /// Elements asked for.
        elements: usize,
    },
    /// The bytes are not those of a row of this length.
    #[error("{elements} elements of {ty} take {needed} bytes, {got} given")]
    Length {
        /// The tensor's type.
        ty: GgmlType,
        /// Elements asked for.
        elements: usize,
        /// Bytes that they take.
        needed: u64,
        /// Bytes that were given.
        got: usize,
    },
}

/// Dequantises `bytes`, a row of `out.len()` weights (or several rows in a row), into `out`.
///
/// # Errors
/// When `ty` holds no weights (integers; Q8_1 and Q8_K, which are activations), when `out.len()` is not a multiple of its
/// block length, and when `bytes.len()` is not [`ty.row_bytes(out.len())`](GgmlType::row_bytes). `out` is then as it was.
pub fn dequantize_row(ty: GgmlType, bytes: &[u8], out: &mut [f32]) -> Result<(), DequantError> {
    use GgmlType::*;

    let elements = out.len();
    let needed = ty.row_bytes(elements as u64).ok_or(DequantError::PartialBlock { ty, elements })?;
    if bytes.len() as u64 != needed {
        return Err(DequantError::Length { ty, elements, needed, got: bytes.len() });
    }

    /// The type table's sizes must be those of the block function's arguments, or this does not compile.
    macro_rules! each_block {
        ($ty:ident, $block:path) => {{
            const BYTES: usize = $ty.block_bytes() as usize;
            const LEN: usize = $ty.block_len() as usize;
            each_block::<BYTES, LEN>(bytes, out, $block)
        }};
    }
    match ty {
        F32 => native(Format::F32, bytes, out),
        F16 => native(Format::F16, bytes, out),
        BF16 => native(Format::Bf16, bytes, out),
        Q4_0 => native(Format::Q4_0, bytes, out),
        Q8_0 => native(Format::Q8_0, bytes, out),
        F64 => each_block!(F64, float::block_f64),
        Q4_1 => each_block!(Q4_1, legacy::block_q4_1),
        Q5_0 => each_block!(Q5_0, legacy::block_q5_0),
        Q5_1 => each_block!(Q5_1, legacy::block_q5_1),
        Q2_K => each_block!(Q2_K, kquants::block_q2_k),
        Q3_K => each_block!(Q3_K, kquants::block_q3_k),
        Q4_K => each_block!(Q4_K, kquants::block_q4_k),
        Q5_K => each_block!(Q5_K, kquants::block_q5_k),
        Q6_K => each_block!(Q6_K, kquants::block_q6_k),
        IQ1_S => each_block!(IQ1_S, iquants::block_iq1_s),
        IQ1_M => each_block!(IQ1_M, iquants::block_iq1_m),
        IQ2_XXS => each_block!(IQ2_XXS, iquants::block_iq2_xxs),
        IQ2_XS => each_block!(IQ2_XS, iquants::block_iq2_xs),
        IQ2_S => each_block!(IQ2_S, iquants::block_iq2_s),
        IQ3_XXS => each_block!(IQ3_XXS, iquants::block_iq3_xxs),
        IQ3_S => each_block!(IQ3_S, iquants::block_iq3_s),
        IQ4_NL => each_block!(IQ4_NL, legacy::block_iq4_nl),
        IQ4_XS => each_block!(IQ4_XS, iquants::block_iq4_xs),
        TQ1_0 => each_block!(TQ1_0, ternary::block_tq1_0),
        TQ2_0 => each_block!(TQ2_0, ternary::block_tq2_0),
        MXFP4 => each_block!(MXFP4, mxfp4::block_mxfp4),
        Q8_1 | Q8_K | I8 | I16 | I32 | I64 => return Err(DequantError::NotWeights { ty }),
    }
    Ok(())
}

/// The formats that the hardware reads.
fn native(format: Format, bytes: &[u8], out: &mut [f32]) {
    format.decode_row(bytes, out).expect("the length is that of the same type's row in ggml");
}

/// Applies `block` to each block of `BYTES` bytes and its `LEN` elements.
fn each_block<const BYTES: usize, const LEN: usize>(
    bytes: &[u8],
    out: &mut [f32],
    block: impl Fn(&[u8; BYTES], &mut [f32; LEN]),
) {
    for (bytes, out) in bytes.as_chunks().0.iter().zip(out.as_chunks_mut().0) {
        block(bytes, out);
    }
}

#[cfg(test)]
mod tests;
