//! What is to be simulated, and its way through GHDL's analysis and synthesis.

use super::tools::run;
use super::{Error, Tools, repository};
use crate::ghdl2v::{self, Verilog};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Notes of GHDL's synthesis that a design in order does not have: undriven signals, and registers without a clock.
const FORBIDDEN: &[&str] = &["no assignment", "latch", "is never assigned"];

/// An entity with its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Design {
    /// VHDL files in the order of analysis.
    pub files: Vec<PathBuf>,
    /// Entity.
    pub top: String,
    /// Generics that are not at their defaults: name, value.
    pub generics: Vec<(String, String)>,
}

/// A design after synthesis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Netlist {
    /// Verilog and ports.
    pub verilog: Verilog,
    /// GHDL's notes on what it found: RAMs and ROMs with width and depth.
    pub notes: Vec<String>,
}

impl Design {
    /// An entity of `hdl/` (or of the folder `SSNAIL_HDL_DIR`), with the files in its `files.txt`.
    ///
    /// # Errors
    /// When the list cannot be read.
    pub fn hdl(top: &str) -> Result<Self, Error> {
        let folder = hdl();
        let list = folder.join("files.txt");
        let text = fs::read_to_string(&list).map_err(Error::file(&list))?;
        Ok(Design { files: Design::listed(&folder, &text), top: top.into(), generics: vec![] })
    }

    /// The files of a list: a path a line, relative to `folder`; `#` begins a comment.
    pub fn listed(folder: &Path, list: &str) -> Vec<PathBuf> {
        let lines = list.lines().map(|l| l.split('#').next().unwrap_or("").trim());
        lines.filter(|l| !l.is_empty()).map(|l| folder.join(l)).collect()
    }

    /// With a generic set.
    #[must_use]
    pub fn generic(mut self, name: &str, value: impl ToString) -> Self {
        self.generics.push((name.into(), value.to_string()));
        self
    }

    /// Analyses the files into a library in `work`.
    ///
    /// # Errors
    /// What GHDL says, warnings about hidden and unused declarations included.
    pub fn analyse(&self, tools: &Tools, work: &Path) -> Result<(), Error> {
        analyse(tools, work, &self.files, &["-Wunused", "-Whide", "-Werror"])
    }

    /// Analyses, synthesises and converts.
    ///
    /// # Errors
    /// What the tools say; latches and what nothing drives.
    pub fn synthesise(&self, tools: &Tools) -> Result<Netlist, Error> {
        let work = tempfile::tempdir().map_err(Error::file("temporary folder"))?;
        self.analyse(tools, work.path())?;
        let (dump, said) = self.dump(tools, work.path())?;
        let bad = |l: &&str| FORBIDDEN.iter().any(|f| l.to_lowercase().contains(f));
        let mut lines: Vec<String> = said.lines().filter(bad).map(String::from).collect();
        let verilog =
            ghdl2v::convert(&dump).map_err(|error| Error::Convert { top: self.top.clone(), error })?;
        lines.extend(verilog.undriven.iter().map(|place| format!("nothing drives what {place} reads")));
        if !lines.is_empty() {
            return Err(Error::Notes { top: self.top.clone(), lines });
        }
        let notes = said.lines().filter(|l| l.contains("note: found")).map(String::from).collect();
        Ok(Netlist { verilog, notes })
    }

    /// GHDL's netlist dump of an analysed design, and what GHDL said.
    ///
    /// # Errors
    /// What GHDL says.
    pub fn dump(&self, tools: &Tools, work: &Path) -> Result<(String, String), Error> {
        let mut command = Command::new(&tools.ghdl);
        command.args(["--synth", "--std=08", "--out=dump"]).arg(workdir(work));
        command.args(self.generics.iter().map(|(k, v)| format!("-g{k}={v}"))).arg(&self.top);
        let output = run(&mut command)?;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ok((text(output.stdout), text(output.stderr)))
    }
}

/// Analyses files into a library in `work`.
///
/// # Errors
/// What GHDL says.
pub fn analyse(tools: &Tools, work: &Path, files: &[PathBuf], warnings: &[&str]) -> Result<(), Error> {
    run(Command::new(&tools.ghdl).args(["-a", "--std=08"]).args(warnings).arg(workdir(work)).args(files))
        .map(|_| ())
}

/// The folder of the VHDL: `SSNAIL_HDL_DIR`, or `hdl` in the repository.
pub fn hdl() -> PathBuf {
    std::env::var_os("SSNAIL_HDL_DIR").map_or_else(|| repository().join("hdl"), PathBuf::from)
}

/// GHDL's option for its library.
pub fn workdir(work: &Path) -> String {
    format!("--workdir={}", work.display())
}
