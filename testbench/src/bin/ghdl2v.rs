//! `ghdl2v < dump > verilog`: [`testbench::ghdl2v`] on the command line. What nothing drives is told on stderr.

use std::io::Read;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut dump = String::new();
    let read = std::io::stdin().read_to_string(&mut dump);
    match read.map_err(anyhow::Error::from).and_then(|_| Ok(testbench::ghdl2v::convert(&dump)?)) {
        Ok(verilog) => {
            print!("{}", verilog.text);
            verilog.undriven.iter().for_each(|place| eprintln!("ghdl2v: nothing drives what {place} reads"));
            ExitCode::SUCCESS
        }
        Err(e) => {
            eprintln!("ghdl2v: {e:#}");
            ExitCode::from(2)
        }
    }
}
