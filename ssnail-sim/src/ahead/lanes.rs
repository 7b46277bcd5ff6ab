//! Computes turns of a loop side by side, instruction by instruction.

use super::independence::Private;
use super::scout::Scouted;
use crate::execute::{self, Output, Scratch, Source, Step};
use crate::machine::Machine;
use crate::memory::Memory;
use crate::numerics::{Numerics, Weights};
use crate::scalar::Words;
use crate::share;
use rayon::prelude::*;
use ssnail_isa::Opcode;
use ssnail_isa::check::Span;

/// Bytes that an instruction of all turns reads above which threads share the turns.
const PARALLEL: u64 = 1 << 18;

/// What one turn has for itself.
#[derive(Default)]
pub(super) struct Lane {
    /// Its copy of what is private, as words for their alignment.
    copy: Vec<u64>,
    scratch: Scratch,
}

/// RAM as a turn sees it.
#[derive(Clone, Copy)]
struct View<'a> {
    memory: &'a Memory,
    private: &'a Private,
    copy: &'a [u64],
}

impl<'a> Source<'a> for View<'a> {
    fn bytes(self, span: Span) -> &'a [u8] {
        match self.private.place(span) {
            Some(place) => &bytemuck::cast_slice(self.copy)[place..][..span.len as usize],
            None => self.memory.bytes(span),
        }
    }
}

impl Lane {
    /// Stores a result in the turn's copy. Gives whether it belongs there.
    fn keep(&mut self, private: &Private, to: Span, output: Output) -> bool {
        let Some(place) = private.place(to) else { return false };
        let copy: &mut [u8] = bytemuck::cast_slice_mut(&mut self.copy);
        copy[place..][..to.len as usize].copy_from_slice(self.scratch.result(output));
        true
    }
}

/// Computes all turns. RAM, registers and counts are then as after the last of them.
pub(super) fn run(machine: &mut Machine, found: &Scouted, private: &Private) {
    let mut lanes = std::mem::take(&mut machine.ahead.lanes);
    let turns = found.turns.len();
    lanes.resize_with(lanes.len().max(turns), Lane::default);
    for lane in &mut lanes[..turns] {
        lane.copy.resize(private.bytes.div_ceil(8), 0);
    }
    for column in 0..found.turns[0].len() {
        let steps: Vec<&Step> = found.turns.iter().map(|turn| &turn[column]).collect();
        run_column(machine, &steps, private, &mut lanes[..turns]);
    }
    let last: &[u8] = bytemuck::cast_slice(&lanes[turns - 1].copy);
    for (span, place) in private.intervals() {
        machine.memory.bytes_mut(span).copy_from_slice(&last[place..][..span.len as usize]);
    }
    for &(addr, value) in &found.stores {
        machine.memory.store(addr, value);
    }
    machine.regs = found.registers.clone();
    machine.stats.add(&found.stats);
    machine.ahead.lanes = lanes;
}

/// The same instruction of each turn.
fn run_column(machine: &mut Machine, steps: &[&Step], private: &Private, lanes: &mut [Lane]) {
    let op = steps[0].instruction.op;
    let outputs = if op == Opcode::Gemv {
        products(machine, steps, private, lanes)
    } else {
        let (memory, numerics) = (&machine.memory, &*machine.numerics);
        compute(memory, numerics, steps, private, lanes)
    };
    for ((step, lane), output) in steps.iter().zip(lanes).zip(outputs) {
        if let Some(to) = step.operands.written(op)
            && !lane.keep(private, to, output)
        {
            machine.memory.bytes_mut(to).copy_from_slice(lane.scratch.result(output));
        }
    }
}

/// Any instruction but GEMV.
fn compute(
    memory: &Memory,
    numerics: &dyn Numerics,
    steps: &[&Step],
    private: &Private,
    lanes: &mut [Lane],
) -> Vec<Output> {
    let one = |(step, lane): (&&Step, &mut Lane)| {
        let Lane { copy, scratch } = lane;
        execute::compute(step, View { memory, private, copy }, numerics, scratch)
    };
    let bytes = |step: &&Step| step.operands.read(&step.instruction).map(|s| u64::from(s.len)).sum::<u64>();
    if rayon::current_num_threads() == 1 || steps.iter().map(bytes).sum::<u64>() < PARALLEL {
        steps.iter().zip(lanes).map(one).collect()
    } else {
        share::stay_awake();
        steps.par_iter().zip(lanes).map(one).collect()
    }
}

/// GEMV: turns that follow each other with the same matrix and flags share a pass over the weights.
fn products(machine: &mut Machine, steps: &[&Step], private: &Private, lanes: &mut [Lane]) -> Vec<Output> {
    let Machine { memory, numerics, repacked, .. } = machine;
    let alike = |a: &&Step, b: &&Step| {
        let of = |s: &Step| (execute::matrix(s), s.n[1], s.instruction.b);
        of(a) == of(b)
    };
    let mut outputs = Vec::with_capacity(steps.len());
    let mut lanes = lanes.iter_mut();
    for steps in steps.chunk_by(alike) {
        let at = execute::matrix(steps[0]);
        let packed = repacked.get(memory, &**numerics, at, steps.len());
        let memory = &*memory;
        let weights = Weights { matrix: execute::standing(memory, at), packed };
        let each = steps.iter().zip(lanes.by_ref().take(steps.len())).map(|(&step, lane)| {
            let Lane { copy, scratch } = lane;
            (step, View { memory, private, copy }, scratch)
        });
        let output = execute::gemv(each, weights, &mut **numerics);
        outputs.resize(outputs.len() + steps.len(), output);
    }
    outputs
}
