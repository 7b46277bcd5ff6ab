//! The control registers, and an image's way in.

use crate::support;
use crate::{Float, Machine, Memory};
use ssnail_isa::image::Image;
use ssnail_isa::image::layout::{PAYLOAD, TOKENS};
use ssnail_isa::map::{Board, RAM_BASE};
use ssnail_isa::port::{bit, reg};
use ssnail_isa::text::assemble;
use std::ops::ControlFlow;

fn machine(board: Board) -> Machine {
    Machine::new(Memory::new(board).unwrap(), Box::new(Float::new()))
}

fn with_script(text: &str) -> Machine {
    let mut m = machine(Board::R3);
    let script = assemble(text, PAYLOAD).unwrap();
    m.memory_mut().write(PAYLOAD, &script.bytes).unwrap();
    m
}

fn run(m: &mut Machine) {
    let _ = m.run(1000, |_| ControlFlow::Continue(()));
}

fn word(m: &Machine, first: u8) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|i| m.read_register(first + i as u8)))
}

#[test]
fn a_job_goes_through_the_registers() {
    let mut m = with_script("LI R1, 5\nSYNC\nHALT");
    assert_eq!((m.read_register(reg::ID), m.read_register(reg::STATUS)), (0x53, 0));
    m.go(PAYLOAD);
    assert_eq!((word(&m, reg::JOB), word(&m, reg::PC)), (PAYLOAD, PAYLOAD));
    assert_eq!(m.read_register(reg::STATUS), bit::BUSY);
    assert_eq!(m.read_register(reg::LOAD_COMMIT), 0);
    m.write_register(reg::JOB, 0x40); // ignored while busy
    let mut syncs = 0;
    m.run(1000, |_| {
        syncs += 1;
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!((syncs, word(&m, reg::JOB), word(&m, reg::PC)), (1, PAYLOAD, PAYLOAD + 32));
    assert_eq!((m.read_register(reg::STATUS), m.read_register(reg::FAULT)), (bit::DONE, 0));
    assert_eq!(m.registers().r[1], 5);
}

#[test]
fn the_interrupt_stays_until_it_is_acknowledged() {
    let mut m = with_script("HALT");
    m.go(PAYLOAD);
    run(&mut m);
    assert_eq!((m.read_register(reg::CONTROL), m.interrupt()), (bit::IRQ, false));
    m.write_register(reg::IRQ_ENABLE, 0xFF);
    assert_eq!((m.read_register(reg::IRQ_ENABLE), m.interrupt()), (1, true));
    let read = m.read_register(reg::CONTROL);
    m.write_register(reg::CONTROL, read);
    assert_eq!((m.read_register(reg::CONTROL), m.interrupt()), (0, false));
    assert_eq!(m.read_register(reg::STATUS), bit::DONE);
}

#[test]
fn step_runs_one_instruction_from_pc() {
    let mut m = with_script("LI R1, 1\nLI R1, 2\nHALT");
    m.go(PAYLOAD);
    m.write_register(reg::CONTROL, bit::ABORT);
    assert_eq!(m.read_register(reg::STATUS), bit::DONE | bit::ERROR);
    assert_eq!(m.read_register(reg::FAULT), 5);
    for want in [1, 2, 2, 2] {
        m.write_register(reg::CONTROL, bit::STEP);
        assert_eq!(m.read_register(reg::STATUS), bit::BUSY);
        run(&mut m);
        assert_eq!((m.registers().r[1], m.read_register(reg::STATUS)), (want, bit::DONE));
    }
    assert_eq!(word(&m, reg::PC), PAYLOAD + 32);
    m.write_register(reg::CONTROL, bit::ABORT); // no job: nothing
    m.write_register(reg::CONTROL, bit::ABORT | bit::GO);
    assert_eq!(m.read_register(reg::STATUS), bit::DONE);
}

#[test]
fn a_fault_shows_its_code_and_pc() {
    let mut m = with_script("NOP\nLDR R1, 0x8000002");
    m.go(PAYLOAD);
    run(&mut m);
    assert_eq!(m.read_register(reg::STATUS), bit::DONE | bit::ERROR);
    assert_eq!((m.read_register(reg::FAULT), word(&m, reg::PC)), (3, PAYLOAD + 16));
    m.go(0xFFF_FFF0 | 0xF000_0000);
    assert_eq!(word(&m, reg::JOB), 0xFFF_FFF0);
    run(&mut m);
    assert_eq!((m.read_register(reg::FAULT), word(&m, reg::PC)), (2, 0xFFF_FFF0));
}

#[test]
fn boards_say_what_they_have() {
    let map = |b| [reg::CAPS, 0x10, 0x11, 0x12, 0x13].map(|r| machine(b).read_register(r));
    assert_eq!(map(Board::R3), [1, 8, 0, 0, 0x80]);
    assert_eq!(map(Board::R6), [3, 8, 0x80, 0x40, 0xC0]);
}

/// Sector by sector, byte by byte through $18, beside the loader.
#[test]
fn the_loader_does_what_the_mega65_does() {
    let file = support::decoder();
    let image = Image::parse(&file).unwrap();
    let (mut fast, mut slow) = (machine(Board::R3), machine(Board::R3));
    crate::loader::load(&mut fast, &image).unwrap();
    let pointer = |m: &mut Machine, addr: u32, flags: u8| {
        (0..3).for_each(|b| m.write_register(0x14 + b, (addr >> (8 * b)) as u8));
        m.write_register(0x17, (addr >> 24) as u8 | flags);
    };
    pointer(&mut slow, RAM_BASE, 0x40);
    for (n, &byte) in file.iter().enumerate() {
        if n % 512 == 0 {
            assert_eq!(slow.read_register(0x17), 0x80);
        }
        if n == 256 {
            pointer(&mut slow, PAYLOAD, 0);
        }
        slow.write_register(0x18, byte);
    }
    pointer(&mut slow, 0, 0);
    let ram = |m: &Machine| m.memory().get(RAM_BASE, 8 << 20).unwrap().to_vec();
    assert!(ram(&fast) == ram(&slow), "RAM differs");
    assert_eq!(ram(&fast)[..256], file[..256]);
    assert_eq!(ram(&fast)[0x5000..0x5000 + file.len() - 256], file[256..]);
    assert!(ram(&fast)[256..0x5000].iter().all(|&b| b == 0));
}

#[test]
fn while_a_job_runs_the_port_takes_nothing() {
    let file = support::decoder();
    let image = Image::parse(&file).unwrap();
    let mut m = with_script("HALT");
    m.go(PAYLOAD);
    let error = crate::loader::load(&mut m, &image).unwrap_err();
    assert_eq!(error.to_string(), "load port not ready at file offset 0x0: a job is running");
    m.write_register(reg::LOAD_DATA, 1);
    m.write_load_data(&[1]);
    run(&mut m);
    assert_eq!(m.read_register(reg::LOAD_COMMIT), bit::LOAD_READY | bit::LOAD_ERROR);
    assert_eq!(m.memory().read_u32(TOKENS), Ok(0));
    crate::loader::load(&mut m, &image).unwrap();
}
