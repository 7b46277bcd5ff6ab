//! Whole images, made by hand, driven as MEGA65 software does; and scripts that go astray.

use super::*;
use crate::Float;
use crate::support::{self, BOS, CONTEXT, EOS, logits_after};
use ssnail_isa::Fault;

fn session(file: &[u8]) -> Session {
    Session::load(&Image::parse(file).unwrap(), None, Box::new(Float::new())).unwrap()
}

/// Tokens that the script publishes, stopping after `break_after` of them.
fn collect(s: &mut Session, n: u32, break_after: usize) -> (Vec<u32>, StopReason) {
    let mut tokens = Vec::new();
    let stop = s.generate(n, |t| {
        tokens.push(t);
        if tokens.len() >= break_after { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    (tokens, stop.unwrap())
}

#[test]
fn a_decoder_generates_until_each_reason_to_stop() {
    let file = support::decoder();
    let mut s = session(&file);
    assert_eq!(s.machine().memory().board(), Board::R3);
    s.push(&[BOS]).unwrap();
    assert_eq!(collect(&mut s, 2, 9), (vec![2, 3], StopReason::Count));
    assert_eq!(s.output().unwrap(), logits_after(2));
    assert_eq!(collect(&mut s, 9, 2), (vec![4, 5], StopReason::Request));
    assert_eq!(collect(&mut s, 0, 9), (vec![], StopReason::Count));
    assert_eq!(collect(&mut s, 9, 9), (vec![6, 7, EOS], StopReason::Eos));
    assert_eq!((s.len(), s.room()), (8, 5));
    assert_eq!(collect(&mut s, 99, 99), (vec![0, 2, 3, 4, 5], StopReason::Context));
    assert_eq!((s.len(), s.room()), (CONTEXT + 1, 0));
    assert_eq!(s.advance().unwrap(), None);
    assert!(matches!(s.push(&[2]), Err(SessionError::Context { tokens: 14, context: 12 })));
}

#[test]
fn appended_text_goes_on_where_the_last_run_stopped() {
    let mut s = session(&support::decoder());
    s.push(&[BOS, 2, 3]).unwrap();
    assert_eq!(collect(&mut s, 1, 9).0, [4]);
    s.push(&[6]).unwrap();
    assert_eq!(collect(&mut s, 1, 9).0, [7]);
    s.replace_last(5).unwrap();
    assert_eq!(s.advance().unwrap(), Some(6));
    s.rewind(3).unwrap();
    assert_eq!(s.advance().unwrap(), Some(4));
    s.clear().unwrap();
    assert!(matches!(s.advance(), Err(SessionError::Empty)));
    assert!(matches!(s.replace_last(5), Err(SessionError::Empty)));
    assert!(matches!(s.push(&[2, 8]), Err(SessionError::Token { token: 8, position: 1, n_vocab: 8 })));
    assert!(s.is_empty());
}

#[test]
fn a_prompt_may_fill_the_context_and_no_more() {
    let mut s = session(&support::decoder());
    assert!(matches!(s.push(&[2; 13]), Err(SessionError::Context { tokens: 13, context: 12 })));
    s.push(&[2; 12]).unwrap();
    assert_eq!(collect(&mut s, 5, 9), (vec![3], StopReason::Context));
}

#[test]
fn the_host_may_choose() {
    let mut s = session(&support::decoder());
    let mut rows = Vec::new();
    s.push_observed(&[BOS, 3, 3, 6], |logits| rows.push(logits.to_vec())).unwrap();
    assert_eq!(rows, [BOS, 3, 3].map(logits_after));
    let choices = [4, 2, EOS, 2];
    let mut seen = Vec::new();
    let mut tokens = Vec::new();
    let stop = s.generate_with(
        4,
        |logits, choice| {
            seen.push((logits.to_vec(), choice));
            choices[seen.len() - 1]
        },
        |t| {
            tokens.push(t);
            ControlFlow::Continue(())
        },
    );
    assert_eq!(stop.unwrap(), StopReason::Eos);
    assert_eq!(tokens, [4, 2, EOS]);
    assert_eq!(seen, [(logits_after(6), 7), (logits_after(4), 5), (logits_after(2), 3)]);
    let rest = |s: &mut Session, n| s.generate_with(n, |_, _| 5, |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(rest(&mut s, 2), StopReason::Count);
    assert_eq!(rest(&mut s, 99), StopReason::Context);
    assert_eq!(s.len(), CONTEXT + 1);
    let bad = session(&support::decoder()).push_observed(&[BOS, 8], |_| unreachable!("nothing runs"));
    assert!(matches!(bad, Err(SessionError::Token { token: 8, position: 1, .. })));
}

#[test]
fn an_encoder_gives_its_vector() {
    let mut s = session(&support::encoder());
    s.push(&[2, 3, 7]).unwrap();
    assert_eq!(s.embed().unwrap(), [4.0, 62.0f32 / 3.0, 1.0, -4.0]);
    s.clear().unwrap();
    s.push(&[5]).unwrap();
    assert_eq!(s.embed().unwrap(), [5.0, 25.0, 1.0, -5.0]);
    assert!(matches!(
        s.generate(1, |_| ControlFlow::Continue(())),
        Err(SessionError::Kind { encoder: true })
    ));
    assert!(matches!(session(&support::decoder()).embed(), Err(SessionError::Kind { encoder: false })));
}

/// Why the decoder with a line replaced does not get through.
fn astray(line: &str, by: &str) -> SessionError {
    let mut s = session(&support::spoiled_decoder(line, by));
    s.set_limit(10_000);
    s.push(&[BOS]).unwrap();
    s.generate(3, |_| ControlFlow::Continue(())).expect_err(by)
}

#[test]
fn a_script_that_goes_astray_is_an_error_with_pc_and_text() {
    let gemv = "GEMV    F32, 0x8006100, 0x8007100, 0x8007000";
    let cases = [
        (gemv, "GEMV 3, 0x8006100, 0x8007100, 0x8007000"),
        (gemv, "GEMV F32, 0x8006100, [A2+0x800002], 0x8007000"),
        ("SETN    8, 8, 0", "SETN 8, 8000000, 0"),
        (gemv, ".bytes 2A 01 00 00 00 00 00 00 00 00 00 00 00 00 00 00"),
        ("BLT     R1, R5, run", "BLT R1, R5, 0x8000044"),
        ("BLT     R1, R5, run", "BLT R1, R5, 0xFFFFFF0"),
        ("ADDI    R4, R4, 1", "ADDI R4, R4, 4"),
        ("STR     R10, 0x8000054", "NOP"),
        ("BEQ     R15, R15, loop", "BEQ R15, R15, next"),
        ("HALT", "BEQ R15, R15, stop"),
    ];
    let errors = cases.map(|(line, by)| astray(line, by).to_string()).join("\n");
    insta::assert_snapshot!(errors, @r"
fault 6 at PC 8005100, weight format not supported: `GEMV 3, 0x8006100, 0x8007100, 0x8007000` with N0 = 8, N1 = 8, N2 = 0x0
fault 3 at PC 8005100, an operand or PC is not aligned as its type needs: `GEMV F32, 0x8006100, [A2+0x800002], 0x8007000` with x = 0x8806002, N0 = 8, N1 = 8, N2 = 0x0
fault 2 at PC 8005100, an operand, or the fetch, is not wholly inside one RAM region: `GEMV F32, 0x8006100, 0x8007100, 0x8007000` with N0 = 8, N1 = 8000000, N2 = 0x0
fault 1 at PC 8005100, unknown opcode, byte 3 not 0, or a parameter outside its limits: unknown opcode 2A in word 2A 01 00 00 00000000 00000000 00000000
fault 3 at PC 8000044, an operand or PC is not aligned as its type needs: no instruction can be fetched from there
fault 2 at PC FFFFFF0, an operand, or the fetch, is not wholly inside one RAM region: no instruction can be fetched from there
the script left generated = 4 in the runtime block, expected 0..=3
the script left stop_reason = 0 in the runtime block, expected 1..=4
no HALT after 10000 instructions, stopped at PC 8005210: does the script loop for ever?
no HALT after 10000 instructions, stopped at PC 8005220: does the script loop for ever?
");
    assert!(
        matches!(astray(gemv, "GEMV 3, 0, 0, 0"), SessionError::Run(RunError::Fault(f)) if f.fault == Fault::Format)
    );
}

#[test]
fn a_board_that_is_too_small_is_refused() {
    let mut file = support::decoder();
    file[0x38..0x3C].copy_from_slice(&(64u32 << 20).to_le_bytes());
    let image = Image::parse(&file).unwrap();
    let error = |board| Session::load(&image, board, Box::new(Float::new())).err().map(|e| e.to_string());
    assert_eq!(error(None), None);
    assert_eq!(error(Some(Board::R6)), None);
    let text = "the image needs 67108864 bytes of memory, r3 has 8388608";
    assert_eq!(error(Some(Board::R3)).as_deref(), Some(text));
}
