//! Where the bytes of a file live: the one place that maps files into memory.

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::path::Path;

use memmap2::Mmap;

use super::error::GgufFault;

/// A whole file as bytes.
#[derive(Debug)]
pub(super) enum Source {
    Map(Mmap),
    Memory(Vec<u8>),
}

impl Source {
    /// Maps a regular file that is not empty.
    ///
    /// A file that another process shortens while it is mapped raises SIGBUS where its pages are gone, and
    /// one that is written to changes under the reader. Neither is prevented here.
    pub(super) fn map(path: &Path) -> Result<Self, GgufFault> {
        // Asked before opening: opening a pipe would wait for its writer.
        if !std::fs::metadata(path).map_err(GgufFault::Read)?.is_file() {
            return Err(GgufFault::NotAFile);
        }
        let file = File::open(path).map_err(GgufFault::Read)?;
        let metadata = file.metadata().map_err(GgufFault::Read)?;
        match metadata.len() {
            _ if !metadata.is_file() => Err(GgufFault::NotAFile),
            0 => Err(GgufFault::Empty),
            _ => map_file(&file).map(Self::Map).map_err(GgufFault::Read),
        }
    }
}

fn map_file(file: &File) -> io::Result<Mmap> {
    // SAFETY: the map is only read. It asks that nobody changes or shortens the file meanwhile, which cannot be
    // ensured here and is passed on to whoever calls `Gguf::open`. To limit the harm, lengths that are read from
    // the map a second time are checked a second time.
    unsafe { Mmap::map(file) }
}

impl Deref for Source {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Map(map) => map,
            Self::Memory(bytes) => bytes,
        }
    }
}
