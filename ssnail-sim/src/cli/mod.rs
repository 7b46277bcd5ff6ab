//! The command line: `ssnail-sim IMAGE` with the options of a run, or a subcommand.

mod args;
mod bench;
mod compare;
mod display;
mod logits_file;
mod output_file;
mod run;
mod screen;
mod stats;
mod trace;
mod trace_file;

use anyhow::Result;
use clap::{Parser, Subcommand};
use ssnail_sim::session::SessionError;
use std::io;
use std::process::ExitCode;

/// Runs a SSNAIL image as the hardware would: text from a decoder, an embedding from an encoder
///
/// Exit status: 0, 1 when something does not fit (the prompt the context, the image the board), 2 on errors.
#[derive(Parser)]
#[command(version, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    run: args::RunArgs,
}

/// What there is besides a run.
#[derive(Subcommand)]
enum Command {
    /// Print or compare traces of runs
    #[command(subcommand)]
    Trace(trace::TraceCommand),
    /// Show what hardware numerics cost: differences of logits, greedy tokens and perplexity
    Compare(compare::CompareArgs),
    /// Measure tokens a second, prompt and generation apart
    Bench(bench::BenchArgs),
}

/// Runs what the command line asks for; gives the exit status of what was done.
pub(crate) fn run(cli: &Cli) -> Result<ExitCode> {
    match &cli.command {
        Some(Command::Trace(command)) => trace::run(command),
        Some(Command::Compare(args)) => compare::run(args).map(|()| ExitCode::SUCCESS),
        Some(Command::Bench(args)) => bench::run(args).map(|()| ExitCode::SUCCESS),
        None => run::run(&cli.run).map(|()| ExitCode::SUCCESS),
    }
}

/// What an error means for the exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    /// Prompt or image are too large.
    DoesNotFit,
    /// Whoever reads standard output has had enough.
    ReaderGone,
    /// Anything else.
    Other,
}

impl Failure {
    /// Looks through an error's causes.
    pub(crate) fn of(error: &anyhow::Error) -> Failure {
        let too_large =
            |e: &SessionError| matches!(e, SessionError::DoesNotFit { .. } | SessionError::Context { .. });
        for cause in error.chain() {
            if cause.downcast_ref::<SessionError>().is_some_and(too_large) {
                return Failure::DoesNotFit;
            }
            if cause.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe) {
                return Failure::ReaderGone;
            }
        }
        Failure::Other
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_sound_and_every_option_has_help() {
        fn check(command: &clap::Command) {
            for arg in command.get_arguments() {
                assert!(arg.get_help().is_some(), "{} has no help", arg.get_id());
            }
            command.get_subcommands().for_each(check);
        }
        Cli::command().debug_assert();
        check(&Cli::command());
    }
}
