//! Memory for packed matrices, in huge pages where the system has them: a pass over weights otherwise spends a good part
//! of its time on looking up pages. Matrices are often smaller than such a page, so they share it.

use memmap2::{MmapMut, MmapRaw};
use std::alloc::{Layout, handle_alloc_error};
use std::sync::Arc;

/// Bytes of a huge page.
const HUGE: usize = 2 << 20;
/// Bytes that are mapped at a time, unless a matrix needs more. They take memory once they are used.
const CHUNK: usize = 32 << 20;
/// Bytes to whose multiples matrices are aligned: a cache line.
const ALIGN: usize = 64;

/// Memory from which [`PackedMatrix::new_in`](super::PackedMatrix::new_in) takes. What is taken is given back when
/// all matrices of its chunk of 32 MB are gone.
#[derive(Debug, Default)]
pub struct Pages {
    chunk: Option<Arc<Chunk>>,
    /// Bytes of the chunk that have been given out.
    used: usize,
}

impl Pages {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// So many bytes, filled by `fill`, which finds zeros.
    pub(super) fn take(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Bytes {
        let chunk = match &self.chunk {
            Some(chunk) if len <= chunk.len - self.used => Arc::clone(chunk),
            _ => {
                self.used = 0;
                Arc::clone(self.chunk.insert(Arc::new(Chunk::new(len.max(CHUNK)))))
            }
        };
        let bytes = Bytes::new(chunk, self.used, len, fill);
        // May go beyond the end, where nothing but 0 bytes fits.
        self.used = (self.used + len).next_multiple_of(ALIGN).min(bytes.chunk.len);
        bytes
    }
}

/// Memory that is mapped at once.
#[derive(Debug)]
struct Chunk {
    map: MmapRaw,
    /// Where it starts in the map, so that huge pages can be used from the start.
    start: usize,
    len: usize,
}

impl Chunk {
    fn new(len: usize) -> Self {
        let spare = if len < HUGE { 0 } else { HUGE };
        let Ok(map) = MmapMut::map_anon((len + spare).max(1)) else {
            handle_alloc_error(Layout::array::<u8>(len).expect("a length that was asked for"));
        };
        let map = MmapRaw::from(map);
        let start = if spare == 0 { 0 } else { map.as_mut_ptr().align_offset(HUGE) };
        #[cfg(target_os = "linux")]
        if spare > 0 {
            // A hint: where it is not followed, all is as well, but slower.
            let _ = map.advise_range(memmap2::Advice::HugePage, start, len);
        }
        Self { map, start, len }
    }
}

/// A part of a chunk, which never changes.
#[derive(Debug, Clone)]
pub(super) struct Bytes {
    chunk: Arc<Chunk>,
    start: usize,
    len: usize,
}

impl Bytes {
    /// Memory of its own.
    pub(super) fn alone(len: usize, fill: impl FnOnce(&mut [u8])) -> Self {
        Self::new(Arc::new(Chunk::new(len)), 0, len, fill)
    }

    /// Bytes of the chunk from `start` on, which have not been given out.
    fn new(chunk: Arc<Chunk>, start: usize, len: usize, fill: impl FnOnce(&mut [u8])) -> Self {
        assert!(start + len <= chunk.len, "{len} bytes from {start} of {}", chunk.len);
        // SAFETY: they are in the map, which is zero where it was not written, and nobody else has them: `Pages` counts
        // what it gives out, and gives its chunk to nobody.
        fill(unsafe { std::slice::from_raw_parts_mut(chunk.map.as_mut_ptr().add(chunk.start + start), len) });
        Self { chunk, start, len }
    }

    /// The bytes.
    pub(super) fn get(&self) -> &[u8] {
        // SAFETY: as above, and they are not written again.
        unsafe {
            std::slice::from_raw_parts(self.chunk.map.as_ptr().add(self.chunk.start + self.start), self.len)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_aligned_and_apart() {
        let mut pages = Pages::new();
        let lengths = [1, 0, 63, 64, 65, CHUNK - 64, CHUNK, 5, CHUNK + HUGE, 7];
        let parts: Vec<Bytes> = lengths
            .into_iter()
            .enumerate()
            .map(|(i, len)| {
                pages.take(len, |bytes| {
                    assert!(bytes.len() == len && bytes.iter().step_by(4093).all(|b| *b == 0));
                    bytes.fill(i as u8 + 1);
                })
            })
            .collect();
        drop(pages);
        for (i, part) in parts.iter().enumerate() {
            assert_eq!(part.get().as_ptr().align_offset(ALIGN), 0);
            assert!(part.get().len() == lengths[i] && part.get().iter().all(|b| *b == i as u8 + 1));
        }
    }

    #[test]
    fn alone() {
        for len in [0, 1, HUGE - 1, HUGE + 1] {
            let bytes = Bytes::alone(len, |bytes| bytes.fill(7));
            assert!(bytes.get().len() == len && bytes.get().iter().all(|b| *b == 7));
        }
    }
}
