//! `testbench area`: yosys' synthesis for Artix-7, per entity and whole. LUT cells are an upper bound and estimated logic
//! cells a lower one; the delay is that of logic alone, from register to register or port, without routing.

use super::Verdict;
use crate::build::tools::{in_path, run};
use crate::build::{Design, Error, Tools};
use anyhow::{Context, bail};
use std::path::Path;
use std::process::Command;

/// The most that the whole may take: LUT, DSP, block RAM of 36 kbit, and delay in ps.
const LIMITS: (u64, u64, f64, u64) = (30_000, 64, 60.0, 3_100);

/// Arguments.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Entities [default: all in hdl/files.txt that are no packages, boards or benches]
    #[arg(value_name = "ENTITY")]
    entities: Vec<String>,
    /// Leave out the logic delay
    #[arg(long)]
    no_delay: bool,
}

/// Figures of an entity.
#[derive(Debug, Clone, Default, PartialEq)]
struct Area {
    lut: u64,
    logic_cells: u64,
    ff: u64,
    carry: u64,
    dsp: u64,
    /// Block RAM in units of 36 kbit.
    ram: f64,
    latches: u64,
    /// Longest path in ps.
    delay: Option<u64>,
}

pub(super) fn main(args: &Args) -> anyhow::Result<Verdict> {
    let tools = Tools::find()?;
    let yosys = in_path("yosys").ok_or(Error::Missing { tool: "yosys" })?;
    let entities = if args.entities.is_empty() { entities()? } else { args.entities.clone() };
    if entities.is_empty() {
        bail!("hdl/files.txt lists no entity");
    }
    let mut good = true;
    println!(
        "| entity | LUT | logic cells (est.) | FF | CARRY4 | DSP48E1 | RAMB36 | longest path, logic only |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|");
    for entity in &entities {
        let design = Design::hdl(entity)?;
        let netlist = design.synthesise(&tools)?;
        let folder = tempfile::tempdir().context("temporary folder")?;
        let file = folder.path().join("model.v");
        std::fs::write(&file, &netlist.verilog.text).context("model.v")?;
        let a = area(&yosys, &file, entity, !args.no_delay)?;
        let delay = a.delay.map_or_else(String::new, |d| format!("{:.2} ns", d as f64 / 1000.0));
        println!(
            "| {entity} | {} | {} | {} | {} | {} | {} | {delay} |",
            a.lut, a.logic_cells, a.ff, a.carry, a.dsp, a.ram
        );
        if a.latches > 0 {
            eprintln!("{entity}: {} latches", a.latches);
            good = false;
        }
        if a.lut > LIMITS.0 || a.dsp > LIMITS.1 || a.ram > LIMITS.2 || a.delay.is_some_and(|d| d > LIMITS.3) {
            eprintln!(
                "{entity}: above the limits of {} LUT, {} DSP, {} RAMB36, {} ps",
                LIMITS.0, LIMITS.1, LIMITS.2, LIMITS.3
            );
        }
    }
    Ok(if good { Verdict::Good } else { Verdict::Different })
}

/// Entities by their files' names: one entity a file, of the same name.
fn entities() -> anyhow::Result<Vec<String>> {
    let files = Design::hdl("")?.files;
    let names = files.iter().filter_map(|f| {
        let folder = f.parent()?.file_name()?.to_str()?;
        let name = f.file_stem()?.to_str()?;
        (!["pkg", "tb", "mega65"].contains(&folder) && !name.ends_with("_pkg")).then(|| name.to_string())
    });
    Ok(names.collect())
}

fn area(yosys: &Path, verilog: &Path, top: &str, delay: bool) -> anyhow::Result<Area> {
    let read = format!("read_verilog {}", verilog.display());
    let script = format!("{read}; synth_xilinx -family xc7 -top {top}; tee -o /dev/stdout stat -tech xilinx");
    let said = run(Command::new(yosys).args(["-q", "-p", &script]))?;
    let mut area = parse(&String::from_utf8_lossy(&said.stdout));
    if delay {
        let script = format!(
            "{read}; synth_xilinx -family xc7 -flatten -abc9 -top {top}; read_verilog -lib -specify +/xilinx/cells_sim.v; tee -o /dev/stdout sta"
        );
        // yosys 0.23 dies on paths that end in a block RAM's address; such an entity has no figure.
        area.delay = run(Command::new(yosys).args(["-q", "-p", &script]))
            .ok()
            .and_then(|said| longest(&String::from_utf8_lossy(&said.stdout)));
    }
    Ok(area)
}

/// Counts of cells: the last table is that of the whole hierarchy, or of the only module.
fn parse(stat: &str) -> Area {
    let last = stat.rsplit("=== ").next().unwrap_or("");
    let mut a = Area::default();
    for line in last.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (name, n) = match words.as_slice() {
            ["Estimated", "number", "of", "LCs:", n] => ("LC", n),
            [name, n] => (*name, n),
            _ => continue,
        };
        let Ok(n) = n.parse::<u64>() else { continue };
        match name {
            "LC" => a.logic_cells = n,
            _ if name.starts_with("LUT")
                || name.starts_with("SRL")
                || name.starts_with("RAM32")
                || name.starts_with("RAM64") =>
            {
                a.lut += n;
            }
            "FDRE" | "FDSE" | "FDCE" | "FDPE" | "FDRE_1" | "FDSE_1" | "FDCE_1" | "FDPE_1" => a.ff += n,
            "CARRY4" => a.carry = n,
            "DSP48E1" => a.dsp = n,
            "RAMB36E1" => a.ram += n as f64,
            "RAMB18E1" => a.ram += n as f64 / 2.0,
            _ if name.starts_with("LD") => a.latches += n,
            _ => {}
        }
    }
    a
}

/// The longest path in `sta`'s report, in ps.
fn longest(sta: &str) -> Option<u64> {
    let after = |text: &str| text.split_whitespace().find_map(|w| w.trim_end_matches(':').parse().ok());
    sta.lines().find_map(|l| after(l.split_once("Latest arrival time in")?.1.split_once(" is ")?.1))
}

#[cfg(test)]
mod tests {
    use super::{Area, longest, parse};

    #[test]
    fn the_last_table_counts() {
        let stat = "=== a ===\n     LUT6   9\n=== design hierarchy ===\n   Number of cells: 30\n     CARRY4  2\n     FDRE 10\n     LUT2 3\n     LUT6 4\n     RAMB18E1 3\n     DSP48E1 1\n\n   Estimated number of LCs:  5\n";
        let expected =
            Area { lut: 7, logic_cells: 5, ff: 10, carry: 2, dsp: 1, ram: 1.5, latches: 0, delay: None };
        assert_eq!(parse(stat), expected);
        assert_eq!(parse("=== x ===\n  LDCE 2\n").latches, 2);
    }

    #[test]
    fn the_longest_path_is_found() {
        assert_eq!(longest("Latest arrival time in 'top' is 2817:\n"), Some(2817));
        assert_eq!(longest("nothing"), None);
    }
}
