//! What has been tried: instruction by alignment, region and length of its operands, and faults by instruction.

use crate::lockstep::compare::Ran;
use ssnail_isa::check::Span;
use ssnail_isa::map::AddressMap;
use ssnail_isa::table::{TABLE, WordField};
use ssnail_isa::{Fault, Opcode};
use std::collections::BTreeMap;
use std::fmt;

/// Classes of the first operand's bytes.
const LENGTHS: [(&str, u32); 6] =
    [("0", 0), ("<=8", 8), ("<=64", 64), ("<=256", 256), ("<=1K", 1024), (">1K", u32::MAX)];
/// Classes of alignment, finest first: what the address is a multiple of.
const ALIGNMENTS: [(&str, u32); 5] = [("256", 256), ("8", 8), ("4", 4), ("2", 2), ("1", 1)];

/// Counts.
#[derive(Debug, Clone, Default)]
pub struct Coverage {
    /// By instruction: times, by length, by alignment of each operand, by region of each operand.
    of: BTreeMap<Opcode, Counts>,
    /// By instruction (`None` for a word that is none) and fault.
    faults: BTreeMap<(Option<Opcode>, u8), u64>,
    /// Instructions that were the same on both sides.
    pub instructions: u64,
    /// Bytes written that were the same.
    pub bytes: u64,
    /// Cycles simulated.
    pub cycles: u64,
    /// Programs.
    pub programs: u64,
}

#[derive(Debug, Clone, Default)]
struct Counts {
    times: u64,
    lengths: [u64; LENGTHS.len()],
    alignments: [[u64; ALIGNMENTS.len()]; 3],
    regions: [[u64; 2]; 3],
    in_place: u64,
    across_bursts: u64,
}

impl Coverage {
    /// A program that has run.
    pub fn add(&mut self, instructions: u64, bytes: u64, cycles: u64) {
        self.programs += 1;
        self.instructions += instructions;
        self.bytes += bytes;
        self.cycles += cycles;
    }

    /// What another has counted.
    pub fn merge(&mut self, other: &Coverage) {
        self.instructions += other.instructions;
        self.bytes += other.bytes;
        self.cycles += other.cycles;
        self.programs += other.programs;
        for (k, n) in &other.faults {
            *self.faults.entry(*k).or_default() += n;
        }
        for (op, c) in &other.of {
            let mine = self.of.entry(*op).or_default();
            let add = |a: &mut [u64], b: &[u64]| a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
            mine.times += c.times;
            mine.in_place += c.in_place;
            mine.across_bursts += c.across_bursts;
            add(&mut mine.lengths, &c.lengths);
            add(mine.alignments.as_flattened_mut(), c.alignments.as_flattened());
            add(mine.regions.as_flattened_mut(), c.regions.as_flattened());
        }
    }

    /// Counts an instruction.
    pub fn count(&mut self, map: &AddressMap, ran: &Ran) {
        let op = ran.instruction.map(|i| i.op);
        let (Some(op), Some(operands)) = (op, ran.operands) else {
            *self.faults.entry((op, ran.fault)).or_default() += 1;
            return;
        };
        let c = self.of.entry(op).or_default();
        c.times += 1;
        let spans = operands.xyz.iter().zip(op.spec().words()).enumerate();
        let used: Vec<(usize, Span)> =
            spans.filter(|(_, (_, f))| matches!(f, WordField::Addr(..))).map(|(k, (s, _))| (k, *s)).collect();
        if let Some((_, first)) = used.first() {
            let class = LENGTHS.iter().position(|(_, max)| first.len <= *max).unwrap_or(LENGTHS.len() - 1);
            c.lengths[class] += 1;
        }
        for &(k, s) in used.iter().filter(|(_, s)| s.len > 0) {
            let class = ALIGNMENTS.iter().position(|(_, by)| s.addr % by == 0).unwrap_or(0);
            c.alignments[k][class] += 1;
            if let Some(r) = map.regions().iter().position(|r| r.holds(s.addr, 1)) {
                c.regions[k][r] += 1;
            }
            c.across_bursts += u64::from(s.addr / 256 != (s.addr + s.len - 1) / 256);
        }
        let same = |a: &(usize, Span), b: &(usize, Span)| a.1.len > 0 && a.1.addr == b.1.addr;
        c.in_place += u64::from(used.len() > 1 && same(&used[0], &used[used.len() - 1]));
    }

    /// Classes of an instruction that nothing has fallen in.
    pub fn holes(&self, set: &[Opcode]) -> Vec<String> {
        let mut out = vec![];
        for op in set {
            match self.of.get(op) {
                None => out.push(format!("{op}: never")),
                Some(c) => {
                    for (k, field) in op.spec().words().iter().enumerate() {
                        let WordField::Addr(name, _, extent) = field else { continue };
                        if matches!(
                            extent,
                            ssnail_isa::table::Extent::Address | ssnail_isa::table::Extent::Code
                        ) {
                            continue;
                        }
                        if c.regions[k].iter().all(|&n| n == 0) {
                            out.push(format!("{op}: {name} nowhere"));
                        }
                    }
                }
            }
        }
        for fault in [Fault::Illegal, Fault::Range, Fault::Alignment] {
            if !self.faults.keys().any(|(_, code)| *code == fault.code()) {
                out.push(format!("fault {}: never", fault.code()));
            }
        }
        out
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Coverage { programs, instructions, bytes, cycles, .. } = self;
        writeln!(
            f,
            "{programs} programs: {instructions} instructions and {bytes} bytes the same, {cycles} cycles"
        )?;
        let names = |all: &[(&str, u32)]| all.iter().map(|(n, _)| format!("{n:>6}")).collect::<String>();
        writeln!(
            f,
            "{:<10}{:>7} |{}  bytes of the first operand | aligned to (x/y/z) {} | region 1, 2 | in place | bursts",
            "",
            "times",
            names(&LENGTHS),
            names(&ALIGNMENTS)
        )?;
        for s in TABLE {
            let Some(c) = self.of.get(&s.op) else { continue };
            let row = |n: &[u64]| n.iter().map(|n| format!("{n:>6}")).collect::<String>();
            write!(f, "{:<10}{:>7} |{}", s.name, c.times, row(&c.lengths))?;
            for (k, field) in s.words().iter().enumerate() {
                if matches!(field, WordField::Addr(..)) {
                    write!(f, " |{} {}{}", ["x", "y", "z"][k], row(&c.alignments[k]), row(&c.regions[k]))?;
                }
            }
            writeln!(f, " |{:>6}{:>6}", c.in_place, c.across_bursts)?;
        }
        let faults: Vec<_> = self
            .faults
            .iter()
            .map(|((op, code), n)| format!("{} {code}: {n}", op.map_or("none", Opcode::name)))
            .collect();
        writeln!(f, "faults (instruction, code, times): {}", faults.join(", "))
    }
}
