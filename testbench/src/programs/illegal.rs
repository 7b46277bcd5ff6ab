//! Instructions that fault: a legal one, broken in one of the ways there are.

use super::generate::{Random, Set};
use super::{OPERAND_REGISTERS, Operation};
use rand_pcg::rand_core::Rng;
use ssnail_isa::Opcode;
use ssnail_isa::check;
use ssnail_isa::instr::{Instruction, Operand};
use ssnail_isa::map::ADDRESS_MASK;
use ssnail_isa::table::{Access, WordField};

/// A faulting word with its registers; `None` when none was found.
pub(super) fn illegal(random: &mut Random<'_>, set: &Set) -> Option<(Operation, [u8; 16])> {
    for _ in 0..20 {
        let op = set.0[random.below(set.0.len() as u32) as usize];
        let Some(mut o) = random.operation(op) else { continue };
        let mut word = o.instruction.encode();
        let operand = random.below(3) as usize;
        match random.below(9) {
            0 => word[0] = [0x04, 0x05, 0x06, 0x13, 0x1F, 0x2A, 0x7F, 0xFF][random.below(8) as usize],
            1 => word[3] = 1 << random.below(8),
            2 => word[1 + random.below(2) as usize] = random.pick_byte(),
            3 => o.n[0] = [(1 << 20) + 1, u32::MAX, 33, 4097, 1 << 31][random.below(5) as usize],
            4 => o.n[1] = [0, 1, 3, 257, 258, u32::MAX][random.below(6) as usize],
            5 => bend(random, &mut o, &mut word, operand, |r, a| a + 1 + r.below(7)),
            6 => bend(random, &mut o, &mut word, operand, |r, _| {
                let regions = r.map.regions();
                let region = regions[r.below(regions.len() as u32) as usize];
                (region.base + region.size - 4 * r.below(3)) & ADDRESS_MASK
            }),
            7 => bend(random, &mut o, &mut word, operand, |r, _| 0x7FF_FFF8 - 8 * r.below(4)),
            _ => overlap(&mut o, &mut word, 4 + 4 * random.below(3)),
        }
        if faults(random, &o, &word) {
            return Some((o, word));
        }
    }
    None
}

impl Random<'_> {
    fn pick_byte(&mut self) -> u8 {
        let any = self.bits.next_u32() as u8;
        [16, 3, 7, 9, 31, any][self.below(6) as usize]
    }
}

fn faults(random: &Random<'_>, o: &Operation, word: &[u8; 16]) -> bool {
    match Instruction::decode(word) {
        Err(_) => true,
        Ok(i) => check::check(&i, &o.registers(), &random.map, |_| [0; 8]).is_err(),
    }
}

/// Puts an operand somewhere else.
fn bend(
    random: &mut Random<'_>,
    o: &mut Operation,
    word: &mut [u8; 16],
    k: usize,
    to: impl FnOnce(&mut Random<'_>, u32) -> u32,
) {
    if !matches!(o.instruction.op.spec().words()[k], WordField::Addr(..)) || o.instruction.op == Opcode::Lea {
        return;
    }
    let from = Operand::from_word(o.instruction.words()[k]).resolve(&o.registers().a);
    let address = to(random, from);
    set(o, word, k, address);
}

/// Puts the destination a little after a source.
fn overlap(o: &mut Operation, word: &mut [u8; 16], by: u32) {
    let words = o.instruction.op.spec().words();
    let access = |k: usize| match words[k] {
        WordField::Addr(_, access, _) => access,
        _ => Access::None,
    };
    if let (Some(d), Some(s)) =
        ((0..3).find(|&k| access(k) == Access::Write), (0..3).find(|&k| access(k) == Access::Read))
    {
        let source = Operand::from_word(o.instruction.words()[s]).resolve(&o.registers().a);
        set(o, word, d, source + by);
    }
}

/// Operand `k` is this address, through its register.
fn set(o: &mut Operation, word: &mut [u8; 16], k: usize, address: u32) {
    o.addresses[k] = address & ADDRESS_MASK;
    let operand = Operand::Rel { reg: OPERAND_REGISTERS[k], offset: 0 };
    word[4 + 4 * k..8 + 4 * k].copy_from_slice(&operand.word().to_le_bytes());
}
