//! Multiplexers. GHDL makes a `case` into a multiplexer with one select bit a choice; where those bits compare one net
//! with constants it becomes a `case` again, which simulates and maps far better.

use super::constant::{Bit, literal};
use super::gates::{input, reg};
use super::netlist::{Instance, Net};
use super::scope::{Reason, Scope};
use super::writer::Body;
use std::fmt::Write;

/// Writes a multiplexer. `false`: it is none.
pub(super) fn write(s: &Scope<'_>, i: &Instance, body: &mut Body) -> Result<bool, Reason> {
    let out = *i.outputs.first().ok_or("gate without output")?;
    let (w, name) = (s.width(out), s.name(out));
    let expr = |k: usize| Ok::<_, Reason>(s.expr(input(i, k)?));
    match i.kind.as_str() {
        "$mux2" => body.assign(name, w, &format!("{} ? {} : {}", expr(0)?, expr(2)?, expr(1)?), &i.place),
        "$mux4" => {
            body.declare(&reg(w, name));
            body.push(&format!(
                "  always @* // {}\n    case ({})\n      2'h0: {name} = {};\n      2'h1: {name} = {};\n      \
                 2'h2: {name} = {};\n      default: {name} = {};\n    endcase\n",
                i.place,
                expr(0)?,
                expr(1)?,
                expr(2)?,
                expr(3)?,
                expr(4)?
            ));
        }
        "$pmux" if s.width(input(i, 0)?) == 1 => {
            body.assign(name, w, &format!("{} ? {} : {}", expr(0)?, expr(2)?, expr(1)?), &i.place);
        }
        "$pmux" => parallel(s, i, body)?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// A multiplexer with one select bit a choice: bit k picks input 2 + k, none picks input 1.
fn parallel(s: &Scope<'_>, i: &Instance, body: &mut Body) -> Result<(), Reason> {
    let out = i.outputs[0];
    let (w, name) = (s.width(out), s.name(out));
    let select = input(i, 0)?;
    let bits = s.width(select) as usize;
    let arms: Vec<String> = (0..bits).map(|k| Ok(s.expr(input(i, k + 2)?))).collect::<Result<_, Reason>>()?;
    let mut text = String::new();
    let mut arm = |pattern: &str, value: &str| {
        writeln!(text, "      {pattern}: {name} = {value};").expect("writing to a string");
    };
    let head = match choices(s, select, bits) {
        Some((of, patterns)) => {
            patterns.iter().zip(&arms).for_each(|(p, a)| arm(&p.join(", "), a));
            format!("    case ({})", s.expr(of))
        }
        None => {
            for (k, a) in arms.iter().enumerate() {
                let pattern: String = (0..bits).rev().map(|q| if q == k { '1' } else { '?' }).collect();
                arm(&format!("{bits}'b{pattern}"), a);
            }
            format!("    (* parallel_case *)\n    casez ({})", s.expr(select))
        }
    };
    arm("default", &s.expr(input(i, 1)?));
    body.declare(&reg(w, name));
    body.push(&format!("  always @* // {}\n{head}\n{text}    endcase\n", i.place));
    Ok(())
}

/// The net that all select bits compare, and for each bit the constants that set it.
fn choices(s: &Scope<'_>, select: Net, bits: usize) -> Option<(Net, Vec<Vec<String>>)> {
    let concat = s.driver(select).filter(|d| d.kind.starts_with("$concat") && d.inputs.len() == bits)?;
    let mut of = None;
    let patterns = concat
        .inputs
        .iter()
        .rev()
        .map(|&bit| {
            let mut constants = vec![];
            equalities(s, bit?, &mut constants, &mut of).then_some(constants)
        })
        .collect::<Option<_>>()?;
    Some((of?, patterns))
}

/// Whether `n` is `of = constant`, or an `or` of such with one `of`; collects the constants.
fn equalities(s: &Scope<'_>, n: Net, constants: &mut Vec<String>, of: &mut Option<Net>) -> bool {
    let Some(i) = s.driver(n) else { return false };
    let &[Some(a), Some(b)] = i.inputs.as_slice() else { return false };
    match i.kind.as_str() {
        "$eq" => {
            let Some(k) = s.constant(b).filter(|k| !k.contains(&Bit::Unknown)) else { return false };
            if of.is_some_and(|x| !same(s, x, a)) {
                return false;
            }
            of.get_or_insert(a);
            constants.push(literal(&k));
            true
        }
        "$or" => equalities(s, a, constants, of) && equalities(s, b, constants, of),
        _ => false,
    }
}

/// Whether two nets are one, or the same slice of one.
fn same(s: &Scope<'_>, a: Net, b: Net) -> bool {
    let slice = |n: Net| s.driver(n).filter(|i| i.kind == "$extract");
    a == b
        || match (slice(a), slice(b)) {
            (Some(i), Some(j)) => i.params == j.params && s.width(a) == s.width(b) && i.inputs == j.inputs,
            _ => false,
        }
}
