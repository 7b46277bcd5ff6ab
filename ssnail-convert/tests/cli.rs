//! The command line: exit status, standard output and standard error of real runs, as a user sees them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// A folder with the demo model and a model that is quantised already.
fn folder() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets");
    std::fs::copy(assets.join("snailtales.gguf"), dir.path().join("demo.gguf")).unwrap();
    dir
}

fn run(dir: &TempDir, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ssnail-convert"))
        .args(args)
        .current_dir(dir)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// Exit status, standard output and standard error in one text.
fn shown(dir: &TempDir, args: &[&str]) -> String {
    let out = run(dir, args);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("exit {}\n{}--\n{}", out.status.code().unwrap(), text(&out.stdout), text(&out.stderr))
}

fn files(dir: &TempDir) -> Vec<PathBuf> {
    let mut names: Vec<PathBuf> =
        std::fs::read_dir(dir).unwrap().map(|e| PathBuf::from(e.unwrap().file_name())).collect();
    names.sort();
    names
}

#[test]
fn a_conversion_shows_what_lies_where() {
    let dir = folder();
    insta::assert_snapshot!(shown(&dir, &["demo.gguf"]));
    assert_eq!(files(&dir), ["demo.gguf", "demo.ssnail"].map(PathBuf::from));
}

#[test]
fn json_has_the_same_figures() {
    let dir = folder();
    let out = run(&dir, &["demo.gguf", "--json", "--wtype", "q4_0", "--ctx", "64"]);
    let report: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(report["schema"], 1);
    assert_eq!((&report["wtype"], &report["context"]), (&"q4_0".into(), &64.into()));
    assert_eq!(report["formats"]["Q4_0"]["weights"], 1_048_576);
    let size = std::fs::metadata(dir.path().join("demo.ssnail")).unwrap().len();
    assert_eq!(report["file_bytes"], size);
    assert_eq!(report["reduced_percent"], 0.0);
}

#[test]
fn what_does_not_fit_is_status_1_with_hints() {
    let dir = folder();
    insta::assert_snapshot!(shown(&dir, &["demo.gguf", "--mem-mb", "1"]));
    assert_eq!(files(&dir), [PathBuf::from("demo.gguf")]);
}

#[test]
fn fewer_bits_than_a_quantised_model_has_are_not_taken_unasked() {
    let dir = folder();
    // The demo model's shape, its weights Q8_0 already.
    let made = run(&dir, &["synth", "--shape", "15m", "--wtype", "q8_0", "-o", "q8.gguf"]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    insta::assert_snapshot!(shown(&dir, &["q8.gguf", "--wtype", "auto", "--mem-mb", "17"]));
    assert!(!dir.path().join("q8.ssnail").exists());
    assert_eq!(run(&dir, &["q8.gguf", "--wtype", "q4_0", "--mem-mb", "17"]).status.code(), Some(0));
}

#[test]
fn what_cannot_be_done_is_status_2_and_leaves_no_file() {
    let dir = folder();
    std::fs::write(dir.path().join("noise.gguf"), b"GGUX and more").unwrap();
    std::fs::write(dir.path().join("cut.gguf"), &std::fs::read(dir.path().join("demo.gguf")).unwrap()[..99])
        .unwrap();
    let before = files(&dir);
    let all: String = [
        &["missing.gguf"][..],
        &["noise.gguf"],
        &["cut.gguf"],
        &["demo.gguf", "--ctx", "5000"],
        &["demo.gguf", "--mem-mb", "129"],
        &["demo.gguf", "-o", "no/such/folder"],
        &["demo.gguf", "--pre", "nonesuch"],
        &["info", "noise.gguf"],
        &["disasm", "demo.gguf"],
    ]
    .map(|args| shown(&dir, args))
    .concat();
    insta::assert_snapshot!(all);
    assert_eq!(files(&dir), before);
}

#[test]
fn info_and_disasm_of_an_image() {
    let dir = folder();
    assert!(run(&dir, &["demo.gguf"]).status.success());
    insta::assert_snapshot!("info_image", shown(&dir, &["info", "demo.ssnail"]));
    insta::assert_snapshot!("info_model", shown(&dir, &["info", "demo.gguf"]));
    let script = run(&dir, &["disasm", "demo.ssnail"]).stdout;
    let again = ssnail_isa::text::assemble(&String::from_utf8(script).unwrap(), 0).unwrap();
    let image = std::fs::read(dir.path().join("demo.ssnail")).unwrap();
    let image = ssnail_isa::image::Image::parse(&image).unwrap();
    assert_eq!((again.origin, &again.bytes[..]), (image.header().script, image.script()));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let dir = folder();
    assert!(run(&dir, &["demo.gguf"]).status.success());
    let command = format!("{} disasm demo.ssnail | head -1", env!("CARGO_BIN_EXE_ssnail-convert"));
    let out = Command::new("sh").args(["-c", &command]).current_dir(&dir).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&out.stderr), "");
}
