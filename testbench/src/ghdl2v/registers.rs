//! Flip-flops, with and without initial value and asynchronous reset.

use super::constant::{Bit, literal};
use super::gates::{input, reg};
use super::netlist::Instance;
use super::scope::{Reason, Scope};
use super::writer::Body;

/// Writes a flip-flop. `false`: it is none.
pub(super) fn write(s: &Scope<'_>, i: &Instance, body: &mut Body) -> Result<bool, Reason> {
    let initial = match i.kind.as_str() {
        "$dff" | "$adff" => None,
        "$idff" => Some(input(i, 2)?),
        "$iadff" => Some(input(i, 4)?),
        _ => return Ok(false),
    };
    let out = *i.outputs.first().ok_or("gate without output")?;
    let (w, name) = (s.width(out), s.name(out));
    let (edge, clock) = s.clock(input(i, 0)?)?;
    body.declare(&reg(w, name));
    if let Some(n) = initial {
        let bits = s.initial(n)?;
        if bits.iter().any(|&b| b != Bit::Unknown) {
            body.push(&format!("  initial {name} = {};\n", literal(&bits)));
        }
    }
    let data = s.expr(input(i, 1)?);
    if matches!(i.kind.as_str(), "$adff" | "$iadff") {
        let (reset, value) = (s.expr(input(i, 2)?), s.expr(input(i, 3)?));
        body.push(&format!(
            "  always @({edge} {clock} or posedge {reset}) // {}\n    if ({reset}) {name} <= {value};\n    else {name} <= {data};\n",
            i.place
        ));
    } else {
        body.push(&format!("  always @({edge} {clock}) {name} <= {data}; // {}\n", i.place));
    }
    Ok(true)
}

/// Refuses modules in which a clock edge is used as data: GHDL found no register where one was meant.
pub(super) fn edges_are_clocks(s: &Scope<'_>) -> Result<(), super::Error> {
    let edge = |i: &Instance| matches!(i.kind.as_str(), "$posedge" | "$negedge");
    for i in &s.module.instances {
        let clock = match i.kind.as_str() {
            "$dff" | "$idff" | "$adff" | "$iadff" => Some(0),
            "$mem_rd_sync" | "$mem_wr_sync" => Some(2),
            _ => None,
        };
        for (k, n) in i.inputs.iter().enumerate() {
            if Some(k) != clock && n.and_then(|n| s.driver(n)).is_some_and(edge) {
                let reason = "a clock edge is used as data, so GHDL found no register or memory here; write the \
                              register with a reset or as a next-value record";
                return Err(s.error(i, reason.into()));
            }
        }
    }
    Ok(())
}
