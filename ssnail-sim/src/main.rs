//! `ssnail-sim`: runs a SSNAIL image as the hardware would.

mod cli;

use clap::Parser;
use cli::{Cli, Failure};
use std::process::ExitCode;

fn main() -> ExitCode {
    match cli::run(&Cli::parse()) {
        Ok(code) => code,
        Err(e) => match Failure::of(&e) {
            Failure::ReaderGone => ExitCode::SUCCESS,
            failure => {
                eprintln!("ssnail-sim: {e:#}");
                ExitCode::from(if failure == Failure::DoesNotFit { 1 } else { 2 })
            }
        },
    }
}
