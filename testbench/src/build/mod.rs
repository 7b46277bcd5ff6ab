//! Models on demand: VHDL through GHDL, [`crate::ghdl2v`], Verilator and g++ to a shared library, kept in a cache under
//! `target/hdl` until the RTL or the flags change.
//!
//! | module | what lives there |
//! |---|---|
//! | [`tools`] | where GHDL and Verilator are |
//! | [`design`] | files, top and generics; analysis, synthesis, what must not be in its notes |
//! | [`compile`] | Verilator and g++ |
//! | [`shim`] | the C functions of the shared library |
//! | [`rules`] | VHDL that simulates otherwise than it synthesises, by text |

pub mod compile;
pub mod design;
pub mod rules;
pub mod tools;

mod shim;

pub use compile::{Options, build};
pub use design::{Design, Netlist};
pub use tools::Tools;

use std::path::PathBuf;

/// Why there is no model.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A tool is missing.
    #[error("{tool} not found; `testbench/install-tools.sh` installs it")]
    Missing {
        /// Its name.
        tool: &'static str,
    },
    /// A tool refused its input.
    #[error("{command} failed:\n{output}")]
    Tool {
        /// The command.
        command: String,
        /// What it said.
        output: String,
    },
    /// The synthesis notes something that a design in order does not have.
    #[error("{top}: {}", lines.join("\n"))]
    Notes {
        /// Top entity.
        top: String,
        /// The notes.
        lines: Vec<String>,
    },
    /// The netlist could not be converted.
    #[error("{top}: {error}")]
    Convert {
        /// Top entity.
        top: String,
        /// Why.
        error: crate::ghdl2v::Error,
    },
    /// A file could not be read or written.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The shared library could not be loaded.
    #[error("{}: {error}", path.display())]
    Load {
        /// The library.
        path: PathBuf,
        /// Why.
        error: libloading::Error,
    },
}

impl Error {
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Error {
        let path = path.into();
        |error| Error::File { path, error }
    }
}

/// The folder of the repository.
pub fn repository() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.parent().map_or(here.clone(), Into::into)
}

/// Where models are kept: `SSNAIL_HDL_CACHE`, or `target/hdl` in the repository.
pub fn cache() -> PathBuf {
    std::env::var_os("SSNAIL_HDL_CACHE").map_or_else(|| repository().join("target/hdl"), PathBuf::from)
}
