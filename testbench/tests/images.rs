//! Images in lockstep, loaded through the load port: one made by hand whose script has scalar instructions only, and the
//! emulator's hand-made decoder as soon as the RTL has what it needs.

mod support;

#[path = "../../ssnail-sim/tests/support/mod.rs"]
mod made;

use ssnail_isa::Opcode;
use ssnail_isa::image::Image;
use ssnail_isa::image::runtime::addr;
use support::lockstep;
use testbench::lockstep::{End, image};
use testbench::memory::Memory;
use testbench::programs::NOT_YET;

/// What follows a token stands in a table of u32.
const SCALAR: &str = "
        LDR     R1, 0x8000040           ; pos
        LDR     R2, 0x8000044           ; prompt_len
        LDR     R3, 0x8000048           ; n_generate
        LI      R4, 0                   ; generated
        STR     R4, 0x800004C
loop:   LEA     A1, R1, 0x8001000, 4
        LDR     R6, [A1]
        LEA     A2, R6, 0x8006000, 4
        LDR     R7, [A2]
        ADDI    R1, R1, 1
        BLT     R1, R2, next
        STR     R7, [A1+4]
        ADDI    R4, R4, 1
        STR     R4, 0x800004C
        SYNC
        LI      R10, 2
        LI      R9, 1                   ; EOS
        BEQ     R7, R9, stop
        LI      R10, 1
        BEQ     R4, R3, stop
        LI      R10, 4
        LDR     R9, 0x8000050           ; stop_request
        BNE     R9, R15, stop
next:   STR     R1, 0x8000040
        BEQ     R15, R15, loop
stop:   STR     R1, 0x8000040
        STR     R10, 0x8000054
        SYNC
        HALT
";

fn scalar_image() -> Vec<u8> {
    let table: Vec<f32> = made::FOLLOWS.iter().map(|&t| f32::from_bits(t)).collect();
    made::image(0, SCALAR, &table, (made::SCRATCH, 8))
}

#[test]
fn an_image_is_loaded_and_generates() {
    for memory in [Memory::Sdram, Memory::HyperSlow, Memory::Contention] {
        let Some(mut lock) = lockstep(memory, 5) else { return };
        let bytes = scalar_image();
        let image = Image::parse(&bytes).unwrap();
        image::load(&mut lock, &image, true).unwrap();
        let s = image::run(&mut lock, image.header(), &[0, 2], 10, |_| {}).unwrap();
        assert_eq!((s.tokens.as_slice(), s.reason, s.end), (&[0, 2, 3, 4, 5, 6, 7, 1][..], 2, End::Halt));
        println!("{memory}: {} instructions, {} cycles of the job", s.instructions, s.job_cycles);
    }
}

#[test]
fn a_stop_request_ends_it_after_the_token() {
    let Some(mut lock) = lockstep(Memory::Sdram, 5) else { return };
    let bytes = scalar_image();
    let image = Image::parse(&bytes).unwrap();
    image::load(&mut lock, &image, false).unwrap();
    let mut syncs = 0;
    let s = image::run(&mut lock, image.header(), &[0], 10, |lock| {
        syncs += 1;
        // Both sides see it at the same instruction: the chip is at the SYNC, and reads it some instructions later.
        if syncs == 2 {
            lock.write_ram(addr::STOP_REQUEST, &1u32.to_le_bytes());
        }
    });
    let s = s.unwrap();
    assert_eq!((s.tokens.as_slice(), s.reason), (&[0, 2, 3][..], 4));
}

#[test]
fn the_hand_made_decoder_generates() {
    if [Opcode::Gemv, Opcode::Deqrow, Opcode::Argmax].iter().any(|op| NOT_YET.contains(op)) {
        eprintln!("skipped: the RTL has no GEMV yet");
        return;
    }
    let Some(mut lock) = lockstep(Memory::Sdram, 5) else { return };
    let bytes = made::decoder();
    let image = Image::parse(&bytes).unwrap();
    image::load(&mut lock, &image, true).unwrap();
    let s = image::run(&mut lock, image.header(), &[0], 5, |_| {}).unwrap();
    assert_eq!((s.tokens.as_slice(), s.reason), (&[0, 2, 3, 4, 5, 6][..], 1));
}
