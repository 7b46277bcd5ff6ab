//! What an instruction wrote to memory, and the digest that stands for it.

use crate::check::Span;
use byteorder::{ByteOrder, LittleEndian};

/// Writes of up to so many bytes are in a trace as they are.
pub const SHORT: u32 = 32;

/// The offset basis of 64-bit FNV-1a.
const BASIS: u64 = 0xCBF2_9CE4_8422_2325;
/// The prime of 64-bit FNV-1a, 2^40 + 0x1B3.
const PRIME: u64 = 0x100_0000_01B3;

/// The digest of bytes of memory: FNV-1a in 64 bits, with a step for each little-endian 32-bit word instead of each
/// byte; bytes that are left over are a word whose high bytes are 0.
///
/// A step is `d = (d ^ word) * (2^40 + 0x1B3) mod 2^64`, which a testbench does with shifts and sums. Words of 64 bits
/// would be faster and useless: their highest bits never spread, so that two changed signs of F32 would cancel.
pub fn digest(bytes: &[u8]) -> u64 {
    let step = |d: u64, word: u32| (d ^ u64::from(word)).wrapping_mul(PRIME);
    let words = bytes.chunks_exact(4);
    let rest = words.remainder();
    let d = words.map(LittleEndian::read_u32).fold(BASIS, step);
    if rest.is_empty() { d } else { step(d, LittleEndian::read_uint(rest, rest.len()) as u32) }
}

/// Bytes that were written to memory, at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    span: Span,
    digest: u64,
    /// The bytes, when they are few; else empty.
    bytes: Vec<u8>,
}

impl Write {
    /// What is at `addr` after the write; `None` for no bytes.
    pub fn new(addr: u32, bytes: &[u8]) -> Option<Self> {
        let len = u32::try_from(bytes.len()).ok().filter(|&len| len > 0)?;
        let kept = if len <= SHORT { bytes } else { &[] };
        Some(Write { span: Span { addr, len }, digest: digest(bytes), bytes: kept.to_vec() })
    }

    /// A write of more than [`SHORT`] bytes, of which only the digest is known; `None` when it is shorter.
    pub fn long(span: Span, digest: u64) -> Option<Self> {
        (span.len > SHORT).then_some(Write { span, digest, bytes: Vec::new() })
    }

    /// Where.
    pub fn span(&self) -> Span {
        self.span
    }

    /// The [`digest`] of the bytes.
    pub fn digest(&self) -> u64 {
        self.digest
    }

    /// The bytes themselves, when they are not more than [`SHORT`].
    pub fn bytes(&self) -> Option<&[u8]> {
        (self.span.len <= SHORT).then_some(&self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The examples in TRACE.md.
    #[test]
    fn digests_of_known_bytes() {
        assert_eq!(digest(&[]), BASIS);
        assert_eq!(digest(&[0, 0, 0x80, 0x3F]), step_by_hand(BASIS, 0x3F80_0000));
        assert_eq!(digest(&[1, 2, 3, 4, 5, 6]), step_by_hand(step_by_hand(BASIS, 0x0403_0201), 0x0605));
        // One byte is a word of its own, so that the published value of byte-wise FNV-1a holds: "a".
        assert_eq!(digest(b"a"), 0xAF63_DC4C_8601_EC8C);
        let page = include_str!("../../TRACE.md");
        for bytes in [&[][..], &[0, 0, 0x80, 0x3F], &[1, 2, 3, 4, 5, 6]] {
            assert!(page.contains(&format!("{:016X}", digest(bytes))), "{:016X}", digest(bytes));
        }
    }

    /// A step in exact arithmetic.
    fn step_by_hand(d: u64, word: u32) -> u64 {
        let product = u128::from(d ^ u64::from(word)) * ((1 << 40) + 0x1B3);
        (product % (1 << 64)) as u64
    }

    proptest! {
        #[test]
        fn one_bit_or_two_are_noticed(
            bytes in prop::collection::vec(any::<u8>(), 1..200), i in any::<prop::sample::Index>(), j in any::<prop::sample::Index>(),
            bit in 0u8..8,
        ) {
            let mut other = bytes.clone();
            let (i, j) = (i.index(bytes.len()), j.index(bytes.len()));
            other[i] ^= 1 << bit;
            prop_assert_ne!(digest(&bytes), digest(&other));
            other[j] ^= 0x80;
            prop_assert!(digest(&bytes) != digest(&other) || bytes == other);
        }
    }
}
