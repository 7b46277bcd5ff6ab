//! `--logits-out`: little-endian F32, one row a position.

use super::output_file::OutputFile;
use anyhow::Result;
use std::path::Path;

/// A file of logits.
pub(super) struct LogitsFile(OutputFile);

impl LogitsFile {
    /// A file to become `path`.
    pub(super) fn create(path: &Path) -> Result<Self> {
        OutputFile::create(path).map(LogitsFile)
    }

    /// Appends a row.
    pub(super) fn row(&mut self, logits: &[f32]) {
        logits.iter().for_each(|l| self.0.append(&l.to_le_bytes()));
    }

    /// Gives the file its name.
    pub(super) fn finish(self) -> Result<()> {
        self.0.finish()
    }
}
