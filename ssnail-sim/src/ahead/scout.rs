//! Where the turns of a loop will go, found by following control flow without computing anything.

use crate::execute::Step;
use crate::machine::{decode, operands};
use crate::memory::Memory;
use crate::scalar::{self, Words};
use crate::stats::Stats;
use ssnail_isa::check::{AttnBlock, Span};
use ssnail_isa::instr::WORD_BYTES;
use ssnail_isa::{Opcode, Registers};
use std::collections::HashMap;

/// Whole turns, from the head of a loop back to it, or in the last to what follows the loop.
pub(super) struct Scouted {
    /// The vector instructions of each turn, in order. All turns have the same ones, with operands of their own.
    pub(super) turns: Vec<Vec<Step>>,
    /// What STR will have stored, in order: address and value.
    pub(super) stores: Vec<(u32, u32)>,
    /// What was read from RAM to find this out: words and ATTN blocks. Instruction words are in `code`.
    pub(super) loads: Vec<Span>,
    /// The bytes between the first and the last instruction.
    pub(super) code: Span,
    /// Registers after the last turn.
    pub(super) registers: Registers,
    /// What the turns will have added.
    pub(super) stats: Stats,
}

/// RAM with what STR has stored since.
struct Overlay<'a> {
    memory: &'a Memory,
    stores: Vec<(u32, u32)>,
    loads: Vec<Span>,
}

impl Words for Overlay<'_> {
    fn load(&mut self, addr: u32) -> u32 {
        // Words are aligned: they are the same or apart.
        match self.stores.iter().rev().find(|s| s.0 == addr) {
            Some(&(_, value)) => value,
            None => {
                self.loads.push(Span { addr, len: 4 });
                self.memory.read_u32(addr).expect("operands are checked before they are read")
            }
        }
    }

    fn store(&mut self, addr: u32, value: u32) {
        self.stores.push((addr, value));
    }
}

/// How far to follow a loop.
pub(super) struct Bounds {
    /// Turns.
    pub(super) turns: usize,
    /// Instructions of a turn.
    pub(super) turn: u64,
    /// Instructions in all.
    pub(super) instructions: u64,
}

/// Follows turns of the loop at PC. Ends before a turn that faults, shows something to the CPU, halts, chooses by data,
/// or differs from the first in its vector instructions.
pub(super) fn scout(memory: &Memory, registers: &Registers, bounds: &Bounds) -> Scouted {
    let head = registers.pc;
    let mut regs = registers.clone();
    let mut ram = Overlay { memory, stores: Vec::new(), loads: Vec::new() };
    let mut found = Scouted {
        turns: Vec::new(),
        stores: Vec::new(),
        loads: Vec::new(),
        code: Span { addr: head, len: 0 },
        registers: regs.clone(),
        stats: Stats::default(),
    };
    let mut decoded = HashMap::new();
    let (mut stats, mut left) = (Stats::default(), bounds.instructions);
    let (mut first, mut last, mut whole) = (head, head, 0);
    // The branch that leads back to the head, known after the first turn.
    let mut closing = None;
    'turns: while found.registers.pc == head && found.turns.len() < bounds.turns {
        let mut turn = Vec::with_capacity(found.turns.first().map_or(0, Vec::len));
        let mut closed = false;
        for _ in 0..left.min(bounds.turn) {
            let pc = regs.pc;
            // Nothing is written meanwhile, so what stood at an address once stands there still.
            let known = decoded.get(&regs.pc).map(|i| operands(i, memory, &regs).map(|c| (*i, c)));
            let Ok((instruction, operands)) = known.unwrap_or_else(|| decode(memory, &regs)) else {
                break 'turns;
            };
            if found.turns.is_empty() {
                decoded.insert(regs.pc, instruction);
            }
            if matches!(instruction.op, Opcode::Sync | Opcode::Halt | Opcode::Argmax) {
                break 'turns;
            }
            (first, last) = (first.min(regs.pc), last.max(regs.pc));
            if operands.attn.is_some() {
                ram.loads.push(Span { addr: operands.xyz[0].addr, len: AttnBlock::BYTES });
            }
            stats.retire(&instruction, &operands);
            left -= 1;
            if !scalar::effect(&instruction, &operands, &mut regs, &mut ram) && !operands.empty {
                turn.push(Step { instruction, operands, n: regs.n });
            }
            if regs.pc == head || closing == Some(pc) {
                closing = Some(pc);
                closed = true;
                break;
            }
        }
        let op = |step: &Step| step.instruction.op;
        let alike = found.turns.first().is_none_or(|t| t.iter().map(op).eq(turn.iter().map(op)));
        if !closed || !alike {
            break;
        }
        found.turns.push(turn);
        whole = ram.stores.len();
        found.loads.append(&mut ram.loads);
        found.registers = regs.clone();
        found.stats = stats.clone();
        found.code = Span { addr: first, len: last - first + WORD_BYTES as u32 };
    }
    ram.stores.truncate(whole);
    found.stores = ram.stores;
    found
}
