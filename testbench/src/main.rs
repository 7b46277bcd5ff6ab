//! `testbench`: the VHDL against the emulator, on the command line. What it does lives in [`testbench::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    testbench::cli::main()
}
