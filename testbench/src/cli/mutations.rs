//! `testbench mutations`: the VHDL is broken in known ways, one after the other, and the tests must fail each time. The
//! list is `testbench/mutations.txt`: `file || test || text || replacement || what that breaks`, where the text stands
//! once in the file.

use super::Verdict;
use crate::build::{Design, Tools, design, repository};
use anyhow::{Context, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Arguments.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Only those whose line contains this
    #[arg(value_name = "TEXT")]
    only: Option<String>,
    /// Only look whether each text is found and the broken VHDL can still be analysed
    #[arg(long)]
    dry: bool,
}

struct Mutation<'a> {
    file: &'a str,
    test: &'a str,
    text: &'a str,
    replacement: &'a str,
}

pub(super) fn main(args: &Args) -> anyhow::Result<Verdict> {
    let list = repository().join("testbench/mutations.txt");
    let text = std::fs::read_to_string(&list).with_context(|| list.display().to_string())?;
    let tools = Tools::find()?;
    let (mut caught, mut missed) = (0, vec![]);
    for (n, line) in text.lines().enumerate().filter(|(_, l)| !l.is_empty() && !l.starts_with('#')) {
        if args.only.as_ref().is_some_and(|only| !line.contains(only.as_str())) {
            continue;
        }
        let parts: Vec<&str> = line.split(" || ").collect();
        let &[file, test, text, replacement, meaning] = parts.as_slice() else {
            bail!("{}:{}: five parts expected, separated by ` || `", list.display(), n + 1);
        };
        let m = Mutation { file, test, text, replacement };
        let folder = tempfile::tempdir().context("temporary folder")?;
        mutate(&m, folder.path()).with_context(|| format!("{}:{}", list.display(), n + 1))?;
        analyse(&tools, folder.path()).with_context(|| format!("{file}: {meaning}"))?;
        let start = Instant::now();
        let failed = args.dry || !passes(m.test, folder.path())?;
        let verdict = if args.dry {
            "applies"
        } else if failed {
            "caught"
        } else {
            "NOT CAUGHT"
        };
        println!("{verdict:<10} {file}: {meaning} ({:.0} s, {test})", start.elapsed().as_secs_f64());
        if failed { caught += 1 } else { missed.push(meaning) }
    }
    println!("{caught} of {} {}", caught + missed.len(), if args.dry { "apply" } else { "caught" });
    Ok(if missed.is_empty() { Verdict::Good } else { Verdict::Different })
}

/// A copy of the VHDL with the mutation.
fn mutate(m: &Mutation<'_>, to: &Path) -> anyhow::Result<()> {
    copy(&design::hdl(), to)?;
    let path = to.join(m.file);
    let vhdl = std::fs::read_to_string(&path).with_context(|| m.file.to_string())?;
    let times = vhdl.matches(m.text).count();
    ensure!(times == 1, "{}: `{}` stands there {times} times", m.file, m.text);
    std::fs::write(&path, vhdl.replacen(m.text, m.replacement, 1)).with_context(|| m.file.to_string())
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from).with_context(|| from.display().to_string())? {
        let path = entry?.path();
        let target = to.join(path.file_name().context("a name")?);
        if path.is_dir() {
            copy(&path, &target)?;
        } else {
            std::fs::copy(&path, &target)?;
        }
    }
    Ok(())
}

/// Broken VHDL must still be VHDL: else a compiler catches it, and not a test.
fn analyse(tools: &Tools, folder: &Path) -> anyhow::Result<()> {
    let list = std::fs::read_to_string(folder.join("files.txt")).context("files.txt")?;
    let files: Vec<PathBuf> = Design::listed(folder, &list);
    let work = tempfile::tempdir().context("temporary folder")?;
    Ok(design::analyse(tools, work.path(), &files, &[])?)
}

/// Whether a test passes on the VHDL in this folder.
fn passes(test: &str, folder: &Path) -> anyhow::Result<bool> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .current_dir(repository())
        .args(["test", "-q", "-p", "ssnail-testbench", "--test", test])
        .env("SSNAIL_HDL_DIR", folder)
        .env("SSNAIL_HDL", "required")
        .env("SSNAIL_PROGRAMS", "300")
        .output()
        .context("cargo test")?;
    let said = String::from_utf8_lossy(&output.stdout);
    ensure!(
        said.contains("test result:"),
        "{test}: no test ran:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(output.status.success())
}
