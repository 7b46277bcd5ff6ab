//! The folder: a UTF-8 state machine that gives ASCII, a byte at a time.
//!
//! | in | out |
//! |---|---|
//! | 09, 0A, 20..7E | itself |
//! | 0D, 0D 0A | 0A, since both end a line |
//! | quotes, dashes, blanks, the ellipsis | the ASCII that looks like them |
//! | accented letters of Latin-1, ligatures | one or two plain letters |
//! | any other character, and each malformed sequence | one `?` |

/// Folds a stream of UTF-8 bytes; a character may be spread over calls.
#[derive(Debug, Clone, Default)]
pub struct Folder {
    /// The bits of the character so far.
    code: u32,
    /// Continuation bytes that are still to come; 0 between characters.
    missing: u8,
    /// The range the next continuation byte must be in. It is narrower than 80..BF after E0, ED, F0 and F4, which
    /// keeps out overlong forms, surrogates and what is beyond Unicode.
    lowest: u8,
    highest: u8,
    /// The byte before was 0D: a 0A now belongs to it.
    after_return: bool,
}

impl Folder {
    /// A folder between characters.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends the ASCII of what `bytes` complete.
    pub fn push(&mut self, bytes: &[u8], out: &mut String) {
        for &byte in bytes {
            self.push_byte(byte, out);
        }
    }

    /// Ends the stream: an unfinished character is one `?`.
    pub fn finish(&mut self, out: &mut String) {
        if self.missing > 0 {
            out.push('?');
        }
        *self = Self::default();
    }

    fn push_byte(&mut self, byte: u8, out: &mut String) {
        if self.missing > 0 {
            if (self.lowest..=self.highest).contains(&byte) {
                self.code = self.code << 6 | u32::from(byte & 0x3F);
                self.missing -= 1;
                (self.lowest, self.highest) = (0x80, 0xBF);
                if self.missing == 0 {
                    out.push_str(fold_character(self.code));
                }
                return;
            }
            // The character breaks off here, and this byte starts anew.
            self.missing = 0;
            out.push('?');
        }

        let after_return = std::mem::replace(&mut self.after_return, byte == b'\r');
        (self.lowest, self.highest) = (0x80, 0xBF);
        match byte {
            b'\n' if after_return => {}
            b'\r' => out.push('\n'),
            b'\t' | b'\n' | 0x20..=0x7E => out.push(char::from(byte)),
            0xC2..=0xDF => self.start(byte & 0x1F, 1),
            0xE0..=0xEF => {
                self.start(byte & 0x0F, 2);
                match byte {
                    0xE0 => self.lowest = 0xA0,
                    0xED => self.highest = 0x9F,
                    _ => {}
                }
            }
            0xF0..=0xF4 => {
                self.start(byte & 0x07, 3);
                match byte {
                    0xF0 => self.lowest = 0x90,
                    0xF4 => self.highest = 0x8F,
                    _ => {}
                }
            }
            _ => out.push('?'),
        }
    }

    fn start(&mut self, bits: u8, missing: u8) {
        self.code = u32::from(bits);
        self.missing = missing;
    }
}

/// Folds a whole text.
pub fn fold(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    let mut folder = Folder::new();
    folder.push(bytes, &mut out);
    folder.finish(&mut out);
    out
}

/// Latin-1 from C0 to FF.
#[rustfmt::skip]
const LATIN1: [&str; 64] = [
    "A", "A", "A", "A", "A", "A", "AE", "C", "E", "E", "E", "E", "I", "I", "I", "I",
    "D", "N", "O", "O", "O", "O", "O", "?", "O", "U", "U", "U", "U", "Y", "Th", "ss",
    "a", "a", "a", "a", "a", "a", "ae", "c", "e", "e", "e", "e", "i", "i", "i", "i",
    "d", "n", "o", "o", "o", "o", "o", "?", "o", "u", "u", "u", "u", "y", "th", "y",
];

/// The ASCII of a character beyond ASCII.
fn fold_character(code: u32) -> &'static str {
    match code {
        0xC0..=0xFF => LATIN1[code as usize - 0xC0],
        0xA0 | 0x2000..=0x200A | 0x202F | 0x3000 => " ",
        0xAD | 0x2010..=0x2015 | 0x2212 => "-",
        0x2018..=0x201B | 0x2032 | 0x2039 | 0x203A => "'",
        0xAB | 0xBB | 0x201C..=0x201F | 0x2033 => "\"",
        0x2026 => "...",
        0x0132 => "IJ",
        0x0133 => "ij",
        0x0152 => "OE",
        0x0153 => "oe",
        0xFB00 => "ff",
        0xFB01 => "fi",
        0xFB02 => "fl",
        0xFB03 => "ffi",
        0xFB04 => "ffl",
        0xFB05 | 0xFB06 => "st",
        _ => "?",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn characters_have_their_ascii() {
        for (text, wanted) in [
            ("“It’s” — ‘so’ – he said…", "\"It's\" - 'so' - he said..."),
            ("Ça déjà naïve Ångström Øre ÿ ñ", "Ca deja naive Angstrom Ore y n"),
            ("Æsop straße œuvre Œ ﬁne ﬂow oﬃce", "AEsop strasse oeuvre OE fine flow office"),
            ("Þór, Ðe, 3 × 4 ÷ 2", "Thor, De, 3 ? 4 ? 2"),
            ("漢字 😀 € \u{1}\u{7f}", "?? ? ? ??"),
            ("a\tb\r\nc\rd\n\ne\r\r\n", "a\tb\nc\nd\n\ne\n\n"),
            ("", ""),
        ] {
            assert_eq!(fold(text.as_bytes()), wanted, "{text:?}");
        }
    }

    #[test]
    fn malformed_sequences_are_one_mark_each() {
        for (bytes, wanted) in [
            (&b"\xC3"[..], "?"),
            (b"\xC3x", "?x"),
            (b"\xE2\x80x", "?x"),
            (b"\xC0\x80", "??"),
            (b"\xED\xA0\x80", "???"),
            (b"\xF0\x9F\x98\xE2\x80\x99", "?'"),
            (b"\xFFa\x80", "?a?"),
        ] {
            assert_eq!(fold(bytes), wanted, "{bytes:02X?}");
        }
    }

    proptest! {
        #[test]
        fn marks_are_where_rust_replaces(bytes in prop::collection::vec(prop_oneof![any::<u8>(), 0x80u8..=0xF5], 0..40)) {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            prop_assert_eq!(fold(&bytes), fold(text.as_bytes()));
            prop_assert!(fold(&bytes).bytes().all(|b| matches!(b, 9 | 10 | 0x20..=0x7E)));
        }

        #[test]
        fn cuts_between_calls_change_nothing(text in any::<String>(), cut in 0usize..60) {
            let (mut folder, mut out) = (Folder::new(), String::new());
            let (a, b) = text.as_bytes().split_at(cut.min(text.len()));
            folder.push(a, &mut out);
            folder.push(b, &mut out);
            folder.finish(&mut out);
            prop_assert_eq!(out, fold(text.as_bytes()));
        }

        #[test]
        fn plain_ascii_stays(text in "[\t\n -~]{0,60}") {
            prop_assert_eq!(fold(text.as_bytes()), text);
        }
    }
}
