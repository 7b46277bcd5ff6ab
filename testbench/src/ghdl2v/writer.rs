//! Modules as Verilog text.

use super::names::{Names, plain, ports};
use super::netlist::{Instance, Module, Netlist, Port};
use super::scope::{Reason, Scope, range};
use super::{Error, Verilog, gates, indexed, memories, muxes, registers};
use std::collections::HashMap;

/// What is written for a module: declarations first, so that names are known before they are used.
#[derive(Default)]
pub(super) struct Body {
    declarations: String,
    statements: String,
    undriven: Vec<String>,
}

impl Body {
    pub(super) fn declare(&mut self, text: &str) {
        self.declarations += text;
    }

    pub(super) fn push(&mut self, text: &str) {
        self.statements += text;
    }

    /// A wire with its value.
    pub(super) fn assign(&mut self, name: &str, w: u32, expression: &str, place: &str) {
        self.declarations += &format!("  wire {}{name};\n", range(w));
        self.statements += &format!("  assign {name} = {expression}; // {place}\n");
    }

    /// Notes that a gate reads what nothing drives.
    pub(super) fn undriven(&mut self, i: &Instance) {
        self.undriven.push(format!("{} ({})", i.place, plain(&i.name)));
    }
}

pub(super) fn write(netlist: &Netlist) -> Result<Verilog, Error> {
    let mut unique = Names::new();
    let names: HashMap<&str, String> =
        netlist.modules.iter().map(|m| (m.name.as_str(), unique.unique(&plain(&m.name)))).collect();
    let by_name: HashMap<&str, &Module> = netlist.modules.iter().map(|m| (m.name.as_str(), m)).collect();
    let mut out = Verilog::default();
    for m in netlist.modules.iter().rev() {
        let Some(inside) = &m.body else { continue };
        let scope = Scope::new(netlist, m, inside, &by_name)?;
        registers::edges_are_clocks(&scope)?;
        let mut body = Body::default();
        for (k, i) in m.instances.iter().enumerate() {
            instance(&scope, k, i, &names, &by_name, &mut body).map_err(|reason| scope.error(i, reason))?;
        }
        module(&scope, inside, &names[m.name.as_str()], &body, &mut out.text);
        out.undriven.append(&mut body.undriven);
        let (inputs, outputs) = ports(m);
        out.inputs = with_bits(&m.inputs, inputs);
        out.outputs = with_bits(&m.outputs, outputs);
    }
    Ok(out)
}

/// Ports that have bits, under their Verilog names.
fn with_bits(ports: &[Port], names: Vec<String>) -> Vec<Port> {
    let renamed = ports.iter().zip(names).map(|(p, name)| Port { name, width: p.width });
    renamed.filter(|p| p.width > 0).collect()
}

/// Head, declarations, statements, and what the outputs are.
fn module(s: &Scope<'_>, inside: &Instance, name: &str, body: &Body, out: &mut String) {
    let m = s.module;
    let (inputs, outputs) = ports(m);
    let declared = |direction: &str, ports: Vec<Port>| {
        ports
            .into_iter()
            .map(|p| format!("  {direction} wire {}{}", range(p.width), p.name))
            .collect::<Vec<_>>()
    };
    let mut all = declared("input ", with_bits(&m.inputs, inputs));
    all.append(&mut declared("output", with_bits(&m.outputs, outputs.clone())));
    *out += &format!("module {name} (\n{}\n);\n", all.join(",\n"));
    *out += &body.declarations;
    *out += &body.statements;
    for ((p, n), net) in m.outputs.iter().zip(&outputs).zip(&inside.inputs) {
        if let (1.., Some(net)) = (p.width, net) {
            *out += &format!("  assign {n} = {};\n", s.expr(*net));
        }
    }
    *out += "endmodule\n\n";
}

fn instance(
    s: &Scope<'_>,
    index: usize,
    i: &Instance,
    names: &HashMap<&str, String>,
    by_name: &HashMap<&str, &Module>,
    body: &mut Body,
) -> Result<(), Reason> {
    match i.kind.as_str() {
        _ if i.is_user() => user(s, i, &names[i.kind.as_str()], by_name[i.kind.as_str()], body),
        "$memory" | "$memory_init" => memories::write(s, index, body),
        kind if memories::is_part(kind) => Ok(()),
        // Written where they are used.
        "$posedge" | "$negedge" => Ok(()),
        kind if kind.starts_with("$const") => {
            if kind == "$const_Z"
                && i.outputs.first().is_some_and(|&o| s.width(o) > 0 && !s.sinks(o).is_empty())
            {
                body.undriven(i);
            }
            indexed::constant_net(s, i, body)
        }
        "$assert" | "$assume" | "$cover" | "$assert_cover" => {
            let verb = match i.kind.as_str() {
                "$assert" => "assert",
                "$assume" => "assume",
                _ => "cover",
            };
            let condition = s.expr(gates::input(i, 0)?);
            body.push(&format!("`ifdef FORMAL\n  always @* {verb}({condition}); // {}\n`endif\n", i.place));
            Ok(())
        }
        _ if i.outputs.first().is_some_and(|&o| s.width(o) == 0) => Ok(()),
        _ => {
            let written = gates::write(s, i, body)?
                || muxes::write(s, i, body)?
                || registers::write(s, i, body)?
                || indexed::write(s, i, body)?;
            if written { Ok(()) } else { Err("gate not supported".into()) }
        }
    }
}

/// An instance of a user module.
fn user(s: &Scope<'_>, i: &Instance, name: &str, sub: &Module, body: &mut Body) -> Result<(), Reason> {
    let (inputs, outputs) = ports(sub);
    let mut connections = vec![];
    for ((port, n), net) in sub.inputs.iter().zip(&inputs).zip(&i.inputs) {
        if port.width > 0 {
            if net.is_none() {
                body.undriven(i);
            }
            connections.push(format!(".{n}({})", net.map(|x| s.expr(x)).unwrap_or_default()));
        }
    }
    for ((port, n), &out) in sub.outputs.iter().zip(&outputs).zip(&i.outputs) {
        if port.width > 0 {
            body.declare(&format!("  wire {}{};\n", range(port.width), s.name(out)));
            connections.push(format!(".{n}({})", s.name(out)));
        }
    }
    body.push(&format!("  {name} {} ({}); // {}\n", plain(&i.name), connections.join(", "), i.place));
    Ok(())
}
