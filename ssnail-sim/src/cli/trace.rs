//! `ssnail-sim trace`: printing and comparing traces.

use anyhow::{Context, Result};
use clap::Subcommand;
use memmap2::Mmap;
use ssnail_isa::trace::{Form, Reader, Record, compare};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What can be done with traces, in either form.
#[derive(Subcommand)]
pub(super) enum TraceCommand {
    /// Print a trace as lines
    Show {
        /// The trace, as --trace writes it
        trace: PathBuf,
    },
    /// Compare two traces, up to the first difference: exit 0 when they agree, 1 when not
    Diff {
        /// A trace
        a: PathBuf,
        /// Another one
        b: PathBuf,
        /// Records to show before the difference
        #[arg(long, value_name = "N", default_value_t = 8)]
        context: usize,
    },
}

/// Does it.
pub(super) fn run(command: &TraceCommand) -> Result<ExitCode> {
    let mut out = BufWriter::new(io::stdout().lock());
    let mut code = ExitCode::SUCCESS;
    match command {
        TraceCommand::Show { trace } => {
            let map = open(trace)?;
            out.write_all(&Form::Text.header())?;
            for record in records(trace, &map)? {
                writeln!(out, "{}", record?)?;
            }
        }
        TraceCommand::Diff { a, b, context } => {
            let maps = (open(a)?, open(b)?);
            let comparison = compare(records(a, &maps.0)?, records(b, &maps.1)?, *context)?;
            write!(out, "{comparison}")?;
            if !comparison.agree() {
                code = ExitCode::from(1);
            }
        }
    }
    out.flush()?;
    Ok(code)
}

fn open(path: &Path) -> Result<Mmap> {
    let name = || path.display().to_string();
    let file = File::open(path).with_context(name)?;
    // SAFETY: a private map that is only read; whoever truncates the file meanwhile ends this process, nothing else.
    unsafe { Mmap::map(&file) }.with_context(name)
}

/// The records of a trace, errors with its name.
fn records<'a>(path: &'a Path, bytes: &'a [u8]) -> Result<impl Iterator<Item = Result<Record>> + 'a> {
    let name = || path.display().to_string();
    let reader = Reader::new(bytes).with_context(name)?;
    Ok(reader.map(move |record| record.with_context(name)))
}
