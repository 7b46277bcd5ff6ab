//! `--logits-out`: little-endian F32, one row a position, whole or not at all.

use anyhow::{Context, Result};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A file of logits that appears under its name when it is finished.
pub(super) struct LogitsFile {
    path: PathBuf,
    file: BufWriter<NamedTempFile>,
    /// The first error; rows come in callbacks that cannot fail.
    error: Option<std::io::Error>,
}

impl LogitsFile {
    /// A file to become `path`, in the same folder.
    pub(super) fn create(path: &Path) -> Result<Self> {
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut builder = tempfile::Builder::new();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // As any new file: the umask takes its share.
            builder.permissions(std::fs::Permissions::from_mode(0o666));
        }
        let file = builder.tempfile_in(folder).with_context(|| path.display().to_string())?;
        Ok(LogitsFile { path: path.into(), file: BufWriter::new(file), error: None })
    }

    /// Appends a row.
    pub(super) fn row(&mut self, logits: &[f32]) {
        if self.error.is_none() {
            self.error = logits.iter().try_for_each(|l| self.file.write_all(&l.to_le_bytes())).err();
        }
    }

    /// Writes what is left and gives the file its name.
    pub(super) fn finish(self) -> Result<()> {
        let context = || self.path.display().to_string();
        if let Some(e) = self.error {
            return Err(e).with_context(context);
        }
        let file =
            self.file.into_inner().map_err(std::io::IntoInnerError::into_error).with_context(context)?;
        file.persist(&self.path).map_err(|e| e.error).with_context(context)?;
        Ok(())
    }
}
