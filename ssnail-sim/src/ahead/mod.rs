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
use ssnail_isa::Opcode;
use std::collections::HashSet;

/// What is known about the loops of a script.
#[derive(Default)]
pub(crate) struct Ahead {
    /// Where the current turn began.
    head: u32,
    /// Whether the current turn has shown nothing to the CPU and made no choice, so that the next may not either.
    silent: bool,
    /// Whether the instruction at PC is the head of a loop worth scouting.
    wanted: bool,
    /// Loops that ran side by side before: those are scouted from their first turn on.
    known: HashSet<u32>,
    /// Loops that cannot, in this job.
    refused: HashSet<u32>,
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
        if pc < retired.pc {
            self.wanted = self.silent && self.head == pc && !self.refused.contains(&pc);
            (self.head, self.silent) = (pc, true);
        } else if self.known.contains(&pc) {
            self.wanted = !self.refused.contains(&pc);
            (self.head, self.silent) = (pc, true);
        }
    }
}

impl Machine {
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
        let found = scout::scout(&self.memory, &self.regs, most, limit);
        if found.turns.len() < 2 {
            return 0;
        }
        let Some(private) = independence::private(&found) else {
            self.ahead.refused.insert(head);
            return 0;
        };
        lanes::run(self, &found, &private);
        self.ahead.known.insert(head);
        self.ahead.wanted = found.turns.len() == most;
        found.stats.instructions()
    }
}

#[cfg(test)]
mod tests;
