//! The 16-byte instruction word: `op a b 0 X Y Z`, little-endian.

use crate::map::ADDRESS_MASK;
use crate::table::{ByteField, GEMV_ACCUMULATE, GEMV_F16, Opcode};
use byteorder::{ByteOrder, LittleEndian};
use std::fmt;

/// Bytes of an instruction, and its alignment.
pub const WORD_BYTES: usize = 16;

/// An instruction as it is encoded. Fields that its opcode does not use are kept as they are and have no effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Instruction {
    /// Operation.
    pub op: Opcode,
    /// Byte 1: register number or weight format.
    pub a: u8,
    /// Byte 2: register number or flags.
    pub b: u8,
    /// Word at byte 4.
    pub x: u32,
    /// Word at byte 8.
    pub y: u32,
    /// Word at byte 12.
    pub z: u32,
}

/// Why 16 bytes are no instruction. All of these are fault 1 when run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The first byte is no opcode.
    #[error("unknown opcode {code:02X} in word {}", Hex(word))]
    Opcode {
        /// The first byte.
        code: u8,
        /// The whole word.
        word: [u8; WORD_BYTES],
    },
    /// Byte 3 is not 0.
    #[error("{op}: byte 3 is {byte:02X}, must be 0, in word {}", Hex(word))]
    Byte3 {
        /// The operation.
        op: Opcode,
        /// Byte 3.
        byte: u8,
        /// The whole word.
        word: [u8; WORD_BYTES],
    },
    /// A register number above 15.
    #[error("{op}: field {field} names register {value}, there are 0..15, in word {}", Hex(word))]
    Register {
        /// The operation.
        op: Opcode,
        /// `a` or `b`.
        field: char,
        /// The number found.
        value: u8,
        /// The whole word.
        word: [u8; WORD_BYTES],
    },
    /// Unknown GEMV flags, or both at once.
    #[error("{op}: flags {value:02X}, legal are 0, 1 (accumulate) and 2 (F16 output), in word {}", Hex(word))]
    Flags {
        /// The operation.
        op: Opcode,
        /// The flags found.
        value: u8,
        /// The whole word.
        word: [u8; WORD_BYTES],
    },
}

/// Prints an instruction word as `op a b 0 X Y Z` in hexadecimal.
struct Hex<'a>(&'a [u8; WORD_BYTES]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let w = self.0;
        write!(f, "{:02X} {:02X} {:02X} {:02X}", w[0], w[1], w[2], w[3])?;
        w[4..].chunks_exact(4).try_for_each(|c| write!(f, " {:08X}", LittleEndian::read_u32(c)))
    }
}

impl Instruction {
    /// An instruction with all fields 0.
    pub const fn new(op: Opcode) -> Self {
        Instruction { op, a: 0, b: 0, x: 0, y: 0, z: 0 }
    }

    /// The 16 bytes.
    pub fn encode(&self) -> [u8; WORD_BYTES] {
        let mut w = [0; WORD_BYTES];
        w[0] = self.op.code();
        w[1] = self.a;
        w[2] = self.b;
        LittleEndian::write_u32_into(&[self.x, self.y, self.z], &mut w[4..]);
        w
    }

    /// Reads 16 bytes back. Weight formats are not looked at here: an unknown one is fault 6, found when it is run.
    pub fn decode(word: &[u8; WORD_BYTES]) -> Result<Self, DecodeError> {
        let word = *word;
        let op = Opcode::from_code(word[0]).ok_or(DecodeError::Opcode { code: word[0], word })?;
        if word[3] != 0 {
            return Err(DecodeError::Byte3 { op, byte: word[3], word });
        }
        let spec = op.spec();
        for (field, kind, value) in [('a', spec.a, word[1]), ('b', spec.b, word[2])] {
            match kind {
                ByteField::Reg | ByteField::AddrReg if value > 15 => {
                    return Err(DecodeError::Register { op, field, value, word });
                }
                ByteField::GemvFlags if ![0, GEMV_ACCUMULATE, GEMV_F16].contains(&value) => {
                    return Err(DecodeError::Flags { op, value, word });
                }
                _ => {}
            }
        }
        let mut xyz = [0; 3];
        LittleEndian::read_u32_into(&word[4..], &mut xyz);
        let [x, y, z] = xyz;
        Ok(Instruction { op, a: word[1], b: word[2], x, y, z })
    }

    /// The three word fields in encoding order.
    pub fn words(&self) -> [u32; 3] {
        [self.x, self.y, self.z]
    }
}

/// An address operand: bit 31 clear is an absolute address, bit 31 set an offset from an address register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operand {
    /// A 28-bit address.
    Abs(u32),
    /// `A[reg] + offset` modulo 2^28; the offset has 24 bits.
    Rel {
        /// Address register, 0..15.
        reg: u8,
        /// Offset in bytes, below 2^24.
        offset: u32,
    },
}

impl Operand {
    /// What a word field says as an address. Bits that mean nothing are dropped.
    pub fn from_word(word: u32) -> Self {
        if word >> 31 == 0 {
            Operand::Abs(word & ADDRESS_MASK)
        } else {
            Operand::Rel { reg: (word >> 24 & 15) as u8, offset: word & 0xFF_FFFF }
        }
    }

    /// The word field. Addresses are cut to 28 bits, offsets to 24.
    pub fn word(self) -> u32 {
        match self {
            Operand::Abs(addr) => addr & ADDRESS_MASK,
            Operand::Rel { reg, offset } => 1 << 31 | u32::from(reg & 15) << 24 | offset & 0xFF_FFFF,
        }
    }

    /// The address, given the address registers.
    pub fn resolve(self, a: &[u32; 16]) -> u32 {
        match self {
            Operand::Abs(addr) => addr & ADDRESS_MASK,
            Operand::Rel { reg, offset } => a[usize::from(reg & 15)].wrapping_add(offset) & ADDRESS_MASK,
        }
    }
}

impl From<u32> for Operand {
    /// An absolute address.
    fn from(addr: u32) -> Self {
        Operand::Abs(addr)
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operand::Abs(addr) => write!(f, "{addr:#X}"),
            Operand::Rel { reg, offset: 0 } => write!(f, "[A{reg}]"),
            Operand::Rel { reg, offset } => write!(f, "[A{reg}+{offset:#X}]"),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::table::TABLE;
    use proptest::prelude::*;

    /// Any instruction that decodes, unused fields included.
    pub(crate) fn any_instruction() -> impl Strategy<Value = Instruction> {
        (0..TABLE.len(), any::<(u8, u8, u32, u32, u32)>()).prop_map(|(row, (a, b, x, y, z))| {
            let s = &TABLE[row];
            let byte = |kind, v: u8| match kind {
                ByteField::Reg | ByteField::AddrReg => v & 15,
                ByteField::GemvFlags => v % 3,
                _ => v,
            };
            Instruction { op: s.op, a: byte(s.a, a), b: byte(s.b, b), x, y, z }
        })
    }

    proptest! {
        #[test]
        fn decode_of_encode_is_the_instruction(i in any_instruction()) {
            prop_assert_eq!(Instruction::decode(&i.encode()), Ok(i));
        }

        #[test]
        fn any_word_decodes_to_itself_or_is_refused(word in any::<[u8; 16]>()) {
            if let Ok(i) = Instruction::decode(&word) {
                prop_assert_eq!(i.encode(), word);
            }
        }

        #[test]
        fn operands_round_trip(reg in 0u8..16, offset in 0u32..1 << 24, addr in 0u32..1 << 28) {
            for o in [Operand::Abs(addr), Operand::Rel { reg, offset }] {
                prop_assert_eq!(Operand::from_word(o.word()), o);
            }
        }
    }

    #[test]
    fn refusals_name_the_word() {
        let mut w = Instruction { x: 0x800_5000, ..Instruction::new(Opcode::Ldr) }.encode();
        w[1] = 16;
        let text = Instruction::decode(&w).unwrap_err().to_string();
        assert_eq!(
            text,
            "LDR: field a names register 16, there are 0..15, in word 09 10 00 00 08005000 00000000 00000000"
        );
        w[0] = 0x2A;
        assert!(Instruction::decode(&w).unwrap_err().to_string().starts_with("unknown opcode 2A in word 2A"));
        let mut g = Instruction::new(Opcode::Gemv).encode();
        g[2] = 3;
        assert!(matches!(Instruction::decode(&g), Err(DecodeError::Flags { value: 3, .. })));
        g[2] = 0;
        g[3] = 1;
        assert!(matches!(Instruction::decode(&g), Err(DecodeError::Byte3 { byte: 1, .. })));
    }

    #[test]
    fn relative_addresses_wrap_at_28_bits() {
        let mut a = [0; 16];
        a[3] = 0xFFF_FFF0;
        assert_eq!(Operand::Rel { reg: 3, offset: 0x20 }.resolve(&a), 0x10);
    }
}
