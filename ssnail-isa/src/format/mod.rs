//! Weight formats that the hardware reads: block sizes, row bytes, and one codec each.
//!
//! Block layouts and quantisers are ggml's (`block_q8_0`, `block_q4_0`, `quantize_row_*_ref` in ggml-quants.c), byte
//! for byte, little-endian.

mod float;
mod q4_0;
mod q8_0;

/// A weight format that GEMV and DEQROW take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    /// IEEE 754 single.
    F32,
    /// IEEE 754 half.
    F16,
    /// 32 weights of 4 bits with an F16 scale: 18 bytes.
    Q4_0,
    /// 32 weights of 8 bits with an F16 scale: 34 bytes.
    Q8_0,
    /// The upper half of an F32.
    Bf16,
}

/// A row and its bytes do not fit each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{}: a row of {elements} elements needs {} bytes, {bytes} given", format.name(), format.row_bytes(*elements as u64))]
pub struct RowError {
    /// The format.
    pub format: Format,
    /// Elements of the row.
    pub elements: usize,
    /// Bytes given.
    pub bytes: usize,
}

impl Format {
    /// Every format, ascending by ggml type number.
    pub const ALL: [Format; 5] = [Format::F32, Format::F16, Format::Q4_0, Format::Q8_0, Format::Bf16];

    /// ggml's type number, as field `a` of GEMV and DEQROW has it.
    pub const fn ggml(self) -> u8 {
        match self {
            Format::F32 => 0,
            Format::F16 => 1,
            Format::Q4_0 => 2,
            Format::Q8_0 => 8,
            Format::Bf16 => 30,
        }
    }

    /// The format with this ggml type number, if the hardware reads it.
    pub fn from_ggml(number: u32) -> Option<Format> {
        Self::ALL.into_iter().find(|f| u32::from(f.ggml()) == number)
    }

    /// ggml's name.
    pub const fn name(self) -> &'static str {
        match self {
            Format::F32 => "F32",
            Format::F16 => "F16",
            Format::Q4_0 => "Q4_0",
            Format::Q8_0 => "Q8_0",
            Format::Bf16 => "BF16",
        }
    }

    /// Elements of a block; a row is a whole number of blocks.
    pub const fn block_len(self) -> u32 {
        match self {
            Format::Q4_0 | Format::Q8_0 => 32,
            Format::F32 | Format::F16 | Format::Bf16 => 1,
        }
    }

    /// Bytes of a block.
    pub const fn block_bytes(self) -> u32 {
        match self {
            Format::F32 => 4,
            Format::F16 | Format::Bf16 => 2,
            Format::Q4_0 => q4_0::BYTES as u32,
            Format::Q8_0 => q8_0::BYTES as u32,
        }
    }

    /// Bits that a weight takes, its share of the scale included.
    pub fn bits_per_weight(self) -> f64 {
        f64::from(self.block_bytes()) * 8.0 / f64::from(self.block_len())
    }

    /// Whether GEMV quantises its input vector for this format.
    pub const fn is_quantised(self) -> bool {
        matches!(self, Format::Q4_0 | Format::Q8_0)
    }

    /// Bytes of a row of `elements`, a part of a block counted as a whole one.
    pub const fn row_bytes(self, elements: u64) -> u64 {
        elements.div_ceil(self.block_len() as u64) * self.block_bytes() as u64
    }

    /// The weights of a row as F32: `q * d` with one rounding for the quantised formats, exact for the others.
    pub fn decode_row(self, bytes: &[u8], out: &mut [f32]) -> Result<(), RowError> {
        self.check_row(out.len(), bytes.len())?;
        match self {
            Format::F32 => float::decode_f32(bytes, out),
            Format::F16 => float::decode_f16(bytes, out),
            Format::Bf16 => float::decode_bf16(bytes, out),
            Format::Q4_0 => q4_0::decode(bytes, out),
            Format::Q8_0 => q8_0::decode(bytes, out),
        }
        Ok(())
    }

    /// Stores a row of F32: nearest even for F16 and BF16, ggml's reference quantiser for Q4_0 and Q8_0.
    pub fn encode_row(self, row: &[f32], out: &mut [u8]) -> Result<(), RowError> {
        self.check_row(row.len(), out.len())?;
        match self {
            Format::F32 => float::encode_f32(row, out),
            Format::F16 => float::encode_f16(row, out),
            Format::Bf16 => float::encode_bf16(row, out),
            Format::Q4_0 => q4_0::encode(row, out),
            Format::Q8_0 => q8_0::encode(row, out),
        }
        Ok(())
    }

    fn check_row(self, elements: usize, bytes: usize) -> Result<(), RowError> {
        let whole = elements.is_multiple_of(self.block_len() as usize);
        if whole && self.row_bytes(elements as u64) == bytes as u64 {
            Ok(())
        } else {
            Err(RowError { format: self, elements, bytes })
        }
    }
}

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests;
