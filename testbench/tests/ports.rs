//! A small master in VHDL (`hdl/tb/lump_copy.vhd`) on both RAMs: models, checkers, recording, replay and waveforms.

use std::path::Path;
use std::sync::Arc;
use testbench::build::{Design, Options, Tools, build};
use testbench::memory::{Checker, Memory, Pins, Ram};
use testbench::model::{Library, Model, replay};

const SIZE: usize = 1 << 16;

struct Bench {
    model: Model,
    sides: [(Pins, Ram, Checker); 2],
}

impl Bench {
    fn new(library: &Arc<Library>, mode: Memory, seed: u64) -> Self {
        let model = Model::new(library);
        let side = |prefix, timing| {
            let mut checker = Checker::new(prefix, SIZE as u32);
            checker.asked();
            (Pins::new(&model, prefix), Ram::new(SIZE, timing, seed), checker)
        };
        let mut sides = [side("hr", mode.hyper()), side("sd", mode.sdram())];
        sides[0].1.bytes_mut().iter_mut().enumerate().for_each(|(k, b)| *b = (k * 7 + k / 256) as u8);
        let mut bench = Bench { model, sides };
        bench.set("reset", 1);
        bench.cycle();
        bench.set("reset", 0);
        bench
    }

    fn set(&mut self, name: &str, value: u64) {
        let port = self.model.port(name);
        self.model.set(port, value);
    }

    fn cycle(&mut self) {
        for (pins, ram, _) in &self.sides {
            pins.set(&mut self.model, ram.out());
        }
        self.model.settle();
        for (pins, ram, checker) in &mut self.sides {
            let master = pins.get(&self.model);
            checker.edge(master, ram.out()).unwrap();
            ram.edge(master);
        }
        self.model.rise(&[]);
    }

    fn copy(&mut self, src: u64, dst: u64, count: u64) -> u64 {
        for (name, value) in [("src", src), ("dst", dst), ("count", count), ("start", 1)] {
            self.set(name, value);
        }
        self.cycle();
        self.set("start", 0);
        let busy = self.model.port("busy");
        let mut cycles = 1;
        while self.model.is_set(busy) {
            self.cycle();
            cycles += 1;
            assert!(cycles < 200_000, "the copy hangs");
        }
        cycles
    }
}

fn library(tools: &Tools, options: Options) -> Arc<Library> {
    let files = vec![testbench::build::design::hdl().join("tb/lump_copy.vhd")];
    let design = Design { files, top: "lump_copy".into(), generics: vec![] };
    build(tools, &design, options).unwrap()
}

#[test]
fn bytes_are_copied_in_every_mode_and_ghdl_agrees() {
    let Some(tools) = Tools::or_skip("ports") else { return };
    let library = library(&tools, Options::UNIT);
    let folder = tempfile::tempdir().unwrap();
    for (k, mode) in Memory::SOUND.into_iter().enumerate() {
        let mut bench = Bench::new(&library, mode, 7 + k as u64);
        bench.model.record(folder.path().join("recording")).unwrap();
        for (src, dst, count) in [(0, 0, 256), (0x108, 0x2F8, 1000), (0xFFF8, 0x800, 8), (0x400, 0xFF00, 256)]
        {
            bench.copy(src, dst, count);
            let (from, to) = (src as usize..(src + count) as usize, dst as usize..(dst + count) as usize);
            assert_eq!(bench.sides[1].1.bytes()[to], bench.sides[0].1.bytes()[from], "{mode}");
        }
        assert_eq!(bench.sides[1].1.bytes_written, 256 + 1000 + 8 + 256);
        let recording = bench.model.end_record().unwrap().unwrap();
        println!("{mode}: {}", replay(&tools, &recording).unwrap());
    }
}

#[test]
fn a_replay_that_differs_is_told_with_clock_port_and_values() {
    let Some(tools) = Tools::or_skip("ports") else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("recording");
    let mut bench = Bench::new(&library(&tools, Options::UNIT), Memory::Sdram, 1);
    bench.model.record(path.clone()).unwrap();
    bench.copy(0, 0, 64);
    let recording = bench.model.end_record().unwrap().unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    // The last output in a line is sd_wdata_be, always 3.
    let altered: Vec<String> = text
        .lines()
        .enumerate()
        .map(
            |(k, line)| if k == 40 { line.strip_suffix('3').unwrap().to_string() + "1" } else { line.into() },
        )
        .collect();
    std::fs::write(&path, altered.join("\n")).unwrap();
    let told = replay(&tools, &recording).unwrap_err().to_string();
    assert!(told.contains("clock 40: sd_wdata_be is 3 in GHDL, 1 in the recording"), "{told}");
}

#[test]
fn a_read_error_is_seen_by_the_master() {
    let Some(tools) = Tools::or_skip("ports") else { return };
    let library = library(&tools, Options::UNIT);
    let failed = (0..40)
        .filter(|&seed| {
            let mut bench = Bench::new(&library, Memory::Errors, seed);
            bench.copy(0, 0, 1024);
            let seen = bench.model.is_set(bench.model.port("failed"));
            assert_eq!(seen, bench.sides[0].1.errors > 0);
            seen
        })
        .count();
    assert!((1..20).contains(&failed), "{failed}");
}

#[test]
fn waveforms_are_written() {
    let Some(tools) = Tools::or_skip("ports") else { return };
    let folder = tempfile::tempdir().unwrap();
    let path: &Path = &folder.path().join("copy.fst");
    let mut bench = Bench::new(&library(&tools, Options::UNIT.traced()), Memory::Sdram, 1);
    bench.model.waves_on(path);
    bench.copy(0, 0, 64);
    drop(bench);
    let fst = std::fs::read(path).unwrap();
    // A header block comes first.
    assert!(fst.len() > 500 && fst[0] == 0, "{} bytes", fst.len());
}
