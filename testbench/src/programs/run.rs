//! A program in lockstep, and what is left of a failing one when everything is taken away that does not matter.

use super::{Coverage, Program, Step, data};
use crate::chip::Config;
use crate::lockstep::{End, Lockstep, Stop};
use crate::model::Library;
use std::sync::Arc;

/// Cycles within which every instruction of a random program is done: several times the longest in slow HyperRAM.
const PATIENCE: u64 = 300_000;

/// Runs a program to its end.
///
/// # Errors
/// The first difference, and what the chip ran into.
pub fn run(
    library: &Arc<Library>,
    program: &Program,
    config: &Config,
    coverage: &mut Coverage,
) -> Result<End, Stop> {
    let mut lock = Lockstep::new(library, config)?;
    lock.patience = PATIENCE;
    for (addr, bytes) in data::contents(&lock.chip.map(), program.seed) {
        lock.write_ram(addr, &bytes);
    }
    lock.write_ram(program.origin, &program.encode());
    lock.compare.ran = Some(vec![]);
    let end = lock.job(program.origin);
    let map = lock.chip.map();
    for ran in lock.compare.ran.take().unwrap_or_default() {
        coverage.count(&map, &ran);
    }
    coverage.add(lock.compare.instructions, lock.compare.bytes, lock.chip.cycle_number());
    end
}

/// What the program needs around it.
pub fn config(program: &Program) -> Config {
    Config { memory: program.memory, seed: program.seed, waves: None }
}

/// Takes away steps, rounds and the illegal end as long as the program still fails.
pub fn shrink(program: &Program, mut fails: impl FnMut(&Program) -> bool) -> Program {
    let mut best = program.clone();
    let mut size = best.steps.len().div_ceil(2);
    while size > 0 {
        let mut at = 0;
        while at < best.steps.len() {
            let mut smaller = best.clone();
            smaller.steps.drain(at..(at + size).min(best.steps.len()));
            if fails(&smaller) { best = smaller } else { at += size }
        }
        size /= 2;
    }
    let mut simpler = Program { illegal: None, ..best.clone() };
    if best.illegal.is_some() && fails(&simpler) {
        best = simpler;
    }
    for k in 0..best.steps.len() {
        if let Step::Loop { body, .. } = &best.steps[k] {
            simpler = best.clone();
            simpler.steps[k] = Step::Operation(body.clone());
            if fails(&simpler) {
                best = simpler;
            }
        }
        while let Step::Operation(o) = &best.steps[k]
            && o.n[0] > 1
        {
            let mut shorter = o.clone();
            shorter.n[0] /= 2;
            simpler = best.clone();
            simpler.steps[k] = Step::Operation(shorter);
            if !fails(&simpler) {
                break;
            }
            best = simpler;
        }
    }
    best
}
