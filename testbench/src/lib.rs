//! The VHDL in `hdl/`, simulated and compared with the emulator to the bit.
//!
//! | module | what lives there |
//! |---|---|
//! | [`ghdl2v`] | GHDL's netlist to Verilog |
//! | [`build`](mod@build) | models on demand, kept until the RTL changes |
//! | [`cli`] | the command line |
//! | [`chip`] | the whole accelerator with its RAMs and the CPU side |
//! | [`lockstep`] | chip and emulator side by side |
//! | [`programs`] | random programs in lockstep |
//! | [`memory`] | the RAMs behind the memory ports, and the rules of these ports |
//! | [`model`] | a model's ports, clocks, recordings and waveforms |

pub mod build;
pub mod chip;
pub mod cli;
pub mod ghdl2v;
pub mod lockstep;
pub mod memory;
pub mod model;
pub mod programs;
