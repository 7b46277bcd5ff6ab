//! Files on disk: what can be opened, what the error says, and the real models of the test data.

use std::path::PathBuf;

use super::super::{GgufFault, Strings};
use super::*;
use crate::testdata;

#[test]
fn written_files_open_and_nothing_is_left_beside_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    let writer = one_of_everything();
    writer.write(&path).unwrap();
    writer.write(&path).unwrap();
    let gguf = Gguf::open(&path).unwrap();
    assert_eq!(gguf.path(), Some(path.as_path()));
    assert_eq!(gguf.file_len(), writer.to_bytes().len() as u64);
    assert_eq!(gguf.tensor_data(gguf.tensor("one").unwrap()), [1u8; 12]);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn what_cannot_be_written_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("missing").join("model.gguf");
    let error = GgufWriter::new().write(&path).unwrap_err();
    assert!(matches!(error.fault, GgufFault::Write(_)), "{error}");
    assert!(error.to_string().starts_with(&format!("{}: cannot be written: ", path.display())), "{error}");
}

#[test]
fn what_is_no_file_is_refused_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let name = folder.path().display();
    assert_eq!(Gguf::open(folder.path()).unwrap_err().to_string(), format!("{name}: not a regular file"));
    let empty = folder.path().join("empty.gguf");
    std::fs::write(&empty, "").unwrap();
    assert_eq!(Gguf::open(&empty).unwrap_err().to_string(), format!("{name}/empty.gguf: the file is empty"));
    let missing = Gguf::open(folder.path().join("missing.gguf")).unwrap_err();
    assert!(matches!(missing.fault, GgufFault::Read(_)), "{missing}");
    assert!(missing.to_string().starts_with(&format!("{name}/missing.gguf: cannot be read: ")), "{missing}");
}

#[test]
#[cfg(unix)]
fn devices_are_refused() {
    let error = Gguf::open("/dev/null").unwrap_err();
    assert!(matches!(error.fault, GgufFault::NotAFile), "{error}");
}

#[test]
fn errors_about_a_file_begin_with_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    one_of_everything().write(&path).unwrap();
    let gguf = Gguf::open(&path).unwrap();
    let prefix = format!("{}: ", path.display());
    for message in [
        gguf.require::<u32>("b").unwrap_err().to_string(),
        gguf.get::<u32>("a.bool").unwrap_err().to_string(),
        gguf.require_tensor("b").unwrap_err().to_string(),
    ] {
        assert!(message.starts_with(&prefix), "{message}");
    }
    std::fs::write(&path, &one_of_everything().to_bytes()[..1000]).unwrap();
    let message = Gguf::open(&path).unwrap_err().to_string();
    assert!(message.starts_with(&prefix), "{message}");
}

/// The GGUF files in a folder of the test data; `None`, with a note, if there are no test data.
fn test_files(folder: &str) -> Option<Vec<PathBuf>> {
    let folder = testdata::find(folder)?;
    let entries = std::fs::read_dir(&folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let files: Vec<_> = paths.filter(|path| path.extension().is_some_and(|e| e == "gguf")).collect();
    assert!(!files.is_empty(), "{} has no GGUF files", folder.display());
    Some(files)
}

#[test]
fn real_models_are_read() {
    for path in test_files("models").into_iter().flatten() {
        let gguf = Gguf::open(&path).unwrap();
        let name = path.display();
        assert!(!gguf.tensors().is_empty(), "{name}");
        // Real files are packed: each tensor begins where the one before ends, and the last ends the file.
        let mut end = gguf.tensors()[0].offset;
        for info in gguf.tensors() {
            assert_eq!(info.offset, end, "{name}: {}", info.name);
            end = (info.offset + gguf.tensor_data(info).len() as u64).next_multiple_of(gguf.alignment());
        }
        assert_eq!(end, gguf.file_len(), "{name}");
        let architecture = gguf.require::<&str>("general.architecture").unwrap();
        if architecture == "quanttypes" {
            continue;
        }
        let width = gguf.require::<u64>(&format!("{architecture}.embedding_length")).unwrap();
        let embedding = gguf.require_tensor("token_embd.weight").unwrap();
        let n_tokens = gguf.require::<Strings>("tokenizer.ggml.tokens").unwrap().count() as u64;
        assert_eq!(embedding.dims, [width, n_tokens], "{name}");
    }
}

#[test]
fn real_vocabularies_are_read() {
    for path in test_files("vocab").into_iter().flatten() {
        let gguf = Gguf::open(&path).unwrap();
        let name = path.display();
        assert!(gguf.tensors().is_empty(), "{name}");
        let tokens = gguf.require::<Strings>("tokenizer.ggml.tokens").unwrap();
        let n_tokens = tokens.len();
        assert!(n_tokens >= 512, "{name}");
        assert_eq!(tokens.count(), n_tokens, "{name}");
        assert_eq!(gguf.require::<Vec<i32>>("tokenizer.ggml.token_type").unwrap().len(), n_tokens, "{name}");
    }
}
