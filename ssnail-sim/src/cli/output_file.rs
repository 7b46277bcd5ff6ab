//! Files that a run writes: whole or not at all.

use anyhow::{Context, Result};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A file that appears under its name when it is finished.
pub(super) struct OutputFile {
    path: PathBuf,
    file: BufWriter<NamedTempFile>,
    /// The first error; bytes come from callbacks that cannot fail.
    error: Option<io::Error>,
}

impl OutputFile {
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
        Ok(OutputFile { path: path.into(), file: BufWriter::new(file), error: None })
    }

    /// Appends bytes, unless something has failed before.
    pub(super) fn append(&mut self, bytes: &[u8]) {
        if self.error.is_none() {
            self.error = self.file.write_all(bytes).err();
        }
    }

    /// Writes what is left and gives the file its name.
    pub(super) fn finish(self) -> Result<()> {
        let context = || self.path.display().to_string();
        if let Some(e) = self.error {
            return Err(e).with_context(context);
        }
        let file = self.file.into_inner().map_err(io::IntoInnerError::into_error).with_context(context)?;
        file.persist(&self.path).map_err(|e| e.error).with_context(context)?;
        Ok(())
    }
}
