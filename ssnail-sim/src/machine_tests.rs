//! Scripts in assembler for each instruction: what it does, what an empty one does, and that a fault changes nothing.

use super::*;
use crate::Float;
use proptest::prelude::*;
use ssnail_isa::Format;
use ssnail_isa::check::AttnBlock;
use ssnail_isa::map::{Board, RAM_BASE};
use ssnail_isa::text::assemble;

const SCRIPT: u32 = 0x800_5000;
/// Operands of the tests: `X`, `Y`, `Z` in their scripts are these addresses.
const X: u32 = 0x801_0000;
const Y: u32 = 0x802_0000;
const Z: u32 = 0x803_0000;

fn machine(text: &str) -> Machine {
    let mut m = Machine::new(Memory::new(Board::R3).unwrap(), Box::new(Float::new()));
    let text = [("X", X), ("Y", Y), ("Z", Z)]
        .iter()
        .fold(text.to_string(), |t, (name, addr)| t.replace(&format!(" {name}"), &format!(" {addr:#X}")));
    let script = assemble(&text, SCRIPT).unwrap();
    m.memory_mut().write(SCRIPT, &script.bytes).unwrap();
    m.go(SCRIPT);
    m
}

fn run(m: &mut Machine) -> Result<(), RunError> {
    m.run(1000, |_| ControlFlow::Continue(()))
}

fn put(m: &mut Machine, addr: u32, values: &[f32]) {
    m.memory_mut().write(addr, bytemuck::cast_slice(values)).unwrap();
}

fn get(m: &Machine, addr: u32, n: usize) -> Vec<f32> {
    bytemuck::cast_slice(m.memory().get(addr, 4 * n as u64).unwrap()).to_vec()
}

fn ram(m: &Machine) -> &[u8] {
    m.memory().get(RAM_BASE, 8 << 20).unwrap()
}

/// Registers after a script without memory.
fn registers(text: &str) -> Registers {
    let mut m = machine(text);
    run(&mut m).unwrap();
    m.regs
}

#[test]
fn integer_instructions() {
    let r = registers("LI R1, 7\nADDI R2, R1, -8\nADDI R15, R1, 1\nLI R15, 3\nADDI R3, R15, 5\nHALT");
    assert_eq!(r.r[..4], [0, 7, u32::MAX, 5]);
    assert_eq!(r.r[15], 0);
    let r = registers(
        "LI R1, -1\nLEA A1, R1, 0x8000010, 32\nLEA A2, R15, [A1+0xFFFFFF], 0\nLI R2, 3\nLEA A3, R2, [A2], 0x10000001\nHALT",
    );
    assert_eq!(r.a[1..4], [0x7FF_FFF0, 0x8FF_FFEF, 0x8FF_FFF2]);
    let r = registers("SETN 1, 2, 3\nHALT");
    assert_eq!((r.n, r.pc), ([1, 2, 3], SCRIPT + 16));
}

#[test]
fn registers_outlive_a_job() {
    let mut m = machine("ADDI R1, R1, 2\nHALT");
    run(&mut m).unwrap();
    m.go(SCRIPT);
    run(&mut m).unwrap();
    assert_eq!(m.regs.r[1], 4);
}

#[test]
fn branches() {
    for (branch, taken) in [
        ("BEQ R1, R2", false),
        ("BEQ R1, R1", true),
        ("BNE R1, R2", true),
        ("BNE R1, R1", false),
        ("BLT R1, R2", true),
        ("BLT R2, R1", false),
        ("BLT R1, R1", false),
        ("BLT R15, R2", true),
    ] {
        let r = registers(&format!("LI R1, 5\nLI R2, -1\n{branch}, there\nLI R3, 1\nthere: HALT"));
        assert_eq!(r.r[3], u32::from(!taken), "{branch}");
    }
    let r = registers("LEA A1, R15, there, 0\nBEQ R1, R1, [A1+16]\nthere: LI R3, 1\nHALT");
    assert_eq!(r.r[3], 0);
}

#[test]
fn loads_stores_and_copies() {
    let mut m = machine("LDR R1, X\nSTR R1, Y\nSTR R15, 0x8010004\nLDR R15, X\nCOPY X, Z, 0xFFF80010\nHALT");
    m.memory_mut().write(X, &(0..32).collect::<Vec<u8>>()).unwrap();
    run(&mut m).unwrap();
    assert_eq!(m.memory().read_u32(Y), Ok(0x0302_0100));
    assert_eq!(m.regs.r[15], 0);
    let copied = m.memory().get(Z, 24).unwrap();
    assert_eq!(copied, [0, 1, 2, 3, 0, 0, 0, 0, 8, 9, 10, 11, 12, 13, 14, 15, 0, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn the_longest_copy() {
    let mut m = machine("COPY X, Z, 0xFFF8\nHALT");
    m.memory_mut().write(X, &[7; 0x1_0000]).unwrap();
    run(&mut m).unwrap();
    assert_eq!(m.memory().get(Z + 0xFFF7, 2), Ok(&[7, 0][..]));
}

#[test]
fn gemv_and_its_modes() {
    let script =
        "SETN 4, 3, 0\nGEMV F32, X, Y, Z\nGEMV.ACC F32, X, Y, Z\nGEMV.F16 F32, X, Y, 0x8030012\nHALT";
    let mut m = machine(script);
    put(&mut m, X, &(1..=12).map(|i| i as f32).collect::<Vec<_>>());
    put(&mut m, Y, &[1.0, 0.0, -1.0, 0.5]);
    run(&mut m).unwrap();
    // Rows give 0, 2, 4; the odd lengths leave what stands behind them alone.
    assert_eq!(get(&m, Z, 4), [0.0, 4.0, 8.0, 0.0]);
    assert_eq!(m.memory().u16s(check::Span { addr: Z + 0x12, len: 8 }), [0, 0x4000, 0x4400, 0]);
    let s = m.stats();
    assert_eq!((s.count(Opcode::Gemv), s.instructions()), (3, 5));
    assert_eq!((s.bytes_read, s.bytes_written), (3 * (48 + 16) + 12, 12 + 12 + 6));
    assert_eq!(s.traffic(), s.bytes_read + s.bytes_written + 80);
}

#[test]
fn gemv_reads_rows_at_any_byte() {
    let mut m = machine("SETN 32, 2, 0\nGEMV Q8_0, 0x8010003, Y, Z\nDEQROW Q8_0, 0x8010025, 0x8030100\nHALT");
    let mut row = [0; 68];
    Format::Q8_0.encode_row(&[0.5; 64], &mut row).unwrap();
    m.memory_mut().write(X + 3, &row).unwrap();
    put(&mut m, Y, &[1.0; 32]);
    run(&mut m).unwrap();
    let y = get(&m, Z, 3);
    assert!((y[0] - 16.0).abs() < 0.01 && y[0] == y[1] && y[2] == 0.0, "{y:?}");
    assert!(get(&m, Z + 0x100, 32).iter().all(|w| (w - 0.5).abs() < 1e-3));
}

/// Vector instructions on X = (1, -2, 3, 0.5) and Y = (2, 4, -1, 8, 1, 1, 1, 1), N0 = 4, N1 = 2, N2 = eps.
#[test]
fn vector_instructions_take_their_operands_in_order() {
    let vector = |text: &str| {
        let mut m = machine(&format!("SETN 4, 2, 0\n{text}\nHALT"));
        put(&mut m, X, &[1.0, -2.0, 3.0, 0.5]);
        put(&mut m, Y, &[2.0, 4.0, -1.0, 8.0, 1.0, 1.0, 1.0, 1.0]);
        run(&mut m).unwrap();
        get(&m, Z, 4)
    };
    assert_eq!(vector("VADD X, Y, Z"), [3.0, 2.0, 2.0, 8.5]);
    assert_eq!(vector("VMUL X, Y, Z"), [2.0, -8.0, -3.0, 4.0]);
    let rms = (14.25f64 / 4.0).sqrt();
    let close = |got: Vec<f32>, want: [f64; 4]| {
        let same = got.iter().zip(want).all(|(&g, w)| (f64::from(g) - w).abs() < 1e-6);
        assert!(same, "{got:?} is not {want:?}");
    };
    close(vector("RMSNORM X, Y, Z"), [2.0 / rms, -8.0 / rms, -3.0 / rms, 4.0 / rms]);
    let silu = |x: f64| x / (1.0 + (-x).exp());
    close(vector("SILUMUL X, Y, Z"), [silu(1.0) * 2.0, silu(-2.0) * 4.0, -silu(3.0), silu(0.5) * 8.0]);
    let (mean, sd) = (0.625, (14.25 / 4.0 - 0.625f64 * 0.625).sqrt());
    let norm = |x: f64, g: f64| (x - mean) / sd * g + 1.0;
    close(vector("LAYERNORM X, Y, Z"), [norm(1.0, 2.0), norm(-2.0, 4.0), norm(3.0, -1.0), norm(0.5, 8.0)]);
    close(vector("GELU X, Z"), [0.841192, -0.0454023, 2.9963627, 0.3457140]);
    close(vector("LI R3, 2\nMEANROWS R3, Y, Z"), [1.5, 2.5, 0.0, 4.5]);
    // (1, -2) and (3, 0.5) by cos 2, sin 4.
    close(vector("ROPE X, Y\nCOPY X, Z, 16"), [2.0 + 8.0, 4.0 - 4.0, 6.0 - 2.0, 12.0 + 1.0]);
    assert_eq!(vector("CVT16 X, Z")[..2], [f32::from_bits(0xC000_3C00), f32::from_bits(0x3800_4200)]);
    assert_eq!(vector("DEQROW BF16, Y, Z")[..4], [0.0, 2.0, 0.0, 4.0]);
}

#[test]
fn a_destination_that_is_a_source_gives_what_another_place_would() {
    for (text, in_place) in [
        ("VADD X, Y, Z", "VADD X, Y, X"),
        ("VADD X, Y, Z", "VADD Y, X, X"),
        ("VMUL X, X, Z", "VMUL X, X, X"),
        ("RMSNORM X, Y, Z", "RMSNORM X, Y, X"),
        ("SILUMUL X, Y, Z", "SILUMUL X, Y, X"),
        ("SILUMUL Y, X, Z", "SILUMUL Y, X, X"),
        ("LAYERNORM X, Y, Z", "LAYERNORM X, Y, X"),
        ("LAYERNORM Y, X, Z", "LAYERNORM Y, X, X"),
        ("GELU X, Z", "GELU X, X"),
        ("MEANROWS R3, X, Z", "MEANROWS R3, X, X"),
        ("CVT16 X, Z", "CVT16 X, X"),
        ("ATTN R3, 0x8004000, X, Z", "ATTN R3, 0x8004000, X, X"),
    ] {
        let result = |text: &str, at: u32| {
            let mut m = machine(&format!("SETN 32, 16, 0\nLI R3, 2\n{text}\nHALT"));
            let wave = |f: f32| (0..128).map(|i| (i as f32 * f).sin()).collect::<Vec<_>>();
            put(&mut m, X, &wave(0.7));
            put(&mut m, Y, &wave(1.3));
            let block = AttnBlock { k: Y, v: Y + 4, n_heads: 4, n_kv_heads: 2, head_dim: 8, kv_format: 0 };
            m.memory_mut().write(0x800_4000, bytemuck::cast_slice(&block.words())).unwrap();
            run(&mut m).unwrap();
            m.memory().get(at, 64).unwrap().to_vec()
        };
        assert_eq!(result(text, Z), result(in_place, X), "{in_place}");
    }
}

#[test]
fn attention_reads_its_block() {
    let mut m = machine("LI R3, 1\nATTN R3, X, Y, Z\nHALT");
    let block =
        AttnBlock { k: X + 0x100, v: X + 0x200, n_heads: 2, n_kv_heads: 1, head_dim: 1, kv_format: 1 };
    m.memory_mut().write(X, bytemuck::cast_slice(&block.words())).unwrap();
    m.memory_mut().write(X + 0x100, bytemuck::cast_slice(&[0x3C00u16, 0x4000, 0x7E00])).unwrap(); // 1, 2, NaN
    m.memory_mut().write(X + 0x200, bytemuck::cast_slice(&[0x4000u16, 0x4400, 0x7E00])).unwrap(); // 2, 4, NaN
    put(&mut m, Y, &[0.0, 1.0]);
    run(&mut m).unwrap();
    let e = std::f32::consts::E;
    assert_eq!(get(&m, Z, 1), [3.0]);
    assert!((get(&m, Z + 4, 1)[0] - (2.0 + 4.0 * e) / (1.0 + e)).abs() < 1e-6);
    assert_eq!(m.stats().bytes_read, 32 + 8 + 4 + 4);
}

#[test]
fn argmax_sets_a_register() {
    let mut m = machine("SETN 3, 0, 0\nARGMAX R4, X\nARGMAX R15, X\nHALT");
    put(&mut m, X, &[f32::NAN, -1.0, -1.0, 5.0]);
    run(&mut m).unwrap();
    assert_eq!((m.regs.r[4], m.regs.r[15]), (1, 0));
}

#[test]
fn operations_on_nothing_do_nothing() {
    let mut m = machine(
        "LI R4, 9\nSETN 0, 32, 0\nVADD 16, 16, 16\nRMSNORM X, X, X\nGEMV F32, X, Y, Z\nARGMAX R4, X\nROPE X, Y\nCVT16 X, X\n\
         SETN 32, 0, 0\nGEMV Q8_0, X, Y, Z\nMEANROWS R9, X, Z\nCOPY 8, 16, 0\nHALT",
    );
    put(&mut m, X, &[1.0; 64]);
    put(&mut m, Z, &[2.0; 64]);
    let before = ram(&m).to_vec();
    run(&mut m).unwrap();
    assert!(before == ram(&m));
    assert_eq!(m.regs.r[4], 9);
    assert_eq!((m.stats().bytes_read, m.stats().bytes_written), (0, 0));
}

/// Every kind of fault of every family of instructions: its code, PC, and that registers and RAM are as before.
#[test]
fn a_fault_changes_nothing() {
    use Fault::{Alignment, Format, Illegal, Range};
    for (text, fault) in [
        (".bytes 2A 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00", Illegal),
        (".bytes 08 01 00 01 00 00 00 00 00 00 00 00 00 00 00 00", Illegal),
        (".bytes 08 10 00 00 00 00 00 00 00 00 00 00 00 00 00 00", Illegal),
        (".bytes 10 00 03 00 00 00 01 08 00 00 02 08 00 00 03 08", Illegal),
        ("COPY X, Y, 12", Illegal),
        ("COPY X, X, 8", Illegal),
        ("COPY X, 0x8010004, 8", Alignment),
        ("COPY X, 0x87FFFF8, 16", Range),
        ("LDR R1, 0x8010002", Alignment),
        ("LDR R1, 0x8800000", Range),
        ("STR R1, 0x7FFFFFC", Range),
        ("STR R1, 0x8010001", Alignment),
        ("GEMV Q8_0, X, Y, Z", Illegal),
        ("GEMV 77, X, Y, Z", Format),
        ("GEMV F32, X, Y, X", Illegal),
        ("GEMV.ACC F32, X, Y, 0x8030002", Alignment),
        ("GEMV.F16 F32, X, Y, 0x8030001", Alignment),
        ("GEMV F32, 0x87FFF00, Y, Z", Range),
        ("GEMV F32, X, Y, 0x8800000", Range),
        ("DEQROW Q4_0, X, Z", Illegal),
        ("DEQROW F16, X, 0x8030002", Alignment),
        ("ARGMAX R1, 0x8800000", Range),
        ("VADD X, Y, 0x8010004", Illegal),
        ("VMUL X, 0x8020002, Z", Alignment),
        ("RMSNORM X, 0x8800000, Z", Range),
        ("SILUMUL 0x87FFFFC, Y, Z", Range),
        ("ROPE 0x8010004, Y", Alignment),
        ("ROPE X, X", Illegal),
        ("ATTN R1, 0x8010001, Y, Z", Alignment),
        ("ATTN R1, X, Y, Z", Illegal),
        ("ATTN R1, 0x8800000, Y, Z", Range),
        ("LAYERNORM X, 0x87FFFA0, Z", Range),
        ("GELU X, 0x8030001", Alignment),
        ("MEANROWS R2, X, Z", Range),
        ("CVT16 X, 0x8030001", Alignment),
        ("BEQ R0, R0, 0x8005008", Alignment),
        ("BEQ R0, R0, 0x8800000", Range),
    ] {
        let mut m = machine(&format!("SETN 16, 16, 0\nLI R1, 5\nLI R2, -1\n{text}\nHALT"));
        for at in [X, Y, Z] {
            put(&mut m, at, &(0..64).map(|i| i as f32 - 9.5).collect::<Vec<_>>());
        }
        for _ in 0..3 {
            m.step().unwrap();
        }
        let branch = text.starts_with("BEQ");
        if branch {
            m.step().unwrap();
        }
        let (regs, before) = (m.regs.clone(), ram(&m).to_vec());
        let Err(RunError::Fault(report)) = run(&mut m) else { panic!("{text} is legal") };
        assert_eq!(report.fault, fault, "{text}: {report}");
        assert_eq!((&report.registers, &m.regs), (&regs, &regs), "{text}");
        assert!(branch || regs.pc == SCRIPT + 48, "{text}");
        assert!(before == ram(&m), "{text} changed RAM");
        assert_eq!(m.read_register(ssnail_isa::port::reg::FAULT), fault.code());
    }
}

#[test]
fn a_run_stops_at_its_limit_and_goes_on() {
    let mut m = machine("loop: ADDI R1, R1, 1\nBNE R1, R2, loop\nHALT");
    m.regs.r[2] = 10;
    let limit = m.run(6, |_| ControlFlow::Continue(())).unwrap_err();
    assert_eq!(limit, RunError::Limit { limit: 6, pc: SCRIPT });
    m.run(15, |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(m.regs.r[1], 10);
    assert_eq!(m.stats().instructions(), 21);
}

#[test]
fn a_break_at_a_sync_aborts() {
    let mut m = machine("SYNC\nLI R1, 1\nHALT");
    let error = m.run(9, |_| ControlFlow::Break(())).unwrap_err();
    assert!(
        matches!(error, RunError::Fault(f) if f.fault == Fault::Aborted && f.registers.pc == SCRIPT + 16)
    );
    assert_eq!(m.regs.r[1], 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever stands in RAM, running it ends in HALT, a fault or the limit.
    #[test]
    fn any_bytes_run_or_fault(
        words in prop::collection::vec((0u8..0x2B, 0u8..32, 0u8..4, prop::array::uniform3(0u32..0x40)), 1..40), n in 0u32..70,
    ) {
        let mut m = machine("HALT");
        m.regs.n = [n, n, 0];
        m.regs.a = [X; 16];
        for (at, (op, a, b, xyz)) in (SCRIPT..).step_by(16).zip(words) {
            let field = |v: u32| match v & 3 {
                0 => SCRIPT + 16 * (v >> 2),
                1 => 1 << 31 | v << 8,
                2 => X + 8 * v,
                _ => v,
            };
            let mut word = [op, a, b, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
            word[4..].copy_from_slice(bytemuck::cast_slice(&xyz.map(field)));
            m.memory_mut().write(at, &word).unwrap();
        }
        if let Err(e) = run(&mut m) {
            prop_assert!(e.to_string().contains("PC "));
        }
    }
}
