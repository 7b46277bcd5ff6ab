//! One instruction's effects on both sides: PC, registers, every byte written, fault.

use crate::chip::Retire;
use ssnail_isa::check::{Checked, Registers, Span};
use ssnail_isa::instr::Instruction;
use ssnail_isa::text::instruction_text;
use ssnail_isa::{Fault, Opcode};
use ssnail_sim::Machine;
use ssnail_sim::report::RunError;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;

/// Instructions that a report shows.
const HISTORY: usize = 12;
/// Differing bytes that a report shows.
const SHOWN: usize = 8;
/// Faults that the emulator cannot know of: the RAM's read errors and the CPU's ABORT.
const FROM_OUTSIDE: [u8; 2] = [Fault::Memory as u8, Fault::Aborted as u8];

/// The first difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Cycle in which the instruction retired.
    pub cycle: u64,
    /// What differs.
    pub what: String,
    /// The chip's side.
    pub chip: String,
    /// The emulator's.
    pub emulator: String,
    /// The last instructions, this one at the end.
    pub history: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { cycle, what, chip, emulator, history } = self;
        write!(f, "cycle {cycle}: {what}\n  chip:     {chip}\n  emulator: {emulator}\n{history}")
    }
}

impl std::error::Error for Difference {}

/// What an instruction means for the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// It goes on.
    Next,
    /// It goes on, and the CPU sees what was written.
    Sync,
    /// It is done.
    Halt,
    /// It ended with this fault.
    Fault(u8),
}

/// An instruction that was run on both sides, for those who count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ran {
    /// The instruction; `None` for a word that is none.
    pub instruction: Option<Instruction>,
    /// Its operands; `None` in a fault.
    pub operands: Option<Checked>,
    /// Fault code, 0 for none.
    pub fault: u8,
    /// Cycles since the one before retired.
    pub cycles: u64,
}

/// The emulator, and what has been compared with it.
pub struct Compare {
    machine: Machine,
    /// The chip's registers, as its trace has told them.
    chip: Registers,
    history: VecDeque<String>,
    last_cycle: u64,
    /// Instructions that were the same.
    pub instructions: u64,
    /// Bytes written that were the same.
    pub bytes: u64,
    /// Cycles by opcode: instructions, cycles.
    pub cycles: BTreeMap<Opcode, (u64, u64)>,
    /// What ran, when somebody wants to know.
    pub ran: Option<Vec<Ran>>,
}

impl Compare {
    /// Begins with a machine after reset.
    pub fn new(machine: Machine) -> Self {
        Compare {
            machine,
            chip: Registers::default(),
            history: VecDeque::new(),
            last_cycle: 0,
            instructions: 0,
            bytes: 0,
            cycles: BTreeMap::new(),
            ran: None,
        }
    }

    /// The emulator.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The emulator, for the CPU to write to.
    pub fn machine_mut(&mut self) -> &mut Machine {
        &mut self.machine
    }

    /// The last instructions.
    pub fn history(&self) -> String {
        self.history.iter().map(|line| format!("    {line}\n")).collect()
    }

    /// Runs the instruction on the emulator too and compares.
    ///
    /// # Errors
    /// The difference.
    pub fn retire(&mut self, r: &Retire) -> Result<Event, Box<Difference>> {
        let before = self.machine.registers().pc;
        let word = self.machine.memory().get(before, 16).ok().and_then(|w| w.try_into().ok());
        let decoded = word.and_then(|w: [u8; 16]| Instruction::decode(&w).ok());
        let text = decoded.map_or_else(|| "no instruction".into(), |i| instruction_text(&i));
        self.push(format!("{:>8} cycle {:>9} {before:07X} {text}", self.instructions, r.cycle));
        let cycles = r.cycle - self.last_cycle;
        self.last_cycle = r.cycle;
        self.same(r, "address of the instruction", hex(r.pc), hex(before))?;
        if FROM_OUTSIDE.contains(&r.fault) {
            return Ok(Event::Fault(r.fault));
        }
        let outcome = self.machine.step();
        let fault = match &outcome {
            Err(RunError::Fault(report)) => report.fault.code(),
            _ => 0,
        };
        self.same(r, "fault", r.fault.to_string(), fault.to_string())?;
        let registers = self.machine.registers().clone();
        self.same(r, "next PC", hex(r.next), hex(registers.pc))?;
        self.registers(r, &registers)?;
        let retired = outcome.ok();
        let span = retired.and_then(|x| x.operands.written(x.instruction.op));
        self.written(r, span)?;
        if let Some(x) = &retired {
            let sum = self.cycles.entry(x.instruction.op).or_default();
            *sum = (sum.0 + 1, sum.1 + cycles);
        }
        if let Some(ran) = &mut self.ran {
            let operands = retired.map(|x| x.operands);
            ran.push(Ran { instruction: decoded, operands, fault, cycles });
        }
        let Some(retired) = retired else { return Ok(Event::Fault(fault)) };
        self.instructions += 1;
        Ok(match retired.event {
            ssnail_sim::machine::Event::Next => Event::Next,
            ssnail_sim::machine::Event::Sync => Event::Sync,
            ssnail_sim::machine::Event::Halt => Event::Halt,
        })
    }

    /// All registers of the emulator are what the chip has told.
    fn registers(&mut self, r: &Retire, emulator: &Registers) -> Result<(), Box<Difference>> {
        match r.register {
            Some((1, k, v)) if k < 15 => self.chip.r[usize::from(k)] = v,
            Some((2, k, v)) if k < 16 => self.chip.a[usize::from(k)] = v,
            _ => {}
        }
        self.chip.n = r.n;
        for k in 0..16 {
            self.same(r, &format!("R{k}"), hex(self.chip.r[k]), hex(emulator.r[k]))?;
            self.same(r, &format!("A{k}"), hex(self.chip.a[k]), hex(emulator.a[k]))?;
        }
        (0..3).try_for_each(|k| self.same(r, &format!("N{k}"), hex(r.n[k]), hex(emulator.n[k])))
    }

    /// Every byte of `span` was written, no other, and all are the emulator's.
    fn written(&mut self, r: &Retire, span: Option<Span>) -> Result<(), Box<Difference>> {
        let Some(span) = span else { return self.nothing_more(r.cycle, &r.written) };
        let mut chip: Vec<Option<u8>> = vec![None; span.len as usize];
        for &(addr, value) in &r.written {
            match addr.checked_sub(span.addr).and_then(|k| chip.get_mut(k as usize)) {
                Some(byte) => *byte = Some(value),
                None => {
                    let inside = format!("writes {:07X}..{:07X} only", span.addr, span.addr + span.len);
                    let what = "a byte written outside the destination";
                    return Err(self.difference(r.cycle, what, format!("{value:02X} at {addr:07X}"), inside));
                }
            }
        }
        let emulator = self.machine.memory().bytes(span);
        let wrong: Vec<usize> = (0..chip.len()).filter(|&k| chip[k] != Some(emulator[k])).collect();
        let Some(&first) = wrong.first() else {
            self.bytes += u64::from(span.len);
            return Ok(());
        };
        let window = first..chip.len().min(first + SHOWN);
        let show = |byte: Option<u8>| byte.map_or("--".into(), |b| format!("{b:02X}"));
        let theirs: Vec<String> = window.clone().map(|k| show(chip[k])).collect();
        let ours: Vec<String> = window.map(|k| show(Some(emulator[k]))).collect();
        let what = format!(
            "{} of {} bytes differ, the first at {:07X}, {first} bytes into the destination",
            wrong.len(),
            chip.len(),
            span.addr + first as u32
        );
        Err(self.difference(r.cycle, &what, theirs.join(" "), ours.join(" ")))
    }

    /// Nothing was written.
    ///
    /// # Errors
    /// The first byte that was.
    pub fn nothing_more(&self, cycle: u64, written: &[(u32, u8)]) -> Result<(), Box<Difference>> {
        match written.first() {
            None => Ok(()),
            Some((addr, value)) => {
                let chip = format!("{} bytes, the first {value:02X} at {addr:07X}", written.len());
                Err(self.difference(cycle, "a write that no instruction makes", chip, "nothing".into()))
            }
        }
    }

    /// A register that the CPU reads is what the emulator's is.
    ///
    /// # Errors
    /// When it is not.
    pub fn register(&self, cycle: u64, register: u8, chip: u8) -> Result<(), Box<Difference>> {
        let emulator = self.machine.read_register(register);
        if chip == emulator {
            return Ok(());
        }
        let what = format!("register {register:02X} as the CPU reads it");
        Err(self.difference(cycle, &what, format!("{chip:02X}"), format!("{emulator:02X}")))
    }

    /// The difference that a fault from outside is when nothing outside calls for it.
    pub fn uncalled_for(&self, r: &Retire) -> Box<Difference> {
        self.difference(
            r.cycle,
            "a fault that nothing calls for",
            format!("fault {}", r.fault),
            "none".into(),
        )
    }

    /// The difference that an instruction after the end of a job is.
    pub fn extra(&self, r: &Retire) -> Box<Difference> {
        self.difference(r.cycle, "an instruction after the end of the job", hex(r.pc), "none".into())
    }

    fn same(&self, r: &Retire, what: &str, chip: String, emulator: String) -> Result<(), Box<Difference>> {
        if chip == emulator { Ok(()) } else { Err(self.difference(r.cycle, what, chip, emulator)) }
    }

    fn difference(&self, cycle: u64, what: &str, chip: String, emulator: String) -> Box<Difference> {
        Box::new(Difference { cycle, what: what.into(), chip, emulator, history: self.history() })
    }

    fn push(&mut self, line: String) {
        if self.history.len() == HISTORY {
            self.history.pop_front();
        }
        self.history.push_back(line);
    }
}

fn hex(value: u32) -> String {
    format!("{value:X}")
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
