//! Text to bytes, in two passes: lines to instructions with named labels, then labels to addresses.

use super::GEMV_SUFFIX;
use crate::format::Format;
use crate::instr::{Instruction, Operand, WORD_BYTES};
use crate::map::ADDRESS_END;
use crate::table::{ByteField, Opcode, WordField};
use std::collections::HashMap;

/// The result of assembling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assembly {
    /// Address of the first byte: what `.org` said, or the default.
    pub origin: u32,
    /// The script.
    pub bytes: Vec<u8>,
}

/// Why a text does not assemble.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct AsmError {
    /// Line number from 1.
    pub line: usize,
    /// What is wrong, and with which word.
    pub what: String,
}

/// Assembles a text; `origin` holds where no `.org` comes before the first instruction.
pub fn assemble(text: &str, origin: u32) -> Result<Assembly, AsmError> {
    let mut origin = origin;
    let mut labels: HashMap<&str, u32> = HashMap::new();
    let mut items: Vec<(usize, Item)> = Vec::new();
    let mut size = 0u32;
    for (index, line) in text.lines().enumerate() {
        let at = |what: String| AsmError { line: index + 1, what };
        let mut code = line.split(';').next().unwrap_or("").trim();
        while let Some((name, rest)) = code.split_once(':') {
            let name = name.trim();
            if !is_label(name) {
                return Err(at(format!("`{name}` is no label: a letter or _, then letters, digits or _")));
            }
            if labels.insert(name, size).is_some() {
                return Err(at(format!("label `{name}` is defined twice")));
            }
            code = rest.trim();
        }
        if code.is_empty() {
            continue;
        }
        let (mnemonic, rest) = code.split_once(char::is_whitespace).unwrap_or((code, ""));
        let rest = rest.trim();
        let item = match mnemonic {
            ".org" => {
                if size > 0 {
                    return Err(at(".org must come before the first instruction".into()));
                }
                origin = number(rest)
                    .filter(|&n| n < ADDRESS_END)
                    .ok_or_else(|| at(format!("`{rest}` is no address")))?;
                continue;
            }
            ".bytes" => Item::Bytes(
                hex_bytes(rest).ok_or_else(|| at(format!("`{rest}` is no list of hexadecimal bytes")))?,
            ),
            _ => Item::Instruction(instruction(mnemonic, rest).map_err(at)?),
        };
        size += item.len();
        items.push((index + 1, item));
    }

    let mut bytes = Vec::with_capacity(size as usize);
    for (line, item) in items {
        match item {
            Item::Bytes(b) => bytes.extend(b),
            Item::Instruction((mut i, symbols)) => {
                for (slot, name, plus) in symbols {
                    let offset = labels
                        .get(name)
                        .ok_or_else(|| AsmError { line, what: format!("label `{name}` is not defined") })?;
                    *word_mut(&mut i, slot) =
                        Operand::Abs(origin.wrapping_add(*offset).wrapping_add(plus)).word();
                }
                bytes.extend(i.encode());
            }
        }
    }
    Ok(Assembly { origin, bytes })
}

/// An instruction and the fields (X, Y, Z = 0, 1, 2) that wait for `label + number`.
type Pending<'a> = (Instruction, Vec<(usize, &'a str, u32)>);

enum Item<'a> {
    Instruction(Pending<'a>),
    Bytes(Vec<u8>),
}

impl Item<'_> {
    fn len(&self) -> u32 {
        match self {
            Item::Instruction(_) => WORD_BYTES as u32,
            Item::Bytes(b) => b.len() as u32,
        }
    }
}

fn word_mut(i: &mut Instruction, slot: usize) -> &mut u32 {
    match slot {
        0 => &mut i.x,
        1 => &mut i.y,
        _ => &mut i.z,
    }
}

fn instruction<'a>(mnemonic: &str, rest: &'a str) -> Result<Pending<'a>, String> {
    let (name, suffix) = match mnemonic.find('.') {
        Some(dot) => mnemonic.split_at(dot),
        None => (mnemonic, ""),
    };
    let op = Opcode::from_name(name).ok_or_else(|| format!("unknown instruction `{mnemonic}`"))?;
    let spec = op.spec();
    let mut i = Instruction::new(op);
    if spec.b == ByteField::GemvFlags {
        i.b = GEMV_SUFFIX
            .iter()
            .find(|s| s.1.eq_ignore_ascii_case(suffix))
            .ok_or_else(|| format!("{op} has no form `{suffix}`, only .ACC and .F16"))?
            .0;
    } else if !suffix.is_empty() {
        return Err(format!("{op} has no form `{suffix}`"));
    }

    let given: Vec<&str> =
        if rest.is_empty() { Vec::new() } else { rest.split(',').map(str::trim).collect() };
    let byte_fields =
        [spec.a, spec.b].into_iter().filter(|f| !matches!(f, ByteField::Unused | ByteField::GemvFlags));
    let wanted = byte_fields.count() + spec.words().iter().filter(|f| **f != WordField::Unused).count();
    if given.len() != wanted {
        return Err(format!("{op} takes {wanted} operands, {} given", given.len()));
    }
    let mut given = given.into_iter();
    let mut next = || given.next().expect("counted above");
    for (field, kind) in [(0, spec.a), (1, spec.b)] {
        let value = match kind {
            ByteField::Unused | ByteField::GemvFlags => continue,
            ByteField::Reg => register(next(), 'R')?,
            ByteField::AddrReg => register(next(), 'A')?,
            ByteField::Format => format_number(next())?,
        };
        if field == 0 { i.a = value } else { i.b = value }
    }
    let mut symbols = Vec::new();
    for (slot, field) in spec.words().into_iter().enumerate() {
        *word_mut(&mut i, slot) = match field {
            WordField::Unused => continue,
            WordField::Imm(what) => {
                let text = next();
                number(text).ok_or_else(|| format!("{op}: {what} `{text}` is no 32-bit number"))?
            }
            WordField::Addr(what, ..) => {
                let text = next();
                match address(text).ok_or_else(|| format!("{op}: {what} `{text}` is no address"))? {
                    Address::Known(operand) => operand.word(),
                    Address::Label(name, plus) => {
                        symbols.push((slot, name, plus));
                        0
                    }
                }
            }
        };
    }
    Ok((i, symbols))
}

enum Address<'a> {
    Known(Operand),
    Label(&'a str, u32),
}

/// `0x8000000`, `[A1]`, `[A1+0x40]`, `label`, `label+16`.
fn address(text: &str) -> Option<Address<'_>> {
    if let Some(inner) = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')) {
        let (reg, offset) = inner.split_once('+').unwrap_or((inner, "0"));
        let offset = number(offset.trim()).filter(|&n| n < 1 << 24)?;
        return Some(Address::Known(Operand::Rel { reg: register(reg.trim(), 'A').ok()?, offset }));
    }
    if let Some(n) = number(text) {
        return (n < ADDRESS_END).then_some(Address::Known(Operand::Abs(n)));
    }
    let (name, plus) = text.split_once('+').unwrap_or((text, "0"));
    let name = name.trim();
    is_label(name).then_some(Address::Label(name, number(plus.trim())?))
}

fn is_label(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn register(text: &str, kind: char) -> Result<u8, String> {
    text.strip_prefix([kind, kind.to_ascii_lowercase()])
        .and_then(|n| n.parse().ok())
        .filter(|&n: &u8| n <= 15)
        .ok_or_else(|| format!("`{text}` is no register {kind}0..{kind}15"))
}

fn format_number(text: &str) -> Result<u8, String> {
    Format::ALL
        .iter()
        .find(|f| f.name().eq_ignore_ascii_case(text))
        .map(|f| f.ggml())
        .or_else(|| text.parse().ok())
        .ok_or_else(|| {
            format!("`{text}` is no weight format; there are F32, F16, Q4_0, Q8_0, BF16 and plain numbers")
        })
}

/// Decimal, `0x` hexadecimal, or a negative decimal as its two's complement.
fn number(text: &str) -> Option<u32> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => text.parse().ok().or_else(|| text.parse::<i32>().ok().map(|n| n as u32)),
    }
}

fn hex_bytes(text: &str) -> Option<Vec<u8>> {
    let bytes =
        text.split_whitespace().map(|b| u8::from_str_radix(b, 16).ok()).collect::<Option<Vec<u8>>>()?;
    (!bytes.is_empty()).then_some(bytes)
}
