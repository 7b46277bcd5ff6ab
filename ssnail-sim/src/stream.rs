//! Token bytes to text as they come: a character that is split between tokens is held back until it is whole.

/// Bytes of UTF-8 in, whole characters out.
#[derive(Debug, Clone, Default)]
pub struct Utf8Stream {
    /// The beginning of a character that is not whole yet.
    pending: Vec<u8>,
}

impl Utf8Stream {
    /// A stream at the start of a text.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends the characters that are whole with these bytes. What is no UTF-8 becomes U+FFFD.
    pub fn push(&mut self, bytes: &[u8], out: &mut String) {
        self.pending.extend_from_slice(bytes);
        let mut whole = self.pending.len();
        if let Some(chunk) = self.pending.utf8_chunks().last()
            && is_beginning(chunk.invalid())
        {
            whole -= chunk.invalid().len();
        }
        out.push_str(&String::from_utf8_lossy(&self.pending[..whole]));
        self.pending.drain(..whole);
    }

    /// Ends the text: what is still held back becomes U+FFFD.
    pub fn finish(&mut self, out: &mut String) {
        out.push_str(&String::from_utf8_lossy(&self.pending));
        self.pending.clear();
    }
}

/// Whether more bytes could make a character of these.
fn is_beginning(bytes: &[u8]) -> bool {
    !bytes.is_empty() && std::str::from_utf8(bytes).is_err_and(|e| e.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn in_parts(bytes: &[u8], size: usize) -> String {
        let (mut s, mut out) = (Utf8Stream::new(), String::new());
        bytes.chunks(size).for_each(|part| s.push(part, &mut out));
        s.finish(&mut out);
        out
    }

    #[test]
    fn characters_come_when_they_are_whole() {
        let (mut s, mut out) = (Utf8Stream::new(), String::new());
        let snail = "🐌".as_bytes();
        s.push(&snail[..3], &mut out);
        assert_eq!(out, "");
        s.push(&snail[3..], &mut out);
        assert_eq!(out, "🐌");
        s.push(b"a\xFFb\xE2\x82", &mut out);
        assert_eq!(out, "🐌a\u{FFFD}b");
        s.finish(&mut out);
        assert_eq!(out, "🐌a\u{FFFD}b\u{FFFD}");
    }

    proptest! {
        #[test]
        fn parts_give_what_the_whole_gives(bytes in prop::collection::vec(any::<u8>(), 0..40), size in 1usize..5) {
            prop_assert_eq!(in_parts(&bytes, size), String::from_utf8_lossy(&bytes));
        }

        #[test]
        fn text_comes_through(text in "\\PC{0,40}", size in 1usize..5) {
            prop_assert_eq!(in_parts(text.as_bytes(), size), text);
        }
    }
}
