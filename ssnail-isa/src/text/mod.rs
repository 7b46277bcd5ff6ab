//! Assembler and disassembler: one syntax, from the table of instructions.
//!
//! ```text
//! ; a comment
//!         .org    0x8005000
//! loop:   SETN    64, 64, 0x3727C5AC
//!         GEMV.ACC Q8_0, 0x8010000, [A1+0x40], 0x8020000
//!         BNE     R1, R15, loop
//!         .bytes  2A 00 00 00
//! ```
//!
//! Operands stand in the order a, b, X, Y, Z of the word, unused fields left out. Addresses are numbers, `[A3]`,
//! `[A3+0x10]`, or `label` and `label+16`. Numbers are decimal or `0x` hexadecimal. GEMV's flags are part of the
//! mnemonic: `.ACC`, `.F16`. Bytes that are no instruction, and instructions with something in a field that has no
//! meaning, are written as `.bytes`, so that text and bytes always agree.

mod assemble;
mod disassemble;

pub use assemble::{AsmError, Assembly, assemble};
pub use disassemble::{disassemble, instruction_text};

/// Suffixes of GEMV's mnemonic, by its flags.
const GEMV_SUFFIX: [(u8, &str); 3] =
    [(0, ""), (crate::table::GEMV_ACCUMULATE, ".ACC"), (crate::table::GEMV_F16, ".F16")];

#[cfg(test)]
mod tests;
