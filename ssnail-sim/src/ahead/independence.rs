//! Whether the turns of a loop can be computed side by side, instruction by instruction.
//!
//! A *fixed* destination is at the same address in every turn: each turn gets a copy of it, which is right if the turn
//! never reads a byte of it that it has not written before. Any other destination *moves*, as rows of a cache do: those
//! are written to RAM at once, which is right if no two turns write the same byte, and if a turn reads what an earlier
//! turn wrote only at an earlier instruction, and what a later turn will write at a later or the same one.

use super::scout::Scouted;
use ssnail_isa::Opcode;
use ssnail_isa::check::Span;

/// The bytes of which each turn has a copy.
#[derive(Debug, Default)]
pub(super) struct Private {
    /// Ascending, apart and not even touching, each with its place in the copy.
    intervals: Vec<(Span, usize)>,
    /// Bytes of a copy.
    pub(super) bytes: usize,
}

/// Places in the copy start at multiples of this, plus what the address is beyond one, so that alignment is kept.
const ALIGN: usize = 64;

impl Private {
    /// Of spans in any order.
    fn of(mut spans: Vec<Span>) -> Self {
        spans.sort_unstable_by_key(|s| (s.addr, s.len));
        let mut private = Private::default();
        for span in union(spans) {
            let place = private.bytes.next_multiple_of(ALIGN) + span.addr as usize % ALIGN;
            private.bytes = place + span.len as usize;
            private.intervals.push((span, place));
        }
        private
    }

    /// The interval that overlaps a span, if one does; the first of several.
    fn overlapping(&self, span: Span) -> Option<(Span, usize)> {
        let at = self.intervals.partition_point(|(i, _)| i.end() <= u64::from(span.addr));
        self.intervals.get(at).copied().filter(|(i, _)| i.overlaps(&span))
    }

    /// Where in the copy a span stands. It is known to be inside or outside altogether.
    pub(super) fn place(&self, span: Span) -> Option<usize> {
        self.overlapping(span).map(|(i, place)| place + (span.addr - i.addr) as usize)
    }

    /// The intervals with their places.
    pub(super) fn intervals(&self) -> impl Iterator<Item = (Span, usize)> {
        self.intervals.iter().copied()
    }
}

/// Spans that ascend, joined where they overlap or touch.
fn union(ascending: Vec<Span>) -> Vec<Span> {
    let mut joined: Vec<Span> = Vec::new();
    for span in ascending {
        match joined.last_mut() {
            Some(last) if u64::from(span.addr) <= last.end() => {
                last.len = (span.end().max(last.end()) - u64::from(last.addr)) as u32;
            }
            _ => joined.push(span),
        }
    }
    joined
}

fn inside(outer: Span, inner: Span) -> bool {
    outer.addr <= inner.addr && inner.end() <= outer.end()
}

/// A destination that moves.
#[derive(Debug, Clone, Copy)]
struct Moving {
    span: Span,
    turn: usize,
    column: usize,
    /// The largest end of this and all before it.
    reach: u64,
}

/// What moves, ascending by address.
struct AllMoving(Vec<Moving>);

impl AllMoving {
    /// Nothing if two turns write the same byte.
    fn of(mut all: Vec<Moving>) -> Option<Self> {
        all.sort_unstable_by_key(|m| m.span.addr);
        // Of those joined so far: the end, and the turn of all that share bytes.
        let (mut reach, mut turn) = (0, usize::MAX);
        for m in &mut all {
            if u64::from(m.span.addr) >= reach {
                turn = m.turn;
            } else if m.turn != turn {
                return None;
            }
            reach = reach.max(m.span.end());
            m.reach = reach;
        }
        Some(Self(all))
    }

    fn overlapping(&self, span: Span) -> impl Iterator<Item = &Moving> {
        let from = self.0.partition_point(|m| m.reach <= u64::from(span.addr));
        let near = self.0[from..].iter().take_while(move |m| u64::from(m.span.addr) < span.end());
        near.filter(move |m| m.span.overlaps(&span))
    }

    fn touches(&self, span: Span) -> bool {
        self.overlapping(span).next().is_some()
    }
}

/// What each turn needs a copy of, if the turns can be computed side by side.
pub(super) fn private(found: &Scouted) -> Option<Private> {
    let turns = &found.turns;
    let columns = turns.first()?.len();
    let written = |turn: usize, column: usize| {
        let step = &turns[turn][column];
        step.operands.written(step.instruction.op)
    };

    let (mut fixed, mut moving) = (vec![None; columns], Vec::new());
    for (column, fixed) in fixed.iter_mut().enumerate() {
        let first = written(0, column);
        if (1..turns.len()).all(|turn| written(turn, column) == first) {
            *fixed = first;
        } else {
            let of = |turn| written(turn, column).map(|span| Moving { span, turn, column, reach: 0 });
            moving.extend((0..turns.len()).filter_map(of));
        }
    }
    let private = Private::of(fixed.iter().copied().flatten().collect());
    let moving = AllMoving::of(moving)?;
    let shared = |span: Span| private.overlapping(span).is_none();
    let untouched = |span: Span| shared(span) && !moving.touches(span);

    // What control flow depends on, and what it stores, has nothing to do with what is computed.
    let mut stored: Vec<u32> = found.stores.iter().map(|s| s.0).collect();
    stored.sort_unstable();
    stored.dedup();
    let stored: Vec<Span> = stored.into_iter().map(|addr| Span { addr, len: 4 }).collect();
    let apart = |span: Span| !stored.iter().any(|s| s.overlaps(&span));
    let separate = moving.0.iter().all(|m| shared(m.span))
        && found.loads.iter().chain(&stored).all(|&s| untouched(s))
        && untouched(found.code)
        && apart(found.code);
    if !separate {
        return None;
    }

    let mut defined: Vec<Span> = Vec::new();
    for (column, fixed) in fixed.into_iter().enumerate() {
        for (turn, steps) in turns.iter().enumerate() {
            let step = &steps[column];
            let legal = |span: Span| {
                if let Some((interval, _)) = private.overlapping(span) {
                    return inside(interval, span) && defined.iter().any(|&d| inside(d, span));
                }
                apart(span)
                    && moving.overlapping(span).all(|m| {
                        m.turn == turn
                            || (m.turn < turn && m.column < column)
                            || (m.turn > turn && m.column >= column)
                    })
            };
            let weights = (step.instruction.op == Opcode::Gemv).then_some(step.operands.xyz[0]);
            if !weights.is_none_or(untouched) || !step.operands.read(&step.instruction).all(legal) {
                return None;
            }
        }
        if let Some(span) = fixed {
            let at = defined.partition_point(|d| d.addr < span.addr);
            defined.insert(at, span);
            defined = union(defined);
        }
    }
    Some(private)
}
