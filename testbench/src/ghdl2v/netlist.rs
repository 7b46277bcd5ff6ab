//! The netlist: modules of instances that nets connect.

use std::collections::HashMap;

/// Number of a net; each is driven by one output.
pub type Net = u32;

/// An instance of a gate (its kind starts with `$`) or of a user module.
#[derive(Debug, Clone, Default)]
pub struct Instance {
    /// Name; one that VHDL gave starts with a backslash.
    pub name: String,
    /// Gate or module.
    pub kind: String,
    /// Parameters; `None` for one that is no number.
    pub params: Vec<Option<u32>>,
    /// Inputs in the gate's order; `None` where nothing is connected.
    pub inputs: Vec<Option<Net>>,
    /// Outputs in the gate's order.
    pub outputs: Vec<Net>,
    /// VHDL file and line.
    pub place: String,
    /// Attributes, name and value as written in the dump.
    pub attributes: Vec<(String, String)>,
}

impl Instance {
    /// Whether it is an instance of a user module.
    pub fn is_user(&self) -> bool {
        !self.kind.starts_with('$')
    }
}

/// A port of a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Port {
    /// Name.
    pub name: String,
    /// Bits; a port of none is left out of the Verilog.
    pub width: u32,
}

/// A user module.
#[derive(Debug, Clone, Default)]
pub struct Module {
    /// Name as in the dump.
    pub name: String,
    /// Inputs in order.
    pub inputs: Vec<Port>,
    /// Outputs in order.
    pub outputs: Vec<Port>,
    /// What is in it.
    pub instances: Vec<Instance>,
    /// The module seen from inside: its outputs are the module's inputs, and the other way round. `None`: a black box.
    pub body: Option<Instance>,
}

/// A dump that has been read.
#[derive(Debug, Clone, Default)]
pub struct Netlist {
    /// Modules, the top first.
    pub modules: Vec<Module>,
    /// Width of each net.
    pub width: HashMap<Net, u32>,
}
