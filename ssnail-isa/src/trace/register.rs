//! Names of registers in a trace, and which of them an instruction has changed.

use crate::check::Registers;
use std::fmt;
use std::str::FromStr;

/// An architectural register other than PC. R15 is none: it holds nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Register {
    /// R0..R14.
    R(u8),
    /// A0..A15.
    A(u8),
    /// N0..N2.
    N(u8),
}

impl Register {
    /// How many there are.
    pub const COUNT: usize = 15 + 16 + 3;

    /// Its number in the binary form.
    pub const fn code(self) -> u8 {
        match self {
            Register::R(n) => n,
            Register::A(n) => 16 + n,
            Register::N(n) => 32 + n,
        }
    }

    /// The register with this number, if there is one.
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            0..=14 => Some(Register::R(code)),
            16..=31 => Some(Register::A(code - 16)),
            32..=34 => Some(Register::N(code - 32)),
            _ => None,
        }
    }
}

impl fmt::Display for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Register::R(n) => write!(f, "R{n}"),
            Register::A(n) => write!(f, "A{n}"),
            Register::N(n) => write!(f, "N{n}"),
        }
    }
}

/// A text that names no register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoRegister;

impl FromStr for Register {
    type Err = NoRegister;

    fn from_str(text: &str) -> Result<Self, NoRegister> {
        (0..=34).filter_map(Register::from_code).find(|r| r.to_string() == text).ok_or(NoRegister)
    }
}

/// The registers that differ, with their values afterwards, ascending.
pub(super) fn changes(before: &Registers, after: &Registers) -> Vec<(Register, u32)> {
    type Name = fn(u8) -> Register;
    let mut out = Vec::new();
    for (name, old, new) in [
        (Register::R as Name, &before.r[..15], &after.r[..15]),
        (Register::A as Name, &before.a[..], &after.a[..]),
        (Register::N as Name, &before.n[..], &after.n[..]),
    ] {
        out.extend(
            (0..).zip(old.iter().zip(new)).filter(|(_, (o, n))| o != n).map(|(i, (_, &n))| (name(i), n)),
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_names_are_one_to_one() {
        let all: Vec<Register> = (0..=255).filter_map(Register::from_code).collect();
        assert_eq!(all.len(), Register::COUNT);
        assert!(all.is_sorted());
        for r in all {
            assert_eq!((Register::from_code(r.code()), r.to_string().parse()), (Some(r), Ok(r)));
        }
        for text in ["R15", "R", "N3", "A16", "R01", "r1", ""] {
            assert_eq!(text.parse::<Register>(), Err(NoRegister));
        }
    }
}
