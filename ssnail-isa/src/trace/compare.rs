//! Two traces against each other, up to their first difference.

use super::Record;
use std::collections::VecDeque;
use std::fmt;

/// How far two traces agree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// Records that are equal, from the start.
    pub matched: u64,
    /// The last of these.
    pub before: Vec<Record>,
    /// The records that come next, where not both traces end there. They differ, or one trace has no more.
    pub difference: Option<(Option<Record>, Option<Record>)>,
}

/// Compares two traces, and keeps the last `context` records before their first difference.
///
/// # Errors
/// The first one of either trace.
pub fn compare<E>(
    mut a: impl Iterator<Item = Result<Record, E>>,
    mut b: impl Iterator<Item = Result<Record, E>>,
    context: usize,
) -> Result<Comparison, E> {
    let mut before = VecDeque::new();
    let mut matched = 0;
    let difference = loop {
        match (a.next().transpose()?, b.next().transpose()?) {
            (None, None) => break None,
            (Some(a), Some(b)) if a == b => {
                matched += 1;
                before.push_back(a);
                if before.len() > context {
                    before.pop_front();
                }
            }
            different => break Some(different),
        }
    };
    Ok(Comparison { matched, before: before.into(), difference })
}

impl Comparison {
    /// Whether the traces say the same. Empty ones say nothing.
    pub fn agree(&self) -> bool {
        self.difference.is_none() && self.matched > 0
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let matched = self.matched;
        match &self.difference {
            None if matched == 0 => return writeln!(f, "both traces are empty: nothing was compared"),
            None => return writeln!(f, "the traces agree: {matched} records matched"),
            Some(sides) => {
                self.before.iter().try_for_each(|r| writeln!(f, "  {r}"))?;
                for (name, side) in [("A", &sides.0), ("B", &sides.1)] {
                    match side {
                        Some(record) => writeln!(f, "{name} {record}")?,
                        None => writeln!(f, "{name} has no more records")?,
                    }
                }
                if let (Some(a), Some(b)) = sides {
                    write_differences(f, a, b)?;
                }
            }
        }
        writeln!(f, "the traces differ; records that matched before: {matched}")
    }
}

/// A line for each field that is not the same, in the order of the line.
fn write_differences(f: &mut fmt::Formatter<'_>, a: &Record, b: &Record) -> fmt::Result {
    let (a, b) = (a.fields(), b.fields());
    let value = |fields: &[(String, String)], key: &str| {
        fields.iter().find(|(k, _)| k == key).map_or_else(|| "nothing".into(), |(_, v)| v.clone())
    };
    let keys = a.iter().chain(b.iter().filter(|(k, _)| a.iter().all(|(other, _)| other != k)));
    for (key, _) in keys {
        let (in_a, in_b) = (value(&a, key), value(&b, key));
        if in_a != in_b {
            writeln!(f, "{key}: A has {in_a}, B has {in_b}")?;
        }
    }
    Ok(())
}
