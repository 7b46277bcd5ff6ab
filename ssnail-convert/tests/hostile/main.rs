//! Models with a single fault each, several hundred of them: the conversion must name the place, must not panic, and must
//! leave no file.

mod bytes;
mod contents;
mod draft;

use ssnail_convert::convert::{Conversion, ConvertOptions};
use ssnail_convert::gguf::Gguf;
use std::path::Path;

/// A spoiled file.
struct Case {
    /// What was done to it.
    what: String,
    bytes: Vec<u8>,
    /// What the message must contain.
    place: String,
}

/// Converts as the command line does; gives the message.
fn convert(bytes: Vec<u8>, output: &Path) -> Result<(), String> {
    let gguf = Gguf::from_bytes(bytes).map_err(|e| e.to_string())?;
    let conversion = Conversion::plan(&gguf, &ConvertOptions::default()).map_err(|e| e.to_string())?;
    conversion.write(output, &|_| {}).map_err(|e| e.to_string())
}

/// Every case must be refused with its place in the message, and leave the folder of the output empty.
fn check(cases: Vec<Case>, at_least: usize) {
    assert!(cases.len() >= at_least, "only {} cases", cases.len());
    let folder = tempfile::tempdir().unwrap();
    let wrong: Vec<String> = cases
        .into_iter()
        .filter_map(|case| match convert(case.bytes, &folder.path().join("out.ssnail")) {
            Err(message) if message.contains(&case.place) => None,
            Err(message) => Some(format!("{}: `{message}` does not say `{}`", case.what, case.place)),
            Ok(()) => Some(format!("{}: converted", case.what)),
        })
        .collect();
    assert!(wrong.is_empty(), "{} cases:\n{}", wrong.len(), wrong.join("\n"));
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert!(left.is_empty(), "files were left: {left:?}");
}
