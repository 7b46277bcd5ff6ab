//! The runtime block: how CPU and script talk to each other, inside the header at offset 40.

use super::fields::u32_fields;
use super::layout::HEADER;

/// Offset of the block from the start of the image.
pub const OFFSET: u32 = 0x40;
/// Bytes of the block.
pub const BYTES: usize = 0x18;

u32_fields! {
    /// The runtime block; offsets are from its own start.
    RuntimeBlock {
        0x00 pos "next position to process; written by CPU and script";
        0x04 prompt_len "tokens[0..prompt_len) are the prompt; written by the CPU";
        0x08 n_generate "how many tokens to generate; written by the CPU";
        0x0C generated "generated so far in this run; written by the script";
        0x10 stop_request "non-zero = stop after this token; written by the CPU";
        0x14 stop_reason "why the script stopped; written by the script";
    }
}

/// SSNAIL addresses of the fields.
pub mod addr {
    use super::{HEADER, OFFSET};
    /// Next position.
    pub const POS: u32 = HEADER + OFFSET;
    /// Prompt length.
    pub const PROMPT_LEN: u32 = POS + 4;
    /// Tokens to generate.
    pub const N_GENERATE: u32 = POS + 8;
    /// Tokens generated.
    pub const GENERATED: u32 = POS + 12;
    /// Stop request.
    pub const STOP_REQUEST: u32 = POS + 16;
    /// Stop reason.
    pub const STOP_REASON: u32 = POS + 20;
}

/// Why a script stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum StopReason {
    /// As many tokens as asked for; an encoder is done.
    Count = 1,
    /// The model gave its end token.
    Eos = 2,
    /// No room in the context.
    Context = 3,
    /// The CPU asked for it.
    Request = 4,
}

impl StopReason {
    /// The reason with this code.
    pub fn from_code(code: u32) -> Option<Self> {
        [StopReason::Count, StopReason::Eos, StopReason::Context, StopReason::Request]
            .into_iter()
            .find(|r| *r as u32 == code)
    }

    /// One word, as `--json` prints it.
    pub const fn name(self) -> &'static str {
        match self {
            StopReason::Count => "count",
            StopReason::Eos => "eos",
            StopReason::Context => "context",
            StopReason::Request => "request",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_fields_agree() {
        let names: Vec<_> =
            RuntimeBlock::FIELDS.iter().map(|f| (f.name, HEADER + OFFSET + f.offset as u32)).collect();
        assert_eq!(names[0], ("pos", addr::POS));
        assert_eq!(names[3], ("generated", addr::GENERATED));
        assert_eq!(names[5], ("stop_reason", addr::STOP_REASON));
        assert_eq!(RuntimeBlock::FIELDS.last().unwrap().offset + 4, BYTES);
    }

    #[test]
    fn stop_reasons_have_their_codes() {
        assert_eq!(StopReason::from_code(3), Some(StopReason::Context));
        assert_eq!(StopReason::from_code(0), None);
    }
}
