//! Does the image's tokenizer cut text as the model's own does? Compared line by line, the image's cost on the way.

use crate::vocab::{EncodeOptions, Tokenizer};
use serde::Serialize;
use ssnail_tok::Cost;
use std::fmt::Write;

/// The built-in sample: English with numbers, punctuation, code, addresses and odd spacing, all ASCII.
pub const SAMPLE: &str = include_str!("../assets/tokcheck.txt");

/// A line that the two cut differently.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Its number, from 1.
    pub line: usize,
    /// Its text, as ASCII.
    pub text: String,
    /// The image's ids.
    pub image: Vec<u32>,
    /// The model's ids.
    pub model: Vec<u32>,
}

/// What a comparison found.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct TokCheck {
    /// Lines compared.
    pub lines: usize,
    /// Those that differ.
    pub differences: Vec<Difference>,
    /// Tokens that the image's tokenizer gave, begin and end tokens included.
    pub tokens: u64,
    /// Index entries it looked at.
    pub probes: u64,
    /// Bytes it read from the image's tables.
    pub bytes: u64,
    /// Index entries per token.
    pub probes_per_token: f64,
    /// Bytes per token.
    pub bytes_per_token: f64,
}

/// Compares both tokenizers on each of `texts`, as prompts with begin and end tokens, control tokens taken as text.
/// Both get the ASCII that the image's folder makes of a text.
pub fn check<'t>(
    image: &ssnail_tok::Tokenizer<'_>,
    model: &Tokenizer,
    texts: impl IntoIterator<Item = &'t str>,
) -> TokCheck {
    let (mut found, mut cost) = (TokCheck::default(), Cost::default());
    for text in texts {
        found.lines += 1;
        let text = ssnail_tok::ascii::fold(text.as_bytes());
        let (ids, spent) = image.encode_with_cost(&text);
        cost += spent;
        let wanted = model.encode(&text, EncodeOptions { add_special: true, parse_special: false });
        if ids != wanted {
            found.differences.push(Difference { line: found.lines, text, image: ids, model: wanted });
        }
    }
    let per_token = |n: u64| n as f64 / cost.tokens.max(1) as f64;
    TokCheck {
        tokens: cost.tokens,
        probes: cost.probes,
        bytes: cost.bytes,
        probes_per_token: per_token(cost.probes),
        bytes_per_token: per_token(cost.bytes),
        ..found
    }
}

impl TokCheck {
    /// Whether no line differs.
    pub fn is_equal(&self) -> bool {
        self.differences.is_empty()
    }

    /// The lines that differ with both id lists, one id under the other, then the counts.
    pub fn report(&self) -> String {
        let mut out = String::new();
        for difference in &self.differences {
            let _ = writeln!(out, "line {}: {:?}", difference.line, difference.text);
            let (mut image, mut model) = (String::from("  image"), String::from("  model"));
            for at in 0..difference.image.len().max(difference.model.len()) {
                let shown = |ids: &[u32]| ids.get(at).map_or("-".to_owned(), u32::to_string);
                let (a, b) = (shown(&difference.image), shown(&difference.model));
                let width = a.len().max(b.len());
                let _ = write!(image, " {a:>width$}");
                let _ = write!(model, " {b:>width$}");
            }
            let _ = writeln!(out, "{image}\n{model}");
        }
        let _ = writeln!(
            out,
            "{} of {} lines differ; {} tokens, {:.1} index probes and {:.0} bytes read per token",
            self.differences.len(),
            self.lines,
            self.tokens,
            self.probes_per_token,
            self.bytes_per_token
        );
        out
    }
}

#[cfg(test)]
#[path = "tokcheck/tests.rs"]
mod tests;
