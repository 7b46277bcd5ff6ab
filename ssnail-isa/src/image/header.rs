//! The static fields of the header.

use super::fields::u32_fields;
use super::layout::{DESCRIPTION_BYTES, DESCRIPTION_OFFSET, HEADER_BYTES};
use byteorder::{ByteOrder, LittleEndian};

/// The first four bytes of an image.
pub const MAGIC: [u8; 4] = *b"SSNL";
/// The version of the layout that is written and read.
pub const VERSION: u16 = 1;
/// Header flag: the image is an encoder.
pub const FLAG_ENCODER: u16 = 1;

/// Model families.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Architecture {
    /// RMS norms, rotary positions, gated SiLU.
    Llama,
    /// Layer norms, learned positions, GELU.
    Gpt2,
    /// Encoder with post-norms.
    Bert,
}

impl Architecture {
    /// All of them, by their number in the header.
    pub const ALL: [Architecture; 3] = [Architecture::Llama, Architecture::Gpt2, Architecture::Bert];

    /// The number in the header.
    pub const fn code(self) -> u32 {
        self as u32
    }

    /// The architecture with this number.
    pub fn from_code(code: u32) -> Option<Self> {
        Self::ALL.get(code as usize).copied()
    }

    /// GGUF's name.
    pub const fn name(self) -> &'static str {
        match self {
            Architecture::Llama => "llama",
            Architecture::Gpt2 => "gpt2",
            Architecture::Bert => "bert",
        }
    }

    /// Whether images of it are encoders.
    pub const fn is_encoder(self) -> bool {
        matches!(self, Architecture::Bert)
    }
}

u32_fields! {
    /// The u32 fields of the header; magic, version, flags and description stand beside them.
    Header {
        0x08 script "address of the script";
        0x0C weights "start of the weights";
        0x10 scratch "start of scratch memory = end of the file in SSNAIL addresses";
        0x14 tokens "address of the token buffer";
        0x18 vocab "address of the vocab table: u32 offsets[n_vocab + 1] relative to the table, then the tokens' bytes";
        0x1C n_vocab "number of tokens";
        0x20 context "maximum context, in tokens";
        0x24 bos "BOS token, FFFFFFFF = none";
        0x28 eos "EOS token, FFFFFFFF = none";
        0x2C payload_bytes "bytes of the payload in the file";
        0x30 output "address of the F32 output: logits, or the pooled embedding";
        0x34 output_len "elements of the output";
        0x38 memory "bytes of memory needed from 8000000, everything included";
        0x3C architecture "0 llama, 1 gpt2, 2 bert";
        0x64 payload "address where the payload loads";
        0x78 tokenizer "address of the tokenizer block";
    }
}

impl Header {
    /// The 256 bytes of the header as they stand at the start of the file; the runtime block is 0.
    /// The description is cut at a character boundary to what fits.
    pub fn to_bytes(&self, description: &str) -> [u8; HEADER_BYTES as usize] {
        let mut out = [0; HEADER_BYTES as usize];
        out[..4].copy_from_slice(&MAGIC);
        LittleEndian::write_u16(&mut out[4..], VERSION);
        let encoder = Architecture::from_code(self.architecture).is_some_and(Architecture::is_encoder);
        LittleEndian::write_u16(&mut out[6..], if encoder { FLAG_ENCODER } else { 0 });
        self.write_fields(&mut out);
        let cut = description.floor_char_boundary(DESCRIPTION_BYTES - 1);
        out[DESCRIPTION_OFFSET..DESCRIPTION_OFFSET + cut].copy_from_slice(&description.as_bytes()[..cut]);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn fields_round_trip(bytes in prop::collection::vec(any::<u8>(), 256)) {
            let h = Header::read_fields(&bytes);
            prop_assert_eq!(Header::read_fields(&h.to_bytes("")), h);
        }

        #[test]
        fn descriptions_are_cut_between_characters(text in "\\PC{0,200}") {
            let out = Header::default().to_bytes(&text);
            let field = &out[DESCRIPTION_OFFSET..];
            let end = field.iter().position(|&b| b == 0).expect("a NUL");
            let kept = std::str::from_utf8(&field[..end]).unwrap();
            prop_assert!(text.starts_with(kept));
            prop_assert!(kept.len() == text.len() || kept.len() + 4 >= DESCRIPTION_BYTES);
        }
    }
}
