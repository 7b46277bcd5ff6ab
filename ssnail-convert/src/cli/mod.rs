//! The command line of `ssnail-convert`. Exit status: 0 done, 1 the model does not fit (or the user declines), 2 it
//! could not be done.

mod convert;
mod inspect;
mod report;

use crate::convert::ConvertError;
use clap::{Parser, Subcommand};
use std::io::Write;
use std::process::ExitCode;

/// Turn a GGUF model into a SSNAIL memory image
#[derive(Parser)]
#[command(version, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    convert: Option<convert::ConvertArgs>,
}

const EXAMPLES: &str = "\
Examples:
  ssnail-convert model.gguf                       an image for 8 MB, model.ssnail
  ssnail-convert model.gguf --mem-mb 72 --ctx 128 --wtype auto -o model.72mb.ssnail
  ssnail-convert info model.gguf                  what is in a model, or in an image
  ssnail-convert disasm model.ssnail              the script of an image";

#[derive(Subcommand)]
enum Command {
    /// Tell what is in a GGUF file or an image
    Info(inspect::InfoArgs),
    /// Print the script of an image
    Disasm(inspect::DisasmArgs),
    /// Cut a text into the tokens of a model
    Tokenize(crate::vocab::cli::TokenizeArgs),
    /// Turn token ids back into text
    Detok(crate::vocab::cli::DetokArgs),
    /// List the tokens of a model
    Vocab(crate::vocab::cli::VocabArgs),
    /// Write a random model, for experiments and measurements
    Synth(crate::synth::SynthArgs),
}

/// Runs the program.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let out: &mut dyn Write = &mut std::io::stdout().lock();
    let result = match (&cli.command, &cli.convert) {
        (Some(Command::Info(args)), _) => inspect::info(args, out),
        (Some(Command::Disasm(args)), _) => inspect::disasm(args, out),
        (Some(Command::Tokenize(args)), _) => crate::vocab::cli::tokenize(args, out),
        (Some(Command::Detok(args)), _) => crate::vocab::cli::detok(args, out),
        (Some(Command::Vocab(args)), _) => crate::vocab::cli::vocab(args, out),
        (Some(Command::Synth(args)), _) => crate::synth::run(args).map(|()| ExitCode::SUCCESS),
        (None, Some(args)) => convert::run(args, out),
        (None, None) => unreachable!("clap asks for a model or a subcommand"),
    };
    result.unwrap_or_else(|e| report_error(&e))
}

/// Prints an error with what can be done about it, and gives the exit status.
fn report_error(error: &anyhow::Error) -> ExitCode {
    if is_broken_pipe(error) {
        return ExitCode::SUCCESS;
    }
    eprintln!("ssnail-convert: {error:#}");
    match error.downcast_ref::<ConvertError>() {
        Some(ConvertError::Fit(e)) => {
            for s in &e.suggestions {
                eprintln!("hint: {} needs {:.1} MB", s.options, report::mb(s.memory));
            }
            ExitCode::from(1)
        }
        _ => ExitCode::from(2),
    }
}

/// Whether the reader of our output has gone: that is no error.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let broken = |e: &std::io::Error| e.kind() == std::io::ErrorKind::BrokenPipe;
    error.chain().any(|cause| cause.downcast_ref().is_some_and(broken))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_sound() {
        super::Cli::command().debug_assert();
    }

    #[test]
    fn every_option_has_help() {
        let mut commands = vec![super::Cli::command()];
        while let Some(command) = commands.pop() {
            for arg in command.get_arguments() {
                assert!(arg.get_help().is_some(), "{} {}", command.get_name(), arg.get_id());
            }
            commands.extend(command.get_subcommands().cloned());
        }
    }
}
