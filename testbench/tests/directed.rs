//! The CPU's side and what ends a job from outside: loading, STEP, ABORT, reset, interrupts, read errors, counters. All on
//! the whole chip; without it, or without the tools, the tests say that they were skipped.

mod support;

use ssnail_isa::map::{MB, RAM_BASE, SECOND_RAM};
use ssnail_isa::port::{ID, bit, reg};
use ssnail_isa::script::Script;
use ssnail_isa::{Fault, Opcode};
use support::{chip, lockstep};
use testbench::chip::Chip;
use testbench::lockstep::{End, Lockstep};
use testbench::memory::Memory;
use testbench::programs::{NOT_YET, data};

const CODE: u32 = data::CODE;
const DATA: u32 = RAM_BASE + 0x2_0000;

fn write_code(lock: &mut Lockstep, script: &Script) {
    lock.write_ram(CODE, &script.encode(CODE));
}

fn setn(s: &mut Script, n0: u32) {
    s.push(ssnail_isa::Instruction { x: n0, ..ssnail_isa::Instruction::new(Opcode::Setn) });
}

/// Something that reads and writes for a while: VADD, or COPY as long as the RTL does not have it.
fn work(s: &mut Script) {
    if NOT_YET.contains(&Opcode::Vadd) {
        let (x, y, z) = (DATA, DATA + 0x800, 0x320);
        s.push(ssnail_isa::Instruction { x, y, z, ..ssnail_isa::Instruction::new(Opcode::Copy) });
    } else {
        s.vector(Opcode::Vadd, &[DATA.into(), (DATA + 0x400).into(), (DATA + 0x800).into()]);
    }
}

/// A loop that works for ever.
fn endless() -> Script {
    let mut s = Script::new();
    setn(&mut s, 100);
    let top = s.label();
    s.bind(top);
    work(&mut s);
    s.addi(1, 1, 1);
    s.str(1, DATA + 0xC00);
    s.jump(top);
    s
}

/// All registers that the CPU reads are the emulator's; counters aside.
fn registers_agree(lock: &mut Lockstep) {
    for register in 0..=reg::LOAD_COMMIT {
        let chip = lock.chip.read(register).unwrap();
        let emulator = lock.compare.machine().read_register(register);
        assert_eq!(chip, emulator, "register {register:02X}");
    }
}

fn write_both(lock: &mut Lockstep, register: u8, value: u8) {
    lock.chip.write(register, value).unwrap();
    lock.compare.machine_mut().write_register(register, value);
}

#[test]
fn registers_after_reset_are_those_of_the_board() {
    for memory in [Memory::Sdram, Memory::Hyper] {
        let Some(mut lock) = lockstep(memory, 1) else { return };
        assert_eq!(lock.chip.read(reg::ID).unwrap(), ID);
        assert!(!lock.chip.interrupt());
        registers_agree(&mut lock);
    }
}

#[test]
fn the_load_port_writes_what_it_is_given() {
    for memory in [Memory::Sdram, Memory::Hyper, Memory::HyperSlow, Memory::Contention, Memory::Stalls] {
        let Some(mut chip) = chip(memory, 3) else { return };
        let bytes: Vec<u8> = (0..3000u32).map(|k| (k * 37 + k / 256) as u8).collect();
        chip.commit(RAM_BASE + 0x123, bit::LOAD_ERROR).unwrap();
        for sector in bytes.chunks(512) {
            chip.ready().unwrap();
            chip.load_bytes(sector).unwrap();
        }
        // Commits in a row; the first flushes.
        chip.commit(RAM_BASE + 0x5000, 0).unwrap();
        chip.ready().unwrap();
        chip.commit(RAM_BASE + 0x6001, 0).unwrap();
        chip.ready().unwrap();
        chip.load_bytes(&[0xAB]).unwrap();
        chip.commit(RAM_BASE, 0).unwrap();
        assert_eq!(chip.ready().unwrap() & bit::LOAD_ERROR, 0);
        assert_eq!(chip.ram(RAM_BASE + 0x123, 3000), bytes, "{memory}");
        assert_eq!(chip.ram(RAM_BASE + 0x6000, 4), [0, 0xAB, 0, 0]);
        assert_eq!(chip.take_written().len(), 3001, "no byte is written but those");
    }
}

#[test]
fn data_outside_ram_sets_a_sticky_error() {
    let Some(mut lock) = lockstep(Memory::Sdram, 1) else { return };
    let end = SECOND_RAM + 8 * MB;
    for (addr, bytes) in [(end - 3, 6), (RAM_BASE - 2, 4), (SECOND_RAM - 1, 2)] {
        for (register, byte) in (reg::LOAD_POINTER..).zip(addr.to_le_bytes()) {
            let flags = if register == reg::LOAD_COMMIT { bit::LOAD_ERROR } else { 0 };
            write_both(&mut lock, register, byte | flags);
        }
        lock.chip.ready().unwrap();
        for k in 0..bytes {
            write_both(&mut lock, reg::LOAD_DATA, 0x40 + k);
        }
        for (register, byte) in (reg::LOAD_POINTER..).zip(RAM_BASE.to_le_bytes()) {
            write_both(&mut lock, register, byte);
        }
        lock.chip.ready().unwrap();
        registers_agree(&mut lock);
        let ram = |lock: &Lockstep, at, len| {
            assert_eq!(
                lock.chip.ram(at, len),
                lock.compare.machine().memory().get(at, u64::from(len)).unwrap()
            );
        };
        ram(&lock, end - 4, 4);
        ram(&lock, RAM_BASE, 4);
        ram(&lock, SECOND_RAM - 4, 4);
        ram(&lock, SECOND_RAM, 4);
    }
}

#[test]
fn the_load_port_refuses_while_a_job_runs() {
    let Some(mut lock) = lockstep(Memory::Sdram, 1) else { return };
    write_code(&mut lock, &endless());
    lock.chip.go(CODE).unwrap();
    assert_eq!(lock.chip.read(reg::LOAD_COMMIT).unwrap(), 0);
    lock.chip.write(reg::LOAD_DATA, 1).unwrap();
    assert_eq!(lock.chip.read(reg::LOAD_COMMIT).unwrap(), bit::LOAD_ERROR);
    lock.chip.write(reg::CONTROL, bit::ABORT).unwrap();
    lock.chip.wait_idle(2_000).unwrap();
    assert_eq!(lock.chip.ready().unwrap(), bit::LOAD_READY | bit::LOAD_ERROR);
}

#[test]
fn step_runs_one_instruction() {
    let Some(mut lock) = lockstep(Memory::Sdram, 1) else { return };
    let mut s = Script::new();
    s.li(1, 5);
    setn(&mut s, 3);
    work(&mut s);
    s.halt();
    s.str(16, 0);
    write_code(&mut lock, &s);
    // GO with HALT alone puts PC on CODE's neighbour; then steps from where PC stands.
    let mut halt = Script::new();
    halt.halt();
    lock.write_ram(CODE - 16, &halt.encode(CODE - 16));
    assert_eq!(lock.job(CODE - 16).unwrap(), End::Halt);
    for _ in 0..3 {
        write_both(&mut lock, reg::CONTROL, bit::STEP | bit::IRQ);
        lock.chip.wait_idle(1_000).unwrap();
        let _ = lock.compare.machine_mut().step();
        let retired = lock.chip.take_retired().expect("one instruction a STEP");
        assert_eq!(retired.next, lock.compare.machine().registers().pc);
        assert!(lock.chip.take_retired().is_none());
        registers_agree(&mut lock);
    }
}

#[test]
fn abort_ends_a_job_within_2000_cycles_at_any_point() {
    for memory in [Memory::Sdram, Memory::Stalls, Memory::HyperSlow] {
        let Some(mut lock) = lockstep(memory, 2) else { return };
        write_code(&mut lock, &endless());
        for delay in (0..40).map(|k| k * 37) {
            lock.chip.go(CODE).unwrap();
            lock.chip.wait(delay).unwrap();
            lock.chip.write(reg::CONTROL, bit::ABORT).unwrap();
            let status = lock.chip.wait_idle(2_000).unwrap();
            assert_eq!(status, bit::DONE | bit::ERROR, "{memory}, {delay}");
            assert_eq!(lock.chip.read(reg::FAULT).unwrap(), Fault::Aborted.code());
            let pc = lock.chip.read_u32(reg::PC).unwrap();
            assert!((CODE..CODE + 0x60).contains(&pc) && pc.is_multiple_of(16), "{pc:X}");
        }
        while lock.chip.take_retired().is_some() {}
        lock.chip.take_written();
        lock.resync(DATA, 0x1000);
        plain_job_works(&mut lock);
    }
}

/// A job that sets what it uses works.
fn plain_job_works(lock: &mut Lockstep) {
    let mut s = Script::new();
    setn(&mut s, 50);
    s.li(1, 0);
    work(&mut s);
    s.halt();
    write_code(lock, &s);
    assert_eq!(lock.job(CODE).unwrap(), End::Halt);
}

#[test]
fn reset_works_in_the_middle_of_anything() {
    for memory in [Memory::Sdram, Memory::Contention, Memory::HyperSlow] {
        let Some(mut lock) = lockstep(memory, 2) else { return };
        for delay in (0..30).map(|k| k * 41) {
            write_code(&mut lock, &endless());
            lock.chip.go(CODE).unwrap();
            lock.chip.wait(delay).unwrap();
            // What was asked for is finished or drained; the checker sees that nothing new is asked.
            lock.chip.reset(400).unwrap();
            lock.chip.wait(1_000).unwrap();
            assert_eq!(lock.chip.read(reg::STATUS).unwrap(), 0, "{memory}, {delay}");
            while lock.chip.take_retired().is_some() {}
            lock.chip.take_written();
        }
        lock.resync(DATA, 0x1000);
        plain_job_works(&mut lock);
    }
}

#[test]
fn the_interrupt_is_pending_until_acknowledged() {
    let Some(mut lock) = lockstep(Memory::Sdram, 1) else { return };
    plain_job_works(&mut lock);
    assert_eq!(lock.chip.read(reg::CONTROL).unwrap(), bit::IRQ);
    assert!(!lock.chip.interrupt(), "not enabled");
    lock.chip.write(reg::IRQ_ENABLE, 1).unwrap();
    lock.chip.wait(8).unwrap();
    assert!(lock.chip.interrupt());
    lock.chip.write(reg::CONTROL, bit::IRQ).unwrap();
    lock.chip.wait(8).unwrap();
    assert!(!lock.chip.interrupt());
    assert_eq!(lock.chip.read(reg::CONTROL).unwrap(), 0);
    assert_eq!(lock.chip.read(reg::IRQ_ENABLE).unwrap(), 1);
}

#[test]
fn sync_invalidates_both_rams() {
    let Some(mut lock) = lockstep(Memory::Sdram, 1) else { return };
    let mut s = Script::new();
    s.push(ssnail_isa::Instruction::new(Opcode::Sync));
    s.halt();
    write_code(&mut lock, &s);
    let before = lock.chip.invalidates();
    lock.job(CODE).unwrap();
    assert_eq!(lock.chip.invalidates(), (before.0 + 1, before.1 + 1));
    lock.chip.write(reg::CONTROL, bit::SYNC).unwrap();
    lock.chip.wait(200).unwrap();
    assert_eq!(lock.chip.invalidates(), (before.0 + 2, before.1 + 2));
}

#[test]
fn a_read_error_is_fault_4_on_the_instruction_that_met_it() {
    let mut seen = 0;
    for seed in 0..12 {
        let Some(mut lock) = lockstep(Memory::Errors, seed) else { return };
        let mut s = Script::new();
        setn(&mut s, 200);
        for _ in 0..4 {
            work(&mut s);
        }
        s.halt();
        write_code(&mut lock, &s);
        match lock.job(CODE).unwrap() {
            // The prefetch past HALT may have met one, which is nobody's fault.
            End::Halt => {}
            End::Fault(code) => {
                assert_eq!(code, Fault::Memory.code());
                assert!(lock.chip.read_errors() > 0);
                seen += 1;
            }
        }
    }
    assert!(seen > 2, "{seen}");
}

#[test]
fn counters_count() {
    let Some(mut lock) = lockstep(Memory::Sdram, 1) else { return };
    let latch = |chip: &mut Chip| {
        chip.write(reg::COUNTER_LATCH, 1).unwrap();
        chip.wait(16).unwrap();
        [0, 1, 2, 3, 4].map(|k| {
            chip.write(reg::COUNTER_SELECT, k).unwrap();
            chip.read_u32(reg::COUNTER).unwrap()
        })
    };
    let before = latch(&mut lock.chip);
    let (read, written) = lock.chip.traffic();
    let cycle = lock.chip.cycle_number();
    plain_job_works(&mut lock);
    let cycles = lock.chip.cycle_number() - cycle;
    let after = latch(&mut lock.chip);
    let counted: Vec<u64> = after.iter().zip(before).map(|(a, b)| u64::from(a.wrapping_sub(b))).collect();
    let traffic = lock.chip.traffic();
    assert_eq!(counted[1], 4, "instructions");
    assert!(counted[0] > 100 && counted[0] <= cycles, "busy {} of {cycles}", counted[0]);
    assert_eq!((counted[2], counted[3]), (traffic.0 - read, traffic.1 - written), "bytes read, written");
    assert!(counted[4] <= counted[0], "waiting {} of {}", counted[4], counted[0]);
}
