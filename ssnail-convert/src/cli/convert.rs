//! The conversion: options, the question before weights lose bits, progress, report.

use super::report;
use crate::convert::{Conversion, ConvertOptions};
use crate::gguf::Gguf;
use crate::model::{KvFormat, Pooling};
use crate::plan::WeightType;
use anyhow::Result;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use ssnail_isa::Format;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of the conversion.
#[derive(Args)]
pub(super) struct ConvertArgs {
    /// The model, a GGUF file
    model: PathBuf,
    /// The image; the model's name with .ssnail where it is not given
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Memory that the image may use, in MB: 8, 64 or 72 for the boards, up to 128 for a preview
    #[arg(long, value_name = "MB", default_value_t = 8)]
    mem_mb: u32,
    /// How weights are stored
    #[arg(long, value_enum, value_name = "TYPE", default_value = "keep")]
    wtype: WeightType,
    /// What formats that the hardware lacks become
    #[arg(long, value_name = "FORMAT", default_value = "q8_0", value_parser = format)]
    fallback: Format,
    /// Context in tokens; by default the model's, at most 256 (encoders 128)
    #[arg(long, value_name = "TOKENS")]
    ctx: Option<u32>,
    /// Format of the KV cache
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "f16")]
    kv: KvFormat,
    /// What kind of model it is, for the description
    #[arg(long = "type", value_name = "TEXT", default_value = "General")]
    model_type: String,
    /// How an encoder pools; by default as the model says
    #[arg(long, value_enum, value_name = "KIND")]
    pooling: Option<Pooling>,
    /// The pre-tokenizer; by default as the model says
    #[arg(long, value_name = "NAME")]
    pre: Option<String>,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
    /// List every object, and every merge that the image's tokenizer does otherwise
    #[arg(short, long)]
    verbose: bool,
}

fn format(text: &str) -> Result<Format, String> {
    Format::ALL
        .into_iter()
        .find(|f| f.name().eq_ignore_ascii_case(text))
        .ok_or_else(|| "the hardware has f32, f16, bf16, q8_0 and q4_0".into())
}

impl ConvertArgs {
    fn options(&self) -> ConvertOptions {
        ConvertOptions {
            wtype: self.wtype,
            fallback: self.fallback,
            context: self.ctx,
            kv: self.kv,
            mem_mb: self.mem_mb,
            model_type: self.model_type.clone(),
            pooling: self.pooling,
            pre: self.pre.clone(),
        }
    }
}

pub(super) fn run(args: &ConvertArgs, out: &mut dyn Write) -> Result<ExitCode> {
    let gguf = Gguf::open(&args.model)?;
    let conversion = Conversion::plan(&gguf, &args.options())?;
    if conversion.needs_consent() && !consent(&conversion)? {
        return Ok(ExitCode::from(1));
    }
    for w in &conversion.warnings {
        eprintln!("ssnail-convert: warning: {w}");
    }

    let output = args.output.clone().unwrap_or_else(|| args.model.with_extension("ssnail"));
    let bar = progress_bar(conversion.file_bytes());
    conversion.write(&output, &|bytes| bar.inc(bytes))?;
    bar.finish_and_clear();

    let text = if args.json {
        serde_json::to_string_pretty(&report::json(&conversion, &output))? + "\n"
    } else {
        report::text(&conversion, &output, args.verbose)
    };
    out.write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// Says which weights would lose bits that they were short of already, and asks. Nobody on the terminal: no.
fn consent(c: &Conversion<'_>) -> Result<bool> {
    let wtype = c.plan.rule.wtype.name();
    eprintln!(
        "ssnail-convert: what fits {} MB is {wtype}: {:.0} % of the weights are quantised in the model already and would get fewer bits",
        c.mem_mb(),
        c.plan.choice.reduced_percent(),
    );
    for s in c.gentler() {
        eprintln!("hint: better: {} needs {:.1} MB", s.options, report::mb(s.memory));
    }
    eprintln!("hint: --wtype {wtype} says that you want it so");
    if !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
        return Ok(false);
    }
    eprint!("Convert all the same? [y/N] ");
    std::io::stderr().flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn progress_bar(bytes: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:40} {bytes}/{total_bytes} {bytes_per_sec} {eta}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(bytes).with_style(style) // draws on standard error, and only on a terminal
}
