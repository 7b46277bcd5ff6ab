//! What was converted and where it lies: as text with a picture, and as JSON.

use crate::convert::Conversion;
use crate::plan::{Content, Placed};
use serde::Serialize;
use ssnail_isa::map::{MB, RAM_BASE};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// Bytes in MB of 2^20.
pub(super) fn mb(bytes: u64) -> f64 {
    bytes as f64 / f64::from(MB)
}

/// A stretch of memory with one kind of thing in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Section {
    name: &'static str,
    start: u32,
    end: u64,
}

/// Weights in one format.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize)]
pub(super) struct FormatTotal {
    tensors: usize,
    weights: u64,
    bytes: u64,
}

/// The report for scripts. Additions keep `schema`; changes of meaning raise it.
#[derive(Debug, Serialize)]
pub(super) struct Report<'a> {
    schema: u32,
    image: String,
    description: &'a str,
    architecture: &'static str,
    shape: &'a crate::model::Shape,
    context: u32,
    kv: &'static str,
    wtype: &'static str,
    formats: BTreeMap<&'static str, FormatTotal>,
    reduced_percent: f64,
    script_instructions: usize,
    tokenizer: crate::image_tokenizer::Summary,
    file_bytes: u64,
    memory_bytes: u64,
    memory_limit_bytes: u64,
    map: Vec<Section>,
    objects: Vec<ObjectLine<'a>>,
    warnings: &'a [String],
}

#[derive(Debug, Serialize)]
struct ObjectLine<'a> {
    name: &'a str,
    address: u32,
    bytes: u64,
    format: Option<&'static str>,
}

pub(super) fn json<'a>(c: &'a Conversion<'_>, output: &Path) -> Report<'a> {
    let line = |p: &'a Placed| ObjectLine {
        name: &p.object.name,
        address: p.addr,
        bytes: p.bytes,
        format: p.format.map(ssnail_isa::Format::name),
    };
    Report {
        schema: 1,
        image: output.display().to_string(),
        description: &c.description,
        architecture: c.model.architecture().name(),
        shape: c.model.shape(),
        context: c.run.context,
        kv: kv_name(c),
        wtype: c.plan.rule.wtype.name(),
        formats: formats(c),
        reduced_percent: c.plan.choice.reduced_percent(),
        script_instructions: c.plan.layout.instructions,
        tokenizer: c.tables.summary(),
        file_bytes: c.file_bytes(),
        memory_bytes: c.plan.layout.memory(),
        memory_limit_bytes: u64::from(c.mem_mb()) * u64::from(MB),
        map: sections(c),
        objects: c.plan.layout.objects().map(line).collect(),
        warnings: &c.warnings,
    }
}

pub(super) fn text(c: &Conversion<'_>, output: &Path, verbose: bool) -> String {
    let mut out = String::new();
    let (s, layout) = (c.model.shape(), &c.plan.layout);
    let _ = writeln!(out, "{}: {}", output.display(), c.description);
    let _ = writeln!(
        out,
        "  shape      {} layers, width {}, {} heads of {} ({} KV), feed-forward {}, {} tokens",
        s.layers, s.dim, s.heads, s.head_dim, s.kv_heads, s.ffn, s.vocab
    );
    let _ = writeln!(out, "  context    {} of {}, KV cache {}", c.run.context, s.context, kv_name(c));
    let _ = writeln!(out, "  weights    {}", c.plan.rule.wtype.name());
    for (name, t) in formats(c) {
        let _ = writeln!(
            out,
            "    {name:<5} {:>4} tensors {:>12} weights {:>9.2} MB",
            t.tensors,
            t.weights,
            mb(t.bytes)
        );
    }
    let _ = writeln!(
        out,
        "  script     {} instructions, {} bytes",
        layout.instructions,
        16 * layout.instructions
    );
    let _ = writeln!(out, "  tokenizer  {}", c.tables.summary().line());
    if verbose {
        out += &c.tables.details();
    }
    out += &picture(&sections(c), layout.memory(), u64::from(c.mem_mb()) * u64::from(MB));
    if verbose {
        out += "  objects\n";
        for p in layout.objects() {
            let format = p.format.map_or("", ssnail_isa::Format::name);
            let _ = writeln!(out, "    {:07X} {:>10} {format:<5} {}", p.addr, p.bytes, p.object.name);
        }
    }
    out
}

fn kv_name(c: &Conversion<'_>) -> &'static str {
    match c.run.kv {
        crate::model::KvFormat::F32 => "f32",
        crate::model::KvFormat::F16 => "f16",
    }
}

fn formats(c: &Conversion<'_>) -> BTreeMap<&'static str, FormatTotal> {
    let mut out: BTreeMap<&str, FormatTotal> = BTreeMap::new();
    for p in &c.plan.layout.payload {
        let (Content::Matrix { cols, rows, .. }, Some(format)) = (&p.object.content, p.format) else {
            continue;
        };
        let total = out.entry(format.name()).or_default();
        total.tensors += 1;
        total.weights += u64::from(*cols) * u64::from(*rows);
        total.bytes += p.bytes;
    }
    out
}

/// Memory by kind, ascending and without gaps; what pads an object belongs to it.
fn sections(c: &Conversion<'_>) -> Vec<Section> {
    let kind = |p: &Placed| match (&p.object.content, p.object.name.as_str()) {
        (Content::Matrix { .. }, _) => "weights",
        (Content::Floats { .. } | Content::Attention { .. }, _) | (_, "rope") => "tables",
        (Content::Scratch { .. }, name) if name.contains("cache.") => "KV cache",
        (Content::Scratch { .. }, _) => "activations",
        (Content::Bytes(_), "script") => "script",
        (Content::Bytes(_), _) => "tokenizer",
    };
    let mut out = vec![Section { name: "header, tokens", start: RAM_BASE, end: u64::from(RAM_BASE) }];
    for p in c.plan.layout.objects() {
        let name = kind(p);
        if out.last().is_some_and(|s| s.name != name) {
            if let Some(last) = out.last_mut() {
                last.end = u64::from(p.addr);
            }
            out.push(Section { name, start: p.addr, end: 0 });
        }
        if let Some(last) = out.last_mut() {
            last.end = u64::from(p.addr) + p.bytes;
        }
    }
    out
}

/// Width of the bars, in characters.
const BAR: usize = 40;

/// The memory map: a line a section, its bar as long as its share of the memory.
fn picture(sections: &[Section], used: u64, limit: u64) -> String {
    let mut out = String::from("  memory\n");
    for s in sections {
        let bytes = s.end - u64::from(s.start);
        let cells = |at: u64| ((at as f64 / limit as f64 * BAR as f64).round() as usize).min(BAR);
        let from = cells(u64::from(s.start - RAM_BASE)).min(BAR - 1);
        let to = cells(s.end - u64::from(RAM_BASE)).max(from + 1);
        let bar = format!("{}{}{}", "·".repeat(from), "█".repeat(to - from), "·".repeat(BAR - to));
        let _ = writeln!(out, "    {:07X} |{bar}| {:<14} {:>12} bytes", s.start, s.name, bytes);
    }
    let _ = writeln!(
        out,
        "    {used} of {limit} bytes used ({:.1} of {:.0} MB), {:.0} % free",
        mb(used),
        mb(limit),
        100.0 * (1.0 - used as f64 / limit as f64)
    );
    out
}
