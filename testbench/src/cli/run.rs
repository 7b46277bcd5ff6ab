//! `testbench run`: an image on the chip and the emulator, driven as MEGA65 software does.

use super::{Verdict, waves};
use crate::build::{Options, Tools};
use crate::chip::{self, Config};
use crate::lockstep::{Lockstep, image, with_waves};
use crate::memory::Memory;
use anyhow::{Context, bail};
use ssnail_isa::image::Image;
use std::path::PathBuf;
use std::time::Instant;

/// Images up to so many bytes go through the load port: each byte takes a cycle of the CPU's clock.
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
    /// Put the image through the load port whatever its length; else one of more than 64 KB goes straight into RAM
    #[arg(long)]
    load: bool,
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
        let whole = args.load || bytes.len() <= PORT_LIMIT;
        image::load(&mut lock, &image, whole)?;
        let mut syncs = 0;
        image::run(&mut lock, &header, &args.tokens, args.n, |lock| {
            syncs += 1;
            let (c, cycle) = (&lock.compare, lock.chip.cycle_number());
            eprintln!(
                "SYNC {syncs}: {} instructions, {} bytes the same, cycle {cycle}",
                c.instructions, c.bytes
            );
        })
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
    for (op, (n, cycles)) in &s.by_instruction {
        println!("{:<10}{n:>8}{cycles:>12} cycles", op.name());
    }
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
