//! The tensor types of ggml: number in the file, name, block length and block size.
//!
//! Numbers and block layouts are those of llama.cpp (MIT): `enum ggml_type` in `ggml/include/ggml.h` and the
//! `block_*` structs of `ggml/src/ggml-common.h`.

/// The table from which the type and all its methods are made; one row a type.
macro_rules! ggml_types {
    ($($variant:ident = $number:literal, $block_len:literal elements in $block_bytes:literal bytes, $doc:literal;)*) => {
        /// How the elements of a tensor are stored. A row is a whole number of blocks of
        /// [`block_len`](Self::block_len) elements, each [`block_bytes`](Self::block_bytes) bytes.
        #[allow(non_camel_case_types)] // ggml's own spelling, which users know from file names
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u32)]
        pub enum GgmlType {
            $(#[doc = $doc] $variant = $number,)*
        }

        impl GgmlType {
            /// Every type, in the order of the numbers.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The type with this number in a file; `None` for numbers that are retired or not known here
            /// (see [`unsupported_name`]).
            pub const fn from_number(number: u32) -> Option<Self> {
                match number {
                    $($number => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// Name in capitals, as llama.cpp's tools and file names spell it.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => stringify!($variant),)*
                }
            }

            /// Elements in a block; 1 for plain numbers.
            pub const fn block_len(self) -> u32 {
                match self {
                    $(Self::$variant => $block_len,)*
                }
            }

            /// Bytes of a block.
            pub const fn block_bytes(self) -> u32 {
                match self {
                    $(Self::$variant => $block_bytes,)*
                }
            }
        }
    };
}

ggml_types! {
    F32     = 0,    1 elements in   4 bytes, "IEEE binary32";
    F16     = 1,    1 elements in   2 bytes, "IEEE binary16";
    Q4_0    = 2,   32 elements in  18 bytes, "4 bits, an F16 scale";
    Q4_1    = 3,   32 elements in  20 bytes, "4 bits, an F16 scale and minimum";
    Q5_0    = 6,   32 elements in  22 bytes, "5 bits, an F16 scale";
    Q5_1    = 7,   32 elements in  24 bytes, "5 bits, an F16 scale and minimum";
    Q8_0    = 8,   32 elements in  34 bytes, "8 bits, an F16 scale";
    Q8_1    = 9,   32 elements in  36 bytes, "8 bits, an F16 scale and sum; ggml's activations, not seen in files";
    Q2_K    = 10, 256 elements in  84 bytes, "2 bits, super-block of 16 groups with 4-bit scales and minima";
    Q3_K    = 11, 256 elements in 110 bytes, "3 bits, super-block of 16 groups with 6-bit scales";
    Q4_K    = 12, 256 elements in 144 bytes, "4 bits, super-block of 8 groups with 6-bit scales and minima";
    Q5_K    = 13, 256 elements in 176 bytes, "5 bits, super-block of 8 groups with 6-bit scales and minima";
    Q6_K    = 14, 256 elements in 210 bytes, "6 bits, super-block of 16 groups with 8-bit scales";
    Q8_K    = 15, 256 elements in 292 bytes, "8 bits, an F32 scale and 16 sums; ggml's activations, not seen in files";
    IQ2_XXS = 16, 256 elements in  66 bytes, "2.06 bits, codebook of 256 groups of 8";
    IQ2_XS  = 17, 256 elements in  74 bytes, "2.31 bits, codebook of 512 groups of 8";
    IQ3_XXS = 18, 256 elements in  98 bytes, "3.06 bits, codebook of 256 groups of 4";
    IQ1_S   = 19, 256 elements in  50 bytes, "1.56 bits, codebook of 2048 groups of 8";
    IQ4_NL  = 20,  32 elements in  18 bytes, "4 bits indexing 16 uneven levels, an F16 scale";
    IQ3_S   = 21, 256 elements in 110 bytes, "3.44 bits, codebook of 512 groups of 4";
    IQ2_S   = 22, 256 elements in  82 bytes, "2.56 bits, codebook of 1024 groups of 8";
    IQ4_XS  = 23, 256 elements in 136 bytes, "IQ4_NL's levels, super-block of 8 groups with 6-bit scales";
    I8      = 24,   1 elements in   1 bytes, "signed integer of 8 bits";
    I16     = 25,   1 elements in   2 bytes, "signed integer of 16 bits";
    I32     = 26,   1 elements in   4 bytes, "signed integer of 32 bits";
    I64     = 27,   1 elements in   8 bytes, "signed integer of 64 bits";
    F64     = 28,   1 elements in   8 bytes, "IEEE binary64";
    IQ1_M   = 29, 256 elements in  56 bytes, "1.75 bits, codebook of 2048 groups of 8";
    BF16    = 30,   1 elements in   2 bytes, "the upper half of a binary32";
    TQ1_0   = 34, 256 elements in  54 bytes, "ternary, five digits a byte, an F16 scale";
    TQ2_0   = 35, 256 elements in  66 bytes, "ternary, two bits a digit, an F16 scale";
    MXFP4   = 39,  32 elements in  17 bytes, "4-bit E2M1 floats, an E8M0 scale";
}

impl GgmlType {
    /// Number of the type in a file.
    pub const fn number(self) -> u32 {
        self as u32
    }

    /// Bytes of a row of `n` elements; `None` when `n` is no multiple of the block or the size overflows.
    pub const fn row_bytes(self, n: u64) -> Option<u64> {
        let block_len = self.block_len() as u64;
        if !n.is_multiple_of(block_len) {
            return None;
        }
        (n / block_len).checked_mul(self.block_bytes() as u64)
    }
}

impl std::fmt::Display for GgmlType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// Name of a type number that ggml uses or once used and [`GgmlType`] lacks; `None` when ggml has no such
/// number.
pub const fn unsupported_name(number: u32) -> Option<&'static str> {
    Some(match number {
        4 => "Q4_2, retired by ggml",
        5 => "Q4_3, retired by ggml",
        31 => "Q4_0_4_4, retired by ggml",
        32 => "Q4_0_4_8, retired by ggml",
        33 => "Q4_0_8_8, retired by ggml",
        36 => "IQ4_NL_4_4, retired by ggml",
        37 => "IQ4_NL_4_8, retired by ggml",
        38 => "IQ4_NL_8_8, retired by ggml",
        40 => "NVFP4",
        41 => "Q1_0",
        42 => "Q2_0",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_types_are_inverse() {
        for number in 0..1000 {
            match GgmlType::from_number(number) {
                Some(t) => {
                    assert_eq!(t.number(), number);
                    assert!(GgmlType::ALL.contains(&t));
                    assert_eq!(unsupported_name(number), None);
                }
                None => assert!(GgmlType::ALL.iter().all(|t| t.number() != number)),
            }
        }
        assert_eq!(GgmlType::ALL.len(), 32);
    }

    #[test]
    fn every_number_below_the_newest_is_accounted_for() {
        for number in 0..=42 {
            assert!(
                GgmlType::from_number(number).is_some() != unsupported_name(number).is_some(),
                "{number}"
            );
        }
        assert_eq!(unsupported_name(43), None);
    }

    #[test]
    fn row_bytes_wants_whole_blocks_and_fits() {
        assert_eq!(GgmlType::Q4_0.row_bytes(64), Some(36));
        assert_eq!(GgmlType::Q4_0.row_bytes(0), Some(0));
        assert_eq!(GgmlType::Q4_0.row_bytes(63), None);
        assert_eq!(GgmlType::Q6_K.row_bytes(512), Some(420));
        assert_eq!(GgmlType::F64.row_bytes(u64::MAX), None);
        assert_eq!(GgmlType::I8.row_bytes(u64::MAX), Some(u64::MAX));
    }

    /// Sizes written out as the sums of fields that ggml-common.h asserts.
    #[test]
    fn block_bytes_are_the_sums_of_the_fields() {
        const K: u32 = 256;
        const HALF: u32 = 2;
        for (t, bytes) in [
            (GgmlType::Q4_0, HALF + 16),
            (GgmlType::Q4_1, 2 * HALF + 16),
            (GgmlType::Q5_0, HALF + 4 + 16),
            (GgmlType::Q5_1, 2 * HALF + 4 + 16),
            (GgmlType::Q8_0, HALF + 32),
            (GgmlType::Q8_1, 2 * HALF + 32),
            (GgmlType::Q2_K, 2 * HALF + K / 16 + K / 4),
            (GgmlType::Q3_K, HALF + K / 4 + K / 8 + 12),
            (GgmlType::Q4_K, 2 * HALF + 12 + K / 2),
            (GgmlType::Q5_K, 2 * HALF + 12 + K / 2 + K / 8),
            (GgmlType::Q6_K, HALF + K / 16 + 3 * K / 4),
            (GgmlType::Q8_K, 4 + K + K / 16 * 2),
            (GgmlType::IQ2_XXS, HALF + K / 8 * 2),
            (GgmlType::IQ2_XS, HALF + K / 8 * 2 + K / 32),
            (GgmlType::IQ2_S, HALF + K / 4 + K / 16),
            (GgmlType::IQ3_XXS, HALF + 3 * (K / 8)),
            (GgmlType::IQ3_S, HALF + 13 * (K / 32) + K / 64),
            (GgmlType::IQ1_S, HALF + K / 8 + K / 16),
            (GgmlType::IQ1_M, K / 8 + K / 16 + K / 32),
            (GgmlType::IQ4_NL, HALF + 16),
            (GgmlType::IQ4_XS, HALF + 2 + K / 64 + K / 2),
            (GgmlType::TQ1_0, HALF + K / 64 + (K - 4 * K / 64) / 5),
            (GgmlType::TQ2_0, HALF + K / 4),
            (GgmlType::MXFP4, 1 + 16),
        ] {
            assert_eq!(t.block_bytes(), bytes, "{t}");
        }
    }
}
