//! From GHDL's netlist dump (`ghdl --synth --out=dump`) to Verilog-2001 that Verilator and yosys read.
//!
//! GHDL 2.0.0's own Verilog writer is silently wrong for many gates; its synthesis and its dump are right. The dump is a
//! debugging format, fixed as long as GHDL's version is. The probes in `testbench/probes` compare what this makes with
//! GHDL's simulation; whatever is not known here is an error that names place and gate.
//!
//! | module | what lives there |
//! |---|---|
//! | [`parser`] | the dump's lines into a netlist |
//! | [`netlist`] | modules, instances, nets |
//! | [`names`] | VHDL names to Verilog names, each once |
//! | [`constant`] | values of constant nets |
//! | [`scope`] | one module with its nets' names, drivers and sinks; expressions |
//! | [`gates`] | gates that are one assignment |
//! | [`indexed`] | bits and slices at a variable index |
//! | [`muxes`] | multiplexers, one-hot ones back into `case` |
//! | [`registers`] | flip-flops |
//! | [`memories`] | memories and their ports, in the order of effects |
//! | [`writer`] | modules as text |

pub mod netlist;

use netlist::Port;

mod constant;
mod gates;
mod indexed;
mod memories;
mod muxes;
mod names;
mod parser;
mod registers;
mod scope;
mod writer;

/// What a dump became.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verilog {
    /// The modules, leaves first, the top last.
    pub text: String,
    /// Inputs of the top under their Verilog names, those of no bits left out.
    pub inputs: Vec<Port>,
    /// Outputs of the top, likewise.
    pub outputs: Vec<Port>,
    /// Places of gates that read what nothing drives. A design in order has none.
    pub undriven: Vec<String>,
}

/// Why a dump did not become Verilog.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A line that is not in the dump's form.
    #[error("dump line {line}: {what} expected, found `{text}`")]
    Line {
        /// Line of the dump, from 1.
        line: usize,
        /// What should stand there.
        what: &'static str,
        /// What does.
        text: String,
    },
    /// A gate that cannot be written.
    #[error("{place}: {gate} in module {module}: {reason}")]
    Gate {
        /// Module that the gate is in.
        module: String,
        /// VHDL file and line.
        place: String,
        /// Kind of gate.
        gate: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The dump has no module with a body.
    #[error("the dump has no user module")]
    Empty,
}

/// Converts a dump.
///
/// # Errors
/// When the dump is not in the known form, or has a gate that is not known.
pub fn convert(dump: &str) -> Result<Verilog, Error> {
    writer::write(&parser::parse(dump)?)
}

#[cfg(test)]
mod tests;
