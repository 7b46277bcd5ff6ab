//! Loops that can run side by side, loops that must not, and random ones: what they leave is what the same loop leaves
//! when somebody looks on, which makes it run turn by turn.

use super::*;
use crate::Hardware;
use crate::memory::Memory;
use crate::report::RunError;
use proptest::prelude::*;
use ssnail_isa::Registers;
use ssnail_isa::check::AttnBlock;
use ssnail_isa::map::{Board, RAM_BASE};
use ssnail_isa::text::assemble;
use std::ops::ControlFlow;

const SCRIPT: u32 = 0x800_5000;
/// Bytes of RAM that tests use, and compare.
const USED: usize = 0x30000;

/// What a script leaves.
#[derive(Debug, PartialEq)]
struct Left {
    ended: Result<(), String>,
    ram: Vec<u8>,
    registers: Registers,
    stats: crate::stats::Stats,
}

/// Runs a script over small numbers, side by side where that goes, or turn by turn. Also gives how many loops ran side
/// by side.
fn run(script: &str, side_by_side: bool) -> (Left, usize) {
    let mut m = Machine::new(Memory::new(Board::R3).unwrap(), Box::new(Hardware::new()));
    let noise: Vec<f32> = (0..USED / 4).map(|i| ((i * 7919) % 61) as f32 / 16.0 - 1.5).collect();
    m.memory_mut().write(RAM_BASE, bytemuck::cast_slice(&noise)).unwrap();
    let block =
        AttnBlock { k: 0x801_0000, v: 0x801_8000, n_heads: 4, n_kv_heads: 2, head_dim: 8, kv_format: 1 };
    m.memory_mut().write(0x802_F000, bytemuck::cast_slice(&block.words())).unwrap();
    m.memory_mut().write(SCRIPT, &assemble(script, SCRIPT).unwrap().bytes).unwrap();
    if !side_by_side {
        m.set_observer(Some(Box::new(|_| ())));
    }
    m.go(SCRIPT);
    let ended = m.run(100_000, |_| ControlFlow::Continue(())).map_err(|e: RunError| e.to_string());
    let ram = m.memory().get(RAM_BASE, USED as u64).unwrap().to_vec();
    (Left { ended, ram, registers: m.regs.clone(), stats: m.stats.clone() }, m.ahead.known.len())
}

/// Loops that ran side by side, after checking that it makes no difference.
fn ahead(script: &str) -> usize {
    let (got, loops) = run(script, true);
    let (want, none) = run(script, false);
    assert_eq!(none, 0);
    assert_eq!(got.ended, want.ended);
    assert_eq!((&got.registers, &got.stats), (&want.registers, &want.stats));
    assert!(got.ram == want.ram, "RAM differs");
    loops
}

/// A loop of 50 turns: R1 counts, A1 = X + 32 * R1, A2 = K row R1, A3 = V row R1.
fn turns(body: &str) -> String {
    format!(
        "LI R2, 50\nLI R1, 0\nhead:\nLEA A1, R1, 0x8020000, 32\nLEA A2, R1, 0x8010000, 32\nLEA A3, R1, 0x8018000, 32\n\
         SETN 16, 16, 0x3727C5AC\n{body}\nADDI R1, R1, 1\nBLT R1, R2, head\nHALT"
    )
}

#[test]
fn a_layer_of_attention_runs_side_by_side() {
    let layer = "SETN 32, 32, 0x3727C5AC\nDEQROW F32, [A1], 0x8028000\nRMSNORM 0x8028000, 0x8007000, 0x8028100\n\
        GEMV F32, 0x8009000, 0x8028100, 0x8028200\nSETN 32, 16, 0\nGEMV F32, 0x800A000, 0x8028100, 0x8028400\n\
        GEMV.F16 F32, 0x800B000, 0x8028100, [A3]\nSETN 16, 8, 0\nROPE 0x8028400, 0x8007100\nCVT16 0x8028400, [A2]\n\
        ATTN R1, 0x802F000, 0x8028200, 0x8028300\nSETN 32, 32, 0\nGEMV.ACC F32, 0x800C000, 0x8028300, 0x8028000\n\
        STR R1, 0x8000040";
    assert_eq!(ahead(&turns(layer)), 1);
}

#[test]
fn turns_that_hand_something_on_do_not() {
    for body in [
        // A running sum.
        "VADD [A1], 0x8028000, 0x8028000",
        // Written whole, but read before.
        "VADD 0x8028000, [A1], 0x8028100\nVMUL [A1], [A1], 0x8028000",
        // The half that is read was not written.
        "VADD [A1], [A1], 0x8028000\nVADD 0x8028020, [A1], 0x8028100\nVADD [A1], [A1], 0x8028040",
        // What the turn before wrote at the same instruction, and at a later one.
        "SETN 8, 0, 0\nVADD [A1], [A1], [A1+64]",
        "SETN 8, 0, 0\nVADD [A3], [A3], 0x8028000\nVMUL [A1], [A1], [A3+32]",
        // What the turn after will have written at an earlier instruction.
        "SETN 8, 0, 0\nVADD [A3], [A3], [A1]\nVMUL [A1+32], [A1+32], 0x8028000",
        // Two turns write the same bytes.
        "VADD [A1], [A1], [A3]",
        // Control flow reads what is computed, and what is computed reads what control flow stores.
        "VADD [A1], [A1], 0x8028000\nLDR R3, 0x8028004",
        "STR R1, 0x8028004\nVADD 0x8028000, [A1], 0x8028100",
        // The script itself, and weights.
        "VADD [A1], [A1], 0x8005080",
        "VADD [A1], [A1], 0x8009000\nGEMV F32, 0x8009000, 0x8009000+2048, 0x8028100",
        // A choice by data, and something to show.
        "VADD [A1], [A1], 0x8028000\nARGMAX R3, 0x8028000",
        "VADD [A1], [A1], 0x8028000\nSYNC",
    ] {
        assert_eq!(ahead(&turns(&body.replace("0x8009000+2048", "0x8009800"))), 0, "{body}");
    }
}

#[test]
fn turns_that_only_seem_to_hand_something_on_do() {
    for body in [
        // A later turn's write, read before it is written.
        "SETN 8, 0, 0\nVADD [A1+64], [A1], [A1]",
        // Halves written one after the other and read together.
        "SETN 8, 0, 0\nVADD [A1], [A1], 0x8028000\nVMUL [A1], [A1], 0x8028020\nSETN 16, 0, 0\nCVT16 0x8028000, [A3+0x1000]",
        // What an earlier turn wrote at an earlier instruction.
        "SETN 8, 0, 0\nVMUL [A1], [A1], [A3+32]\nVADD [A3], [A3], 0x8028000",
        // Control flow's own words.
        "LDR R3, 0x8000040\nADDI R3, R3, 1\nSTR R3, 0x8000040\nLEA A4, R3, 0x8000000, 0\nVADD [A1], [A1], 0x8028000",
    ] {
        assert_eq!(ahead(&turns(body)), 1, "{body}");
    }
}

#[test]
fn a_fault_in_a_later_turn_comes_where_it_belongs() {
    let body = "LEA A4, R1, 0x87FFD00, 32\nVADD [A1], [A1], [A4]\nVADD [A1], [A1], 0x8028000";
    let (left, loops) = run(&turns(body), true);
    assert!(left.ended.is_err());
    assert_eq!(loops, 0, "the second destination overlaps the first turn's");
    let body = "LEA A4, R1, 0x87FFD00, 64\nVADD [A1], [A1], [A4]\nVADD [A1], [A1], 0x8028000";
    assert!(run(&turns(body), true).0.ended.is_err());
    assert_eq!(ahead(&turns(body)), 1);
}

#[test]
fn the_limit_on_instructions_holds() {
    let script = assemble(&turns("VADD [A1], [A1], 0x8028000"), SCRIPT).unwrap().bytes;
    for limit in [1, 30, 100, 101, 250] {
        let mut m = Machine::new(Memory::new(Board::R3).unwrap(), Box::new(Hardware::new()));
        m.memory_mut().write(SCRIPT, &script).unwrap();
        m.go(SCRIPT);
        let ended = m.run(limit, |_| ControlFlow::Continue(()));
        assert!(matches!(ended, Err(RunError::Limit { .. })));
        assert_eq!(m.stats().instructions(), limit);
    }
}

/// An operand among a few addresses that often overlap: fixed, or moving with the turn.
fn operand() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => (0u32..8).prop_map(|k| format!("{:#X}", 0x802_8000 + 32 * k)),
        2 => (1u32..4, 0u32..4).prop_map(|(a, k)| format!("[A{a}+{}]", 32 * k)),
    ]
}

fn instruction() -> impl Strategy<Value = String> {
    let operands = (operand(), operand(), operand());
    (0u32..12, operands, 1u32..4).prop_map(|(op, (x, y, z), n)| match op {
        0..=2 => format!("VADD {x}, {y}, {z}"),
        3 => format!("VMUL {x}, {x}, {z}"),
        4 => format!("CVT16 {x}, {z}"),
        5 | 6 => format!("GEMV{} F32, 0x8009000, {y}, {z}", ["", ".ACC", ".F16"][n as usize - 1]),
        7 => format!("GEMV F32, {x}, 0x8009000, {z}"),
        8 => format!("COPY {x}, {z}, {}", 8 * n),
        9 => format!("SETN {}, {}, 0", 8 * n, 4 * n),
        10 => format!("STR R{n}, {z}\nLDR R4, {y}"),
        _ => format!("ATTN R1, 0x802F000, {x}, {z}"),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn random_loops(body in prop::collection::vec(instruction(), 1..8), apart: bool) {
        // With 8 elements, what the turns write at moving addresses is apart.
        let elements = if apart { "SETN 8, 8, 0x3727C5AC\n" } else { "" };
        ahead(&turns(&format!("{elements}{}", body.join("\n"))));
    }
}
