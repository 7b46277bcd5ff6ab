//! Record and replay, the check of the checker: a line of hexadecimal numbers a clock (inputs, outputs before the edge,
//! other clocks after it), and a VHDL bench that feeds the inputs to the *original* VHDL in GHDL's simulator and compares
//! every output at every clock. It needs no memory model in VHDL.
//!
//! Bits that GHDL's simulation does not know (a register that nothing has written yet) are not compared, but counted.

use super::{Library, Model, Port};
use crate::build::design::{analyse, workdir};
use crate::build::tools::run;
use crate::build::{Error, Tools};
use crate::ghdl2v::netlist::Port as Declared;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

/// Inputs that are clocks by their names, the main ones first.
const CLOCKS: &[&str] = &["clock162", "clk", "cpuclock"];

/// A recording under way.
pub struct Recording {
    file: BufWriter<File>,
    replay: Replay,
    /// Ports in the order of a line, without clocks.
    line: Vec<(Port, u32)>,
    /// Clocks besides the main one.
    others: Vec<Port>,
    failed: Option<std::io::Error>,
}

/// What is needed to replay a recording.
#[derive(Debug, Clone)]
pub struct Replay {
    /// The recording.
    pub path: PathBuf,
    /// Clocks in it.
    pub clocks: u64,
    library: Arc<Library>,
}

fn is_clock(p: &Declared) -> bool {
    CLOCKS.contains(&p.name.as_str())
}

/// The main clock's name, and those of the others.
fn clocks(library: &Library) -> (&str, Vec<&str>) {
    let has = |name: &&&str| library.inputs.iter().any(|p| p.name == **name);
    let mut found = CLOCKS.iter().filter(has).copied();
    (found.next().unwrap_or("clk"), found.collect())
}

impl Recording {
    pub(super) fn new(library: &Arc<Library>, path: PathBuf) -> Result<Self, Error> {
        let file = BufWriter::new(File::create(&path).map_err(Error::file(&path))?);
        let index = |name: &str| library.inputs.iter().position(|p| p.name == name);
        let ports = library.inputs.iter().chain(&library.outputs).enumerate();
        let line = ports.filter(|(_, p)| !is_clock(p)).map(|(k, p)| (Port(k as u16), p.width)).collect();
        let others = clocks(library).1.into_iter().filter_map(index).map(|k| Port(k as u16)).collect();
        let replay = Replay { path, clocks: 0, library: library.clone() };
        Ok(Recording { file, replay, line, others, failed: None })
    }

    pub(super) fn line(&mut self, model: &Model, others: &[(Port, u64)]) {
        let mut text = String::new();
        for &(port, width) in &self.line {
            let digits = width.div_ceil(4) as usize;
            if width <= 64 {
                write!(text, "{:0digits$x} ", model.get(port)).expect("writing to a string");
            } else {
                let all: String = model.get_wide(port).iter().rev().map(|w| format!("{w:08x}")).collect();
                text += &all[all.len() - digits..];
                text.push(' ');
            }
        }
        for &port in &self.others {
            let value = others.iter().find(|(p, _)| *p == port).map_or_else(|| model.get(port), |&(_, v)| v);
            write!(text, "{value:x} ").expect("writing to a string");
        }
        self.replay.clocks += 1;
        if let Err(e) = writeln!(self.file, "{}", text.trim_end()) {
            self.failed.get_or_insert(e);
        }
    }

    pub(super) fn finish(mut self) -> Result<Replay, Error> {
        let flushed = self.failed.take().map_or_else(|| self.file.flush(), Err);
        flushed.map_err(Error::file(&self.replay.path)).map(|()| self.replay)
    }
}

/// Replays a recording on the VHDL in GHDL's simulator; gives GHDL's sentence, `SAME over N clocks`.
///
/// # Errors
/// [`Error::Tool`] with clock, port and both values where they differ.
pub fn replay(tools: &Tools, r: &Replay) -> Result<String, Error> {
    let text = simulate(tools, r, false)?;
    let sentence = format!("SAME over {} clocks", r.clocks);
    match text.split_once(&sentence) {
        Some((_, rest)) => Ok(sentence + rest.lines().next().unwrap_or("")),
        None => Err(Error::Tool { command: "ghdl -r ssnail_replay".into(), output: text }),
    }
}

/// Names of all outputs that differ anywhere in a recording, ascending.
///
/// # Errors
/// What GHDL says, when it does not come to the end.
pub fn differing(tools: &Tools, r: &Replay) -> Result<Vec<String>, Error> {
    let text = simulate(tools, r, true)?;
    let name =
        |l: &str| Some(l.split_once("): clock ")?.1.split_once(": ")?.1.split_once(" is ")?.0.to_string());
    let names: std::collections::BTreeSet<_> = text.lines().filter_map(name).collect();
    Ok(names.into_iter().collect())
}

/// What GHDL says while it replays.
fn simulate(tools: &Tools, r: &Replay, keep_going: bool) -> Result<String, Error> {
    let design = &r.library.design;
    let work = tempfile::tempdir().map_err(Error::file("temporary folder"))?;
    analyse(tools, work.path(), &design.files, &[])?;
    let bench = work.path().join("replay.vhd");
    std::fs::write(&bench, bench_text(&r.library)).map_err(Error::file(&bench))?;
    analyse(tools, work.path(), &[bench], &[])?;
    let mut command = Command::new(&tools.ghdl);
    command.args(["-r", "--std=08"]).arg(workdir(work.path())).arg("ssnail_replay");
    command.arg(format!("-gFILE_NAME={}", r.path.display())).arg("--ieee-asserts=disable");
    command.arg(format!("-gKEEP_GOING={keep_going}"));
    let output = run(&mut command)?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr))
}

/// The bench.
fn bench_text(library: &Library) -> String {
    let (clock, others) = clocks(library);
    let (mut signals, mut variables, mut read, mut compare, mut map) =
        (String::new(), String::new(), String::new(), String::new(), vec![]);
    let inputs = library.inputs.iter().filter(|p| !is_clock(p)).map(|p| (p, true));
    let outputs = library.outputs.iter().map(|p| (p, false));
    for (Declared { name, width }, input) in inputs.chain(outputs) {
        let top = width - 1;
        signals += &format!("  signal s_{name} : std_logic_vector({top} downto 0) := (others => '0');\n");
        variables +=
            &format!("    variable v_{name} : std_logic_vector({} downto 0);\n", width.div_ceil(4) * 4 - 1);
        read += &format!("      hread(l, v_{name});\n");
        if input {
            read += &format!("      s_{name} <= v_{name}({top} downto 0);\n");
        } else {
            compare += &format!("      same(\"{name}\", s_{name}, v_{name}({top} downto 0), k);\n");
        }
        map.push(if *width == 1 { format!("{name} => s_{name}(0)") } else { format!("{name} => s_{name}") });
    }
    let mut edge = String::new();
    for name in &others {
        signals += &format!("  signal s_{name} : std_logic := '0';\n");
        variables += &format!("    variable v_{name} : std_logic_vector(3 downto 0);\n");
        read += &format!("      hread(l, v_{name});\n");
        edge += &format!("      s_{name} <= v_{name}(0);\n");
        map.push(format!("{name} => s_{name}"));
    }
    let has_clock = library.inputs.iter().any(|p| p.name == clock);
    if has_clock {
        map.push(format!("{clock} => main_clock"));
    }
    let design = &library.design;
    let generics: Vec<_> = design.generics.iter().map(|(k, v)| format!("{k} => {v}")).collect();
    let generics =
        if generics.is_empty() { String::new() } else { format!("generic map ({})", generics.join(", ")) };
    format!(
        "library ieee;
use ieee.std_logic_1164.all;
use std.textio.all;
entity ssnail_replay is
  generic (FILE_NAME : string := \"\"; KEEP_GOING : boolean := false);
end entity;
architecture sim of ssnail_replay is
  signal main_clock : std_logic := '0';
{signals}begin
  dut : entity work.{top} {generics} port map ({map});
  process
    file f : text open read_mode is FILE_NAME;
    variable l : line;
    variable k : natural := 0;
    variable unknown : natural := 0;
    variable bad : boolean := false;
{variables}
    procedure same(name : string; here, there : std_logic_vector; k : natural) is
      variable differs : boolean := false;
    begin
      if here = there then
        return;
      end if;
      for b in here'range loop
        if is_x(here(b)) then
          unknown := unknown + 1;
        elsif to_x01(here(b)) /= there(b) then
          differs := true;
        end if;
      end loop;
      if differs then
        report \"clock \" & integer'image(k) & \": \" & name & \" is \" & to_hstring(here) & \" in GHDL, \" & to_hstring(there) & \" in the recording\" severity error;
        bad := true;
      end if;
    end procedure;
  begin
    while not endfile(f) loop
      readline(f, l);
{read}      wait for 5 ns;
{compare}      if bad and not KEEP_GOING then
        report \"DIFFERENT\" severity failure;
      end if;
      main_clock <= '1';
{edge}      wait for 5 ns;
      main_clock <= '0';
      k := k + 1;
    end loop;
    report \"SAME over \" & integer'image(k) & \" clocks, \" & integer'image(unknown) & \" unknown output bits\";
    wait;
  end process;
end architecture;
",
        top = design.top,
        map = map.join(", "),
    )
}
