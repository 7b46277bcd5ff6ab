//! Blocks of Q8_0 and Q4_0 weights through the integer dot product, mixed, with gaps between words.

use super::harness::{Unit, cases, latency};
use super::operands::Operands;
use std::collections::VecDeque;

/// Weights as the bytes of a block after its scale.
fn decode(bytes: &[u8]) -> Vec<i32> {
    if bytes.len() == 32 {
        return bytes.iter().map(|&b| i32::from(b as i8)).collect();
    }
    let low = bytes.iter().map(|&b| i32::from(b & 15) - 8);
    let high = bytes.iter().map(|&b| i32::from(b >> 4) - 8);
    low.chain(high).collect()
}

#[test]
fn integer_dot_product() {
    let Some(mut unit) = Unit::new("dot_int8") else { return };
    let [valid, first, last, nibbles, word, x_low, x_high, out_valid, sum] =
        ["in_valid", "first", "last", "nibbles", "word", "x_low", "x_high", "out_valid", "sum"]
            .map(|p| unit.model.port(p));
    let mut random = Operands::new(11);
    let (blocks, delay) = (cases(50_000), latency("DOT_INT8_LATENCY") as u64);
    let mut due: VecDeque<(u64, i32)> = VecDeque::new();
    let (mut clock, mut done) = (0u64, 0);
    for index in 0..blocks {
        let r = random.word();
        let mut bytes = vec![0u8; if r & 1 == 0 { 32 } else { 16 }];
        let mut x = [0i8; 32];
        let extreme = r >> 8 & 7 == 0;
        for b in &mut bytes {
            *b = if extreme { 0x80 } else { (random.word() >> 40) as u8 };
        }
        for v in &mut x {
            *v = if extreme { -127 } else { ((random.word() >> 40) as i8).max(-127) };
        }
        let want = decode(&bytes).iter().zip(&x).map(|(w, &x)| w * i32::from(x)).sum();
        let pair = |i: usize| u64::from(u16::from_le_bytes([x[i] as u8, x[i + 1] as u8]));
        let words = bytes.len() / 2;
        let mut w = 0;
        while w < words || (index + 1 == blocks && !due.is_empty()) {
            clock += 1;
            let gap = w == words || index % 100 >= 50 && random.word().is_multiple_of(3);
            unit.model.set(valid, u64::from(!gap));
            if !gap {
                unit.model.set(first, u64::from(w == 0));
                unit.model.set(last, u64::from(w + 1 == words));
                unit.model.set(nibbles, u64::from(words == 8));
                unit.model.set(word, u64::from(u16::from_le_bytes([bytes[2 * w], bytes[2 * w + 1]])));
                unit.model.set(x_low, pair(2 * w));
                unit.model.set(x_high, if words == 8 { pair(2 * w + 16) } else { 0xFFFF });
                w += 1;
                if w == words {
                    due.push_back((clock + delay - 1, want));
                }
            }
            unit.tick();
            let expected = due.front().is_some_and(|d| d.0 == clock);
            assert_eq!(unit.model.is_set(out_valid), expected, "out_valid at clock {clock}");
            if expected {
                let want = due.pop_front().map(|d| d.1);
                assert_eq!(Some(unit.model.get(sum) as u32 as i32), want, "block {done}");
                done += 1;
            }
        }
    }
    unit.replay();
    assert_eq!(done, blocks);
    println!("{done} blocks, {clock} clocks");
}
