//! Where tests and benchmarks find the real models: the folder that `SSNAIL_TEST_DATA` names, else `../shared/data`
//! beside the repository. Not part of the tools.

use std::io::Write;
use std::path::{Path, PathBuf};

/// A file or folder of the test data. Where it is missing a note says what is skipped, also from a test that passes.
pub fn find(name: &str) -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    let path = std::env::var_os("SSNAIL_TEST_DATA").map_or_else(beside, PathBuf::from).join(name);
    if path.exists() {
        return Some(path);
    }
    // Not eprintln!, which the test harness keeps to itself.
    let _ = writeln!(std::io::stderr(), "skipped: no test data at {} (set SSNAIL_TEST_DATA)", path.display());
    None
}
