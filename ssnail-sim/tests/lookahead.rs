//! Turns of a script's loop side by side, repacked weights, kernels and threads: converted models leave the same RAM
//! and registers, to the bit, as turn by turn, and in hardware numerics as the plain versions.

use ssnail_convert::convert::{Conversion, ConvertOptions};
use ssnail_convert::gguf::Gguf;
use ssnail_convert::synth::SynthModel;
use ssnail_isa::Format;
use ssnail_isa::image::{Architecture, Image};
use ssnail_sim::hardware::Plain;
use ssnail_sim::{Float, Hardware, Numerics, Session};
use std::ops::ControlFlow;

/// Longer than the turns that run side by side at a time, and no multiple of them.
const PROMPT: u32 = 101;
const GENERATED: u32 = 4;

fn image_of(arch: Architecture) -> Vec<u8> {
    let model = SynthModel { context: 120, weights: Format::Q8_0, ..SynthModel::tiny(arch) };
    let gguf = Gguf::from_bytes(model.to_gguf().to_bytes()).unwrap();
    Conversion::plan(&gguf, &ConvertOptions::default()).unwrap().to_bytes().unwrap()
}

/// Everything that a run leaves: bytes of RAM by region, registers, counts, and the instructions that ran ahead.
fn run(image: &[u8], numerics: Box<dyn Numerics + Send>, turn_by_turn: bool) -> (String, Vec<u8>, u64) {
    let image = Image::parse(image).unwrap();
    let mut session = Session::load(&image, None, numerics).unwrap();
    if turn_by_turn {
        session.machine_mut().set_observer(Some(Box::new(|_| ())));
    }
    let n_vocab = session.header().n_vocab;
    let prompt: Vec<u32> = (0..PROMPT).map(|i| (i * 7919 + 11) % n_vocab).collect();
    session.push(&prompt).unwrap();
    if image.is_encoder() {
        session.embed().unwrap();
        // Loops that ran side by side before are tried from their first turn on.
        session.embed().unwrap();
    } else {
        session.generate(GENERATED, |_| ControlFlow::Continue(())).unwrap();
    }
    let machine = session.machine();
    let ram = machine.memory().map().regions().iter();
    let ram = ram.flat_map(|r| machine.memory().get(r.base, r.size.into()).unwrap()).copied().collect();
    (format!("{:?} {:?}", machine.registers(), machine.stats()), ram, machine.instructions_ahead())
}

fn check(arch: Architecture) {
    let image = image_of(arch);
    let same = |fast: Box<dyn Numerics + Send>, slow: Box<dyn Numerics + Send>, turn_by_turn| {
        let (state, ram, ahead) = run(&image, fast, false);
        let (want_state, want_ram, none) = run(&image, slow, turn_by_turn);
        assert!(ahead > 0, "nothing ran side by side");
        assert_eq!((state, none), (want_state, 0));
        assert!(ram == want_ram, "RAM differs");
    };
    same(Box::new(Hardware::new()), Box::new(Plain), false);
    same(Box::new(Float::new()), Box::new(Float::new()), true);
}

#[test]
fn llama() {
    check(Architecture::Llama);
}

#[test]
fn gpt2() {
    check(Architecture::Gpt2);
}

#[test]
fn bert() {
    check(Architecture::Bert);
}

#[test]
fn weights_that_change_are_not_answered_from_a_copy() {
    let bytes = image_of(Architecture::Llama);
    let image = Image::parse(&bytes).unwrap();
    let mut sessions: [Session; 2] = [Box::new(Hardware::new()) as Box<dyn Numerics + Send>, Box::new(Plain)]
        .map(|numerics| Session::load(&image, None, numerics).unwrap());
    let mut seen = Vec::new();
    for round in 0..4u8 {
        let outputs = sessions.each_mut().map(|session| {
            session.clear().unwrap();
            session.push(&[3, 4, 5]).unwrap();
            session.advance().unwrap();
            let weights = session.header().weights;
            // Matrices come first, then what a job cannot do without.
            let span = (session.header().scratch - weights) / 2;
            // A byte in every weight's block, of all matrices: the low bits of values, never scales alone.
            for at in (weights..weights + span).step_by(61) {
                let memory = session.machine_mut().memory_mut();
                let old = memory.get(at, 1).unwrap()[0];
                memory.write(at, &[old ^ (1 + round)]).unwrap();
            }
            session.output().unwrap().iter().map(|v| v.to_bits()).collect::<Vec<_>>()
        });
        assert_eq!(outputs[0], outputs[1], "round {round}");
        seen.push(outputs[0].clone());
    }
    assert!(seen.windows(2).all(|w| w[0] != w[1]), "the weights were to change");
}
