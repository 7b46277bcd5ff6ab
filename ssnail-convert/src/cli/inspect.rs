//! `info` and `disasm`: looking into models and images.

use super::report::mb;
use crate::gguf::{Gguf, Value};
use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::json;
use ssnail_isa::image::{Header, Image, NO_TOKEN};
use ssnail_isa::instr::WORD_BYTES;
use ssnail_isa::map::RAM_BASE;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Options of `info`.
#[derive(Args)]
pub(super) struct InfoArgs {
    /// A GGUF file or an image
    file: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// List every tensor
    #[arg(short, long)]
    verbose: bool,
}

/// Options of `disasm`.
#[derive(Args)]
pub(super) struct DisasmArgs {
    /// The image
    image: PathBuf,
}

/// Maps a file that may be an image.
fn map(path: &Path) -> Result<memmap2::Mmap> {
    let file = File::open(path).with_context(|| path.display().to_string())?;
    // SAFETY: the map is only read; that nobody shortens the file meanwhile is asked of the user, as for models.
    unsafe { memmap2::Mmap::map(&file) }.with_context(|| path.display().to_string())
}

pub(super) fn disasm(args: &DisasmArgs, out: &mut dyn Write) -> Result<ExitCode> {
    let bytes = map(&args.image)?;
    let image = Image::parse(&bytes).with_context(|| args.image.display().to_string())?;
    out.write_all(ssnail_isa::text::disassemble(image.script(), image.header().script).as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn info(args: &InfoArgs, out: &mut dyn Write) -> Result<ExitCode> {
    let bytes = map(&args.file)?;
    let text = match bytes.get(..4) {
        Some(b"GGUF") => model_info(&Gguf::open(&args.file)?, args)?,
        Some(b"SSNL") => {
            image_info(&Image::parse(&bytes).with_context(|| args.file.display().to_string())?, args)?
        }
        _ => bail!(
            "{}: neither a GGUF file nor an image: it starts with \"{}\"",
            args.file.display(),
            bytes[..bytes.len().min(4)].escape_ascii()
        ),
    };
    out.write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// Longer strings are cut in the text form.
const SHOWN: usize = 60;

fn model_info(gguf: &Gguf, args: &InfoArgs) -> Result<String> {
    let mut types: BTreeMap<&str, (usize, u64, u64)> = BTreeMap::new();
    for t in gguf.tensors() {
        let total = types.entry(t.ggml_type.name()).or_default();
        *total = (total.0 + 1, total.1 + t.n_elements(), total.2 + t.n_bytes);
    }
    if args.json {
        let tensors: Vec<_> = gguf
            .tensors()
            .iter()
            .map(|t| json!({"name": t.name, "type": t.ggml_type.name(), "dims": t.dims, "offset": t.offset, "bytes": t.n_bytes}))
            .collect();
        let metadata: serde_json::Map<_, _> =
            gguf.metadata().iter().map(|(k, v)| (k.to_owned(), json_value(&v))).collect();
        let whole = json!({"schema": 1, "kind": "gguf", "version": gguf.version(), "metadata": metadata, "tensors": tensors});
        return Ok(serde_json::to_string_pretty(&whole)? + "\n");
    }
    let mut out =
        format!("{}: GGUF version {}, {} bytes\n", args.file.display(), gguf.version(), gguf.file_len());
    for (key, value) in gguf.metadata().iter() {
        let value = value.to_string().replace('\n', "\\n");
        let cut = value.char_indices().nth(SHOWN).map_or(value.clone(), |(i, _)| format!("{}…", &value[..i]));
        let _ = writeln!(out, "  {key:<42} {cut}");
    }
    for (name, (tensors, weights, bytes)) in types {
        let _ = writeln!(out, "  {name:<8} {tensors:>4} tensors {weights:>12} weights {:>9.2} MB", mb(bytes));
    }
    if args.verbose {
        for t in gguf.tensors() {
            let _ = writeln!(out, "  {:<40} {:<8} {:?}", t.name, t.ggml_type.name(), t.dims);
        }
    }
    match crate::model::read(gguf, None) {
        Ok(_) => out += "  can be converted\n",
        Err(e) => {
            let _ = writeln!(out, "  cannot be converted: {e}");
        }
    }
    Ok(out)
}

/// Scalars as themselves; arrays as their length, since vocabularies would drown the rest.
fn json_value(value: &Value<'_>) -> serde_json::Value {
    match value {
        Value::Bool(b) => json!(b),
        Value::String(s) => json!(String::from_utf8_lossy(s)),
        Value::Array(a) => json!({"array_length": a.len()}),
        v => {
            v.as_int().map(|n| json!(n as i64)).or_else(|| v.as_float().map(|x| json!(x))).unwrap_or_default()
        }
    }
}

fn image_info(image: &Image<'_>, args: &InfoArgs) -> Result<String> {
    let (h, t) = (image.header(), image.tokenizer());
    let mut raw = [0; 256];
    h.write_fields(&mut raw);
    let field =
        |offset: usize| u32::from_le_bytes([raw[offset], raw[offset + 1], raw[offset + 2], raw[offset + 3]]);
    if args.json {
        let header: serde_json::Map<_, _> =
            Header::FIELDS.iter().map(|f| (f.name.to_owned(), json!(field(f.offset)))).collect();
        let whole = json!({
            "schema": 1, "kind": "image", "description": image.description(), "architecture": image.architecture().name(),
            "encoder": image.is_encoder(), "header": header, "script_instructions": image.script().len() / WORD_BYTES,
            "tokenizer": {"kind": t.kind.name(), "index": t.fields.index_len, "pre_split": t.pre_split.name(),
                "lowercase": t.lowercase, "space_prefix": t.space_prefix, "priority_bytes": t.priority_bytes()},
        });
        return Ok(serde_json::to_string_pretty(&whole)? + "\n");
    }
    let mut out = format!("{}: {}\n", args.file.display(), image.description());
    for f in Header::FIELDS {
        let value = field(f.offset);
        let shown = match value {
            NO_TOKEN => "none".into(),
            v if v >= RAM_BASE => format!("{v:07X}"),
            v => v.to_string(),
        };
        let _ = writeln!(out, "  {:02X} {:<14} {shown:>10}  {}", f.offset, f.name, f.text);
    }
    let _ = writeln!(out, "  script     {} instructions", image.script().len() / WORD_BYTES);
    let prefix = if t.space_prefix { "a space before the text" } else { "no space before the text" };
    let _ = writeln!(
        out,
        "  tokenizer  {}, {} tokens in the index, split by {}'s rule, {prefix}{}",
        t.kind.name(),
        t.fields.index_len,
        t.pre_split.name(),
        if t.lowercase { ", lower case" } else { "" }
    );
    let file = 256 + u64::from(h.payload_bytes);
    let _ = writeln!(
        out,
        "  memory     {:.1} MB needed, {:.1} MB in the file",
        mb(u64::from(h.memory)),
        mb(file)
    );
    out += "  map\n";
    let marks = [
        (RAM_BASE, "header, tokens"),
        (h.script, "script"),
        (h.vocab, "vocab table"),
        (h.tokenizer, "tokenizer block"),
        (t.fields.index, "index"),
        (t.fields.priorities, "priorities"),
        (t.fields.byte_table, "byte table"),
        (h.weights, "weights, tables"),
        (h.scratch, "activations, KV cache"),
        (h.output, "output"),
        (RAM_BASE + h.memory, "end"),
    ];
    let sorted: BTreeMap<u32, &str> = marks.into_iter().rev().collect();
    for (addr, what) in sorted {
        let _ = writeln!(out, "    {addr:07X} {what}");
    }
    Ok(out)
}
