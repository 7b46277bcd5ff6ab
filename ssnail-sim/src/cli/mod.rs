//! The command line: `ssnail-sim IMAGE` with the options of a run.

mod args;
mod display;
mod logits_file;
mod run;
mod screen;
mod stats;

use anyhow::Result;
use clap::Parser;
use ssnail_sim::session::SessionError;
use std::io;

/// Runs a SSNAIL image as the hardware would: text from a decoder, an embedding from an encoder
///
/// Exit status: 0, 1 when something does not fit (the prompt the context, the image the board), 2 on errors.
#[derive(Parser)]
#[command(version)]
pub(crate) struct Cli {
    #[command(flatten)]
    run: args::RunArgs,
}

/// Runs what the command line asks for.
pub(crate) fn run(cli: &Cli) -> Result<()> {
    run::run(&cli.run)
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
        Cli::command().debug_assert();
        for arg in Cli::command().get_arguments() {
            assert!(arg.get_help().is_some(), "{} has no help", arg.get_id());
        }
    }
}
