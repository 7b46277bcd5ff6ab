//! Blocks through the quantiser: kinds of blocks, gaps, and how many cycles an element takes in a long stream.

use super::harness::Unit;
use super::operands::Operands;
use ssnail_hw::quantise::{BLOCK, Q8Block, quantise_block};
use std::collections::VecDeque;

/// A block: usual activations, one magnitude for all, ties, any bits, subnormal, zero, NaN, infinite.
fn block(random: &mut Operands, index: usize) -> [f32; BLOCK] {
    let r = random.word();
    let scale = f32::from_bits((((r >> 8) as u32 & 0x3F) + 96) << 23);
    let mut x = [0.0; BLOCK].map(|_: f32| ((random.word() >> 40) as f32 / (1 << 23) as f32 - 1.0) * scale);
    match if index < 200 { 0 } else { r % 16 } {
        0..=6 => {}
        7 => x = x.map(|v| scale.copysign(v)),
        8 => x = x.map(|v| (v / scale * 254.0).round() / 2.0 * (127.0 * scale / 127.0)),
        9 | 10 => x = x.map(|_| f32::from_bits(random.single())),
        11 => x = x.map(|v| f32::from_bits(v.to_bits() & 0x807F_FFFF)),
        12 => x = x.map(|v| 0f32.copysign(v)),
        13 => x[(r >> 32) as usize % BLOCK] = f32::from_bits(0xFF80_0001),
        14 => x[(r >> 32) as usize % BLOCK] = f32::NEG_INFINITY,
        // Near 127 * 2^-128, where 1 / d overflows.
        _ => x = x.map(|v| v / scale * f32::from_bits(0x01FE_0000 - (r >> 32 & 7) as u32)),
    }
    x
}

impl Unit {
    /// Runs `blocks` blocks, the first without gaps; gives cycles an element of these.
    pub(crate) fn quantise(&mut self, blocks: usize) -> f64 {
        let [valid, x_port, ready, out_valid, out_last, q, scale] =
            ["in_valid", "x", "in_ready", "out_valid", "out_last", "q", "scale"].map(|p| self.model.port(p));
        let mut random = Operands::new(10);
        let mut due: VecDeque<([f32; BLOCK], Q8Block)> = VecDeque::new();
        let (mut begun, mut done, mut clock, mut steady) = (0, 0, 0u64, 0u64);
        let (mut input, mut at, mut element) = ([0.0; BLOCK], BLOCK, 0);
        while done < blocks {
            clock += 1;
            if at == BLOCK && begun < blocks {
                (input, at) = (block(&mut random, begun), 0);
                due.push_back((input, quantise_block(&input)));
                begun += 1;
            }
            let gap = done >= 200 && done / 50 % 2 == 1 && random.word().is_multiple_of(3);
            let give = at < BLOCK && !gap;
            self.model.set(valid, u64::from(give));
            if give {
                self.model.set(x_port, u64::from(input[at].to_bits()));
                at += usize::from(self.model.is_set(ready));
            }
            self.tick();
            if self.model.is_set(out_valid) {
                let (x, want) = due.front().expect("a block for each result");
                let got = (self.model.get(q) as u8 as i8, self.model.get(scale) as u16);
                assert!(
                    got == (want.q[element], want.d),
                    "element {element} of {x:?}: got {got:X?}, want {want:X?}"
                );
                element += 1;
                assert_eq!(self.model.is_set(out_last), element == BLOCK, "out_last");
                if element == BLOCK {
                    due.pop_front();
                    (element, done) = (0, done + 1);
                    steady = if done == 200 { clock } else { steady };
                }
            } else {
                assert!(element == 0, "the elements of a block are adjacent");
            }
            assert!(clock < 1000 + 400 * (done as u64 + 10), "no block for long");
        }
        self.replay();
        let per_element = steady as f64 / (200 * BLOCK) as f64;
        println!("{done} blocks, {clock} clocks, {per_element:.2} clocks an element without gaps");
        per_element
    }
}
