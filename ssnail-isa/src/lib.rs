//! The SSNAIL instruction set and memory image: one table of instructions and one description of the image, from
//! which encoder, decoder, assembler, disassembler, operand checks, trace text and the reference page all follow.
//!
//! The library does no I/O: everything works on bytes and values. The contract that it implements is summarised in
//! `REFERENCE.md`, which is generated from the tables here.
//!
//! | module | what lives there |
//! |---|---|
//! | [`table`] | the table of instructions: opcode, name, operand kinds, documentation |
//! | [`instr`] | the 16-byte word: [`instr::Instruction`], encoding and decoding |
//! | [`script`] | a builder for scripts with labels, used by the converter |
//! | [`text`] | assembler and disassembler |
//! | [`check`] | architectural registers and the legality of one instruction: limits, alignment, regions |
//! | [`fault`] | fault codes |
//! | [`map`] | boards and their RAM regions |
//! | [`port`] | the registers that the CPU sees |
//! | [`format`](mod@format) | weight formats: block sizes and codecs |
//! | [`image`] | header, runtime block, tokenizer block, layout, and the check of a whole image |
//! | [`trace`] | records of what each instruction did, in two forms |
//! | [`reference`](mod@reference) | the generated reference page |
//! | [`vhdl`] | the generated VHDL package |

pub mod check;
pub mod fault;
pub mod format;
pub mod image;
pub mod instr;
pub mod map;
pub mod port;
pub mod reference;
pub mod script;
pub mod table;
pub mod text;
pub mod trace;
pub mod vhdl;

pub use check::Registers;
pub use fault::Fault;
pub use format::Format;
pub use instr::{Instruction, Operand};
pub use map::{AddressMap, Board};
pub use table::Opcode;
