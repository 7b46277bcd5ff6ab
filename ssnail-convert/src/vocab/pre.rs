//! The pre-tokenizers of byte-level BPE by their name in `tokenizer.ggml.pre`.
//!
//! Names, rules and defaults are those of llama.cpp 0c1e57098, `src/llama-vocab.cpp` (MIT licence, Copyright (c)
//! 2023-2026 The ggml authors). Its regular expressions are written here without look-ahead, so that they
//! match in linear time; `\s+(?!\S)` became a [`Blanks`] rule. `split_tests.rs` holds the originals and
//! compares. Where llama.cpp's engine departs from the letter of an expression, its result is kept:
//! `\p{Lu}`, `\p{Ll}` and their like are any letter there, and the ranges of characters written out
//! do not match blanks.

use super::error::VocabError;

/// What becomes of a run of blanks that the last alternative of an expression, `\s+`, matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Blanks {
    /// It is a word as it is.
    Whole,
    /// `\s+(?!\S)`: the last blank is left to the word behind it.
    LeaveLast,
    /// The same, but a match that ends in a line break is whole (an alternative before took it).
    LeaveLastOfLine,
    /// Jais 2: words of 512, 256, 128, ... 4, 2 blanks, the last blank is left.
    PowersOfTwo,
}

/// One pass over the text; each cuts the pieces of the pass before.
#[derive(Debug, Clone, Copy)]
pub(super) enum Pass {
    /// GPT-2's expression, as code. With `lone_digits` each number character is cut out first.
    Gpt2 {
        /// `\p{N}` before GPT-2's expression, as StarCoder and SmolLM have it.
        lone_digits: bool,
    },
    /// Llama 3's expression, as code; Qwen 2's has one number character a word instead of three.
    Llama3 {
        /// Most number characters in a word.
        digits: usize,
    },
    /// Each match is a word, and what is between two matches too.
    Regex(&'static str, Blanks),
    /// Groups of three number characters counted from the end of a number, as llama.cpp cuts them for AFMoE and
    /// Tiny Aya: the first group keeps the text before it.
    AfmoeDigits,
    /// SuperBPE: cuts before every third ASCII digit counted from the end of a run.
    DigitTriples,
}

/// A pre-tokenizer and what its name implies for the rest of the tokenizer.
#[derive(Debug, Clone, Copy)]
pub(super) struct PreTokenizer {
    names: &'static [&'static str],
    /// The passes, first to last.
    pub(super) passes: &'static [Pass],
    /// A word that is a token is taken whole, whatever the merges say.
    pub(super) ignore_merges: bool,
    /// A begin token is put first when the file does not say.
    pub(super) add_bos: bool,
    /// No begin token unless the file names one.
    pub(super) no_default_bos: bool,
}

macro_rules! contraction {
    () => {
        r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
    };
}
/// The end that most expressions after Llama 3's share.
macro_rules! tail {
    () => {
        r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+"
    };
}
/// The same where a slash belongs to what stands before a line break.
macro_rules! tail_slash {
    () => {
        r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+"
    };
}
macro_rules! ascii_punctuation_word {
    () => {
        r##"[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"##
    };
}

const GPT2: Pass = Pass::Gpt2 { lone_digits: false };
const LLAMA3: Pass = Pass::Llama3 { digits: 3 };
const QWEN2: Pass = Pass::Llama3 { digits: 1 };
const NUMBER: Pass = Pass::Regex(r"\p{N}", Blanks::Whole);
const NUMBERS: Pass = Pass::Regex(r"\p{N}+", Blanks::Whole);
const THREE_NUMBERS: Pass = Pass::Regex(r"\p{N}{1,3}", Blanks::Whole);
const ASCII_DIGITS3: Pass = Pass::Regex("[0-9][0-9][0-9]", Blanks::Whole);
const LINE_BREAK: Pass = Pass::Regex(r"[\r\n]", Blanks::Whole);
const LINES: Pass = Pass::Regex(r"[^\n]+|\n+", Blanks::Whole);
const CJK: Pass = Pass::Regex("[一-龥\u{3040}-ゟ゠-ヿ]+", Blanks::Whole);
const DEEPSEEK_CJK: Pass = Pass::Regex(r"[[一-龥ࠀ-一가-\u{d7ff}]&&\S]+", Blanks::Whole);
const DEEPSEEK3: Pass = Pass::Regex(
    concat!(ascii_punctuation_word!(), r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+"),
    Blanks::LeaveLastOfLine,
);
const CLAUSE: Pass = Pass::Regex(r" ?[^(\s|.,!?…。，、।۔،)]+", Blanks::Whole);
const LETTERS_AND_MARKS: &str =
    concat!(r"[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+", contraction!(), r"?|\p{N}{1,3}", tail_slash!());

const PLAIN: PreTokenizer =
    PreTokenizer { names: &[], passes: &[GPT2], ignore_merges: false, add_bos: false, no_default_bos: false };

/// Every pre-tokenizer there is.
#[rustfmt::skip]
static TABLE: &[PreTokenizer] = &[
    PreTokenizer { names: &["default"], passes: &[Pass::Regex(r"[\p{P}\$\+<=>\^~\|]+", Blanks::Whole), GPT2, NUMBERS, ASCII_DIGITS3], ..PLAIN },
    PreTokenizer { names: &["gpt-2", "phi-2", "jina-es", "jina-de", "gigachat", "jina-v2-es", "jina-v2-de", "a.x-4.0", "mellum", "modern-bert",
                            "jina-v1-en", "jina-v2-code", "roberta-bpe", "exaone4", "mpt", "olmo", "jais", "trillion", "granite-docling"], ..PLAIN },
    PreTokenizer { names: &["smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b", "mellum2"],
                   passes: &[Pass::Gpt2 { lone_digits: true }], ..PLAIN },
    PreTokenizer { names: &["llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2", "jina-v5-nano"],
                   passes: &[LLAMA3], ignore_merges: true, add_bos: true, ..PLAIN },
    PreTokenizer { names: &["dbrx", "smaug-bpe"], passes: &[LLAMA3], ..PLAIN },
    PreTokenizer { names: &["chatglm-bpe"], passes: &[LLAMA3], no_default_bos: true, ..PLAIN },
    PreTokenizer { names: &["glm4", "glm5"], passes: &[LLAMA3], ignore_merges: true, no_default_bos: true, ..PLAIN },
    PreTokenizer { names: &["qwen2", "deepseek-r1-qwen", "kormo", "f2llmv2", "megrez", "stablelm2", "hunyuan", "solar-open", "grok-2"], passes: &[QWEN2], ..PLAIN },
    PreTokenizer { names: &["laguna"], passes: &[LINES, QWEN2], ..PLAIN },
    PreTokenizer { names: &["qwen35"], passes: &[Pass::Regex(
        concat!(contraction!(), r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+"), Blanks::LeaveLastOfLine)], ..PLAIN },
    PreTokenizer { names: &["ufakzeka"], passes: &[Pass::Regex(concat!(r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}", tail!()), Blanks::LeaveLastOfLine)], ..PLAIN },
    PreTokenizer { names: &["minicpm5"], passes: &[THREE_NUMBERS, Pass::Regex(
        concat!(contraction!(), r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+", tail!()), Blanks::LeaveLastOfLine)], ignore_merges: true, ..PLAIN },
    PreTokenizer { names: &["bailingmoe", "bailingmoe2", "llada-moe"], passes: &[Pass::Regex(
        r"'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]|\s+", Blanks::LeaveLastOfLine)], ..PLAIN },
    PreTokenizer { names: &["seed-coder"], passes: &[Pass::Regex(
        concat!(contraction!(), r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+"), Blanks::LeaveLastOfLine)], ..PLAIN },
    PreTokenizer { names: &["exaone-moe"], passes: &[Pass::Regex(
        concat!(contraction!(), r"|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+"), Blanks::LeaveLastOfLine)], ..PLAIN },
    PreTokenizer { names: &["jais-2"], passes: &[Pass::Regex(
        concat!(contraction!(), r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}", tail!()), Blanks::PowersOfTwo)], ..PLAIN },
    PreTokenizer { names: &["tekken"], passes: &[Pass::Regex(
        concat!(r"[^\r\n\p{L}\p{N}]?[\p{L}&&[^a-z]]*[\p{L}&&[^A-Z]]+|[^\r\n\p{L}\p{N}]?[\p{L}&&[^a-z]]+[\p{L}&&[^A-Z]]*|\p{N}", tail_slash!()),
        Blanks::LeaveLastOfLine)], ignore_merges: true, add_bos: true, ..PLAIN },
    PreTokenizer { names: &["gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"], passes: &[Pass::Regex(
        concat!(r"[^\r\n\p{L}\p{N}]?[\p{L}&&[^a-z]]*[\p{L}&&[^A-Z]]+", contraction!(), r"?|[^\r\n\p{L}\p{N}]?[\p{L}&&[^a-z]]+[\p{L}&&[^A-Z]]*",
                contraction!(), r"?|\p{N}{1,3}", tail_slash!()), Blanks::LeaveLastOfLine)], ..PLAIN },
    PreTokenizer { names: &["granite-embed-multi-97m"], passes: &[Pass::Regex(
        concat!(r"[^\r\n\p{L}\p{N}]?[[\p{L}\p{M}]&&[^a-z]]*[[\p{L}\p{M}]&&[^A-Z]]+", contraction!(),
                r"?|[^\r\n\p{L}\p{N}]?[[\p{L}\p{M}]&&[^a-z]]+[[\p{L}\p{M}]&&[^A-Z]]*", contraction!(), r"?|\p{N}{1,3}", tail_slash!()),
        Blanks::LeaveLastOfLine)], ignore_merges: true, ..PLAIN },
    PreTokenizer { names: &["tiny_aya", "cohere2moe"], passes: &[Pass::AfmoeDigits, Pass::Regex(LETTERS_AND_MARKS, Blanks::LeaveLastOfLine)], ..PLAIN },
    PreTokenizer { names: &["youtu"], passes: &[
        Pass::Regex("[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-\u{303f}︰-﹏]+|[ㄅ-ㄯ]+|[一-龥\u{3040}-ゟ゠-ヿ]+", Blanks::Whole),
        Pass::Regex(concat!(r"[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+", contraction!(), r"?|\p{N}", tail_slash!()), Blanks::LeaveLastOfLine)], ignore_merges: true, ..PLAIN },
    PreTokenizer { names: &["kimi-k2"], passes: &[Pass::Regex(
        concat!(r"[\u{4E00}-\u{9FFF}\u{3400}-\u{4DBF}\u{20000}-\u{2A6DF}\u{2A700}-\u{2EBEF}\u{F900}-\u{FAFF}\u{2F800}-\u{2FA1F}]+",
                r"|[^\r\n\p{L}\p{N}]?[\p{L}&&[^\u{4E00}-\u{9FFF}\u{3400}-\u{4DBF}\u{20000}-\u{2A6DF}\u{2A700}-\u{2EBEF}\u{F900}-\u{FAFF}\u{2F800}-\u{2FA1F}]]+",
                contraction!(), r"?|\p{N}{1,3}", tail!()), Blanks::LeaveLastOfLine)], ..PLAIN },
    PreTokenizer { names: &["deepseek-llm"], passes: &[LINE_BREAK,
        Pass::Regex(r"\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-ώᾀ-ᾴᾶ-ᾼιῂ-ῄῆ-ῌῐ-ΐῖ-Ίῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤΩℨK-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+", Blanks::Whole),
        Pass::Regex(r"\s?[[!-/:-~！-／：-～‘-‟\u{3000}-。]&&\S]+", Blanks::Whole), Pass::Regex(r"\s+$", Blanks::Whole), DEEPSEEK_CJK, NUMBERS], ..PLAIN },
    PreTokenizer { names: &["deepseek-coder"], passes: &[LINE_BREAK, Pass::Regex(r"\s?\p{L}+", Blanks::Whole), Pass::Regex(r"\s?\p{P}+", Blanks::Whole),
        DEEPSEEK_CJK, NUMBER], ..PLAIN },
    PreTokenizer { names: &["deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"], passes: &[THREE_NUMBERS, CJK, DEEPSEEK3], ..PLAIN },
    PreTokenizer { names: &["spark2_5"], passes: &[THREE_NUMBERS, CJK,
        Pass::Regex(concat!(ascii_punctuation_word!(), r"| ?[\p{P}\p{S}]+|[\r\n]|\s+"), Blanks::LeaveLast), NUMBER], ..PLAIN },
    PreTokenizer { names: &["afmoe"], passes: &[Pass::AfmoeDigits,
        Pass::Regex(r"[一-鿿㐀-䶿豈-\u{faff}\u{3040}-ゟ゠-ヿ･-ﾟ⼀-\u{2fdf}เ-\u{e7f}\u{e80}-\u{eff}ក-\u{17ff}က-႟ꩠ-ꩿꧠ-\u{a9ff}가-\u{d7af}ᄀ-ᇿ]+", Blanks::Whole), DEEPSEEK3], ..PLAIN },
    PreTokenizer { names: &["falcon"], passes: &[Pass::Regex(r"[\p{P}\$\+<=>\^~\|`]+", Blanks::Whole), GPT2, ASCII_DIGITS3], ..PLAIN },
    PreTokenizer { names: &["poro-chat", "bloom", "gpt3-finnish"], passes: &[CLAUSE], ..PLAIN },
    PreTokenizer { names: &["viking"], passes: &[CLAUSE, NUMBER], ..PLAIN },
    PreTokenizer { names: &["superbpe"], passes: &[NUMBERS, Pass::DigitTriples], ..PLAIN },
    PreTokenizer { names: &["chameleon"], passes: &[
        Pass::Regex("<sentinel:[0-9]+>", Blanks::Whole), Pass::Regex("IMGIMG[A-I]{1,4}Z", Blanks::Whole), Pass::Regex(r"[\t\n]|    |  ", Blanks::Whole),
        NUMBER, Pass::Regex(r"[\p{P}!-/:-@\[-`{-~]", Blanks::Whole), GPT2], add_bos: true, ..PLAIN },
];

impl PreTokenizer {
    /// The one of that name; the error lists those there are.
    pub(super) fn find(name: &str) -> Result<&'static Self, VocabError> {
        TABLE
            .iter()
            .find(|entry| entry.names.contains(&name))
            .ok_or_else(|| VocabError::UnknownPre { pre: name.to_owned(), known: Self::known() })
    }

    /// All names in alphabetical order.
    pub(super) fn known() -> Vec<&'static str> {
        let mut names: Vec<_> = TABLE.iter().flat_map(|entry| entry.names).copied().collect();
        names.sort_unstable();
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_there_once() {
        let names = PreTokenizer::known();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
        for name in names {
            assert!(PreTokenizer::find(name).unwrap().names.contains(&name));
        }
    }

    #[test]
    fn an_unknown_name_is_told_with_the_known_ones() {
        let message = PreTokenizer::find("no-such").unwrap_err().to_string();
        assert!(
            message.contains("'no-such'") && message.contains("smollm") && message.contains("--pre"),
            "{message}"
        );
    }
}
