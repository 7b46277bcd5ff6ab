//! Turns of a loop side by side: a script processes a prompt token by token, but where nothing but the caches goes from
//! one turn to the next, the same instruction of many turns can be computed together, so that a matrix product reads
//! its weights once for all of them.
//!
//! When a job comes to the head of a loop, [`scout`] follows its control flow for some turns without computing
//! anything: registers, branches, LDR and STR depend on nothing that vector instructions write, or scouting ends before
//! the turn that does. [`independence`] then looks at every byte that the turns read and write. What each turn writes
//! before it reads it, at the same address as the others, gets a copy a turn; all else must be such that computing
//! instruction by instruction for all turns, instead of turn by turn, gives every read the bytes that it would have
//! got. Only then [`lanes`] computes, and in the end RAM, registers and counts are what they would have been. There is
//! no fault, SYNC or ARGMAX in such turns.
//!
//! Nothing here knows what a model is. A loop for which it cannot be shown runs as ever, and is not looked at again in
//! this job.

mod independence;
mod lanes;
mod scout;

use crate::machine::{Event, Machine, Retired};
use lanes::Lane;
use scout::Bounds;
use ssnail_isa::Opcode;
use std::collections::{HashMap, HashSet};

/// What is known about the loops of a script.
#[derive(Default)]
pub(crate) struct Ahead {
    /// Where the current turn began.
    head: u32,
    /// Instructions since.
    since: u64,
    /// Instructions of the turn before.
    turn: u64,
    /// Whether the current turn has shown nothing to the CPU and made no choice, so that the next may not either.
    silent: bool,
    /// Whether the instruction at PC is the head of a loop worth scouting.
    wanted: bool,
    /// Loops that ran side by side before, and the length of a turn: those are scouted from their first turn on.
    known: HashMap<u32, u64>,
    /// Loops that cannot, in this job.
    refused: HashSet<u32>,
    /// Instructions that ran side by side.
    instructions: u64,
    lanes: Vec<Lane>,
}

impl Ahead {
    /// A new job begins.
    pub(crate) fn start(&mut self) {
        self.refused.clear();
        (self.wanted, self.silent) = (false, false);
    }

    /// An instruction has retired, and the next one stands at `pc`.
    pub(crate) fn retired(&mut self, retired: &Retired, pc: u32) {
        if retired.event != Event::Next || retired.instruction.op == Opcode::Argmax {
            self.silent = false;
        }
        self.wanted = false;
        self.since += 1;
        if pc < retired.pc {
            self.wanted = self.silent && self.head == pc && !self.refused.contains(&pc);
            (self.turn, self.head, self.silent, self.since) = (self.since, pc, true, 0);
        } else if let Some(&turn) = self.known.get(&pc) {
            self.wanted = !self.refused.contains(&pc);
            (self.turn, self.head, self.silent, self.since) = (turn, pc, true, 0);
        }
    }
}

impl Machine {
    /// How many of the instructions that retired ran side by side with those of other turns of their loop.
    pub fn instructions_ahead(&self) -> u64 {
        self.ahead.instructions
    }

    /// Runs several turns of the loop at PC, if there is one that can. Gives the instructions that retired, at most
    /// `limit`.
    pub(crate) fn run_ahead(&mut self, limit: u64) -> u64 {
        if !std::mem::take(&mut self.ahead.wanted) {
            return 0;
        }
        let most = self.numerics.look_ahead();
        if most < 2 {
            return 0;
        }
        let head = self.regs.pc;
        // Turns may differ a little, but one that leaves the loop is not to be followed through all of the script.
        let bounds = Bounds { turns: most, turn: 2 * self.ahead.turn, instructions: limit };
        let found = scout::scout(&self.memory, &self.regs, &bounds);
        if found.turns.len() < 2 {
            return 0;
        }
        let Some(private) = independence::private(&found) else {
            self.ahead.refused.insert(head);
            return 0;
        };
        lanes::run(self, &found, &private);
        self.ahead.known.insert(head, self.ahead.turn);
        self.ahead.wanted = self.regs.pc == head && found.turns.len() == most;
        let instructions = found.stats.instructions();
        self.ahead.instructions += instructions;
        instructions
    }
}

#[cfg(test)]
mod tests;
