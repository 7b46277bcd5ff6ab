//! Stretches of RAM of which somebody keeps a copy in another form: a write into one is noted, so that no answer ever
//! comes from a stale copy.

use ssnail_isa::check::Span;

/// The stretches that are watched.
#[derive(Debug, Default)]
pub(crate) struct Watches {
    /// By id; `None` where an id is free.
    spans: Vec<Option<Watched>>,
    /// The bytes that any of them covers: ascending, apart, as first address and end.
    covered: Vec<(u32, u64)>,
}

#[derive(Debug, Clone, Copy)]
struct Watched {
    span: Span,
    written: bool,
}

/// Names a stretch that is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WatchId(usize);

impl Watches {
    /// Watches a stretch from now on.
    pub(crate) fn add(&mut self, span: Span) -> WatchId {
        let id = self.spans.iter().position(Option::is_none).unwrap_or(self.spans.len());
        self.spans.resize(self.spans.len().max(id + 1), None);
        self.spans[id] = Some(Watched { span, written: false });
        let mut all: Vec<_> = self.spans.iter().flatten().map(|w| (w.span.addr, w.span.end())).collect();
        all.sort_unstable();
        self.covered.clear();
        for (start, end) in all {
            match self.covered.last_mut() {
                Some(last) if u64::from(start) <= last.1 => last.1 = last.1.max(end),
                _ => self.covered.push((start, end)),
            }
        }
        WatchId(id)
    }

    /// Watches nothing any more.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Whether something was written there since [`Watches::add`] or [`Watches::renew`].
    pub(crate) fn written(&self, id: WatchId) -> bool {
        self.spans[id.0].is_none_or(|w| w.written)
    }

    /// Forgets what was written until now.
    pub(crate) fn renew(&mut self, id: WatchId) {
        if let Some(w) = &mut self.spans[id.0] {
            w.written = false;
        }
    }

    /// Notes a write.
    pub(crate) fn note(&mut self, written: Span) {
        let next = self.covered.partition_point(|&(_, end)| end <= u64::from(written.addr));
        if self.covered.get(next).is_none_or(|&(start, _)| u64::from(start) >= written.end()) {
            return;
        }
        for w in self.spans.iter_mut().flatten() {
            w.written |= w.span.overlaps(&written);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(addr: u32, len: u32) -> Span {
        Span { addr, len }
    }

    #[test]
    fn a_write_is_noted_where_it_falls_and_nowhere_else() {
        let mut watches = Watches::default();
        let ids = [span(100, 10), span(105, 20), span(200, 1)].map(|s| watches.add(s));
        let written = |w: &Watches| ids.map(|id| w.written(id));
        watches.note(span(90, 10));
        watches.note(span(125, 75));
        watches.note(span(201, 100));
        watches.note(span(103, 0));
        assert_eq!(written(&watches), [false; 3]);
        watches.note(span(109, 1));
        assert_eq!(written(&watches), [true, true, false]);
        watches.renew(ids[0]);
        watches.note(span(124, 77));
        assert_eq!(written(&watches), [false, true, true]);
        watches.note(span(0, 1000));
        assert_eq!(written(&watches), [true; 3]);
    }
}
