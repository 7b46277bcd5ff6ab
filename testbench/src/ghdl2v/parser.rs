//! Reads the dump. It is line based: for each module its ports, then instances, each with parameters, inputs
//! (`input NAME <- NET`) and outputs; nets are written `name{n12w8}` (number 12, width 8). Instances of the top, the
//! library of gates at the start and `connect` lines (the inputs once more) are passed over.

use super::Error;
use super::netlist::{Instance, Module, Net, Netlist, Port};

/// Ports of a module stand at this indentation; those of its instances deeper.
const PORT_INDENT: usize = 4;

pub(super) fn parse(text: &str) -> Result<Netlist, Error> {
    let mut p = Parser::default();
    for (number, line) in text.lines().enumerate() {
        p.line(line).map_err(|what| Error::Line { line: number + 1, what, text: line.trim().into() })?;
    }
    p.end_module();
    if p.out.modules.is_empty() { Err(Error::Empty) } else { Ok(p.out) }
}

#[derive(Default)]
struct Parser {
    out: Netlist,
    module: Option<Module>,
    instance: Option<Instance>,
    place: String,
    attributes: Vec<(String, String)>,
}

impl Parser {
    /// Takes a line in; the error is what was expected instead of it.
    fn line(&mut self, line: &str) -> Result<(), &'static str> {
        let text = line.trim_start();
        let indent = line.len() - text.len();
        if indent < PORT_INDENT && (text.starts_with("module ") || text.starts_with("instance ")) {
            self.end_module();
            let name = text.split_once("} ").map_or("", |(_, name)| name);
            if text.starts_with("module ") && name.starts_with('\\') {
                self.module = Some(Module { name: name.into(), ..Module::default() });
            }
            return Ok(());
        }
        // The library of gates declares ports only.
        let Some(module) = &mut self.module else { return Ok(()) };
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        match (word, &mut self.instance) {
            ("", _) | ("connect", _) => {}
            ("#", _) => self.place = rest.rsplit_once(':').map_or(rest, |(place, _)| place).into(),
            ("attribute", _) => {
                let named = rest.split_once(" of ").zip(rest.split_once(" := "));
                let ((name, _), (_, value)) = named.ok_or("`NAME of INSTANCE := VALUE;`")?;
                self.attributes.push((name.into(), value.trim_end_matches(';').into()));
            }
            ("instance", _) => {
                let (name, kind) = rest.rsplit_once(": ").ok_or("`NAME: GATE`")?;
                let name = name.rfind("{i").map_or(name, |at| &name[..at]);
                self.end_instance();
                self.instance = Some(Instance {
                    name: name.into(),
                    kind: kind.into(),
                    place: std::mem::take(&mut self.place),
                    attributes: std::mem::take(&mut self.attributes),
                    ..Instance::default()
                });
            }
            ("input", None) if indent == PORT_INDENT => module.inputs.push(port(rest)?),
            ("output", None) if indent == PORT_INDENT => module.outputs.push(port(rest)?),
            ("input", Some(instance)) => {
                let driver = rest.split_once("<-").ok_or("`NAME <- NET`")?.1.trim();
                let driver = if driver.is_empty() { None } else { Some(net(driver)?) };
                instance.inputs.push(driver.map(|(n, width)| {
                    self.out.width.insert(n, width);
                    n
                }));
            }
            ("outputs", Some(instance)) => {
                for output in rest.split_whitespace() {
                    let (n, width) = net(output)?;
                    self.out.width.insert(n, width);
                    instance.outputs.push(n);
                }
            }
            ("parameters", Some(instance)) => {
                let number = |p: &str| p.split_once('=').map_or(p, |(_, value)| value).parse().ok();
                instance.params.extend(rest.split_whitespace().map(number));
            }
            _ => return Err("a port, instance, parameter, input, output or attribute"),
        }
        Ok(())
    }

    fn end_instance(&mut self) {
        if let (Some(module), Some(instance)) = (&mut self.module, self.instance.take()) {
            if instance.kind == module.name {
                module.body = Some(instance);
            } else {
                module.instances.push(instance);
            }
        }
    }

    fn end_module(&mut self) {
        self.end_instance();
        self.out.modules.extend(self.module.take());
    }
}

/// `name;`, `name[7:0];`, or `name[-1:0]` for no bits.
fn port(text: &str) -> Result<Port, &'static str> {
    let text = text.trim_end_matches(';');
    let Some((name, range)) = text.split_once('[') else { return Ok(Port { name: text.into(), width: 1 }) };
    let high = range.strip_suffix(":0]").ok_or("a range that ends at 0")?;
    let width = match high {
        "-1" => 0,
        _ => high.parse::<u32>().ok().and_then(|h| h.checked_add(1)).ok_or("a number as upper bound")?,
    };
    Ok(Port { name: name.into(), width })
}

/// `name{n12w8}` as number and width.
fn net(text: &str) -> Result<(Net, u32), &'static str> {
    const FORM: &str = "a net, `name{n12w8}`";
    let (_, body) = text.rsplit_once("{n").ok_or(FORM)?;
    let (number, width) = body.strip_suffix('}').and_then(|b| b.split_once('w')).ok_or(FORM)?;
    Ok((number.parse().map_err(|_| FORM)?, width.parse().map_err(|_| FORM)?))
}
