//! `ssnail-isa`: assemble, disassemble, and emit what is generated from the tables.

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use ssnail_isa::{reference, text, vhdl};
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// SSNAIL's instruction set: assembler, disassembler, generated files
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Assemble a text; the bytes go to standard output
    Asm {
        /// The text; `-` is standard input
        input: PathBuf,
        /// Address of the first instruction where the text has no .org
        #[arg(long, default_value = "0x8005000", value_parser = address)]
        origin: u32,
    },
    /// Disassemble the bytes of a script (for the script of an image: `ssnail-convert disasm`)
    Disasm {
        /// The bytes; `-` is standard input
        input: PathBuf,
        /// Address of the first instruction
        #[arg(long, default_value = "0x8005000", value_parser = address)]
        origin: u32,
    },
    /// Print the reference page
    Reference {
        /// Compare with this file instead: exit 1 when it is stale
        #[arg(long, value_name = "FILE")]
        check: Option<PathBuf>,
    },
    /// Print the VHDL package of the instruction set
    Vhdl {
        /// Compare with this file instead: exit 1 when it is stale
        #[arg(long, value_name = "FILE")]
        check: Option<PathBuf>,
    },
}

fn address(text: &str) -> Result<u32, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16),
        None => text.parse(),
    };
    parsed.ok().filter(|&a| a < ssnail_isa::map::ADDRESS_END).ok_or_else(|| "not a 28-bit address".into())
}

fn main() -> ExitCode {
    match run(&Cli::parse().command) {
        Ok(code) => code,
        Err(e) => {
            eprintln!("ssnail-isa: {e:#}");
            ExitCode::from(2)
        }
    }
}

fn run(command: &Command) -> Result<ExitCode> {
    match command {
        Command::Asm { input, origin } => {
            let source =
                String::from_utf8(read(input)?).with_context(|| format!("{}: not UTF-8", input.display()))?;
            let assembly = text::assemble(&source, *origin).with_context(|| input.display().to_string())?;
            std::io::stdout().write_all(&assembly.bytes)?;
        }
        Command::Disasm { input, origin } => {
            std::io::stdout().write_all(text::disassemble(&read(input)?, *origin).as_bytes())?;
        }
        Command::Reference { check } => return emit(&reference::page(), check.as_deref()),
        Command::Vhdl { check } => return emit(&vhdl::package(), check.as_deref()),
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints a generated text, or compares it with its committed copy.
fn emit(text: &str, check: Option<&Path>) -> Result<ExitCode> {
    match check {
        Some(path) if read(path)? != text.as_bytes() => {
            eprintln!("ssnail-isa: {} is stale; run `make gen` and commit it", path.display());
            return Ok(ExitCode::from(1));
        }
        Some(_) => {}
        None => std::io::stdout().write_all(text.as_bytes())?,
    }
    Ok(ExitCode::SUCCESS)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).context("standard input")?;
        return Ok(bytes);
    }
    fs::read(path).with_context(|| path.display().to_string())
}
