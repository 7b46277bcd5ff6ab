//! `ssnail-tok`: the tokenizer of an image, and how far it agrees with the model's own.
//! Exit status: 0 done, 1 a line differs, 2 it could not be done.

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};
use ssnail_convert::gguf::Gguf;
use ssnail_convert::tokcheck;
use ssnail_convert::vocab::{Tokenizer, VocabData};
use ssnail_isa::image::Image;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The tokenizer of a SSNAIL image
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print the token ids of a text
    Encode {
        /// A SSNAIL image
        image: PathBuf,
        /// The text
        text: String,
        /// Leave out the begin and end tokens
        #[arg(long)]
        no_bos: bool,
    },
    /// Print the text of token ids
    Decode {
        /// A SSNAIL image
        image: PathBuf,
        /// Ids, separated by commas or spaces
        ids: String,
    },
    /// Compare an image's tokenizer with its model's, line by line; exit status 1 if any line differs
    Check {
        /// A SSNAIL image
        image: PathBuf,
        /// The model that it was made from
        model: PathBuf,
        /// A text to compare on; without it a built-in sample
        text: Option<PathBuf>,
        /// Take another pre-tokenizer than the model's file says
        #[arg(long, value_name = "NAME")]
        pre: Option<String>,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
}

fn main() -> ExitCode {
    match run(&Cli::parse().command) {
        Ok(code) => code,
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ssnail-tok: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
}

fn run(command: &Command) -> Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    match command {
        Command::Encode { image, text, no_bos } => {
            let file = read(image)?;
            let tokenizer = open(&file, image)?;
            let ids = if *no_bos { tokenizer.encode_raw(text) } else { tokenizer.encode(text) };
            let ids: Vec<String> = ids.iter().map(u32::to_string).collect();
            writeln!(out, "{}", ids.join(","))?;
        }
        Command::Decode { image, ids } => {
            let file = read(image)?;
            out.write_all(&open(&file, image)?.decode(&parse_ids(ids)?))?;
            writeln!(out)?;
        }
        Command::Check { image, model, text, pre, json } => {
            let file = read(image)?;
            let tokenizer = open(&file, image)?;
            let gguf = Gguf::open(model)?;
            let model = VocabData::from_gguf(&gguf)
                .and_then(|data| Tokenizer::new(data, pre.as_deref()))
                .with_context(|| model.display().to_string())?;
            let text = match text {
                Some(path) => String::from_utf8_lossy(&read(path)?).into_owned(),
                None => tokcheck::SAMPLE.to_owned(),
            };
            let found = tokcheck::check(&tokenizer, &model, text.lines());
            if *json {
                writeln!(out, "{}", serde_json::to_string(&found)?)?;
            } else {
                write!(out, "{}", found.report())?;
            }
            return Ok(if found.is_equal() { ExitCode::SUCCESS } else { ExitCode::from(1) });
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).with_context(|| path.display().to_string())
}

fn open<'a>(file: &'a [u8], path: &Path) -> Result<ssnail_tok::Tokenizer<'a>> {
    let image = Image::parse(file).with_context(|| path.display().to_string())?;
    Ok(ssnail_tok::Tokenizer::new(&image))
}

fn parse_ids(text: &str) -> Result<Vec<u32>> {
    let parts = text.split([',', ' ', '\n', '\t']).filter(|part| !part.is_empty());
    let ids: Vec<u32> = parts
        .map(|part| part.parse().with_context(|| format!("`{part}` is no token id")))
        .collect::<Result<_>>()?;
    if ids.is_empty() {
        bail!("no token ids: give them separated by commas");
    }
    Ok(ids)
}
