//! Known answers and properties of the codecs.

use super::*;
use proptest::prelude::*;

fn encode(f: Format, row: &[f32]) -> Vec<u8> {
    let mut out = vec![0; f.row_bytes(row.len() as u64) as usize];
    f.encode_row(row, &mut out).unwrap();
    out
}

fn decode(f: Format, bytes: &[u8], n: usize) -> Vec<f32> {
    let mut out = vec![0.0; n];
    f.decode_row(bytes, &mut out).unwrap();
    out
}

#[test]
fn sizes_are_ggmls() {
    let sizes: Vec<_> =
        Format::ALL.iter().map(|f| (f.name(), f.ggml(), f.block_len(), f.block_bytes())).collect();
    assert_eq!(
        sizes,
        [("F32", 0, 1, 4), ("F16", 1, 1, 2), ("Q4_0", 2, 32, 18), ("Q8_0", 8, 32, 34), ("BF16", 30, 1, 2)]
    );
    assert_eq!(Format::Q4_0.row_bytes(576), 324);
    assert_eq!(Format::Q8_0.row_bytes(33), 68);
    assert_eq!(Format::from_ggml(12), None);
    assert_eq!(Format::Q4_0.bits_per_weight(), 4.5);
}

#[test]
fn rows_that_do_not_fit_are_refused() {
    let e = Format::Q8_0.decode_row(&[0; 34], &mut [0.0; 31]).unwrap_err();
    assert_eq!(e.to_string(), "Q8_0: a row of 31 elements needs 34 bytes, 34 given");
    assert!(Format::F16.encode_row(&[0.0; 3], &mut [0; 5]).is_err());
}

#[test]
fn every_f16_survives() {
    for bits in 0..=u16::MAX {
        let v = half::f16::from_bits(bits);
        let back = decode(Format::F16, &bits.to_le_bytes(), 1)[0];
        assert_eq!(back.is_nan(), v.is_nan());
        if !v.is_nan() {
            assert_eq!(back.to_bits(), f32::from(v).to_bits());
            assert_eq!(encode(Format::F16, &[back]), bits.to_le_bytes());
        }
    }
}

#[test]
fn halves_round_to_nearest_even() {
    // 1 + 2^-11 lies between two F16, 1 + 2^-8 between two BF16: both go to the even 1.
    assert_eq!(encode(Format::F16, &[1.0 + 2f32.powi(-11)]), 0x3C00u16.to_le_bytes());
    assert_eq!(encode(Format::F16, &[1.0 + 3.0 * 2f32.powi(-11)]), 0x3C02u16.to_le_bytes());
    assert_eq!(encode(Format::F16, &[65520.0]), 0x7C00u16.to_le_bytes());
    assert_eq!(encode(Format::Bf16, &[1.0 + 2f32.powi(-8)]), 0x3F80u16.to_le_bytes());
    assert_eq!(encode(Format::Bf16, &[1.0 + 3.0 * 2f32.powi(-8)]), 0x3F82u16.to_le_bytes());
}

#[test]
fn q8_0_rounds_halves_away_from_zero() {
    let mut row = [0.0; 32];
    (row[0], row[1], row[2], row[3]) = (127.0, 0.5, -0.5, -126.5);
    let b = encode(Format::Q8_0, &row);
    assert_eq!(b[..6], [0x00, 0x3C, 127, 1, 0xFF, -127i8 as u8]);
    assert_eq!(decode(Format::Q8_0, &b, 32)[..4], [127.0, 1.0, -1.0, -127.0]);
}

#[test]
fn q4_0_gives_the_extreme_weight_the_lowest_code() {
    let mut row = [0.0; 32];
    (row[0], row[1], row[16]) = (4.0, -4.0, 1.0);
    let b = encode(Format::Q4_0, &row);
    // d = 4 / -8; 4 -> 0, -4 -> 16 cut to 15, 1 -> 6 in the high nibble of byte 0, 0 -> 8.
    assert_eq!(b[..5], [0x00, 0xB8, 0x60, 0x8F, 0x88]);
    assert_eq!(decode(Format::Q4_0, &b, 32)[..2], [4.0, -3.5]);
}

#[test]
fn rows_of_zeros_stay_zero() {
    for f in Format::ALL {
        let bytes = encode(f, &[0.0; 64]);
        assert!(decode(f, &bytes, 64).iter().all(|&v| v == 0.0), "{f}");
    }
}

proptest! {
    #[test]
    fn quantising_errs_by_half_a_step_at_most(row in prop::collection::vec(-8f32..8.0, 64)) {
        for (f, steps) in [(Format::Q8_0, 254.0), (Format::Q4_0, 8.0)] {
            let back = decode(f, &encode(f, &row), 64);
            for (x, y) in row.chunks(32).zip(back.chunks(32)) {
                let amax = x.iter().fold(0f32, |m, v| m.max(v.abs()));
                // Q4_0 has 15 at the far end where 16 would be needed, so a whole step there; F16 rounds the scale.
                let tolerance = amax / steps + amax / 1024.0;
                prop_assert!(x.iter().zip(y).all(|(a, b)| (a - b).abs() <= tolerance), "{} {:?} {:?}", f, x, y);
            }
        }
    }

    #[test]
    fn quantising_what_was_quantised_changes_nothing(row in prop::collection::vec(-8f32..8.0, 32)) {
        for f in [Format::Q4_0, Format::F16, Format::Bf16, Format::F32] {
            let once = encode(f, &row);
            prop_assert_eq!(encode(f, &decode(f, &once, 32)), once, "{}", f);
        }
    }
}
