//! Programs on the emulator alone: legal ones reach HALT, illegal ones fault, together they leave no hole; shrinking.

use super::{Coverage, Program, Set, Step, data, generate, shrink};
use crate::lockstep::compare::Ran;
use crate::memory::Memory as Mode;
use ssnail_isa::map::Board;
use ssnail_isa::{Fault, Instruction, Opcode};
use ssnail_sim::machine::Event;
use ssnail_sim::report::RunError;
use ssnail_sim::{Hardware, Machine, Memory};

fn all_but_attention() -> Set {
    Set::without(&[Opcode::Attn])
}

/// Runs on the emulator; gives the fault that ended it.
fn run(p: &Program, coverage: &mut Coverage) -> Option<Fault> {
    let board = if p.memory.has_sdram() { Board::R6 } else { Board::R3 };
    let mut m = Machine::new(Memory::new(board).unwrap(), Box::new(Hardware::new()));
    for (addr, bytes) in data::contents(&board.map(), p.seed) {
        m.memory_mut().write(addr, &bytes).unwrap();
    }
    m.memory_mut().write(p.origin, &p.encode()).unwrap();
    m.go(p.origin);
    for _ in 0..10_000 {
        let word = m.memory().get(m.registers().pc, 16).unwrap().try_into().unwrap();
        let decoded = Instruction::decode(&word).ok();
        let outcome = m.step();
        let fault = match &outcome {
            Err(RunError::Fault(f)) => Some(f.fault),
            _ => None,
        };
        let operands = outcome.as_ref().ok().map(|r| r.operands);
        coverage.count(
            &board.map(),
            &Ran { instruction: decoded, operands, fault: fault.map_or(0, Fault::code), cycles: 0 },
        );
        match outcome {
            Ok(r) if r.event == Event::Halt => return None,
            Ok(_) => {}
            Err(_) => return fault,
        }
    }
    panic!("the program does not end:\n{p}");
}

#[test]
fn legal_programs_halt_and_illegal_ones_fault_and_nothing_is_left_out() {
    let mut coverage = Coverage::default();
    let set = all_but_attention();
    for seed in 0..400 {
        let p = generate(seed, Mode::SOUND[seed as usize % 5], &set, 12);
        assert_eq!(run(&p, &mut coverage).is_some(), p.illegal.is_some(), "{p}");
    }
    assert_eq!(coverage.holes(&set.0), Vec::<String>::new(), "{coverage}");
    for fault in [Fault::Illegal, Fault::Range, Fault::Alignment, Fault::Format] {
        assert!(coverage.to_string().contains(&format!(" {}: ", fault.code())), "{coverage}");
    }
    println!("{coverage}");
}

#[test]
fn programs_depend_on_their_seed_alone() {
    let set = all_but_attention();
    assert_eq!(generate(3, Mode::Sdram, &set, 9), generate(3, Mode::Sdram, &set, 9));
    assert_ne!(generate(3, Mode::Sdram, &set, 9), generate(4, Mode::Sdram, &set, 9));
}

#[test]
fn what_does_not_matter_is_taken_away() {
    let set = all_but_attention();
    let vadd = |s: &Step| matches!(s, Step::Operation(o) | Step::Loop { body: o, .. } if o.instruction.op == Opcode::Vadd && o.n[0] >= 4);
    let p =
        (0..50).map(|seed| generate(seed, Mode::Sdram, &set, 30)).find(|p| p.steps.iter().any(vadd)).unwrap();
    let small = shrink(&p, |p| p.steps.iter().any(vadd));
    assert_eq!(small.steps.len(), 1);
    assert!(matches!(&small.steps[0], Step::Operation(o) if (4..8).contains(&o.n[0])), "{small}");
    assert!(small.illegal.is_none());
}
