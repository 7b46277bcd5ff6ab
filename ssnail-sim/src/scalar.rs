//! The effect of instructions on registers and single words: all that is not arithmetic on vectors.

use ssnail_isa::check::Checked;
use ssnail_isa::instr::{Operand, WORD_BYTES};
use ssnail_isa::map::ADDRESS_MASK;
use ssnail_isa::{Instruction, Opcode, Registers};

/// RAM as LDR and STR see it.
pub(crate) trait Words {
    /// The word at an address that was checked.
    fn load(&mut self, addr: u32) -> u32;
    /// Stores a word there.
    fn store(&mut self, addr: u32, value: u32);
}

/// Does what a checked instruction does to PC and, where it is no vector operation, all else. Gives whether it was one
/// of the latter.
pub(crate) fn effect(i: &Instruction, c: &Checked, regs: &mut Registers, ram: &mut impl Words) -> bool {
    let (a, b) = (usize::from(i.a & 15), usize::from(i.b & 15));
    let (ra, rb) = (regs.r[a], regs.r[b]);
    let next = regs.pc.wrapping_add(WORD_BYTES as u32) & ADDRESS_MASK;
    let target = |taken: bool| if taken { c.xyz[0].addr } else { next };
    let mut pc = next;
    let mut result = None;
    match i.op {
        Opcode::Nop | Opcode::Sync => {}
        Opcode::Halt => pc = regs.pc,
        Opcode::Setn => regs.n = i.words(),
        Opcode::Li => result = Some(i.z),
        Opcode::Ldr => result = Some(ram.load(c.xyz[0].addr)),
        Opcode::Str => ram.store(c.xyz[0].addr, ra),
        Opcode::Addi => result = Some(rb.wrapping_add(i.z)),
        Opcode::Lea => {
            let base = Operand::from_word(i.x).resolve(&regs.a);
            regs.a[a] = base.wrapping_add(rb.wrapping_mul(i.z)) & ADDRESS_MASK;
        }
        Opcode::Beq => pc = target(ra == rb),
        Opcode::Bne => pc = target(ra != rb),
        Opcode::Blt => pc = target(ra < rb),
        _ => {
            regs.pc = next;
            return false;
        }
    }
    regs.pc = pc;
    if let Some(value) = result {
        set(regs, a, value);
    }
    true
}

/// Writes an integer register; R15 stays 0.
pub(crate) fn set(regs: &mut Registers, register: usize, value: u32) {
    if register != 15 {
        regs.r[register] = value;
    }
}
