//! What kind of character a character is, from the same Unicode tables as the `regex` crate's.

use regex_syntax::Parser;
use regex_syntax::hir::{Class, HirKind};
use std::sync::OnceLock;

/// A letter, `\p{L}`.
pub(super) const LETTER: u8 = 1;
/// A number, `\p{N}`.
pub(super) const NUMBER: u8 = 1 << 1;
/// White space, `\s`.
pub(super) const SPACE: u8 = 1 << 2;
/// Punctuation, `\p{P}`.
pub(super) const PUNCTUATION: u8 = 1 << 3;
/// A combining mark that takes no room of its own, `\p{Mn}`.
pub(super) const NONSPACING_MARK: u8 = 1 << 4;
/// A control, format, surrogate or private character: `\p{Cc}`, `\p{Cf}`, `\p{Cs}`, `\p{Co}`.
pub(super) const CONTROL: u8 = 1 << 5;

const CLASSES: [(u8, &str); 6] = [
    (LETTER, r"\p{L}"),
    (NUMBER, r"\p{N}"),
    (SPACE, r"\s"),
    (PUNCTUATION, r"\p{P}"),
    (NONSPACING_MARK, r"\p{Mn}"),
    (CONTROL, r"[\p{Cc}\p{Cf}\p{Co}]"),
];

/// The classes of every character, one byte each.
pub(super) struct CharClasses(Box<[u8]>);

impl CharClasses {
    /// The table, made on first use.
    pub(super) fn get() -> &'static Self {
        static TABLE: OnceLock<CharClasses> = OnceLock::new();
        TABLE.get_or_init(|| {
            let mut table = vec![0u8; char::MAX as usize + 1].into_boxed_slice();
            for (bit, pattern) in CLASSES {
                let hir = Parser::new().parse(pattern).expect("a fixed pattern");
                let HirKind::Class(Class::Unicode(class)) = hir.kind() else {
                    unreachable!("{pattern} is a class of characters")
                };
                for range in class.iter() {
                    for flags in &mut table[range.start() as usize..=range.end() as usize] {
                        *flags |= bit;
                    }
                }
            }
            Self(table)
        })
    }

    /// The classes `char` is in.
    pub(super) fn of(&self, char: char) -> u8 {
        self.0[char as usize]
    }

    /// The classes of an ASCII byte.
    pub(super) fn of_ascii(&self, byte: u8) -> u8 {
        self.0[byte as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_some_characters() {
        let classes = CharClasses::get();
        for (char, expected) in [
            ('a', LETTER),
            ('ß', LETTER),
            ('我', LETTER),
            ('7', NUMBER),
            ('½', NUMBER),
            (' ', SPACE),
            ('\n', SPACE | CONTROL),
            ('\u{a0}', SPACE),
            ('!', PUNCTUATION),
            ('+', 0),
            ('\u{301}', NONSPACING_MARK),
            ('\u{200d}', CONTROL),
            ('\u{e000}', CONTROL),
            ('\u{10ffff}', 0),
        ] {
            assert_eq!(classes.of(char), expected, "{char:?}");
        }
    }
}
