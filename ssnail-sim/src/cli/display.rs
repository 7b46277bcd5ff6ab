//! Tokens to what the user sees, as they come.

use ssnail_sim::stream::Utf8Stream;
use ssnail_tok::{Folder, Tokenizer};

/// Tokens in, text out: UTF-8, or ASCII as a MEGA65 shows it.
pub(super) struct Display<'a> {
    tokenizer: Tokenizer<'a>,
    at_start: bool,
    characters: Characters,
}

enum Characters {
    Utf8(Utf8Stream),
    Ascii(Folder),
}

impl<'a> Display<'a> {
    /// A display at the start of a text.
    pub(super) fn new(tokenizer: Tokenizer<'a>, ascii: bool) -> Self {
        let characters =
            if ascii { Characters::Ascii(Folder::new()) } else { Characters::Utf8(Utf8Stream::new()) };
        Display { tokenizer, at_start: true, characters }
    }

    /// Appends what tokens add to the text.
    pub(super) fn push(&mut self, tokens: &[u32], out: &mut String) {
        for &token in tokens {
            let bytes = self.tokenizer.token_text(token, self.at_start);
            self.at_start &= self.tokenizer.token_text(token, false).is_empty();
            match &mut self.characters {
                Characters::Utf8(stream) => stream.push(bytes, out),
                Characters::Ascii(folder) => folder.push(bytes, out),
            }
        }
    }

    /// Ends the text.
    pub(super) fn finish(&mut self, out: &mut String) {
        match &mut self.characters {
            Characters::Utf8(stream) => stream.finish(out),
            Characters::Ascii(folder) => folder.finish(out),
        }
    }
}
