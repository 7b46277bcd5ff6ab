//! Gates whose output is one expression of their inputs.

use super::netlist::{Instance, Net};
use super::scope::{Reason, Scope, range};
use super::writer::Body;

/// Writes a gate with one output of one bit or more. `false`: it is none of these.
pub(super) fn write(s: &Scope<'_>, i: &Instance, body: &mut Body) -> Result<bool, Reason> {
    let out = *i.outputs.first().ok_or("gate without output")?;
    let w = s.width(out);
    let input = |k: usize| input(i, k);
    let binary = |op: &str| Ok::<_, Reason>(format!("{} {op} {}", s.expr(input(0)?), s.expr(input(1)?)));
    let signed = |op: &str| Ok::<_, Reason>(format!("{} {op} {}", s.signed(input(0)?), s.signed(input(1)?)));
    // Both operands as wide as the output.
    let wide = |op: &str| {
        Ok::<_, Reason>(format!(
            "{} {op} {}",
            s.extended(input(0)?, w, false),
            s.extended(input(1)?, w, false)
        ))
    };
    let wide_signed = |op: &str| {
        let side = |k| Ok::<_, Reason>(format!("$signed({})", s.extended(input(k)?, w, true)));
        Ok::<_, Reason>(format!("{} {op} {}", side(0)?, side(1)?))
    };
    let pick = |condition: String| {
        Ok::<_, Reason>(format!("({condition}) ? {} : {}", s.expr(input(0)?), s.expr(input(1)?)))
    };
    let expression = match i.kind.as_str() {
        "$and" => binary("&")?,
        "$or" => binary("|")?,
        "$xor" => binary("^")?,
        "$nand" => format!("~({})", binary("&")?),
        "$nor" => format!("~({})", binary("|")?),
        "$xnor" => format!("~({})", binary("^")?),
        "$not" => format!("~{}", s.expr(input(0)?)),
        "$add" | "$addidx" => wide("+")?,
        "$sub" => wide("-")?,
        "$umul" => wide("*")?,
        "$smul" => wide_signed("*")?,
        "$udiv" => wide("/")?,
        "$umod" => wide("%")?,
        "$sdiv" => wide_signed("/")?,
        "$srem" => wide_signed("%")?,
        "$smod" => modulo(s, i, w, &wide_signed("%")?, body)?,
        "$umin" => pick(binary("<")?)?,
        "$umax" => pick(binary(">")?)?,
        "$smin" => pick(signed("<")?)?,
        "$smax" => pick(signed(">")?)?,
        "$neg" => format!("-{}", s.expr(input(0)?)),
        "$abs" => {
            let a = input(0)?;
            let top = s.width(a).checked_sub(1).ok_or("abs of nothing")?;
            format!("{} ? -{e} : {e}", s.slice(a, top, 1), e = s.expr(a))
        }
        "$lsl" => binary("<<")?,
        "$lsr" => binary(">>")?,
        "$asr" => format!("{} >>> {}", s.signed(input(0)?), s.expr(input(1)?)),
        "$rol" | "$ror" => rotated(s, i, w, body)?,
        "$eq" => binary("==")?,
        "$ne" => binary("!=")?,
        "$ult" => binary("<")?,
        "$ule" => binary("<=")?,
        "$ugt" => binary(">")?,
        "$uge" => binary(">=")?,
        "$slt" => signed("<")?,
        "$sle" => signed("<=")?,
        "$sgt" => signed(">")?,
        "$sge" => signed(">=")?,
        "$red_and" => format!("&{}", s.expr(input(0)?)),
        "$red_or" => format!("|{}", s.expr(input(0)?)),
        "$red_xor" => format!("^{}", s.expr(input(0)?)),
        "$concat2" | "$concat3" | "$concat4" | "$concatn" => {
            let nets = (0..i.inputs.len()).map(input).collect::<Result<Vec<Net>, _>>()?;
            let parts: Vec<_> = nets.into_iter().filter(|&n| s.width(n) > 0).map(|n| s.expr(n)).collect();
            if parts.len() == 1 { parts.concat() } else { format!("{{{}}}", parts.join(", ")) }
        }
        "$utrunc" | "$strunc" => s.slice(input(0)?, 0, w),
        "$uextend" => s.extended(input(0)?, w, false),
        "$sextend" => s.extended(input(0)?, w, true),
        "$extract" => s.slice(input(0)?, parameter(i, 0)?, w),
        "$signal" | "$output" | "$port" | "$nop" | "$enable" => match i.inputs.first().copied().flatten() {
            Some(n) => s.expr(n),
            None => {
                body.undriven(i);
                format!("{{{w}{{1'bx}}}}")
            }
        },
        "$isignal" | "$ioutput" => s.expr(input(0).or_else(|_| input(1))?),
        _ => return Ok(false),
    };
    body.assign(s.name(out), w, &expression, &i.place);
    Ok(true)
}

/// Input `k` of a gate, which must be connected.
pub(super) fn input(i: &Instance, k: usize) -> Result<Net, Reason> {
    i.inputs.get(k).copied().flatten().ok_or_else(|| format!("input {k} is not connected"))
}

/// Parameter `k` of a gate, which must be a number.
pub(super) fn parameter(i: &Instance, k: usize) -> Result<u32, Reason> {
    i.params.get(k).copied().flatten().ok_or_else(|| format!("parameter {k} is no number"))
}

/// VHDL's `mod`: Verilog's remainder, moved to the divisor's sign.
fn modulo(s: &Scope<'_>, i: &Instance, w: u32, remainder: &str, body: &mut Body) -> Result<String, Reason> {
    let b = input(i, 1)?;
    let r = format!("{}_r", s.name(i.outputs[0]));
    let b_sign = s.slice(b, s.width(b).checked_sub(1).ok_or("mod of nothing")?, 1);
    body.assign(&r, w, remainder, &i.place);
    let sign = if w == 1 { r.clone() } else { format!("{r}[{}]", w - 1) };
    Ok(format!("({r} != {w}'h0 && {sign} != {b_sign}) ? {r} + {} : {r}", s.extended(b, w, true)))
}

/// A rotation: the value twice, shifted by the amount modulo the width.
fn rotated(s: &Scope<'_>, i: &Instance, w: u32, body: &mut Body) -> Result<String, Reason> {
    let (value, amount) = (s.expr(input(i, 0)?), input(i, 1)?);
    let bits = s.width(amount);
    let amount = if w.is_power_of_two() {
        if bits <= w.ilog2() { s.expr(amount) } else { s.slice(amount, 0, w.ilog2().max(1)) }
    } else if bits < 32 && 1u64 << bits <= u64::from(w) {
        s.expr(amount)
    } else {
        format!("({} % {bits}'d{w})", s.expr(amount))
    };
    let left = i.kind == "$rol";
    let double = format!("{}_d", s.name(i.outputs[0]));
    let shift = if left { "<<" } else { ">>" };
    body.assign(&double, 2 * w, &format!("{{{value}, {value}}} {shift} {amount}"), &i.place);
    Ok(if left { format!("{double}[{}:{w}]", 2 * w - 1) } else { format!("{double}[{}:0]", w - 1) })
}

/// The declaration of a reg.
pub(super) fn reg(w: u32, name: &str) -> String {
    format!("  reg {}{name};\n", range(w))
}
