//! Values of nets that are constant, and literals.

use super::netlist::{Instance, Net};
use super::scope::Scope;

/// One bit of a constant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bit {
    Zero,
    One,
    Unknown,
}

impl Bit {
    fn char(self) -> char {
        match self {
            Bit::Zero => '0',
            Bit::One => '1',
            Bit::Unknown => 'x',
        }
    }
}

/// A constant as Verilog writes it; `bits` has the least significant first.
pub(super) fn literal(bits: &[Bit]) -> String {
    let w = bits.len();
    if bits.contains(&Bit::Unknown) {
        if bits.iter().all(|&b| b == Bit::Unknown) && w > 1 {
            return format!("{{{w}{{1'bx}}}}");
        }
        return format!("{w}'b{}", bits.iter().rev().map(|b| b.char()).collect::<String>());
    }
    if bits.iter().all(|&b| b == Bit::Zero) {
        return format!("{w}'h0");
    }
    let digit = |nibble: &[Bit]| {
        let value = nibble.iter().rev().fold(0, |v, &b| v << 1 | u32::from(b == Bit::One));
        char::from_digit(value, 16).expect("four bits are one digit")
    };
    format!("{w}'h{}", bits.chunks(4).rev().map(digit).collect::<String>())
}

impl Scope<'_> {
    /// The value of a net if it is constant.
    pub(super) fn constant(&self, net: Net) -> Option<Vec<Bit>> {
        let i = self.driver(net)?;
        let w = self.width(net) as usize;
        let input = |k: usize| i.inputs.get(k).copied().flatten();
        let of_input = || self.constant(input(0)?);
        Some(match i.kind.as_str() {
            "$const_UB32" => (0..w)
                .map(|k| if k < 32 { bit(i, 0, None, k) } else { Some(Bit::Zero) })
                .collect::<Option<_>>()?,
            "$const_SB32" => (0..w).map(|k| bit(i, 0, None, k.min(31))).collect::<Option<_>>()?,
            "$const_UL32" => (0..w)
                .map(|k| if k < 32 { bit(i, 0, Some(1), k) } else { Some(Bit::Zero) })
                .collect::<Option<_>>()?,
            "$const_bit" => (0..w).map(|k| bit(i, k / 32, None, k % 32)).collect::<Option<_>>()?,
            "$const_log" => {
                (0..w).map(|k| bit(i, 2 * (k / 32), Some(2 * (k / 32) + 1), k % 32)).collect::<Option<_>>()?
            }
            // $const_Z is what nothing drives: the writer reports it.
            "$const_X" | "$const_Z" => vec![Bit::Unknown; w],
            "$const_0" => vec![Bit::Zero; w],
            "$const_1" => vec![Bit::One; w],
            "$signal" | "$nop" => of_input()?,
            "$isignal" => match input(0) {
                Some(n) => self.constant(n)?,
                None => self.constant(input(1)?)?,
            },
            "$extract" => {
                let from = i.params.first().copied().flatten()? as usize;
                of_input()?.get(from..from + w)?.to_vec()
            }
            "$utrunc" | "$strunc" => of_input()?.get(..w)?.to_vec(),
            "$uextend" => resized(of_input()?, w, false),
            "$sextend" => resized(of_input()?, w, true),
            "$concat2" | "$concat3" | "$concat4" | "$concatn" => {
                let parts = i.inputs.iter().rev().map(|&n| self.constant(n?)).collect::<Option<Vec<_>>>()?;
                parts.concat()
            }
            _ => return None,
        })
    }
}

/// Bit `k` of a value and, where there are unknown bits, of the mask that tells them.
fn bit(i: &Instance, value: usize, mask: Option<usize>, k: usize) -> Option<Bit> {
    let of = |p: usize| i.params.get(p).copied().flatten().map(|v| v >> k & 1 == 1);
    let unknown = mask.map_or(Some(false), of)?;
    Some(if unknown {
        Bit::Unknown
    } else if of(value)? {
        Bit::One
    } else {
        Bit::Zero
    })
}

/// Extended to `w` bits.
pub(super) fn resized(mut bits: Vec<Bit>, w: usize, signed: bool) -> Vec<Bit> {
    let top = bits.last().copied().filter(|_| signed).unwrap_or(Bit::Zero);
    bits.resize(w, top);
    bits
}
