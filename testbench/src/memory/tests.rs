//! The RAM with a small master in Rust: times are those of the specification, data are right, rules are seen.

use super::super::{Checker, Command, FromMaster, Memory, Timing, op};
use super::Ram;
use std::collections::VecDeque;

/// A master that puts out commands as fast as they are taken, and words as they are asked for.
struct Master {
    ram: Ram,
    checker: Checker,
    commands: VecDeque<Command>,
    data: VecDeque<u16>,
    wdata: u16,
    read: Vec<u16>,
    done: Vec<u64>,
    first: Option<u64>,
    cycle: u64,
}

impl Master {
    fn new(timing: Timing, commands: &[Command], data: &[u16]) -> Self {
        let mut ram = Ram::new(1 << 16, timing, 5);
        ram.bytes_mut().iter_mut().enumerate().for_each(|(k, b)| *b = (k * 7 + k / 256) as u8);
        let mut checker = Checker::new("test", 1 << 16);
        checker.asked();
        let commands = commands.iter().copied().collect();
        let data = data.iter().copied().collect();
        Master { ram, checker, commands, data, wdata: 0, read: vec![], done: vec![], first: None, cycle: 0 }
    }

    fn run(&mut self, commands: usize) {
        while self.done.len() < commands {
            assert!(self.cycle < 100_000, "commands hang");
            let port = self.ram.out();
            let master =
                FromMaster { command: self.commands.front().copied(), wdata: self.wdata, wdata_be: 3 };
            self.checker.edge(master, port).unwrap();
            self.ram.edge(master);
            if port.cmd_ready {
                self.commands.pop_front();
            }
            if port.wdata_req {
                self.wdata = self.data.pop_front().unwrap();
            }
            if let Some(word) = port.rdata {
                self.first.get_or_insert(self.cycle);
                self.read.push(word);
            }
            if port.cmd_done {
                self.done.push(self.cycle);
            }
            self.cycle += 1;
        }
    }
}

fn reads(n: u32) -> Vec<Command> {
    (0..n).map(|k| Command { op: op::READ, addr: 256 * k, len: 256 }).collect()
}

#[test]
fn sdram_takes_138_cycles_a_burst() {
    let timing = Timing { row: 0, refresh_every: 0, ..Timing::SDRAM };
    let mut m = Master::new(timing, &reads(20), &[]);
    m.run(20);
    assert_eq!(m.first, Some(12));
    assert!(m.done.windows(2).all(|d| d[1] - d[0] == 138), "{:?}", m.done);
    // With rows and refresh: 20 bursts open 3 rows; 2,760 cycles have 2 refreshes.
    let mut m = Master::new(Timing::SDRAM, &reads(20), &[]);
    m.run(20);
    assert_eq!(m.done[19] - m.done[0], 19 * 138 + 2 * 9 + 2 * 11);
}

#[test]
fn hyperram_takes_40_cycles_and_a_byte_a_cycle() {
    let timing = Timing { collision_in: 0, ..Timing::HYPERRAM };
    let mut m = Master::new(timing, &reads(5), &[]);
    m.run(5);
    assert!(m.done.windows(2).all(|d| d[1] - d[0] == 295), "{:?}", m.done);
    let slow = Timing { collision_in: 0, ..Timing::HYPERRAM_SLOW };
    let mut m = Master::new(slow, &reads(5), &[]);
    m.run(5);
    assert!(m.done.windows(2).all(|d| d[1] - d[0] == 549), "{:?}", m.done);
}

#[test]
fn words_come_in_order_in_every_mode() {
    for mode in Memory::SOUND {
        for timing in [mode.hyper(), mode.sdram()] {
            let data: Vec<u16> = (0..64).map(|k| 1000 + k).collect();
            let at = Command { op: op::WRITE, addr: 0x4080, len: 128 };
            let back = Command { op: op::READ, ..at };
            let commands = [reads(1)[0], at, back, Command { op: op::INVALIDATE, addr: 0, len: 8 }];
            let mut m = Master::new(timing, &commands, &data);
            m.run(4);
            assert_eq!(m.read[..2], [0x0700, 0x150E]);
            assert_eq!(m.read[128..], data, "{mode}");
            assert_eq!((m.ram.bytes_written, m.ram.bytes_read, m.ram.invalidates), (128, 384, 1));
            let written: Vec<_> = m.ram.take_written().collect();
            assert_eq!((written.len(), written[0].addr, written[0].value), (128, 0x4080, 1000u16 as u8));
        }
    }
}

#[test]
fn a_read_that_times_out_still_delivers_its_words() {
    let mut m = Master::new(Timing { error_in: 3, ..Timing::SDRAM }, &reads(60), &[]);
    m.run(60);
    assert_eq!(m.read.len(), 60 * 128);
    assert!((10..30).contains(&m.ram.errors), "{}", m.ram.errors);
}

#[test]
fn broken_rules_are_seen() {
    let good = Command { op: op::READ, addr: 0x100, len: 256 };
    let port = Ram::new(8, Timing::SDRAM, 1).out();
    for (command, rule) in [
        (Command { addr: 0x104, ..good }, "multiple of 8"),
        (Command { len: 12, ..good }, "length"),
        (Command { len: 0, ..good }, "length"),
        (Command { len: 264, ..good }, "length"),
        (Command { addr: 0x108, ..good }, "crosses"),
        (Command { addr: 0x1_0000, ..good }, "does not lie"),
        (Command { op: 3, ..good }, "unknown"),
    ] {
        let mut checker = Checker::new("test", 1 << 16);
        checker.asked();
        let e =
            checker.edge(FromMaster { command: Some(command), ..FromMaster::default() }, port).unwrap_err();
        assert!(e.to_string().contains(rule), "{e}");
    }
    let mut checker = Checker::new("test", 1 << 16);
    let shown = FromMaster { command: Some(good), ..FromMaster::default() };
    (0..=32).for_each(|_| checker.edge(FromMaster::default(), port).unwrap());
    assert!(checker.edge(shown, port).unwrap_err().rule.contains("after reset"));
    checker.asked();
    checker.edge(shown, super::FromPort { cmd_ready: false, ..port }).unwrap();
    assert!(checker.edge(FromMaster::default(), port).unwrap_err().rule.contains("dropped"));
    let stray = super::FromPort { rdata: Some(1), ..port };
    let mut checker = Checker::new("test", 8);
    assert!(checker.edge(FromMaster::default(), stray).unwrap_err().rule.contains("no command"));
}
