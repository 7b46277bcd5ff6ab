//! `ssnail-convert`: see [`ssnail_convert::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    ssnail_convert::cli::main()
}
