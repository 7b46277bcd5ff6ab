//! Small pieces of VHDL, one a language construct, all with the same ports: each is synthesised and converted, all of
//! them go into one Verilated model, and its recording is replayed in GHDL's simulator.
//!
//! A probe in `probes/*.txt` starts with `== NAME EXPECTED`; lines that begin with `context`, `extra`, `declare`, `pre`
//! or `body` follow, and say what goes where in [`Probe::vhdl`]. EXPECTED is
//!
//! * `same`: the model does what GHDL's simulation does;
//! * `differs`: it does not, so nobody may write that (the silent rules of [`testbench::build::rules`]);
//! * `refused`: GHDL does not analyse or synthesise it;
//! * `unconverted`: the converter refuses it;
//! * `unsimulated`: it converts, but GHDL cannot simulate it.

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use testbench::build::{self, Design, Netlist, Options, Tools};
use testbench::ghdl2v;
use testbench::model::{Library, Model, record, replay};

/// Clocks of the recording of all good probes: each takes as long to replay as the model needs for thousands.
const CLOCKS: usize = 200;
/// Clocks after which each silent difference has been seen.
const SILENT_CLOCKS: usize = 600;

struct Probe {
    name: String,
    expected: String,
    context: String,
    extra: String,
    declare: String,
    pre: String,
    body: String,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("probes")
}

fn probes() -> Vec<Probe> {
    let mut out: Vec<Probe> = vec![];
    for file in ["arithmetic.txt", "constructs.txt", "second-round.txt"] {
        let text = std::fs::read_to_string(folder().join(file)).unwrap();
        for line in text.lines().filter(|l| !l.is_empty() && !l.starts_with('#')) {
            let (key, rest) = line.split_once(' ').unwrap_or((line, ""));
            if key == "==" {
                let (name, expected) = rest.split_once(' ').expect("a name and what is expected");
                let empty = String::new;
                out.push(Probe {
                    name: name.into(),
                    expected: expected.into(),
                    context: empty(),
                    extra: empty(),
                    declare: empty(),
                    pre: empty(),
                    body: empty(),
                });
                continue;
            }
            let probe = out.last_mut().expect("a probe before its lines");
            let field = match key {
                "context" => &mut probe.context,
                "extra" => &mut probe.extra,
                "declare" => &mut probe.declare,
                "pre" => &mut probe.pre,
                "body" => &mut probe.body,
                _ => panic!("{file}: {line}"),
            };
            writeln!(field, "{}", rest.replace("@DIR@", folder().to_str().unwrap())).unwrap();
        }
    }
    out
}

impl Probe {
    fn vhdl(&self) -> String {
        let Probe { name, context, extra, declare, pre, body, .. } = self;
        format!(
            "{extra}
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
{context}
entity pr_{name} is
  port (clk, rst : in std_logic; a, b, c : in std_logic_vector(31 downto 0); y : out std_logic_vector(63 downto 0));
end entity;
architecture rtl of pr_{name} is
  signal ua, ub, uc : unsigned(31 downto 0);
  signal u8, v8 : unsigned(7 downto 0);
  signal s8, t8 : signed(7 downto 0);
  signal n : natural range 0 to 15;
  signal i : integer range -8 to 7;
{declare}
begin
  ua <= unsigned(a); ub <= unsigned(b); uc <= unsigned(c);
  u8 <= unsigned(a(7 downto 0)); v8 <= unsigned(b(7 downto 0)); s8 <= signed(a(7 downto 0)); t8 <= signed(b(7 downto 0));
  n <= to_integer(unsigned(c(11 downto 8))); i <= to_integer(signed(c(15 downto 12)));
{pre}
{body}
end architecture;
"
        )
    }

    fn design(&self, work: &Path) -> Design {
        let file = work.join(format!("pr_{}.vhd", self.name));
        std::fs::write(&file, self.vhdl()).unwrap();
        Design { files: vec![file], top: format!("pr_{}", self.name), generics: vec![] }
    }
}

/// One entity with an instance of each probe; its outputs are named as they are.
fn together(name: &str, probes: &[&Probe], work: &Path) -> Design {
    let mut files: Vec<_> = probes.iter().flat_map(|p| p.design(work).files).collect();
    let (mut ports, mut instances) = (String::new(), String::new());
    for Probe { name, .. } in probes {
        write!(ports, "; y_{name} : out std_logic_vector(63 downto 0)").unwrap();
        writeln!(instances, "  u_{name} : entity work.pr_{name} port map (clk, rst, a, b, c, y_{name});")
            .unwrap();
    }
    let top = work.join(format!("{name}.vhd"));
    let text = format!(
        "library ieee;\nuse ieee.std_logic_1164.all;\nentity {name} is\n  port (clk, rst : in std_logic; a, b, c : in \
         std_logic_vector(31 downto 0){ports});\nend entity;\narchitecture rtl of {name} is\nbegin\n{instances}end architecture;\n"
    );
    std::fs::write(&top, text).unwrap();
    files.push(top);
    Design { files, top: name.into(), generics: vec![] }
}

/// Builds, runs random vectors with frequent special values, and records.
fn recorded(tools: &Tools, design: &Design, work: &Path, clocks: usize) -> record::Replay {
    let lib = work.join("lib");
    std::fs::create_dir_all(&lib).unwrap();
    build::design::analyse(tools, &lib, &design.files, &[]).unwrap();
    let (dump, _) = design.dump(tools, &lib).unwrap();
    let netlist = Netlist { verilog: ghdl2v::convert(&dump).unwrap(), notes: vec![] };
    let options = Options { optimise: 0, lint: false, ..Options::UNIT };
    let path = build::compile::library(tools, &design.top, &netlist, options).unwrap();
    let library = Library::load(&path, design, &netlist.verilog, false).unwrap();
    let mut model = Model::new(&library);
    model.record(work.join("recording")).unwrap();
    let [rst, a, b, c] = ["rst", "a", "b", "c"].map(|p| model.port(p));
    let mut random = Pcg64Mcg::seed_from_u64(7);
    let mut word = || {
        let r = random.next_u64();
        match r % 10 {
            0 => [0, 0xFFFF_FFFF, 0x8000_0000, 0x7FFF_FFFF, 1, 0x80, 0x7F, 0xFF][(r >> 40) as usize % 8],
            1 | 2 => r >> 56,
            _ => r >> 32,
        }
    };
    for k in 0..clocks {
        let (va, mut vb, vc, how) = (word(), word(), word(), word());
        match how % 16 {
            0 | 1 => vb = va,
            2 | 3 => vb = va & !0xFF | vb & 0xFF,
            _ => {}
        }
        model.set(rst, u64::from(k < 2 || how % 31 == 5));
        for (port, value) in [(a, va), (b, vb), (c, vc)] {
            model.set(port, value);
        }
        model.tick();
    }
    model.end_record().unwrap().unwrap()
}

#[test]
fn converted_probes_do_what_ghdl_simulates() {
    let Some(tools) = Tools::or_skip("probes") else { return };
    let work = tempfile::tempdir().unwrap();
    let all = probes();
    let good: Vec<_> = all.iter().filter(|p| p.expected == "same").collect();
    let design = together("probes_same", &good, work.path());
    let recording = recorded(&tools, &design, work.path(), CLOCKS);
    let said = replay(&tools, &recording).unwrap();
    println!("{} probes: {said}", good.len());
    assert!(good.len() >= 400);
}

#[test]
fn silent_differences_are_the_known_ones() {
    let Some(tools) = Tools::or_skip("probes") else { return };
    let work = tempfile::tempdir().unwrap();
    let all = probes();
    let silent: Vec<_> = all.iter().filter(|p| p.expected == "differs").collect();
    let design = together("probes_differ", &silent, work.path());
    let recording = recorded(&tools, &design, work.path(), SILENT_CLOCKS);
    let mut known: Vec<_> = silent.iter().map(|p| format!("y_{}", p.name)).collect();
    known.sort();
    assert_eq!(record::differing(&tools, &recording).unwrap(), known);
}

#[test]
fn refusals_are_the_known_ones() {
    let Some(tools) = Tools::or_skip("probes") else { return };
    let work = tempfile::tempdir().unwrap();
    for p in probes().iter().filter(|p| !["same", "differs"].contains(&p.expected.as_str())) {
        let (design, lib) = (p.design(work.path()), work.path().join(&p.name));
        std::fs::create_dir_all(&lib).unwrap();
        let dump = build::design::analyse(&tools, &lib, &design.files, &[])
            .and_then(|()| Ok(design.dump(&tools, &lib)?.0))
            .map(|dump| ghdl2v::convert(&dump));
        let got = match dump {
            Err(_) => "refused",
            Ok(Err(_)) => "unconverted",
            Ok(Ok(_)) => {
                let mut simulation = Command::new(&tools.ghdl);
                simulation.args(["-r", "--std=08"]).arg(build::design::workdir(&lib)).arg(&design.top);
                let done = build::tools::run(simulation.arg("--stop-time=1ns"));
                if done.is_err() { "unsimulated" } else { "converted" }
            }
        };
        assert_eq!(got, p.expected, "{}", p.name);
    }
}
