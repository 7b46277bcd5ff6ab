//! Picking a token from logits on the host: repetition penalty, temperature, top-k, top-p, in this order (as Hugging
//! Face's `generate` has them), then a draw from what is left.

use crate::numerics::argmax;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};
use std::collections::VecDeque;

/// How many of the last tokens the repetition penalty looks at.
pub const PENALTY_WINDOW: usize = 64;

/// What to draw from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampling {
    /// Logits are divided by it; 0 takes the most likely token.
    pub temperature: f64,
    /// Only the so many most likely; 0 is all.
    pub top_k: usize,
    /// Only the fewest most likely whose probabilities reach this sum; 1 is all.
    pub top_p: f64,
    /// Logits of recent tokens are divided by it when positive, multiplied when not (CTRL, arXiv 1909.05858); 1 is off.
    pub penalty: f64,
}

impl Sampling {
    /// The most likely token, by ARGMAX's rule.
    pub const GREEDY: Sampling = Sampling { temperature: 0.0, top_k: 0, top_p: 1.0, penalty: 1.0 };
}

/// A source of tokens. The same seed and logits give the same tokens on every machine.
#[derive(Debug, Clone)]
pub struct Sampler {
    sampling: Sampling,
    random: Pcg64Mcg,
    recent: VecDeque<u32>,
}

/// A token that can still be drawn.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    token: u32,
    /// Its probability relative to the most likely token's.
    weight: f64,
}

impl Sampler {
    /// A sampler that has seen no tokens.
    pub fn new(sampling: Sampling, seed: u64) -> Self {
        Sampler { sampling, random: Pcg64Mcg::seed_from_u64(seed), recent: VecDeque::new() }
    }

    /// Tells it of a token of the text, prompt or generated.
    pub fn accept(&mut self, token: u32) {
        if self.recent.len() == PENALTY_WINDOW {
            self.recent.pop_front();
        }
        self.recent.push_back(token);
    }

    /// Picks a token. A NaN is never picked; where all are NaN, 0 is.
    pub fn pick(&mut self, logits: &[f32]) -> u32 {
        let mut logits = logits.to_vec();
        self.penalise(&mut logits);
        let best = argmax(&logits);
        let Some(&most) = logits.get(best as usize) else { return best };
        if self.sampling.temperature <= 0.0 || !most.is_finite() {
            return best;
        }
        let candidates = self.candidates(&logits, f64::from(most));
        self.draw(&candidates).unwrap_or(best)
    }

    fn penalise(&self, logits: &mut [f32]) {
        let penalty = self.sampling.penalty;
        if penalty == 1.0 {
            return;
        }
        let mut tokens: Vec<u32> = self.recent.iter().copied().collect();
        tokens.sort_unstable();
        tokens.dedup();
        for token in tokens {
            if let Some(l) = logits.get_mut(token as usize) {
                let v = f64::from(*l);
                *l = (if v > 0.0 { v / penalty } else { v * penalty }) as f32;
            }
        }
    }

    /// The tokens that top-k and top-p leave, most likely first where top-p is on; `most` is the largest logit.
    fn candidates(&self, logits: &[f32], most: f64) -> Vec<Candidate> {
        let Sampling { temperature, top_k, top_p, .. } = self.sampling;
        let weight = |l: f32| ((f64::from(l) - most) / temperature).exp();
        let numbers = (0..).zip(logits).filter(|(_, l)| !l.is_nan());
        let mut all: Vec<Candidate> =
            numbers.map(|(token, &l)| Candidate { token, weight: weight(l) }).collect();
        let order = |a: &Candidate, b: &Candidate| b.weight.total_cmp(&a.weight).then(a.token.cmp(&b.token));
        if top_k > 0 && top_k < all.len() {
            all.select_nth_unstable_by(top_k - 1, order);
            all.truncate(top_k);
        }
        if top_p < 1.0 {
            all.sort_unstable_by(order);
            let enough = top_p * all.iter().map(|c| c.weight).sum::<f64>();
            let mut sum = 0.0;
            let reaching = all.iter().position(|c| {
                sum += c.weight;
                sum >= enough
            });
            all.truncate(reaching.map_or(all.len(), |last| last + 1));
        }
        all
    }

    fn draw(&mut self, candidates: &[Candidate]) -> Option<u32> {
        let mut left = self.unit() * candidates.iter().map(|c| c.weight).sum::<f64>();
        let drawn = candidates.iter().find(|c| {
            left -= c.weight;
            left < 0.0
        });
        // Rounding can leave a rest after the last one.
        drawn.or_else(|| candidates.iter().rfind(|c| c.weight > 0.0)).map(|c| c.token)
    }

    /// Uniform in [0, 1), 53 bits.
    fn unit(&mut self) -> f64 {
        (self.random.next_u64() >> 11) as f64 * (-53f64).exp2()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WARM: Sampling = Sampling { temperature: 1.0, top_k: 0, top_p: 1.0, penalty: 1.0 };

    fn counts(sampling: Sampling, logits: &[f32], draws: u32) -> Vec<u32> {
        let mut s = Sampler::new(sampling, 7);
        let mut out = vec![0; logits.len()];
        (0..draws).for_each(|_| out[s.pick(logits) as usize] += 1);
        out
    }

    #[test]
    fn draws_follow_softmax() {
        // Probabilities 0.1, 0.2, 0.3, 0.4; of 20000 draws the standard deviation is below 70.
        let logits = [0.1f32, 0.2, 0.3, 0.4].map(f32::ln);
        for (n, want) in counts(WARM, &logits, 20_000).iter().zip([2000, 4000, 6000, 8000]) {
            assert!(n.abs_diff(want) < 350, "{n} of {want}");
        }
        // Temperature 1/2 squares them: 1, 4, 9, 16 of 30.
        let cold = Sampling { temperature: 0.5, ..WARM };
        for (n, want) in counts(cold, &logits, 30_000).iter().zip([1000, 4000, 9000, 16000]) {
            assert!(n.abs_diff(want) < 430, "{n} of {want}");
        }
    }

    #[test]
    fn top_k_and_top_p_cut_the_tail() {
        let logits = [0.1f32, 0.2, 0.3, 0.4].map(f32::ln);
        assert_eq!(counts(Sampling { top_k: 2, ..WARM }, &logits, 2000)[..2], [0, 0]);
        assert_eq!(counts(Sampling { top_p: 0.65, ..WARM }, &logits, 2000)[..2], [0, 0]);
        let three = counts(Sampling { top_p: 0.75, ..WARM }, &logits, 2000);
        assert!(three[0] == 0 && three[1] > 0);
        assert_eq!(counts(Sampling { top_p: 0.0, ..WARM }, &logits, 100), [0, 0, 0, 100]);
        assert_eq!(counts(Sampling { top_k: 1, ..WARM }, &[1.0, 1.0, 0.5], 100), [100, 0, 0]);
    }

    #[test]
    fn the_penalty_counts_a_token_once_and_forgets() {
        let mut s = Sampler::new(Sampling { penalty: 2.0, ..Sampling::GREEDY }, 0);
        let logits = [3.0, 2.0, -1.0];
        assert_eq!(s.pick(&logits), 0);
        s.accept(0);
        s.accept(0);
        assert_eq!(s.pick(&logits), 1); // 3/2 < 2
        s.accept(1);
        assert_eq!(s.pick(&logits), 0); // 3/2 > 2/2
        (0..PENALTY_WINDOW).for_each(|_| s.accept(2));
        assert_eq!(s.pick(&logits), 0);
        s.accept(99); // a token beyond the logits is no harm
        assert_eq!(s.pick(&[-1.0, -1.5, -0.8]), 0); // -0.8 * 2 < -1
    }

    #[test]
    fn what_is_no_number_is_not_picked() {
        let (nan, inf) = (f32::NAN, f32::INFINITY);
        assert_eq!(counts(WARM, &[nan, 1.0, nan], 50), [0, 50, 0]);
        assert_eq!(counts(WARM, &[0.0, inf, inf], 50), [0, 50, 0]);
        assert_eq!(counts(WARM, &[-inf, 0.0, -inf], 50), [0, 50, 0]);
        assert_eq!(counts(WARM, &[nan, nan], 50), [50, 0]);
        assert_eq!(Sampler::new(WARM, 0).pick(&[]), 0);
    }

    proptest! {
        #[test]
        fn a_seed_decides_and_the_draw_is_among_the_top_k(
            logits in prop::collection::vec(-20f32..20.0, 1..50), seed: u64, top_k in 1usize..10, top_p in 0.05f64..1.0,
            temperature in 0.1f64..3.0,
        ) {
            let sampling = Sampling { temperature, top_k, top_p, penalty: 1.0 };
            let (mut a, mut b) = (Sampler::new(sampling, seed), Sampler::new(sampling, seed));
            for _ in 0..5 {
                let token = a.pick(&logits);
                prop_assert_eq!(token, b.pick(&logits));
                let above = logits.iter().filter(|&&l| l > logits[token as usize]).count();
                prop_assert!(above < top_k);
            }
        }

        #[test]
        fn temperature_0_is_argmax(logits in prop::collection::vec(any::<f32>(), 1..50), seed: u64) {
            prop_assert_eq!(Sampler::new(Sampling::GREEDY, seed).pick(&logits), argmax(&logits));
        }
    }
}
