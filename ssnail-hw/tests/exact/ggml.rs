//! What equals ggml: the quantiser against vectors of gguf-py, dot products against ggml's scalar code.

use crate::cases::{Cases, bits, count, floats};
use half::f16;
use ssnail_hw::gemv::{dot_q4_0, dot_q8_0};
use ssnail_hw::quantise::{Q8Block, quantise, quantise_block};

#[test]
fn the_quantiser_is_gguf_pys() {
    let lines = include_str!("golden/q8_0.txt").lines().filter(|l| !l.starts_with('#'));
    let mut blocks = 0;
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        let x: Vec<u32> = words[..32].iter().map(|w| u32::from_str_radix(w, 16).unwrap()).collect();
        let got = quantise_block(floats(&x).as_slice().try_into().unwrap());
        let bytes = got.d.to_le_bytes().into_iter().chain(got.q.map(|q| q as u8));
        assert_eq!(bytes.map(|b| format!("{b:02X}")).collect::<String>(), words[32], "{line}");
        blocks += 1;
    }
    assert_eq!(blocks, 25);
}

/// `ggml_vec_dot_q8_0_q8_0_generic` (llama.cpp, ggml-cpu/quants.c, MIT), restated.
fn ggml_q8_0(row: &[u8], y: &[Q8Block]) -> f32 {
    let mut sumf = 0f32;
    for (x, y) in row.chunks(34).zip(y) {
        let mut sumi = 0i32;
        for j in 0..32 {
            sumi += i32::from(x[2 + j] as i8) * i32::from(y.q[j]);
        }
        sumf += sumi as f32 * (half(x) * f16::from_bits(y.d).to_f32());
    }
    sumf
}

/// `ggml_vec_dot_q4_0_q8_0_generic`, likewise; and whether isum * d_x was exact throughout.
fn ggml_q4_0(row: &[u8], y: &[Q8Block]) -> (f32, bool) {
    let (mut sumf, mut exact) = (0f32, true);
    for (x, y) in row.chunks(18).zip(y) {
        let mut sumi = 0i32;
        for j in 0..16 {
            sumi += (i32::from(x[2 + j] & 0x0F) - 8) * i32::from(y.q[j]);
            sumi += (i32::from(x[2 + j] >> 4) - 8) * i32::from(y.q[j + 16]);
        }
        exact &= f64::from(sumi as f32 * half(x)) == f64::from(sumi) * f64::from(half(x));
        sumf += sumi as f32 * half(x) * f16::from_bits(y.d).to_f32();
    }
    (sumf, exact)
}

fn half(block: &[u8]) -> f32 {
    f16::from_le_bytes([block[0], block[1]]).to_f32()
}

/// The same bits, or NaN both; ggml starts from +0, so its zero may have the other sign.
fn same(a: f32, b: f32) -> bool {
    a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan() || a == 0.0 && b == 0.0
}

fn case(c: &mut Cases, block_bytes: usize) -> (Vec<u8>, Vec<Q8Block>) {
    let blocks = 1 + c.below(6);
    let mut x = Vec::new();
    quantise(&floats(&c.vector(32 * blocks)), &mut x);
    (c.blocks(blocks, block_bytes), x)
}

#[test]
fn q8_0_dot_products_are_ggmls() {
    let mut c = Cases::new(40);
    for _ in 0..count() {
        let (row, x) = case(&mut c, 34);
        let (got, want) = (dot_q8_0(&row, &x), ggml_q8_0(&row, &x));
        assert!(same(got, want), "{row:02X?} {x:?}: {:08X?}", bits(&[got, want]));
    }
}

/// ggml multiplies (isum * d_w) * d_x where the definition has isum * (d_w * d_x): the same as long as the first
/// product is exact, and a rounding of each term apart otherwise.
#[test]
fn q4_0_dot_products_are_ggmls_but_for_a_rounding() {
    let mut c = Cases::new(41);
    for _ in 0..count() {
        let (row, x) = case(&mut c, 18);
        let (got, (want, exact)) = (dot_q4_0(&row, &x), ggml_q4_0(&row, &x));
        assert!(same(got, want) || !exact, "{row:02X?} {x:?}: {:08X?}", bits(&[got, want]));
    }
    // isum = -32385 and d_w = 2047 / 1024: 26 bits. Some scales of x then give another last bit.
    let mut row = [0; 18];
    row[..3].copy_from_slice(&[0xFF, 0x3F, 0x01]);
    let differ = |&d: &u16| {
        let x = [Q8Block { d, q: [127; 32] }];
        dot_q4_0(&row, &x) != ggml_q4_0(&row, &x).0
    };
    assert!((0x3C00..0x4000).any(|d| differ(&d)));
}
