//! One module with the names, drivers and sinks of its nets, and what an expression for a net is.

use super::Error;
use super::constant::{Bit, literal, resized};
use super::names::{Names, plain, ports};
use super::netlist::{Instance, Module, Net, Netlist};
use std::collections::HashMap;

/// Why a gate cannot be written, without the place.
pub(super) type Reason = String;

pub(super) struct Scope<'a> {
    pub(super) netlist: &'a Netlist,
    pub(super) module: &'a Module,
    names: HashMap<Net, String>,
    /// Index of the instance that drives a net.
    drivers: HashMap<Net, usize>,
    /// Instances and their input that read a net.
    sinks: HashMap<Net, Vec<(usize, usize)>>,
}

impl<'a> Scope<'a> {
    pub(super) fn new(
        netlist: &'a Netlist,
        module: &'a Module,
        body: &Instance,
        by_name: &HashMap<&str, &'a Module>,
    ) -> Result<Self, Error> {
        let mut unique = Names::new();
        let (inputs, outputs) = ports(module);
        for name in inputs.iter().chain(&outputs) {
            unique.unique(name);
        }
        let mut s = Scope {
            netlist,
            module,
            names: body.outputs.iter().copied().zip(inputs).collect(),
            drivers: HashMap::new(),
            sinks: HashMap::new(),
        };
        for (k, i) in module.instances.iter().enumerate() {
            s.drivers.extend(i.outputs.iter().map(|&o| (o, k)));
            for (j, n) in i.inputs.iter().enumerate() {
                if let Some(n) = n {
                    s.sinks.entry(*n).or_default().push((k, j));
                }
            }
        }
        // Names that VHDL gave first, numbers for the rest.
        for i in &module.instances {
            if i.is_user() {
                let sub = by_name.get(i.kind.as_str());
                let sub =
                    sub.ok_or_else(|| s.error(i, "instance of a module that is not in the dump".into()))?;
                for (&o, port) in i.outputs.iter().zip(ports(sub).1) {
                    s.names.insert(o, unique.unique(&format!("{}__{port}", plain(&i.name))));
                }
            } else if let ([o], true) = (i.outputs.as_slice(), i.name.starts_with('\\')) {
                s.names.insert(*o, unique.unique(&plain(&i.name)));
            }
        }
        for &o in module.instances.iter().flat_map(|i| &i.outputs) {
            s.names.entry(o).or_insert_with(|| unique.unique(&format!("n{o}")));
        }
        Ok(s)
    }

    /// An error about a gate.
    pub(super) fn error(&self, i: &Instance, reason: Reason) -> Error {
        Error::Gate { module: plain(&self.module.name), place: i.place.clone(), gate: i.kind.clone(), reason }
    }

    pub(super) fn width(&self, n: Net) -> u32 {
        self.netlist.width.get(&n).copied().unwrap_or(0)
    }

    pub(super) fn driver(&self, n: Net) -> Option<&'a Instance> {
        self.drivers.get(&n).map(|&i| &self.module.instances[i])
    }

    pub(super) fn sinks(&self, n: Net) -> &[(usize, usize)] {
        self.sinks.get(&n).map_or(&[], Vec::as_slice)
    }

    /// The name that a net is declared with.
    pub(super) fn name(&self, n: Net) -> &str {
        self.names.get(&n).map_or("", String::as_str)
    }

    /// An expression for a net: its name, or its value when it is a constant.
    pub(super) fn expr(&self, n: Net) -> String {
        match self.driver(n) {
            Some(i) if i.kind.starts_with("$const") => {
                self.constant(n).map_or_else(String::new, |b| literal(&b))
            }
            _ => self.name(n).into(),
        }
    }

    pub(super) fn signed(&self, n: Net) -> String {
        format!("$signed({})", self.expr(n))
    }

    /// A net extended to `w` bits; a net that is as wide or wider stays as it is.
    pub(super) fn extended(&self, n: Net, w: u32, signed: bool) -> String {
        let have = self.width(n);
        if have >= w {
            return self.expr(n);
        }
        if let Some(bits) = self.constant(n) {
            return literal(&resized(bits, w as usize, signed));
        }
        let e = self.expr(n);
        if !signed {
            return format!("{{{}'h0, {e}}}", w - have);
        }
        let top = if have == 1 { e.clone() } else { format!("{e}[{}]", have - 1) };
        format!("{{{{{}{{{top}}}}}, {e}}}", w - have)
    }

    /// Bits `from .. from + w` of a net.
    pub(super) fn slice(&self, n: Net, from: u32, w: u32) -> String {
        if let Some(bits) = self.constant(n)
            && let Some(part) = bits.get(from as usize..(from + w) as usize)
        {
            return literal(part);
        }
        match (self.width(n), w) {
            (1, _) => self.expr(n),
            (_, 1) => format!("{}[{from}]", self.expr(n)),
            _ => format!("{}[{}:{from}]", self.expr(n), from + w - 1),
        }
    }

    /// Edge and clock of a flip-flop's or a memory port's clock input.
    pub(super) fn clock(&self, n: Net) -> Result<(&'static str, String), Reason> {
        let i = self.driver(n).ok_or("clock without an edge")?;
        let edge = match i.kind.as_str() {
            "$posedge" => "posedge",
            "$negedge" => "negedge",
            gate => {
                return Err(format!(
                    "clock made by {gate}; write `if rising_edge(clk) then` around everything"
                ));
            }
        };
        Ok((edge, self.expr(i.inputs.first().copied().flatten().ok_or("edge of nothing")?)))
    }

    /// The constant that a net always is, seen through the signals that carry it.
    pub(super) fn initial(&self, n: Net) -> Result<Vec<Bit>, Reason> {
        let mut n = n;
        while let Some(i) = self.driver(n)
            && let "$isignal" | "$signal" = i.kind.as_str()
        {
            let at = usize::from(i.kind == "$isignal");
            n = i.inputs.get(at).copied().flatten().ok_or("initial value is missing")?;
        }
        self.constant(n).ok_or_else(|| "initial value is not constant".into())
    }
}

/// A range before a name: `[7:0] `, or nothing for a bit.
pub(super) fn range(w: u32) -> String {
    if w == 1 { String::new() } else { format!("[{}:0] ", w - 1) }
}
