//! Traces: golden ones of small scripts and of a small model, and the command line that writes, shows and compares them.

mod support;

use ssnail_convert::convert::{Conversion, ConvertOptions};
use ssnail_convert::gguf::Gguf;
use ssnail_convert::synth::SynthModel;
use ssnail_isa::check::AttnBlock;
use ssnail_isa::image::{Architecture, Image};
use ssnail_isa::map::Board;
use ssnail_isa::text::assemble;
use ssnail_isa::trace::{Reader, Record, compare};
use ssnail_sim::machine::Machine;
use ssnail_sim::{Float, Memory, Session};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};

const SCRIPT: u32 = 0x800_5000;

/// Has a machine's records put into a list.
fn record_into(machine: &mut Machine) -> Arc<Mutex<Vec<Record>>> {
    let records = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&records);
    machine.set_observer(Some(Box::new(move |o| sink.lock().unwrap().push(o.record()))));
    records
}

/// A machine with a script that is about to run.
fn machine(text: &str, memory: &[(u32, &[u8])]) -> Machine {
    let mut m = Machine::new(Memory::new(Board::R3).unwrap(), Box::new(Float::new()));
    m.memory_mut().write(SCRIPT, &assemble(text, SCRIPT).unwrap().bytes).unwrap();
    memory.iter().for_each(|(addr, bytes)| m.memory_mut().write(*addr, bytes).unwrap());
    m.go(SCRIPT);
    m
}

/// The trace of a script, as lines, whether it ends in HALT or in a fault.
fn lines(text: &str, memory: &[(u32, &[u8])]) -> String {
    let mut m = machine(text, memory);
    let records = record_into(&mut m);
    let _ = m.run(1000, |_| ControlFlow::Continue(()));
    let records = records.lock().unwrap();
    records.iter().map(|r| format!("{r}\n")).collect()
}

fn f32s(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

#[test]
fn integers_branches_and_copies() {
    let text = "
        LI      R1, 7
        LI      R1, 7                   ; changes nothing
        LI      R15, 7
        LDR     R2, 0x8010000
        ADDI    R3, R2, -1
        LEA     A1, R1, 0x8010000, 16
        LEA     A2, R15, [A1+0x90], 0
        STR     R3, [A2]
        SETN    4, 0, 0x3727C5AC
        COPY    0x8010000, 0x8020000, 32
        COPY    0x8010000, 0x8020000, 40
        BLT     R1, R2, over
        NOP
over:   BEQ     R1, R2, over
        BNE     R1, R2, end
        NOP
end:    SYNC
        HALT
";
    let bytes: Vec<u8> = (1..=64).collect();
    insta::assert_snapshot!(lines(text, &[(0x801_0000, &bytes)]));
}

/// Floats whose results are exact whatever the order of a sum.
#[test]
fn vectors_and_matrices() {
    let text = "
        SETN    4, 2, 0
        VADD    0x8010000, 0x8010010, 0x8020000
        VMUL    0x8010000, 0x8010010, 0x8020000
        GEMV    F32, 0x8010000, 0x8010010, 0x8020100
        GEMV.ACC F32, 0x8010000, 0x8010010, 0x8020100
        GEMV.F16 F32, 0x8010000, 0x8010010, 0x8020200
        CVT16   0x8010000, 0x8020300
        DEQROW  F16, 0x8020300, 0x8020400
        ARGMAX  R1, 0x8010000
        LI      R2, 2
        MEANROWS R2, 0x8010000, 0x8020500
        LI      R2, 0
        MEANROWS R2, 0x8010000, 0x8020500
        ROPE    0x8010000, 0x8010020
        ATTN    R2, 0x8010040, 0x8010000, 0x8020600
        SETN    16, 0, 0
        VADD    0x8010000, 0x8010000, 0x8020700
        SETN    0, 0, 0
        VADD    0x8010000, 0x8010000, 0x8020700
        HALT
";
    let block =
        AttnBlock { k: 0x801_0000, v: 0x801_0010, n_heads: 2, n_kv_heads: 1, head_dim: 2, kv_format: 0 };
    let values = [1.0, -2.0, 3.0, 0.5, 2.0, 4.0, -1.0, 8.0, 0.0, 1.0];
    let block: Vec<u8> = block.words().iter().flat_map(|w| w.to_le_bytes()).collect();
    insta::assert_snapshot!(lines(text, &[(0x801_0000, &f32s(&values)), (0x801_0040, &block)]));
}

#[test]
fn faults_are_the_last_record() {
    let all = [
        "LI R1, 1\n.bytes 2A 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00",
        "SETN 4, 4, 0\nGEMV 77, 0x8010000, 0x8020000, 0x8030000",
        "STR R1, 0x8010002",
        "LDR R1, 0x8800000",
        "BEQ R0, R0, 0x9000000",
        "BEQ R0, R0, 0x8005008",
    ];
    insta::assert_snapshot!(all.map(|text| lines(text, &[])).join("\n"));
}

#[test]
fn an_abort_is_a_record_and_numbers_go_on_over_jobs() {
    let mut m = machine("SYNC\nLI R1, 1\nHALT", &[]);
    let records = record_into(&mut m);
    m.run(9, |_| ControlFlow::Break(())).unwrap_err();
    m.go(SCRIPT + 16);
    m.run(9, |_| ControlFlow::Continue(())).unwrap();
    let text: Vec<String> = records.lock().unwrap().iter().map(Record::to_string).collect();
    insta::assert_snapshot!(text.join("\n"));
}

/// An instruction that writes over itself is traced as what it was.
#[test]
fn self_modification() {
    insta::assert_snapshot!(lines("COPY 0x8005010, 0x8005000, 16\nHALT", &[]));
}

/// A machine that is looked at does what another one does.
#[test]
fn observing_changes_nothing() {
    let image = support::decoder();
    let image = Image::parse(&image).unwrap();
    let run = |observed: bool| {
        let mut s = Session::load(&image, None, Box::new(Float::new())).unwrap();
        let records = observed.then(|| record_into(s.machine_mut()));
        s.push(&[0, 2]).unwrap();
        let mut tokens = Vec::new();
        s.generate(5, |t| {
            tokens.push(t);
            ControlFlow::Continue(())
        })
        .unwrap();
        let records = records.map(|r| r.lock().unwrap().len() as u64);
        let stats = s.machine().stats().clone();
        assert_eq!(records.unwrap_or(stats.instructions()), stats.instructions());
        (tokens, s.output().unwrap(), stats, s.machine().registers().clone())
    };
    assert_eq!(run(false), run(true));
}

/// The first instructions of a converted model. What arithmetic has written depends on numerics and is left out; the
/// rest follows from the model's shape and the layout of images.
#[test]
fn the_beginning_of_a_model() {
    let gguf = Gguf::from_bytes(SynthModel::tiny(Architecture::Llama).to_gguf().to_bytes()).unwrap();
    let bytes = Conversion::plan(&gguf, &ConvertOptions::default()).unwrap().to_bytes().unwrap();
    let image = Image::parse(&bytes).unwrap();
    let mut session = Session::load(&image, None, Box::new(Float::new())).unwrap();
    let records = record_into(session.machine_mut());
    session.push(&[5, 9]).unwrap();
    session.advance().unwrap();
    let records = records.lock().unwrap();
    let stable = |record: &Record| {
        let line = record.to_string();
        let arithmetic = record.word.is_some_and(|w| w[0] >= 0x10);
        let end = line.find(" digest=").filter(|_| arithmetic).unwrap_or(line.len());
        format!("{}\n", &line[..end])
    };
    insta::assert_snapshot!(records.iter().take(40).map(stable).collect::<String>());
}

struct Folder(tempfile::TempDir);

impl Folder {
    /// A folder with `d.ssnail`, a decoder, and `bad.ssnail`, the same with a fault in it.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let bad = support::spoiled_decoder("SETN    8, 8, 0", "SETN 8, 0x8000000, 0");
        std::fs::write(folder.path().join("d.ssnail"), support::decoder()).unwrap();
        std::fs::write(folder.path().join("bad.ssnail"), bad).unwrap();
        Folder(folder)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn sim(&self, args: &str) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ssnail-sim"));
        command.args(args.split_whitespace()).current_dir(self.path()).output().unwrap()
    }

    /// Exit status, standard output and standard error.
    fn run(&self, args: &str) -> (i32, String, String) {
        let output = self.sim(args);
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    fn records(&self, name: &str) -> Vec<Record> {
        let bytes = std::fs::read(self.path().join(name)).unwrap();
        Reader::new(&bytes).unwrap().collect::<Result<_, _>>().unwrap()
    }
}

#[test]
fn both_forms_of_a_run_say_the_same() {
    let f = Folder::new();
    let run = "d.ssnail --tokens 0,2 -n 2";
    assert_eq!(f.run(&format!("{run} --trace a.trace")), (0, "Once upon a\n".into(), String::new()));
    assert_eq!(f.run(&format!("{run} --trace a.txt --trace-text")).0, 0);
    let lines = std::fs::read_to_string(f.path().join("a.txt")).unwrap();
    for name in ["a.trace", "a.txt"] {
        assert_eq!(f.run(&format!("trace show {name}")), (0, lines.clone(), String::new()));
    }
    let n = lines.lines().count() - 1;
    let agree = format!("the traces agree: {n} records matched\n");
    assert_eq!(f.run("trace diff a.trace a.txt"), (0, agree, String::new()));
    assert!(lines.ends_with("\n") && f.records("a.trace").iter().map(|r| r.number).eq(0..n as u64));

    assert_eq!(f.run(&format!("{run} --trace w.trace --trace-from 7 --trace-count 5")).0, 0);
    assert_eq!(f.records("w.trace"), f.records("a.trace")[7..12]);
    assert_eq!(f.run(&format!("{run} --trace none.trace --trace-from 100000")).0, 0);
    assert_eq!(f.records("none.trace"), []);
    assert_eq!(f.run("trace diff none.trace none.trace").0, 1);
}

#[test]
fn the_first_difference_is_shown() {
    let f = Folder::new();
    for (name, tokens) in [("a", "0,2"), ("b", "0,3")] {
        let run = format!("d.ssnail --tokens {tokens} -n 2 --trace {name}");
        assert_eq!(f.run(&run).0, 0);
    }
    let (code, out, _) = f.run("trace diff a b --context 2");
    assert_eq!(code, 1);
    let want =
        compare(f.records("a").into_iter().map(Ok::<_, ()>), f.records("b").into_iter().map(Ok), 2).unwrap();
    assert_eq!(out, want.to_string());
    insta::assert_snapshot!(out);

    let whole = std::fs::read(f.path().join("a")).unwrap();
    assert_eq!(f.run("d.ssnail --tokens 0,2 -n 2 --trace short --trace-count 9").0, 0);
    for (args, end) in [("a short", "B has no more records"), ("short a", "A has no more records")] {
        let (code, out, _) = f.run(&format!("trace diff {args}"));
        assert!(code == 1 && out.contains(end) && out.ends_with("before: 9\n"), "{out}");
    }
    std::fs::write(f.path().join("cut"), &whole[..whole.len() - 1]).unwrap();
    std::fs::write(f.path().join("empty"), b"").unwrap();
    for (args, want) in [
        ("show cut", "cut: record at offset 0x"),
        ("diff a cut", "cut: record at offset 0x"),
        ("diff d.ssnail a", "d.ssnail: this is no SSNAIL trace"),
        ("show empty", "empty: this is no SSNAIL trace"),
        ("show missing", "missing: "),
    ] {
        let (code, _, err) = f.run(&format!("trace {args}"));
        assert!(code == 2 && err.contains(want), "{args}: {err}");
    }
}

#[test]
fn a_run_that_faults_leaves_its_trace() {
    let f = Folder::new();
    let (code, _, err) = f.run("bad.ssnail --tokens 2 --trace t");
    assert!(code == 2 && err.contains("fault 2 at PC"), "{err}");
    let records = f.records("t");
    assert_eq!(records.last().unwrap().fault, Some(ssnail_isa::Fault::Range));
    assert!(records.len() > 9 && records[..records.len() - 1].iter().all(|r| r.fault.is_none()));
    let (code, _, err) = f.run("d.ssnail --trace nowhere/t");
    assert!(code == 2 && err.contains("nowhere/t"), "{err}");
    let (code, out, err) = f.run("d.ssnail --trace-count 3");
    assert!(code == 2 && out.is_empty() && err.contains("--trace <FILE>"), "{err}");
    let (code, _, err) = f.run("");
    assert!(code == 2 && err.contains("<IMAGE>"), "{err}");
    let mut names: Vec<_> = std::fs::read_dir(f.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["bad.ssnail", "d.ssnail", "t"]);
}
