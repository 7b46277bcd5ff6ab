//! `testbench programs`: random programs, each in lockstep, shared out over threads.

use super::{Verdict, waves};
use crate::build::{Options, Tools};
use crate::chip;
use crate::lockstep::with_waves;
use crate::memory::Memory;
use crate::programs::{self, Coverage, Set, generate, run, shrink};
use anyhow::anyhow;
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

/// Arguments.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Programs
    #[arg(long, default_value_t = 200)]
    count: u64,
    /// Seed of the first; the others follow
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Operations of a program
    #[arg(long, default_value_t = 12)]
    steps: usize,
    /// Memory modes, one after the other [default: all without errors]
    #[arg(long, value_delimiter = ',')]
    memory: Vec<Memory>,
    /// Instructions that programs are made of [default: all that the RTL does]
    #[arg(long, value_name = "NAME,...")]
    only: Option<String>,
    /// Instructions that are left out
    #[arg(long, value_name = "NAME,...", conflicts_with = "only")]
    without: Option<String>,
    /// Threads
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Fail when a class of operands was never tried
    #[arg(long)]
    no_holes: bool,
}

pub(super) fn main(args: &Args) -> anyhow::Result<Verdict> {
    let named = |names: &str| Set::named(names).map_err(|e| anyhow!(e));
    let set = match (&args.only, &args.without) {
        (Some(names), _) => named(names)?,
        (_, Some(names)) => Set::without(&named(names)?.0),
        _ => Set::implemented(),
    };
    let modes = if args.memory.is_empty() { Memory::SOUND.to_vec() } else { args.memory.clone() };
    let tools = Tools::find()?;
    let mut libraries = HashMap::new();
    for &mode in &modes {
        libraries.insert(mode, chip::library(&tools, mode, Options::CHIP)?);
    }
    let start = Instant::now();
    let (next, failed) = (AtomicU64::new(0), AtomicBool::new(false));
    let total = Mutex::new(Coverage::default());
    let work = || {
        let mut coverage = Coverage::default();
        loop {
            let k = next.fetch_add(1, Ordering::Relaxed);
            if k >= args.count || failed.load(Ordering::Relaxed) {
                break;
            }
            let mode = modes[k as usize % modes.len()];
            let library = &libraries[&mode];
            let program = generate(args.seed + k, mode, &set, args.steps);
            if run(library, &program, &run::config(&program), &mut coverage).is_err()
                && !failed.swap(true, Ordering::Relaxed)
            {
                report(&tools, library, &program);
            }
        }
        total.lock().expect("no thread panics here").merge(&coverage);
    };
    std::thread::scope(|scope| {
        for _ in 0..args.jobs.max(1) {
            scope.spawn(work);
        }
    });
    let total = total.into_inner().expect("no thread panics here");
    println!("{total}");
    let seconds = start.elapsed().as_secs_f64();
    println!("{seconds:.1} s, {:.0} cycles a second", total.cycles as f64 / seconds);
    let holes = total.holes(&set.0);
    if !holes.is_empty() {
        println!("not tried: {}", holes.join("; "));
    }
    let good = !failed.into_inner() && (!args.no_holes || holes.is_empty());
    Ok(if good { Verdict::Good } else { Verdict::Different })
}

/// Makes a failing program small, and runs what is left with waveforms.
fn report(tools: &Tools, library: &std::sync::Arc<crate::model::Library>, program: &programs::Program) {
    let fails = |p: &programs::Program| run(library, p, &run::config(p), &mut Coverage::default()).is_err();
    let small = shrink(program, fails);
    let again = with_waves(tools, library, &run::config(&small), &waves(), |library, config| {
        run(library, &small, config, &mut Coverage::default())
    });
    let told = again.err().map_or_else(|| "the small program no longer fails".into(), |f| f.to_string());
    println!("program of seed {} differs; what is left of it:\n{small}\n{told}\n", program.seed);
}
