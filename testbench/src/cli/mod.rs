//! The command line: results to stdout, progress to stderr; exit 0 the same, 1 different, 2 could not.
//!
//! | module | what lives there |
//! |---|---|
//! | [`run`] | an image in lockstep |
//! | [`programs`] | random programs in lockstep, on all cores |
//! | [`cycles`] | cycles per element of each instruction and memory mode |
//! | [`area`] | LUTs, registers, DSPs, block RAM and logic delay, by yosys |
//! | [`mutations`] | the VHDL broken in known ways |
//! | [`rules`] | VHDL that must not be written |

mod area;
mod cycles;
mod mutations;
mod programs;
mod rules;
mod run;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// The accelerator in VHDL against the emulator, to the bit.
#[derive(Debug, Parser)]
#[command(name = "testbench", version)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run an image on the RTL and the emulator; the first difference stops it and leaves waveforms
    Run(run::Args),
    /// Run random programs on both, and print what they covered
    Programs(programs::Args),
    /// Measure cycles per element of each instruction
    Cycles(cycles::Args),
    /// Synthesise for Artix-7 and print area and logic delay of each entity
    Area(area::Args),
    /// Break the VHDL in known ways and see that the tests catch each
    Mutations(mutations::Args),
    /// Look for VHDL that simulates otherwise than it synthesises
    Rules(rules::Args),
}

/// What a command found.
enum Verdict {
    Good,
    Different,
}

/// Runs the command line.
pub fn main() -> ExitCode {
    let outcome = match Args::parse().command {
        Command::Run(args) => run::main(&args),
        Command::Programs(args) => programs::main(&args),
        Command::Cycles(args) => cycles::main(&args),
        Command::Area(args) => area::main(&args),
        Command::Mutations(args) => mutations::main(&args),
        Command::Rules(args) => rules::main(&args),
    };
    match outcome {
        Ok(Verdict::Good) => ExitCode::SUCCESS,
        Ok(Verdict::Different) => ExitCode::from(1),
        Err(e) => {
            eprintln!("testbench: {e:#}");
            ExitCode::from(2)
        }
    }
}

/// Where waveforms of differences go.
fn waves() -> std::path::PathBuf {
    crate::build::cache().join("waves")
}
