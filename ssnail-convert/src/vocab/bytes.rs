//! Bytes in the spelling of vocabularies: GPT-2's printable characters and `<0xHH>`.

use std::sync::LazyLock;

/// The character that stands for each byte in byte-level BPE: printable Latin-1 characters for themselves, the
/// rest U+0100 and up in order (GPT-2's `bytes_to_unicode`).
static BYTE_CHARS: LazyLock<[char; 256]> = LazyLock::new(|| {
    let mut free = 0x100;
    std::array::from_fn(|byte| {
        if matches!(byte, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff) {
            char::from(byte as u8)
        } else {
            free += 1;
            char::from_u32(free - 1).unwrap_or_default()
        }
    })
});

/// The byte of each of those characters, all of which are below U+0180.
static CHAR_BYTES: LazyLock<[Option<u8>; 0x180]> = LazyLock::new(|| {
    let mut bytes = [None; 0x180];
    for (byte, &char) in BYTE_CHARS.iter().enumerate() {
        bytes[char as usize] = Some(byte as u8);
    }
    bytes
});

/// The character that stands for `byte` in a byte-level vocabulary.
pub(crate) fn byte_char(byte: u8) -> char {
    BYTE_CHARS[byte as usize]
}

/// Appends `bytes` in byte-level spelling.
pub(super) fn spell(bytes: &[u8], out: &mut String) {
    out.extend(bytes.iter().map(|&byte| byte_char(byte)));
}

/// Appends the bytes that `spelling` stands for; what stands for none is taken as it is.
pub(super) fn unspell(spelling: &[u8], out: &mut Vec<u8>) {
    for chunk in spelling.utf8_chunks() {
        for char in chunk.valid().chars() {
            match CHAR_BYTES.get(char as usize).copied().flatten() {
                Some(byte) => out.push(byte),
                None => out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        out.extend_from_slice(chunk.invalid());
    }
}

/// The byte of a token `<0xHH>`.
pub(super) fn byte_of(token: &[u8]) -> Option<u8> {
    match token {
        [b'<', b'0', b'x', high, low, b'>'] => {
            let digit = |digit: u8| char::from(digit).to_digit(16);
            Some((digit(*high)? << 4 | digit(*low)?) as u8)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spelling_and_back() {
        let all: Vec<u8> = (0..=255).collect();
        let mut spelled = String::new();
        spell(&all, &mut spelled);
        assert!(spelled.starts_with("ĀāĂ") && spelled.contains("Ġ!\"#"), "{spelled}");
        let mut back = Vec::new();
        unspell(spelled.as_bytes(), &mut back);
        assert_eq!(back, all);
    }

    #[test]
    fn what_is_no_byte_stays() {
        let mut out = Vec::new();
        unspell("a▁\u{ad}".as_bytes(), &mut out);
        unspell(b"\xff", &mut out);
        assert_eq!(out, b"a\xe2\x96\x81\xc2\xad\xff");
    }

    #[test]
    fn byte_tokens() {
        assert_eq!(byte_of(b"<0x0A>"), Some(10));
        assert_eq!(byte_of(b"<0xfF>"), Some(255));
        assert_eq!(byte_of(b"<0xG0>"), None);
        assert_eq!(byte_of(b"<0x0A"), None);
    }
}
