//! The comparison itself, with the emulator in the place of the chip: what is the same passes, each way to differ fails.

use super::{Compare, Event};
use crate::chip::Retire;
use ssnail_isa::map::{Board, RAM_BASE};
use ssnail_isa::script::Script;
use ssnail_isa::{Opcode, Registers};
use ssnail_sim::{Hardware, Machine, Memory};

const CODE: u32 = RAM_BASE + 0x100;
const DATA: u32 = RAM_BASE + 0x1000;

fn machine(code: &[u8]) -> Machine {
    let mut m = Machine::new(Memory::new(Board::R3).unwrap(), Box::new(Hardware::new()));
    m.memory_mut().write(CODE, code).unwrap();
    m.memory_mut().write(DATA, &1.5f32.to_le_bytes().repeat(8)).unwrap();
    m.go(CODE);
    m
}

fn script() -> Vec<u8> {
    let mut s = Script::new();
    s.push(ssnail_isa::Instruction { x: 8, y: 2, z: 3, ..ssnail_isa::Instruction::new(Opcode::Setn) });
    s.li(3, 77);
    s.lea(2, 3, DATA, 4);
    s.vector(Opcode::Vadd, &[DATA.into(), DATA.into(), (DATA + 0x100).into()]);
    s.str(3, DATA + 0x200);
    s.push(ssnail_isa::Instruction { x: DATA + 1, ..ssnail_isa::Instruction::new(Opcode::Ldr) });
    s.encode(CODE)
}

/// What a chip that is right would tell of the next instruction.
fn twin(m: &mut Machine, cycle: u64) -> Retire {
    let before: Registers = m.registers().clone();
    let outcome = m.step();
    let after = m.registers();
    let changed = |old: &[u32; 16], new: &[u32; 16]| (0..16).find(|&k| old[k] != new[k]);
    let register = changed(&before.r, &after.r)
        .map(|k| (1, k as u8, after.r[k]))
        .or_else(|| changed(&before.a, &after.a).map(|k| (2, k as u8, after.a[k])));
    let span = outcome.as_ref().ok().and_then(|r| r.operands.written(r.instruction.op));
    let written = span.map_or(vec![], |s| (s.addr..).zip(m.memory().bytes(s).iter().copied()).collect());
    let fault = match outcome {
        Err(ssnail_sim::report::RunError::Fault(f)) => f.fault.code(),
        _ => 0,
    };
    Retire { cycle, pc: before.pc, next: after.pc, fault, register, n: after.n, written }
}

/// Runs with one retired instruction changed; gives what the comparison says of it.
fn altered(at: u64, alter: impl Fn(&mut Retire)) -> Result<Event, String> {
    let (mut m, mut c) = (machine(&script()), Compare::new(machine(&script())));
    for k in 0..6 {
        let mut r = twin(&mut m, 10 * k);
        if k == at {
            alter(&mut r);
        }
        match c.retire(&r) {
            Ok(event) if k == 5 => return Ok(event),
            Ok(_) => {}
            Err(d) => {
                assert_eq!((k, d.cycle), (at, 10 * at));
                return Err(format!("{d}"));
            }
        }
    }
    unreachable!("the loop returns")
}

#[test]
fn the_same_passes_and_is_counted() {
    assert_eq!(altered(9, |_| {}), Ok(Event::Fault(3)));
    let (mut m, mut c) = (machine(&script()), Compare::new(machine(&script())));
    for k in 0..5 {
        assert_eq!(c.retire(&twin(&mut m, k)), Ok(Event::Next));
    }
    assert_eq!((c.instructions, c.bytes), (5, 36));
}

#[test]
fn each_difference_is_told() {
    type Change = (u64, fn(&mut Retire), &'static str);
    let changes: [Change; 10] = [
        (1, |r| r.pc += 16, "address of the instruction"),
        (1, |r| r.next += 16, "next PC"),
        (1, |r| r.register = None, "R3"),
        (2, |r| r.register = Some((2, 2, 1)), "A2"),
        (3, |r| r.n[1] = 9, "N1"),
        (3, |r| r.written[5].1 ^= 1, "1 of 32 bytes differ, the first at 8001105"),
        (3, |r| r.written.truncate(31), "1 of 32 bytes differ, the first at 800111F"),
        (3, |r| r.written.push((DATA, 0)), "outside the destination"),
        (5, |r| r.fault = 2, "fault"),
        (5, |r| r.written.push((DATA, 0)), "a write that no instruction makes"),
    ];
    for (at, change, expected) in changes {
        let told = altered(at, change).unwrap_err();
        assert!(told.contains(expected), "{told}");
    }
    let told = altered(3, |r| r.fault = 1).unwrap_err();
    assert!(told.contains("VADD") && told.contains("LEA"), "{told}");
}
