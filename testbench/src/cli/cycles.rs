//! `testbench cycles`: cycles per element of each instruction, from the difference of two lengths, and what does not
//! depend on the length; beside the time in which the memory moves the operands once, and the wanted figure.

use super::Verdict;
use crate::build::{Options, Tools};
use crate::chip::{self, Config};
use crate::lockstep::Lockstep;
use crate::memory::Memory;
use crate::model::Library;
use crate::programs::data;
use ssnail_isa::Opcode;
use ssnail_isa::instr::Instruction;
use ssnail_isa::map::RAM_BASE;
use ssnail_isa::script::Script;
use ssnail_isa::table::{Access, Extent, WordField};
use std::sync::Arc;

/// Lengths that are compared, in elements.
const LENGTHS: [u32; 2] = [512, 1536];
/// Where operands lie; far enough apart for the longest.
const X: u32 = RAM_BASE + 0x4_0000;
const Y: u32 = RAM_BASE + 0x8_0000;
const Z: u32 = RAM_BASE + 0xC_0000;

/// What is wanted.
enum Wanted {
    /// At most so many cycles an element.
    Cycles(f64),
    /// At most so many times the memory's time.
    Memory(f64),
}

/// The instructions and what hardware.md wants of them.
const TABLE: &[(Opcode, Option<Wanted>)] = &[
    (Opcode::Copy, None),
    (Opcode::Vadd, Some(Wanted::Memory(1.15))),
    (Opcode::Vmul, Some(Wanted::Memory(1.15))),
    (Opcode::Cvt16, Some(Wanted::Memory(1.15))),
    (Opcode::Rmsnorm, Some(Wanted::Cycles(12.0))),
    (Opcode::Layernorm, Some(Wanted::Cycles(16.0))),
    (Opcode::Silumul, Some(Wanted::Memory(1.15))),
    (Opcode::Gelu, Some(Wanted::Memory(1.15))),
    (Opcode::Rope, Some(Wanted::Memory(1.3))),
    (Opcode::Deqrow, None),
    (Opcode::Argmax, None),
];

/// Arguments.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Memory modes
    #[arg(long, value_delimiter = ',', default_value = "sdram,hyper,hyper-slow")]
    memory: Vec<Memory>,
    /// Exit 1 when a wanted figure is not reached with SDRAM
    #[arg(long)]
    check: bool,
}

pub(super) fn main(args: &Args) -> anyhow::Result<Verdict> {
    let tools = Tools::find()?;
    let mut missed = 0;
    println!("| instruction | memory | cycles per element | memory time | ratio | overhead | wanted |");
    println!("|---|---|---:|---:|---:|---:|---|");
    for &memory in &args.memory {
        let library = chip::library(&tools, memory, Options::CHIP)?;
        let overhead = cycles(&library, memory, Opcode::Nop, 0)?;
        println!("| NOP | {memory} | | | | {overhead:.1} | <= 8 |");
        for (op, wanted) in TABLE {
            let [short, long] = LENGTHS.map(|n| cycles(&library, memory, *op, n));
            let (short, long) = (short?, long?);
            let per = (long - short) / f64::from(LENGTHS[1] - LENGTHS[0]);
            let fixed = short - per * f64::from(LENGTHS[0]);
            let least = memory_time(memory, *op);
            // The figures are for operands in SDRAM.
            let (text, met) = match wanted.as_ref().filter(|_| memory == Memory::Sdram) {
                None => (String::new(), true),
                Some(Wanted::Cycles(most)) => (format!("<= {most} per element"), per <= *most),
                Some(Wanted::Memory(most)) => (format!("<= {most} x memory"), per <= most * least),
            };
            let mark = if met { "" } else { " (missed)" };
            println!(
                "| {op} | {memory} | {per:.2} | {least:.2} | {:.2} | {fixed:.0} | {text}{mark} |",
                per / least
            );
            missed += u32::from(!met);
        }
    }
    Ok(if args.check && missed > 0 { Verdict::Different } else { Verdict::Good })
}

/// Mean cycles of an instruction that stands several times in a row, all but the first.
fn cycles(library: &Arc<Library>, memory: Memory, op: Opcode, n: u32) -> anyhow::Result<f64> {
    let mut s = Script::new();
    s.push(Instruction { x: n, y: 64, z: 1e-5f32.to_bits(), ..Instruction::new(Opcode::Setn) });
    let mut i = Instruction::new(op);
    let mut words = [X, Y, Z];
    for (word, field) in words.iter_mut().zip(op.spec().words()) {
        match field {
            WordField::Addr(..) => {}
            WordField::Imm(_) => *word = 4 * n,
            WordField::Unused => *word = 0,
        }
    }
    [i.x, i.y, i.z] = words;
    i.a = if op == Opcode::Deqrow { 8 } else { 1 };
    const TIMES: u64 = 8;
    (0..TIMES).for_each(|_| s.push(i));
    s.halt();
    let mut lock = Lockstep::new(library, &Config { memory, seed: 1, waves: None })?;
    let mut random = <rand_pcg::Pcg64Mcg as rand_pcg::rand_core::SeedableRng>::seed_from_u64(1);
    for at in [X, Y, Z] {
        let bytes: Vec<u8> = (0..4096).flat_map(|_| data::float(&mut random).to_le_bytes()).collect();
        lock.write_ram(at, &bytes);
    }
    lock.write_ram(data::CODE, &s.encode(data::CODE));
    lock.compare.ran = Some(vec![]);
    lock.job(data::CODE)?;
    let ran = lock.compare.ran.take().unwrap_or_default();
    // The first waits for its fetch.
    let of: Vec<u64> =
        ran.iter().filter(|r| r.instruction.is_some_and(|i| i.op == op)).skip(1).map(|r| r.cycles).collect();
    Ok(of.iter().sum::<u64>() as f64 / of.len() as f64)
}

/// Cycles per element in which the memory moves the operands once.
fn memory_time(memory: Memory, op: Opcode) -> f64 {
    let per_element = |e: Extent| match e {
        Extent::VecF32 | Extent::PairsF32 => 4.0,
        Extent::CopyBytes => 4.0,
        Extent::GainBias => 8.0,
        Extent::VecF16 => 2.0,
        Extent::Row => 34.0 / 32.0,
        _ => 0.0,
    };
    let bytes: f64 = op
        .spec()
        .words()
        .iter()
        .map(|f| match f {
            WordField::Addr(_, Access::ReadWrite, e) => 2.0 * per_element(*e),
            WordField::Addr(_, Access::Read | Access::Write, e) => per_element(*e),
            _ => 0.0,
        })
        .sum();
    let t = if memory.has_sdram() { memory.sdram() } else { memory.hyper() };
    let words = f64::from(crate::memory::BURST / 2);
    let burst = f64::from(t.gap) + words * f64::from(t.word);
    bytes / f64::from(crate::memory::BURST) * burst
}
