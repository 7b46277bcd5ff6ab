//! What one arithmetic costs against another: the logits of the same tokens, position by position.

use crate::numerics::argmax;
use crate::session::{Session, SessionError};
use serde::Serialize;

/// One position of a text, in both.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Position {
    /// The token there.
    pub token: u32,
    /// What each takes for the next one.
    pub greedy: [u32; 2],
    /// How far ahead of the second most likely token the first has the most likely one, in logits.
    pub margin: f32,
    /// The largest difference of two logits.
    pub max_difference: f32,
    /// The mean difference, of magnitudes.
    pub mean_difference: f64,
    /// KL divergence of the second's distribution from the first's, in nats.
    pub kl: f64,
    /// What each gives the token that follows, as -ln p; nothing at the end of a window.
    pub loss: Option<[f64; 2]>,
}

/// Positions together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// Positions that were compared.
    pub positions: usize,
    /// The largest difference of two logits.
    pub max_difference: f32,
    /// The mean difference, of magnitudes.
    pub mean_difference: f64,
    /// KL divergence, mean over positions, in nats.
    pub mean_kl: f64,
    /// KL divergence of the position where it is largest.
    pub max_kl: f64,
    /// Positions at which both take the same token.
    pub agreed: usize,
    /// The largest margin of a position at which they do not; 0 if there is none.
    pub widest_margin: f32,
    /// Perplexity of each over the tokens that follow others; nothing where there are none.
    pub perplexity: Option<[f64; 2]>,
}

/// Compares two sessions of one decoder along a text, from an empty context. A text longer than the context is cut
/// into windows, each of which starts with `begin`, if there is one.
///
/// # Errors
/// When a session cannot go on; `[first, second]` are not of one decoder.
pub fn compare(
    sessions: &mut [Session; 2],
    tokens: &[u32],
    begin: Option<u32>,
    mut progress: impl FnMut(usize),
) -> Result<Vec<Position>, SessionError> {
    let context = sessions[0].header().context as usize;
    let text = begin.map_or(tokens, |begin| tokens.strip_prefix(&[begin]).unwrap_or(tokens));
    let mut positions = Vec::with_capacity(tokens.len());
    for part in text.chunks(context.saturating_sub(usize::from(begin.is_some())).max(1)) {
        let window: Vec<u32> = begin.into_iter().chain(part.iter().copied()).collect();
        for session in &mut *sessions {
            session.clear()?;
            session.push(&window[..1])?;
        }
        for (at, &token) in window.iter().enumerate() {
            let next = window.get(at + 1).copied();
            let mut rows = [Vec::new(), Vec::new()];
            for (session, row) in sessions.iter_mut().zip(&mut rows) {
                session.advance()?;
                *row = session.output()?;
                if let Some(next) = next {
                    session.replace_last(next)?;
                }
            }
            positions.push(position(token, &rows, next));
            progress(positions.len());
        }
    }
    Ok(positions)
}

fn position(token: u32, rows: &[Vec<f32>; 2], next: Option<u32>) -> Position {
    let [a, b] = rows;
    let differences = || a.iter().zip(b).map(|(a, b)| (a - b).abs());
    let [la, lb] = [log_softmax(a), log_softmax(b)];
    let greedy = [argmax(a), argmax(b)];
    let best = a[greedy[0] as usize];
    let others = a.iter().enumerate().filter(|&(i, _)| i != greedy[0] as usize).map(|(_, &v)| v);
    Position {
        token,
        greedy,
        margin: best - others.fold(f32::NEG_INFINITY, f32::max),
        max_difference: differences().fold(0.0, f32::max),
        mean_difference: differences().map(f64::from).sum::<f64>() / a.len() as f64,
        // Rounding may take it just below 0.
        kl: la
            .iter()
            .zip(&lb)
            .map(|(a, b)| if *a > f64::NEG_INFINITY { a.exp() * (a - b) } else { 0.0 })
            .sum::<f64>()
            .max(0.0),
        loss: next.map(|next| [-la[next as usize], -lb[next as usize]]),
    }
}

fn log_softmax(row: &[f32]) -> Vec<f64> {
    let max = f64::from(row.iter().copied().fold(f32::NEG_INFINITY, f32::max));
    let sum: f64 = row.iter().map(|&v| (f64::from(v) - max).exp()).sum();
    row.iter().map(|&v| f64::from(v) - max - sum.ln()).collect()
}

impl Summary {
    /// Of some positions.
    pub fn of(positions: &[Position]) -> Self {
        let n = positions.len().max(1) as f64;
        let mean = |f: fn(&Position) -> f64| positions.iter().map(f).sum::<f64>() / n;
        let turned = |p: &&Position| p.greedy[0] != p.greedy[1];
        let losses: Vec<_> = positions.iter().filter_map(|p| p.loss).collect();
        let perplexity = |k: usize| (losses.iter().map(|l| l[k]).sum::<f64>() / losses.len() as f64).exp();
        Summary {
            positions: positions.len(),
            max_difference: positions.iter().map(|p| p.max_difference).fold(0.0, f32::max),
            mean_difference: mean(|p| p.mean_difference),
            mean_kl: mean(|p| p.kl),
            max_kl: positions.iter().map(|p| p.kl).fold(0.0, f64::max),
            agreed: positions.len() - positions.iter().filter(turned).count(),
            widest_margin: positions.iter().filter(turned).map(|p| p.margin).fold(0.0, f32::max),
            perplexity: (!losses.is_empty()).then(|| [perplexity(0), perplexity(1)]),
        }
    }
}

/// Cosine of the angle between two vectors.
pub fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum::<f64>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_by_hand() {
        let ln = |p: [f32; 3]| p.map(|p| p.ln() + 5.0).to_vec();
        let rows = [ln([0.5, 0.25, 0.25]), ln([0.25, 0.5, 0.25])];
        let p = position(7, &rows, Some(1));
        assert_eq!((p.token, p.greedy), (7, [0, 1]));
        let near = |a: f64, b: f64| (a - b).abs() < 1e-6;
        let ln2 = std::f64::consts::LN_2;
        assert!(near(p.kl, 0.5 * ln2 - 0.25 * ln2), "{p:?}");
        assert!(near(p.margin.into(), ln2) && near(p.max_difference.into(), ln2), "{p:?}");
        assert!(near(p.mean_difference, ln2 * 2.0 / 3.0), "{p:?}");
        let loss = p.loss.unwrap();
        assert!(near(loss[0], 2.0 * ln2) && near(loss[1], ln2));
        let same = position(7, &[rows[0].clone(), rows[0].clone()], None);
        assert_eq!((same.kl, same.max_difference, same.loss), (0.0, 0.0, None));

        let s = Summary::of(&[p, same]);
        assert_eq!((s.positions, s.agreed), (2, 1));
        assert!(near(s.mean_kl, 0.125 * ln2) && near(s.widest_margin.into(), ln2));
        let perplexity = s.perplexity.unwrap();
        assert!(near(perplexity[0], 4.0) && near(perplexity[1], 2.0));
        assert_eq!(Summary::of(&[]).perplexity, None);
    }

    #[test]
    fn impossible_tokens_cost_nothing() {
        let rows = [vec![0.0, f32::NEG_INFINITY], vec![0.0, 0.0]];
        let p = position(0, &rows, None);
        assert!((p.kl - std::f64::consts::LN_2).abs() < 1e-12, "{p:?}");
    }

    #[test]
    fn cosines() {
        assert!((cosine(&[1.0, 2.0], &[2.0, 4.0]) - 1.0).abs() < 1e-12);
        assert_eq!(cosine(&[1.0, 0.0], &[0.0, 3.0]), 0.0);
    }
}
