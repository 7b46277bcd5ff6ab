//! Models with a single fault each, several hundred of them: the conversion must name the place, must not panic, and must
//! leave no file.

mod bytes;
mod contents;
mod draft;

use ssnail_convert::convert::{Conversion, ConvertOptions};
use ssnail_convert::gguf::Gguf;
use std::path::Path;
use std::process::Command;

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

#[test]
fn the_program_says_so_too_and_leaves_no_file() {
    let good = draft::Draft::new(ssnail_isa::image::Architecture::Llama);
    let whole = good.writer().to_bytes();
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("model.gguf"), folder.path().join("out.ssnail"));
    let cases = [
        // A fault of the file, of a key, and one that shows only when weights are written.
        (whole[..whole.len() - 64].to_vec(), "is the file complete?"),
        (good.clone().set("llama.expert_count", 8u32).writer().to_bytes(), "llama.expert_count"),
        (integers(good, "blk.1.ffn_down.weight").writer().to_bytes(), "blk.1.ffn_down.weight"),
    ];
    for (bytes, place) in cases {
        std::fs::write(&input, bytes).unwrap();
        let run = Command::new(env!("CARGO_BIN_EXE_ssnail-convert"))
            .args([input.as_os_str(), "-o".as_ref(), output.as_os_str()])
            .output()
            .unwrap();
        let message = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(2), "{place}: {message}");
        assert!(message.contains(place), "{place}: {message}");
        let left: Vec<_> =
            std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left, ["model.gguf"], "{place}");
    }
}

/// Says that a tensor holds integers, which are as long as F32.
fn integers(mut draft: draft::Draft, name: &str) -> draft::Draft {
    const I32: u32 = 26;
    draft.edit_tensor(name).type_number = I32;
    draft
}
