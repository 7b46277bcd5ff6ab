//! Systematic damage: every truncation, every field out of range. Nothing may panic, and what must be refused
//! is.

use super::*;

/// Reads everything that a file offers.
fn use_all(gguf: &Gguf) {
    for (key, value) in gguf.metadata().iter() {
        assert!(gguf.metadata().value(key).is_some());
        let _ = format!("{value}");
        if let Some(array) = value.to::<super::super::Array>() {
            assert_eq!(array.iter().count(), array.len());
        }
    }
    for info in gguf.tensors() {
        assert_eq!(gguf.tensor(&info.name), Some(info));
        assert_eq!(gguf.tensor_data(info).len() as u64, info.n_bytes);
        assert_eq!(info.row_len() * info.n_rows(), info.n_elements());
    }
}

#[test]
fn every_truncation_is_refused() {
    let bytes = one_of_everything().to_bytes();
    use_all(&Gguf::from_bytes(bytes.clone()).unwrap());
    for len in 0..bytes.len() {
        let error = Gguf::from_bytes(bytes[..len].to_vec()).expect_err("the file is not complete");
        if len >= 4 {
            assert!(error.offset.is_some_and(|offset| offset <= len as u64), "{len}: {error}");
        }
    }
}

#[test]
fn every_field_out_of_range_is_refused_or_harmless() {
    let (bytes, marks) = one_of_everything().to_marked_bytes();
    let mut refused = 0;
    for mark in &marks {
        let mut was = [0; 8];
        was[..mark.width].copy_from_slice(&bytes[mark.offset..][..mark.width]);
        let was = u64::from_le_bytes(was);
        let numbers = [0, 1, 2, was + 1, was.wrapping_sub(1), 13, 255, 1 << 31, u32::MAX.into(), 1 << 32]
            .into_iter()
            .chain([
                1 << 61,
                (1 << 61) + 1,
                i64::MAX as u64,
                1 << 63,
                (1 << 63) + 1,
                !31,
                u64::MAX - 7,
                u64::MAX,
            ]);
        let fits = |n: u64| mark.width == 8 || n <= u32::MAX.into();
        for number in numbers.filter(|&n| n != was && fits(n)) {
            let mut bytes = bytes.clone();
            bytes[mark.offset..][..mark.width].copy_from_slice(&number.to_le_bytes()[..mark.width]);
            match Gguf::from_bytes(bytes) {
                Ok(gguf) => {
                    // A file that holds together in another way, such as with another type of value.
                    assert!(number <= u32::MAX.into(), "{mark:?} = {number}");
                    use_all(&gguf);
                }
                Err(error) => {
                    assert!(error.offset.is_some(), "{mark:?} = {number}: {error}");
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > 10 * marks.len(), "{refused} of {} files refused", 18 * marks.len());
}

#[test]
fn every_byte_inverted_is_refused_or_harmless() {
    let bytes = one_of_everything().to_bytes();
    for i in 0..bytes.len() {
        for mask in [0xff, 0x80, 0x01] {
            let mut bytes = bytes.clone();
            bytes[i] ^= mask;
            if let Ok(gguf) = Gguf::from_bytes(bytes) {
                use_all(&gguf);
            }
        }
    }
}

#[test]
fn messages_stay_short_and_printable() {
    let long = "x\x1b".repeat(1_000_000);
    let mut writer = GgufWriter::new();
    writer.meta(&long, 1u8).meta(&long, 1u8);
    let message = refusal(&writer);
    assert!(message.len() < 1000 && !message.contains('\x1b'), "{message}");

    let gguf = Gguf::from_bytes(GgufWriter::new().meta("k", long.as_str()).to_bytes()).unwrap();
    let message = gguf.get::<u32>("k").unwrap_err().to_string();
    assert!(message.len() < 1000 && !message.contains('\x1b'), "{message}");
}
