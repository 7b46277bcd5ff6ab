//! Bits and slices that are read or written at a variable index.

use super::constant::literal;
use super::gates::{input, parameter, reg};
use super::netlist::{Instance, Net};
use super::scope::{Reason, Scope};
use super::writer::Body;

/// Writes an index calculation, read or write. `false`: it is none of these.
pub(super) fn write(s: &Scope<'_>, i: &Instance, body: &mut Body) -> Result<bool, Reason> {
    let out = *i.outputs.first().ok_or("gate without output")?;
    let (w, name) = (s.width(out), s.name(out));
    match i.kind.as_str() {
        // Bit offset of an element: index times stride.
        "$memidx" => {
            let index = input(i, 0)?;
            let index = if s.width(index) >= w { s.slice(index, 0, w) } else { s.extended(index, w, false) };
            let stride = parameter(i, 0)?;
            let offset = if stride == 1 { index } else { format!("{index} * {w}'d{stride}") };
            body.assign(name, w, &offset, &i.place);
        }
        "$dyn_extract" => {
            let value = input(i, 0)?;
            let expression = match s.width(value) {
                1 => s.expr(value),
                _ => format!("{}[{} +: {w}]", addressable(s, value), offset(s, i, input(i, 1)?)?),
            };
            body.assign(name, w, &expression, &i.place);
        }
        "$dyn_insert" | "$dyn_insert_en" => {
            let (value, part) = (input(i, 0)?, input(i, 1)?);
            let enable = match i.kind.as_str() {
                "$dyn_insert_en" => format!("if ({}) ", s.expr(input(i, 3)?)),
                _ => String::new(),
            };
            body.declare(&reg(w, name));
            body.push(&format!(
                "  always @* begin // {}\n    {name} = {};\n    {enable}{name}[{} +: {}] = {};\n  end\n",
                i.place,
                s.expr(value),
                offset(s, i, input(i, 2)?)?,
                s.width(part),
                s.expr(part)
            ));
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// The net that holds a constant which is read at a variable index: a literal cannot be indexed.
pub(super) fn constant_net(s: &Scope<'_>, i: &Instance, body: &mut Body) -> Result<(), Reason> {
    let out = *i.outputs.first().ok_or("constant without output")?;
    let indexed = |&(k, input): &(usize, usize)| input == 0 && s.module.instances[k].kind == "$dyn_extract";
    if s.sinks(out).iter().any(indexed) {
        let bits = s.constant(out).ok_or("constant of unknown value")?;
        body.assign(&addressable(s, out), s.width(out), &literal(&bits), &i.place);
    }
    Ok(())
}

fn addressable(s: &Scope<'_>, n: Net) -> String {
    match s.driver(n) {
        Some(i) if i.kind.starts_with("$const") => format!("{}_k", s.name(n)),
        _ => s.expr(n),
    }
}

fn offset(s: &Scope<'_>, i: &Instance, index: Net) -> Result<String, Reason> {
    let index = s.expr(index);
    Ok(match parameter(i, 0)? {
        0 => index,
        offset => format!("{index} + {offset}"),
    })
}
