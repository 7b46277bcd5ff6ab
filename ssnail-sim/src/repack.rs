//! Copies of weight matrices in the order in which kernels read them, made when a matrix is used again and thrown away
//! when something is written where it stands.

use crate::memory::Memory;
use crate::numerics::{Matrix, Numerics};
use crate::watch::WatchId;
use ssnail_hw::fast::{PackedMatrix, Pages};
use ssnail_isa::Format;
use ssnail_isa::check::Span;
use std::collections::HashMap;

/// Uses from which a copy pays. A matrix that is written again after each use is never copied.
const USES: usize = 2;
/// Matrices that are kept; scripts of models have some hundreds.
const MOST: usize = 4096;

/// The copies there are.
#[derive(Default)]
pub(crate) struct Repacked {
    entries: HashMap<Key, Entry>,
    pages: Pages,
    /// Bytes of the matrices that have a copy.
    bytes: u64,
}

#[derive(PartialEq, Eq, Hash, Clone, Copy)]
struct Key {
    span: Span,
    format: Format,
    columns: usize,
}

struct Entry {
    watch: WatchId,
    uses: usize,
    packed: Option<PackedMatrix>,
}

impl Repacked {
    /// The copy of a matrix, which is now used `uses` times, if it has one.
    pub(crate) fn get(
        &mut self,
        memory: &mut Memory,
        numerics: &dyn Numerics,
        (span, format, columns): (Span, Format, usize),
        uses: usize,
    ) -> Option<&PackedMatrix> {
        let key = Key { span, format, columns };
        if !self.entries.contains_key(&key) {
            // What overlaps is copied more than once: no more of it than there is RAM.
            if self.entries.len() == MOST || self.bytes > memory.map().bytes() {
                self.entries.clear();
                self.bytes = 0;
                memory.watches.clear();
            }
            let watch = memory.watches.add(span);
            self.entries.insert(key, Entry { watch, uses: 0, packed: None });
        }
        let entry = self.entries.get_mut(&key)?;
        if memory.watches.written(entry.watch) {
            memory.watches.renew(entry.watch);
            if entry.packed.take().is_some() {
                self.bytes -= u64::from(span.len);
            }
            entry.uses = 0;
        }
        let before = entry.uses;
        entry.uses = before.saturating_add(uses);
        if before < USES && entry.uses >= USES {
            entry.packed =
                numerics.pack(Matrix { bytes: memory.bytes(span), format, columns }, &mut self.pages);
            self.bytes += entry.packed.as_ref().map_or(0, |_| u64::from(span.len));
        }
        entry.packed.as_ref()
    }
}
