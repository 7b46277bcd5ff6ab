//! One test per rule of legality, and the order of faults.

use super::*;
use crate::map::Board;
use crate::table::Opcode::*;

const RAM: u32 = 0x800_0000;

/// Registers with N0..N2, R1 = `r1`.
fn regs(n: [u32; 3], r1: u32) -> Registers {
    let mut r = Registers { n, ..Registers::default() };
    r.r[1] = r1;
    r
}

fn ins(op: Opcode, a: u8, b: u8, xyz: [u32; 3]) -> Instruction {
    Instruction { op, a, b, x: xyz[0], y: xyz[1], z: xyz[2] }
}

fn run(i: &Instruction, r: &Registers) -> Result<Checked, Fault> {
    check(i, r, &Board::R6.map(), |_| unreachable!("only ATTN reads a block"))
}

fn attn(block: AttnBlock, r1: u32, addrs: [u32; 3]) -> Result<Checked, Fault> {
    check(&ins(Attn, 1, 0, addrs), &regs([0; 3], r1), &Board::R6.map(), |_| block.words())
}

const BLOCK: AttnBlock =
    AttnBlock { k: RAM + 0x10000, v: RAM + 0x20000, n_heads: 8, n_kv_heads: 4, head_dim: 8, kv_format: 1 };

#[test]
fn operands_have_the_bytes_that_the_table_says() {
    let f = Format::Q8_0.ggml();
    let c =
        run(&ins(Gemv, f, GEMV_F16, [RAM + 1, RAM + 0x1000, RAM + 0x2002]), &regs([64, 3, 0], 0)).unwrap();
    assert_eq!(c.xyz.map(|s| s.len), [3 * 68, 256, 6]);
    let c = run(&ins(Layernorm, 0, 0, [RAM, RAM + 0x1000, RAM]), &regs([16, 0, 0], 0)).unwrap();
    assert_eq!(c.xyz.map(|s| s.len), [64, 128, 64]);
    let c = run(&ins(Meanrows, 1, 0, [RAM, 0, RAM + 0x1000]), &regs([16, 0, 0], 5)).unwrap();
    assert_eq!(c.xyz.map(|s| s.len), [320, 0, 64]);
    let c = run(&ins(Rope, 0, 0, [RAM, RAM + 0x1000, 0]), &regs([32, 8, 0], 0)).unwrap();
    assert_eq!(c.xyz.map(|s| s.len), [128, 32, 0]);
    let c = attn(BLOCK, 9, [RAM, RAM + 0x100, RAM + 0x200]).unwrap();
    assert_eq!(c.xyz.map(|s| s.len), [32, 256, 256]);
    let (_, k, v) = c.attn.unwrap();
    assert_eq!((k, v), (Span { addr: BLOCK.k, len: 640 }, Span { addr: BLOCK.v, len: 640 }));
}

#[test]
fn limits_are_fault_1() {
    let illegal =
        |i: &Instruction, r: &Registers| assert_eq!(run(i, r), Err(Fault::Illegal), "{i:?} {:?}", r.n);
    let vector = [RAM, RAM + 0x80_0000, RAM + 0x100_0000];
    for op in [Vadd, Vmul, Rmsnorm, Silumul, Layernorm, Gelu, Cvt16, Argmax, Deqrow, Meanrows] {
        illegal(&ins(op, 0, 0, vector), &regs([(1 << 20) + 1, 2, 0], 0));
        assert!(run(&ins(op, 0, 0, vector), &regs([1 << 20, 2, 0], 0)).is_ok(), "{op}");
    }
    illegal(&ins(Copy, 0, 0, [RAM, RAM + 64, 12]), &regs([0; 3], 0));
    assert!(run(&ins(Copy, 0, 0, [RAM, RAM + 64, 0xABCD_0008]), &regs([0; 3], 0)).is_ok());
    for n0 in [33, 4128] {
        illegal(&ins(Gemv, 8, 0, vector), &regs([n0, 1, 0], 0));
    }
    illegal(&ins(Gemv, 1, 0, vector), &regs([4097, 1, 0], 0));
    illegal(&ins(Deqrow, 2, 0, vector), &regs([16, 1, 0], 0));
    for n1 in [0, 3, 258, 64] {
        illegal(&ins(Rope, 0, 0, vector), &regs([32, n1, 0], 0));
    }
    assert_eq!(attn(BLOCK, 4096, vector), Err(Fault::Illegal));
    for bad in [
        AttnBlock { n_heads: 0, ..BLOCK },
        AttnBlock { n_heads: 257, n_kv_heads: 1, ..BLOCK },
        AttnBlock { n_kv_heads: 0, ..BLOCK },
        AttnBlock { n_kv_heads: 3, ..BLOCK },
        AttnBlock { head_dim: 0, ..BLOCK },
        AttnBlock { head_dim: 257, ..BLOCK },
        AttnBlock { kv_format: 2, ..BLOCK },
    ] {
        assert_eq!(attn(bad, 0, vector), Err(Fault::Illegal), "{bad:?}");
    }
}

#[test]
fn alignment_is_fault_3() {
    let r = regs([32, 2, 0], 0);
    let base = [RAM, RAM + 0x1000, RAM + 0x2000];
    // Instruction, field and the alignment that it needs.
    for (op, a, field, align) in [
        (Copy, 0, 0, 8),
        (Copy, 0, 1, 8),
        (Ldr, 0, 0, 4),
        (Str, 0, 0, 4),
        (Gemv, 8, 0, 1),
        (Gemv, 8, 1, 4),
        (Gemv, 8, 2, 4),
        (Deqrow, 1, 0, 1),
        (Deqrow, 1, 2, 4),
        (Argmax, 0, 0, 4),
        (Vadd, 0, 0, 4),
        (Vmul, 0, 1, 4),
        (Rmsnorm, 0, 2, 4),
        (Silumul, 0, 1, 4),
        (Rope, 0, 0, 8),
        (Rope, 0, 1, 4),
        (Layernorm, 0, 1, 4),
        (Gelu, 0, 0, 4),
        (Meanrows, 0, 2, 4),
        (Cvt16, 0, 0, 4),
        (Cvt16, 0, 2, 2),
    ] {
        for offset in 1..8 {
            let mut xyz = base;
            xyz[field] += offset;
            if op == Copy {
                xyz[2] = 16;
            }
            let wanted = if offset % align == 0 { None } else { Some(Fault::Alignment) };
            assert_eq!(run(&ins(op, a, 0, xyz), &r).err(), wanted, "{op} field {field} + {offset}");
        }
    }
    assert_eq!(attn(BLOCK, 0, [RAM + 2, RAM, RAM]), Err(Fault::Alignment));
    assert_eq!(attn(BLOCK, 0, [RAM, RAM + 2, RAM]), Err(Fault::Alignment));
    assert_eq!(attn(AttnBlock { k: BLOCK.k + 1, ..BLOCK }, 0, base), Err(Fault::Alignment));
    assert_eq!(attn(AttnBlock { v: BLOCK.v + 2, kv_format: 0, ..BLOCK }, 0, base), Err(Fault::Alignment));
    assert!(attn(AttnBlock { v: BLOCK.v + 2, ..BLOCK }, 0, base).is_ok());
    assert!(run(&ins(Gemv, 8, GEMV_F16, [RAM, RAM + 0x1000, RAM + 0x2002]), &r).is_ok());
}

#[test]
fn operands_outside_one_region_are_fault_2() {
    let r = regs([64, 1, 0], 1);
    let end = 0xC80_0000u32;
    assert_eq!(run(&ins(Gelu, 0, 0, [end - 252, 0, RAM]), &r), Err(Fault::Range));
    assert_eq!(run(&ins(Gelu, 0, 0, [0xBFF_FF80, 0, RAM]), &r), Err(Fault::Range));
    assert_eq!(run(&ins(Gelu, 0, 0, [RAM, 0, RAM - 4]), &r), Err(Fault::Range));
    assert!(run(&ins(Gelu, 0, 0, [end - 256, 0, RAM]), &r).is_ok());
    assert_eq!(
        attn(AttnBlock { v: end - 64, ..BLOCK }, 1, [RAM, RAM + 0x100, RAM + 0x200]),
        Err(Fault::Range)
    );
    let huge = regs([4096, u32::MAX, 0], 0);
    assert_eq!(run(&ins(Gemv, 0, 0, [RAM, RAM, RAM]), &huge), Err(Fault::Range));
    let rows = regs([1 << 20, 0, 0], u32::MAX);
    assert_eq!(run(&ins(Meanrows, 1, 0, [RAM, 0, RAM]), &rows), Err(Fault::Range));
}

#[test]
fn unknown_formats_are_fault_6() {
    for a in [3, 12, 255] {
        assert_eq!(run(&ins(Gemv, a, 0, [RAM, RAM, RAM]), &regs([32, 1, 0], 0)), Err(Fault::Format));
        assert_eq!(run(&ins(Deqrow, a, 0, [RAM, 0, RAM]), &regs([32, 1, 0], 0)), Err(Fault::Format));
    }
}

#[test]
fn when_several_faults_apply_the_order_is_1_6_3_2() {
    let far = 0xFFF_FFF1;
    let all = [far; 3];
    assert_eq!(run(&ins(Gemv, 99, 0, all), &regs([5000, 1, 0], 0)), Err(Fault::Illegal));
    assert_eq!(run(&ins(Gemv, 99, 0, all), &regs([32, 1, 0], 0)), Err(Fault::Format));
    assert_eq!(run(&ins(Gemv, 8, 0, all), &regs([32, 1, 0], 0)), Err(Fault::Alignment));
    assert_eq!(run(&ins(Gemv, 8, 0, [far, far - 1, far + 3]), &regs([32, 1, 0], 0)), Err(Fault::Range));
}

#[test]
fn an_operation_on_nothing_is_legal_anywhere_but_still_checked() {
    let far = 0x10;
    let c = run(&ins(Vadd, 0, 0, [far; 3]), &regs([0, 9, 9], 0)).unwrap();
    assert!(c.empty && c.xyz.iter().all(|s| s.len == 0));
    assert!(run(&ins(Gemv, 8, 0, [far; 3]), &regs([32, 0, 0], 0)).unwrap().empty);
    assert!(run(&ins(Gemv, 8, 0, [far; 3]), &regs([0, 32, 0], 0)).unwrap().empty);
    assert!(run(&ins(Meanrows, 1, 0, [far; 3]), &regs([32, 0, 0], 0)).unwrap().empty);
    assert_eq!(run(&ins(Vadd, 0, 0, [far + 1; 3]), &regs([0, 9, 9], 0)), Err(Fault::Alignment));
}

#[test]
fn a_destination_may_be_a_source_only_exactly() {
    let r = regs([64, 64, 0], 3);
    let (p, q) = (RAM, RAM + 0x1000);
    for (i, legal) in [
        (ins(Vadd, 0, 0, [p, q, p]), true),
        (ins(Vadd, 0, 0, [q, p, p]), true),
        (ins(Vadd, 0, 0, [p, p, p]), true),
        (ins(Vadd, 0, 0, [p, q, p + 4]), false),
        (ins(Vadd, 0, 0, [p + 4, q, p]), false),
        (ins(Vadd, 0, 0, [p, q, p + 256]), true),
        (ins(Layernorm, 0, 0, [q, p, p]), true),
        (ins(Layernorm, 0, 0, [q, p, p + 256]), false),
        (ins(Cvt16, 0, 0, [p, 0, p]), true),
        (ins(Cvt16, 0, 0, [p, 0, p + 128]), false),
        (ins(Meanrows, 1, 0, [p, 0, p]), true),
        (ins(Meanrows, 1, 0, [p, 0, p + 256]), false),
        (ins(Copy, 0, 0, [p, p, 64]), false),
        (ins(Copy, 0, 0, [p, p + 64, 64]), true),
        (ins(Deqrow, 0, 0, [p, 0, p]), false),
        (ins(Gemv, 1, 0, [q, p, p]), false),
        (ins(Gemv, 1, 0, [p, q, p + 64]), false),
        (ins(Rope, 0, 0, [p, p, 0]), false),
    ] {
        assert_eq!(run(&i, &r).err(), (!legal).then_some(Fault::Illegal), "{i:?}");
    }
    assert!(attn(BLOCK, 0, [p, q, q]).is_ok());
    assert_eq!(attn(BLOCK, 0, [p, q, p]), Err(Fault::Illegal));
    assert_eq!(attn(BLOCK, 0, [p, q, BLOCK.k]), Err(Fault::Illegal));
}
