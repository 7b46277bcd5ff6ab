//! Bytes to text.

use super::GEMV_SUFFIX;
use crate::format::Format;
use crate::instr::{Instruction, Operand, WORD_BYTES};
use crate::table::{ByteField, Extent, WordField};
use std::collections::BTreeSet;
use std::fmt::Write;

/// The text of one instruction, without label or comment: what traces and error messages show.
pub fn instruction_text(i: &Instruction) -> String {
    text_with(i, &|addr| Operand::Abs(addr).to_string())
}

/// The text of a script that starts at `origin`. Assembling it gives the same bytes; addresses stand in comments.
pub fn disassemble(bytes: &[u8], origin: u32) -> String {
    let decoded: Vec<Option<Instruction>> = bytes.chunks(WORD_BYTES).map(canonical).collect();
    let address_of = |index: usize| origin + (index * WORD_BYTES) as u32;
    let starts = (0..decoded.len()).map(address_of).collect::<BTreeSet<u32>>();
    let targets: BTreeSet<u32> =
        decoded.iter().flatten().filter_map(branch_target).filter(|t| starts.contains(t)).collect();
    let name = |addr: u32| if targets.contains(&addr) { label(addr) } else { Operand::Abs(addr).to_string() };

    let mut out = format!("        .org    {origin:#X}\n");
    for (index, (word, instruction)) in bytes.chunks(WORD_BYTES).zip(&decoded).enumerate() {
        let addr = address_of(index);
        if targets.contains(&addr) {
            let _ = writeln!(out, "{}:", label(addr));
        }
        let text = match instruction {
            Some(i) => text_with(i, &name),
            None => word.iter().fold(format!("{:<8}", ".bytes"), |s, b| s + &format!(" {b:02X}")),
        };
        let _ = writeln!(out, "        {text:<56}; {addr:07X}");
    }
    out
}

/// The instruction, when its text alone gives back the same bytes.
fn canonical(word: &[u8]) -> Option<Instruction> {
    let i = Instruction::decode(word.try_into().ok()?).ok()?;
    let s = i.op.spec();
    let bytes_used = (s.a != ByteField::Unused || i.a == 0) && (s.b != ByteField::Unused || i.b == 0);
    let words_used = s.words().into_iter().zip(i.words()).all(|(field, w)| match field {
        WordField::Unused => w == 0,
        WordField::Imm(_) => true,
        WordField::Addr(..) => Operand::from_word(w).word() == w,
    });
    (bytes_used && words_used).then_some(i)
}

fn label(addr: u32) -> String {
    format!("L_{addr:07X}")
}

fn branch_target(i: &Instruction) -> Option<u32> {
    match (i.op.spec().x, Operand::from_word(i.x)) {
        (WordField::Addr(_, _, Extent::Code), Operand::Abs(addr)) => Some(addr),
        _ => None,
    }
}

/// The text, branch targets named by `name`.
fn text_with(i: &Instruction, name: &dyn Fn(u32) -> String) -> String {
    let spec = i.op.spec();
    let mut mnemonic = spec.name.to_string();
    let mut operands: Vec<String> = Vec::new();
    for (kind, value) in [(spec.a, i.a), (spec.b, i.b)] {
        match kind {
            ByteField::Unused => {}
            ByteField::Reg => operands.push(format!("R{value}")),
            ByteField::AddrReg => operands.push(format!("A{value}")),
            ByteField::Format => operands.push(
                Format::from_ggml(u32::from(value))
                    .map_or_else(|| value.to_string(), |f| f.name().to_string()),
            ),
            ByteField::GemvFlags => {
                mnemonic += GEMV_SUFFIX.iter().find(|s| s.0 == value).map_or("", |s| s.1);
            }
        }
    }
    for (field, word) in spec.words().into_iter().zip(i.words()) {
        operands.extend(match field {
            WordField::Unused => None,
            // Small numbers are lengths and counts; large ones are bit patterns or negative.
            WordField::Imm(_) if word < 1 << 20 => Some(word.to_string()),
            WordField::Imm(_) => Some(format!("{word:#X}")),
            WordField::Addr(_, _, Extent::Code) => Some(match Operand::from_word(word) {
                Operand::Abs(addr) => name(addr),
                relative => relative.to_string(),
            }),
            WordField::Addr(..) => Some(Operand::from_word(word).to_string()),
        });
    }
    format!("{mnemonic:<8} {}", operands.join(", ")).trim_end().to_string()
}
