//! `testbench rules`: the silent rules over VHDL files.

use super::Verdict;
use crate::build::design::hdl;
use crate::build::rules;
use anyhow::Context;
use std::path::{Path, PathBuf};

/// Arguments.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Files or folders [default: hdl]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
}

pub(super) fn main(args: &Args) -> anyhow::Result<Verdict> {
    let default = [hdl()];
    let paths: &[PathBuf] = if args.paths.is_empty() { &default } else { &args.paths };
    let mut files = vec![];
    paths.iter().try_for_each(|p| collect(p, &mut files))?;
    files.sort();
    let mut findings = 0;
    for file in &files {
        let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
        for finding in rules::check(file, &text) {
            println!("{finding}");
            findings += 1;
        }
    }
    eprintln!("{} files, {findings} findings", files.len());
    Ok(if findings == 0 { Verdict::Good } else { Verdict::Different })
}

fn collect(path: &Path, out: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    if path.is_dir() {
        for entry in std::fs::read_dir(path).with_context(|| path.display().to_string())? {
            collect(&entry?.path(), out)?;
        }
    } else if path.extension().is_some_and(|e| e == "vhd") {
        out.push(path.into());
    }
    Ok(())
}
