//! Memories. A memory's ports form a chain through their first output and input; its order is the order of effects, so
//! that a read before a write sees the old data, and one after it the new.

use super::constant::{Bit, literal};
use super::gates::input;
use super::netlist::{Instance, Net};
use super::scope::{Reason, Scope, range};
use super::writer::Body;
use std::fmt::Write;

/// Whether a gate is a memory, or a port that is written with its memory.
pub(super) fn is_part(kind: &str) -> bool {
    matches!(kind, "$memory" | "$memory_init" | "$mem_rd" | "$mem_rd_sync" | "$mem_wr_sync")
}

/// One port of a memory.
struct Port<'a> {
    gate: &'a Instance,
    address: Net,
    /// Edge and clock; `None` for a read without clock.
    clock: Option<(&'static str, String)>,
    enable: Option<Net>,
    /// What is written; `None` for a read.
    written: Option<Net>,
}

/// Writes a memory with its ports.
pub(super) fn write(s: &Scope<'_>, index: usize, body: &mut Body) -> Result<(), Reason> {
    let memory = &s.module.instances[index];
    let chain = *memory.outputs.first().ok_or("memory without output")?;
    let ports = ports(s, index)?;
    let w = ports.first().ok_or("no ports").map(|p| p.width(s))?;
    if w == 0 || ports.iter().any(|p| p.width(s) != w) {
        return Err("ports of different widths".into());
    }
    let depth = s.width(chain) / w;
    let name = s.name(chain);
    let attributes: String = memory.attributes.iter().map(|(a, v)| format!("(* {a} = {v} *) ")).collect();
    body.declare(&format!("  {attributes}reg {}{name} [0:{}]; // {}\n", range(w), depth - 1, memory.place));
    if memory.kind == "$memory_init" {
        body.push(&contents(name, w, &s.initial(input(memory, 1)?)?));
    }
    for (k, port) in ports.iter().enumerate() {
        if let (None, None) = (&port.clock, port.written) {
            let out = port.data()?;
            body.assign(s.name(out), w, &read(s, name, port, &ports[..k]), &port.gate.place);
        }
    }
    let mut clocks: Vec<_> = ports.iter().filter_map(|p| p.clock.clone()).collect();
    clocks.dedup();
    clocks.sort();
    clocks.dedup();
    for clock in clocks {
        let (edge, net) = &clock;
        let mut text = format!("  always @({edge} {net}) begin // {}\n", memory.place);
        for (k, port) in ports.iter().enumerate().filter(|(_, p)| p.clock.as_ref() == Some(&clock)) {
            let always = |n: Net| s.constant(n).is_some_and(|b| b == [Bit::One]);
            let enable = port.enable.filter(|&n| !always(n));
            let enable = enable.map_or_else(String::new, |n| format!("if ({}) ", s.expr(n)));
            let (target, value) = match port.written {
                Some(data) => (format!("{name}[{}]", s.expr(port.address)), s.expr(data)),
                None => {
                    let out = port.data()?;
                    body.declare(&format!("  reg {}{};\n", range(w), s.name(out)));
                    let before: Vec<_> =
                        ports[..k].iter().filter(|p| p.clock.as_ref() == Some(&clock)).collect();
                    (s.name(out).into(), read_from(s, name, port, before))
                }
            };
            writeln!(text, "    {enable}{target} <= {value};").expect("writing to a string");
        }
        body.push(&format!("{text}  end\n"));
    }
    Ok(())
}

/// The ports of a memory in the order of their chain.
fn ports<'a>(s: &Scope<'a>, memory: usize) -> Result<Vec<Port<'a>>, Reason> {
    let mut out = vec![];
    let mut chain = s.module.instances[memory].outputs[0];
    loop {
        let &(at, _) = s.sinks(chain).first().ok_or("broken chain of ports")?;
        if at == memory {
            return Ok(out);
        }
        let gate = &s.module.instances[at];
        let (clocked, writes) = match gate.kind.as_str() {
            "$mem_rd" => (false, false),
            "$mem_rd_sync" => (true, false),
            "$mem_wr_sync" => (true, true),
            kind => return Err(format!("{kind} in the chain of ports")),
        };
        out.push(Port {
            gate,
            address: input(gate, 1)?,
            clock: if clocked { Some(s.clock(input(gate, 2)?)?) } else { None },
            enable: if clocked { Some(input(gate, 3)?) } else { None },
            written: if writes { Some(input(gate, 4)?) } else { None },
        });
        chain = *gate.outputs.first().ok_or("broken chain of ports")?;
    }
}

impl Port<'_> {
    /// The net that a read drives.
    fn data(&self) -> Result<Net, Reason> {
        self.gate.outputs.get(1).copied().ok_or_else(|| "read port without data".into())
    }

    fn width(&self, s: &Scope<'_>) -> u32 {
        self.written.or_else(|| self.data().ok()).map_or(0, |n| s.width(n))
    }
}

fn read(s: &Scope<'_>, name: &str, port: &Port<'_>, before: &[Port<'_>]) -> String {
    read_from(s, name, port, before.iter().collect())
}

/// What a read gives: the word, or what a write before it in the chain is putting there.
fn read_from(s: &Scope<'_>, name: &str, port: &Port<'_>, before: Vec<&Port<'_>>) -> String {
    let address = s.expr(port.address);
    let mut e = format!("{name}[{address}]");
    for p in before {
        if let (Some(data), Some(enable)) = (p.written, p.enable) {
            e = format!(
                "({} && {} == {address}) ? {} : {e}",
                s.expr(enable),
                s.expr(p.address),
                s.expr(data)
            );
        }
    }
    e
}

fn contents(name: &str, w: u32, bits: &[Bit]) -> String {
    let words = bits.chunks_exact(w as usize).enumerate();
    let lines: String = words.map(|(a, word)| format!("    {name}[{a}] = {};\n", literal(word))).collect();
    format!("  initial begin\n{lines}  end\n")
}
