//! Output files: whole or not at all.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// An output file that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("{}: cannot be written", path.display())]
pub struct OutputError {
    /// The file.
    pub path: PathBuf,
    /// What the system says.
    pub source: io::Error,
}

/// Writes a file under a temporary name beside its final place, and moves it there once `content` has succeeded.
///
/// # Errors
/// Whatever `content` gives; [`OutputError`] when the file cannot be made, flushed or moved.
pub fn write_whole<E: From<OutputError>>(
    path: &Path,
    content: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    let failed = |source| OutputError { path: path.to_owned(), source };
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::metadata(folder).map_err(failed)?; // its error is clearer than the one for a temporary name
    let mut builder = tempfile::Builder::new();
    builder.prefix(".ssnail-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666)); // less the umask, as any new file
    }
    let mut out = BufWriter::with_capacity(1 << 20, builder.tempfile_in(folder).map_err(failed)?);
    content(&mut out)?;
    let temporary = out.into_inner().map_err(|e| failed(e.into_error()))?;
    temporary.persist(path).map_err(|e| failed(e.error))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_failure_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let whole = |out: &mut dyn Write| {
            out.write_all(b"old").unwrap();
            Ok::<(), OutputError>(())
        };
        write_whole(&path, whole).unwrap();
        let failing = |out: &mut dyn Write| {
            out.write_all(b"new").unwrap();
            Err(OutputError { path: path.clone(), source: io::Error::other("half way") })
        };
        let error = write_whole::<OutputError>(&path, failing).unwrap_err();
        assert!(error.to_string().ends_with("out: cannot be written"), "{error}");
        assert_eq!(error.source.to_string(), "half way");
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn the_error_names_the_file() {
        let error = write_whole::<OutputError>(Path::new("/nonexistent/x"), |_| Ok(())).unwrap_err();
        assert!(error.to_string().starts_with("/nonexistent/x: cannot be written"), "{error}");
    }
}
