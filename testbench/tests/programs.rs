//! Random programs in lockstep, in every memory mode, and the whole chip replayed in GHDL's simulator. `SSNAIL_PROGRAMS`
//! sets how many; 2,000 otherwise.

mod support;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use testbench::build::Tools;
use testbench::chip::Chip;
use testbench::memory::Memory;
use testbench::model::replay;
use testbench::programs::{Coverage, Set, data, generate, run};

const THREADS: u64 = 2;
/// Operations of a program.
const STEPS: usize = 8;

#[test]
fn random_programs_do_what_the_emulator_does() {
    let count = std::env::var("SSNAIL_PROGRAMS").map_or(2_000, |n| n.parse().expect("a number of programs"));
    programs(count, &Set::implemented());
}

/// Products with quantised weights among other instructions: the rest of GEMV is not built, so the set of all that is
/// built leaves GEMV out.
#[test]
fn random_products_do_what_the_emulator_does() {
    programs(400, &Set::named("GEMV,VADD,SILUMUL,RMSNORM").unwrap());
}

/// So many programs of some instructions, in every memory mode in turn.
fn programs(count: u64, set: &Set) {
    let libraries: Option<Vec<_>> = Memory::SOUND.iter().map(|&m| Some((m, support::library(m)?))).collect();
    let Some(libraries) = libraries else { return };
    let (next, total) = (AtomicU64::new(0), Mutex::new(Coverage::default()));
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let mut coverage = Coverage::default();
                loop {
                    let k = next.fetch_add(1, Ordering::Relaxed);
                    if k >= count {
                        break;
                    }
                    let (mode, library) = &libraries[k as usize % libraries.len()];
                    let program = generate(1000 + k, *mode, set, STEPS);
                    if let Err(stop) = run(library, &program, &run::config(&program), &mut coverage) {
                        next.store(count, Ordering::Relaxed);
                        panic!(
                            "{stop}\n`testbench programs --count 1 --steps {STEPS} --memory {mode} --only ... --seed {}` makes it small",
                            program.seed
                        );
                    }
                }
                total.lock().unwrap().merge(&coverage);
            });
        }
    });
    let total = total.into_inner().unwrap();
    println!("{total}");
    assert_eq!(total.programs, count);
    if count >= 2_000 {
        assert_eq!(total.holes(&set.0), Vec::<String>::new());
    }
}

#[test]
fn ghdl_simulates_the_chip_to_the_same_outputs() {
    let Some(library) = support::library(Memory::Sdram) else { return };
    let Some(tools) = Tools::or_skip("replay") else { return };
    let folder = tempfile::tempdir().unwrap();
    let program = generate(77, Memory::Sdram, &Set::implemented(), 6);
    let mut chip = Chip::power_on(&library, &run::config(&program));
    for (addr, bytes) in data::contents(&chip.map(), program.seed) {
        chip.write_ram(addr, &bytes);
    }
    chip.write_ram(program.origin, &program.encode());
    chip.model_mut().record(folder.path().join("recording")).unwrap();
    chip.reset(64).unwrap();
    chip.go(program.origin).unwrap();
    chip.wait(4_000).unwrap();
    let recording = chip.model_mut().end_record().unwrap().unwrap();
    println!("{}", replay(&tools, &recording).unwrap());
}
