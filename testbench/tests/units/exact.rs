//! Rows through the exact accumulator, as the weights of each float format give them: usual values, any bits, products
//! that cancel, sums near ties and near the ends of the range, NaN and infinities; short rows, which must wait, and long.

use super::harness::{Unit, cases};
use super::operands::Operands;
use ssnail_hw::exact::ExactSum;
use ssnail_hw::scalar;
use std::collections::VecDeque;

/// The pairs of row `index`; now and then as many as there can be.
fn row(random: &mut Operands, index: usize) -> Vec<[u32; 2]> {
    let r = random.word();
    if index % 5000 == 77 {
        // Each adds nearly 2^32 to the same limbs.
        let [a, b] = [0x3FFF_FFFF, 0x3FFF_FFFF ^ (r as u32) & 0x8000_0000];
        return vec![[a, b]; 4096];
    }
    let len = 1 + match r & 7 {
        0..=2 => r >> 8 & 7,
        3..=6 => r >> 8 & 63,
        _ => r >> 8 & 255,
    } as usize;
    let kind = r >> 32 & 15;
    let exponent = (r >> 40) as u32 & 0xFF;
    let mut pairs: Vec<[u32; 2]> = (0..len)
        .map(|_| {
            let w = random.word();
            let (x, y) = (w as u32, (w >> 32) as u32);
            match kind {
                // F16 and BF16 weights, usual activations
                0..=2 => [
                    scalar::f16_to_f32((x & 0xFFFF) as u16 & 0xBBFF).to_bits(),
                    y & 0x83FF_FFFF | 0x3C00_0000,
                ],
                3 | 4 => [x & 0x83FF_0000 | 0x3C00_0000, y & 0x83FF_FFFF | 0x3C00_0000],
                // Small integers: sums that are ties, or zero
                5 | 6 => [((x % 5) as f32 - 2.0).to_bits(), ((y % 7) as f32 - 3.0).to_bits()],
                // All of one magnitude: at either end of the range, where sums overflow or are subnormal
                7 | 8 => [
                    x & 0x80FF_FFFF | (exponent & 0xFE) << 23,
                    y & 0x80FF_FFFF | (0xFE - (exponent & 0xFE)) << 23,
                ],
                9 => [x & 0x80FF_FFFF | 0x5F00_0000, y & 0x80FF_FFFF | 0x5F00_0000],
                10 => [x & 0x80FF_FFFF | 0x1F00_0000, y & 0x81FF_FFFF | 0x1600_0000],
                // Any finite numbers, or any at all
                11..=13 => [x & 0xFF7F_FFFF, y & 0xFF7F_FFFF],
                _ => [random.single(), random.single()],
            }
        })
        .collect();
    // Every fourth row: each product again with the other sign, all but a few, so that small ones decide.
    if r >> 48 & 3 == 0 {
        let again: Vec<_> =
            pairs.iter().skip((r >> 56 & 3) as usize).map(|p| [p[0] ^ 0x8000_0000, p[1]]).collect();
        pairs.extend(again);
    }
    pairs
}

#[test]
fn exact_sum() {
    let Some(mut unit) = Unit::new("exact_sum") else { return };
    let [valid, ready, a, b, last, out_valid, y] =
        ["in_valid", "in_ready", "a", "b", "last", "out_valid", "y"].map(|p| unit.model.port(p));
    let mut random = Operands::new(12);
    let rows = cases(20_000);
    let mut due: VecDeque<(Vec<[u32; 2]>, u32)> = VecDeque::new();
    let (mut begun, mut done, mut clock, mut at) = (0, 0, 0u64, 0);
    let mut pairs = vec![];
    while done < rows {
        clock += 1;
        if at == pairs.len() && begun < rows {
            (pairs, at, begun) = (row(&mut random, begun), 0, begun + 1);
            let mut sum = ExactSum::new();
            pairs.iter().for_each(|p| sum.add_product(f32::from_bits(p[0]), f32::from_bits(p[1])));
            due.push_back((pairs.clone(), sum.round().to_bits()));
        }
        let give = at < pairs.len() && (begun % 64 < 32 || !random.word().is_multiple_of(3));
        unit.model.set(valid, u64::from(give));
        if give {
            unit.model.set(a, u64::from(pairs[at][0]));
            unit.model.set(b, u64::from(pairs[at][1]));
            unit.model.set(last, u64::from(at + 1 == pairs.len()));
            unit.model.settle();
            at += usize::from(unit.model.is_set(ready));
        }
        unit.tick();
        if unit.model.is_set(out_valid) {
            let (row, want) = due.pop_front().expect("a row for each result");
            let got = unit.model.get(y) as u32;
            assert!(got == want, "row {done} of {}: got {got:08X}, want {want:08X}: {row:08X?}", row.len());
            done += 1;
        }
        assert!(clock < 20_000 + 1000 * (done as u64 + 4), "no result for long");
    }
    unit.replay();
    println!("{done} rows, {clock} clocks");
}
