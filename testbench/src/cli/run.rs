//! `testbench run`: an image on the chip and the emulator, driven as MEGA65 software does.

use super::{Verdict, waves};
use crate::build::{Options, Tools};
use crate::chip::{self, Config};
use crate::lockstep::{End, Lockstep, Stop, with_waves};
use crate::memory::Memory;
use anyhow::{Context, bail};
use ssnail_isa::image::runtime::addr;
use ssnail_isa::image::{Header, Image};
use ssnail_isa::map::RAM_BASE;
use std::path::PathBuf;
use std::time::Instant;

/// Images up to so many bytes go through the load port whole; each byte takes a cycle of the CPU's clock.
const PORT_LIMIT: usize = 64 << 10;

/// Arguments.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Image (.ssnail)
    image: PathBuf,
    /// Tokens of the prompt, by number
    #[arg(long, value_name = "ID,...", value_delimiter = ',', required = true)]
    tokens: Vec<u32>,
    /// Tokens to generate
    #[arg(short, default_value_t = 1)]
    n: u32,
    /// Memory mode: sdram, hyper, hyper-slow, stalls, contention
    #[arg(long, default_value = "sdram")]
    memory: Memory,
    /// Seed of what is random in the memory
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Put all of the image through the load port, whatever its length; else only up to 64 KB of it
    #[arg(long)]
    load: bool,
}

/// What a run was.
struct Summary {
    instructions: u64,
    bytes: u64,
    cycles: u64,
    job_cycles: u64,
    tokens: Vec<u32>,
    end: End,
    table: String,
}

pub(super) fn main(args: &Args) -> anyhow::Result<Verdict> {
    let name = || args.image.display().to_string();
    let bytes = std::fs::read(&args.image).with_context(name)?;
    let image = Image::parse(&bytes).with_context(name)?;
    let header = *image.header();
    let board = if args.memory.has_sdram() { ssnail_isa::Board::R6 } else { ssnail_isa::Board::R3 };
    if u64::from(header.memory) > board.map().bytes() {
        bail!("{}: needs {} bytes, the board of `{}` has less", name(), header.memory, args.memory);
    }
    if args.tokens.len() as u64 + u64::from(args.n) > u64::from(header.context) {
        bail!("{}: the context has room for {} tokens", name(), header.context);
    }
    let tools = Tools::find()?;
    let start = Instant::now();
    let library = chip::library(&tools, args.memory, Options::CHIP)?;
    eprintln!("model ready after {:.1} s", start.elapsed().as_secs_f64());
    let config = Config { memory: args.memory, seed: args.seed, waves: None };
    let start = Instant::now();
    let outcome = with_waves(&tools, &library, &config, &waves(), |library, config| {
        let mut lock = Lockstep::new(library, config)?;
        job(&mut lock, &image, &header, args)
    });
    let s = match outcome {
        Ok(s) => s,
        Err(failure) => {
            println!("{failure}");
            return Ok(Verdict::Different);
        }
    };
    let seconds = start.elapsed().as_secs_f64();
    let text: Vec<u8> = s.tokens.iter().flat_map(|&t| image.token(t)).copied().collect();
    println!("{}", String::from_utf8_lossy(&text));
    println!("{}", s.table);
    println!(
        "the same: {} instructions, {} bytes written, job ended with {:?}, {} cycles of the job; {} cycles in {seconds:.1} s, {:.0} a second",
        s.instructions,
        s.bytes,
        s.end,
        s.job_cycles,
        s.cycles,
        s.cycles as f64 / seconds
    );
    Ok(Verdict::Good)
}

fn job(lock: &mut Lockstep, image: &Image<'_>, header: &Header, args: &Args) -> Result<Summary, Stop> {
    load(lock, image, args.load)?;
    let write = |lock: &mut Lockstep, at: u32, value: u32| lock.write_ram(at, &value.to_le_bytes());
    for (k, &token) in args.tokens.iter().enumerate() {
        write(lock, header.tokens + 4 * k as u32, token);
    }
    write(lock, addr::POS, 0);
    write(lock, addr::PROMPT_LEN, args.tokens.len() as u32);
    write(lock, addr::N_GENERATE, args.n);
    let before = lock.chip.cycle_number();
    let mut syncs = 0;
    let end = lock.job_with(header.script, |chip, compare| {
        syncs += 1;
        eprintln!(
            "SYNC {syncs}: {} instructions and {} bytes the same, cycle {}",
            compare.instructions,
            compare.bytes,
            chip.cycle_number()
        );
    })?;
    let read = |at: u32| {
        let bytes = lock.chip.ram(at, 4).try_into().expect("four bytes");
        u32::from_le_bytes(bytes)
    };
    let generated = read(addr::GENERATED).min(args.n);
    let tokens = (0..args.tokens.len() as u32 + generated).map(|k| read(header.tokens + 4 * k)).collect();
    let line = |(op, (n, cycles)): (&ssnail_isa::Opcode, &(u64, u64))| {
        format!("{:<10}{n:>8}{cycles:>12} cycles\n", op.name())
    };
    Ok(Summary {
        instructions: lock.compare.instructions,
        bytes: lock.compare.bytes,
        cycles: lock.chip.cycle_number(),
        job_cycles: lock.chip.cycle_number() - before,
        tokens,
        end,
        table: lock.compare.cycles.iter().map(line).collect(),
    })
}

/// Loads through the load port; of long images only the start, the rest goes straight into RAM.
fn load(lock: &mut Lockstep, image: &Image<'_>, whole: bool) -> Result<(), Stop> {
    let file = image.bytes();
    let payload = image.header().payload;
    let header_len = file.len() - image.payload().len();
    if whole || file.len() <= PORT_LIMIT {
        lock.chip(|chip| chip.load(image))?;
        let written = lock.chip.take_written();
        eprintln!("{} bytes through the load port", written.len());
        let same = |base: u32, bytes: &[u8]| lock.chip.ram(base, bytes.len() as u32) == bytes;
        let same = same(RAM_BASE, &file[..header_len]) && same(payload, image.payload());
        if !same {
            let cycle = lock.chip.cycle_number();
            return lock.chip(|_| Err(crate::chip::Trouble::Load { cycle }));
        }
    }
    lock.write_ram(RAM_BASE, &file[..header_len]);
    for (k, part) in image.payload().chunks(1 << 16).enumerate() {
        lock.write_ram(payload + (k << 16) as u32, part);
    }
    Ok(())
}
