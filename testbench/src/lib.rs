//! The VHDL in `hdl/`, simulated and compared with the emulator to the bit.

pub mod ghdl2v;
