//! Which of the image's four pre-split rules a pre-tokenizer is, or comes nearest to.

use super::error::VocabError;
use super::pre::{Pass, PreTokenizer};
use super::split::Splitter;
use ssnail_isa::image::PreSplit;
use ssnail_tok::split::word_end;

/// A pre-split rule for an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageRule {
    /// The rule.
    pub rule: PreSplit,
    /// `None` when the pre-tokenizer cuts ASCII by this very rule; else how many lines of the sample it cuts otherwise.
    pub different_lines: Option<usize>,
}

/// The rule for the pre-tokenizer named `pre`. Where it is none of the four, the one that agrees with it on the
/// most lines of `sample`, which is ASCII.
///
/// # Errors
/// [`VocabError::UnknownPre`].
pub fn image_rule<'s>(
    pre: &str,
    sample: impl Iterator<Item = &'s str> + Clone,
) -> Result<ImageRule, VocabError> {
    let pre = PreTokenizer::find(pre)?;
    let exact = match pre.passes {
        [Pass::Gpt2 { lone_digits: false }] => Some(PreSplit::Gpt2),
        [Pass::Gpt2 { lone_digits: true }] => Some(PreSplit::SmolLm),
        [Pass::Llama3 { digits: 3 }] => Some(PreSplit::Llama3),
        [Pass::Llama3 { digits: 1 }] => Some(PreSplit::Qwen2),
        _ => None,
    };
    if let Some(rule) = exact {
        return Ok(ImageRule { rule, different_lines: None });
    }
    let splitter = Splitter::new(pre);
    let different = |rule: PreSplit| sample.clone().filter(|line| !same_words(&splitter, rule, line)).count();
    let (rule, lines) = PreSplit::ALL
        .map(|rule| (rule, different(rule)))
        .into_iter()
        .min_by_key(|&(_, lines)| lines)
        .unwrap_or_default();
    Ok(ImageRule { rule, different_lines: Some(lines) })
}

fn same_words(splitter: &Splitter, rule: PreSplit, line: &str) -> bool {
    let (mut at, mut same) = (0, true);
    splitter.split(line, &mut |word| {
        same &= at < line.len() && word_end(line.as_bytes(), at, rule) == at + word.len();
        at += word.len();
    });
    same
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_have_the_rule_they_are() {
        for (pre, rule) in [
            ("gpt-2", PreSplit::Gpt2),
            ("phi-2", PreSplit::Gpt2),
            ("smollm", PreSplit::SmolLm),
            ("starcoder", PreSplit::SmolLm),
            ("llama-bpe", PreSplit::Llama3),
            ("qwen2", PreSplit::Qwen2),
        ] {
            let exact = ImageRule { rule, different_lines: None };
            assert_eq!(image_rule(pre, std::iter::empty()).unwrap(), exact, "{pre}");
        }
        assert!(image_rule("no-such", std::iter::empty()).is_err());
    }

    #[test]
    fn others_get_the_rule_that_agrees_most() {
        let lines = ["it's 12345 (really)", "a  b", "f(x) = {1, 2};", "DON'T"];
        let nearest = |pre: &str| image_rule(pre, lines.into_iter()).unwrap();
        assert_eq!(nearest("qwen35"), ImageRule { rule: PreSplit::Qwen2, different_lines: Some(0) });
        let falcon = nearest("falcon");
        assert!(falcon.rule == PreSplit::Gpt2 && falcon.different_lines.unwrap() > 0, "{falcon:?}");
    }

    proptest! {
        #[test]
        fn exact_rules_cut_ascii_as_the_model_does(
            any in "[\t\n -~]{0,30}",
            hard in "([ \t\n]{1,3}|['][a-zA-Z]{1,2}|[0-9]{1,4}|[a-z]{1,2}|[!(.]){0,12}",
        ) {
            for pre in ["gpt-2", "smollm", "llama-bpe", "qwen2"] {
                let rule = image_rule(pre, std::iter::empty()).unwrap().rule;
                let splitter = Splitter::new(PreTokenizer::find(pre).unwrap());
                prop_assert!(same_words(&splitter, rule, &any) && same_words(&splitter, rule, &hard), "{pre}");
            }
        }
    }
}
