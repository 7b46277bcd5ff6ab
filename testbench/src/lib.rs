//! The VHDL in `hdl/`, simulated and compared with the emulator to the bit.
//!
//! | module | what lives there |
//! |---|---|
//! | [`ghdl2v`] | GHDL's netlist to Verilog |
//! | [`build`](mod@build) | models on demand, kept until the RTL changes |
//! | [`memory`] | the RAMs behind the memory ports, and the rules of these ports |
//! | [`model`] | a model's ports, clocks, recordings and waveforms |

pub mod build;
pub mod ghdl2v;
pub mod memory;
pub mod model;
