//! `ssnail-convert synth`: a random model as a file.

use super::SynthModel;
use anyhow::Result;
use clap::{Args, ValueEnum};
use ssnail_isa::Format;
use ssnail_isa::image::Architecture;
use std::path::PathBuf;

/// Shapes that have a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Shape {
    /// 2 layers of width 64, llama
    TinyLlama,
    /// 2 layers of width 64, gpt2
    TinyGpt2,
    /// 2 layers of width 64, bert
    TinyBert,
    /// TinyStories with 15 million parameters
    #[value(name = "15m")]
    Stories15m,
    /// SmolLM2 with 135 million parameters
    #[value(name = "135m")]
    Smollm135m,
}

impl Shape {
    /// A model of this shape.
    pub fn model(self) -> SynthModel {
        match self {
            Shape::TinyLlama => SynthModel::tiny(Architecture::Llama),
            Shape::TinyGpt2 => SynthModel::tiny(Architecture::Gpt2),
            Shape::TinyBert => SynthModel::tiny(Architecture::Bert),
            Shape::Stories15m => SynthModel::stories_15m(),
            Shape::Smollm135m => SynthModel::smollm_135m(),
        }
    }
}

/// Write a GGUF model of random weights, for benchmarks and experiments
#[derive(Debug, Args)]
pub struct SynthArgs {
    /// Shape of the model
    #[arg(long, value_enum)]
    pub shape: Shape,
    /// Format of the matrices: f32, f16, bf16, q8_0 or q4_0
    #[arg(long, value_name = "TYPE", value_parser = parse_format, default_value = "q8_0")]
    pub wtype: Format,
    /// Another seed gives other weights and other words
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// The file to write
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
}

fn parse_format(name: &str) -> Result<Format, String> {
    let names = || Format::ALL.map(|format| format.name().to_lowercase()).join(", ");
    Format::ALL
        .into_iter()
        .find(|format| format.name().eq_ignore_ascii_case(name))
        .ok_or_else(|| format!("there are {}", names()))
}

/// Writes the file, whole or not at all.
///
/// # Errors
/// When the file cannot be written.
pub fn run(args: &SynthArgs) -> Result<()> {
    let model = SynthModel { weights: args.wtype, seed: args.seed, ..args.shape.model() };
    Ok(model.to_gguf().write(&args.output)?)
}
