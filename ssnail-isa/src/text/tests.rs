//! Both directions against each other, and the texts of errors.

use super::*;
use crate::instr::tests::any_instruction;
use proptest::prelude::*;

proptest! {
    #[test]
    fn assembling_a_disassembly_gives_the_same_bytes(
        program in prop::collection::vec(any_instruction(), 0..40), tail in prop::collection::vec(any::<u8>(), 0..20),
    ) {
        let mut bytes: Vec<u8> = program.iter().flat_map(crate::Instruction::encode).collect();
        bytes.extend(tail);
        let text = disassemble(&bytes, 0x800_5000);
        prop_assert_eq!(assemble(&text, 0), Ok(Assembly { origin: 0x800_5000, bytes }), "{}", text);
    }

    #[test]
    fn branches_inside_the_script_get_labels(targets in prop::collection::vec(0u32..12, 1..12)) {
        let bytes: Vec<u8> = targets.iter().flat_map(|t| {
            crate::Instruction { x: 0x800_5000 + 16 * t, ..crate::Instruction::new(crate::Opcode::Bne) }.encode()
        }).collect();
        let text = disassemble(&bytes, 0x800_5000);
        prop_assert_eq!(&assemble(&text, 0).unwrap().bytes, &bytes);
        let inside = targets.iter().filter(|&&t| (t as usize) < targets.len()).count();
        prop_assert_eq!(text.matches(", L_").count(), inside);
    }

    #[test]
    fn any_text_is_assembled_or_refused(text in "[ -~\n]{0,200}") {
        let _ = assemble(&text, 0x800_5000);
    }
}

#[test]
fn every_form_of_operand_assembles() {
    let a = assemble(
        "start:  li R1, -1 ; all ones\n\
         setn 64, 0x10, 7\n  lea A3, R1, [A2], 4\n GEMV.acc Q8_0, 0x9000000, [A3+16], start+0x20\n\
         loop: again: GEMV.F16 99, loop, 0, 0\n BNE r1, R15, again\n HALT\n .bytes 2A 01",
        0x800_5000,
    )
    .unwrap();
    insta::assert_snapshot!(disassemble(&a.bytes, a.origin), @r"
        .org    0x8005000
        LI       R1, 0xFFFFFFFF                                 ; 8005000
        SETN     64, 16, 7                                      ; 8005010
        LEA      A3, R1, [A2], 4                                ; 8005020
        GEMV.ACC Q8_0, 0x9000000, [A3+0x10], 0x8005020          ; 8005030
L_8005040:
        GEMV.F16 99, 0x8005040, 0x0, 0x0                        ; 8005040
        BNE      R1, R15, L_8005040                             ; 8005050
        HALT                                                    ; 8005060
        .bytes   2A 01                                          ; 8005070
");
}

#[test]
fn errors_name_line_and_word() {
    let errors = [
        "NOP\nMOV R1, R2",
        "LI R16, 0",
        "LI R1",
        "LI R1, 5000000000",
        "LDR R1, 0x10000000",
        "LDR R1, [A1+0x1000000]",
        "BNE R1, R2, nowhere",
        "x: x: NOP",
        "1x: NOP",
        "NOP\n.org 0x8000000",
        "HALT.F16",
        "GEMV.BF16 Q8_0, 0, 0, 0",
        "GEMV Q9_9, 0, 0, 0",
        ".bytes 1FF",
        ".bytes",
    ]
    .map(|t| assemble(t, 0).unwrap_err().to_string())
    .join("\n");
    insta::assert_snapshot!(errors, @r"
line 2: unknown instruction `MOV`
line 1: `R16` is no register R0..R15
line 1: LI takes 2 operands, 1 given
line 1: LI: value `5000000000` is no 32-bit number
line 1: LDR: src `0x10000000` is no address
line 1: LDR: src `[A1+0x1000000]` is no address
line 1: label `nowhere` is not defined
line 1: label `x` is defined twice
line 1: `1x` is no label: a letter or _, then letters, digits or _
line 2: .org must come before the first instruction
line 1: HALT has no form `.F16`
line 1: GEMV has no form `.BF16`, only .ACC and .F16
line 1: `Q9_9` is no weight format; there are F32, F16, Q4_0, Q8_0, BF16 and plain numbers
line 1: `1FF` is no list of hexadecimal bytes
line 1: `` is no list of hexadecimal bytes
");
}
