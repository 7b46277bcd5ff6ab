//! `ssnail-sim bench`: tokens a second of an image, prompt and generation apart, as llama-bench counts them.

use super::args::{EngineArgs, ImageFile};
use anyhow::{Context, Result, ensure};
use clap::Args;
use serde::Serialize;
use ssnail_sim::Session;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

/// What is measured.
#[derive(Args)]
pub(super) struct BenchArgs {
    /// The image
    image: PathBuf,
    #[command(flatten)]
    engine: EngineArgs,
    /// Tokens of the prompt, from an empty context, 0 to leave it out; of an encoder the text
    #[arg(short = 'p', long = "prompt", value_name = "N", default_value_t = 128)]
    prompt: u32,
    /// Tokens to generate, from an empty context, 0 to leave it out
    #[arg(short = 'n', long = "count", value_name = "N", default_value_t = 128)]
    count: u32,
    /// Runs of each, after one that is not counted
    #[arg(short = 'r', long = "runs", value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// What came out.
#[derive(Serialize)]
struct Report {
    image: String,
    numerics: &'static str,
    threads: usize,
    /// Empty where it was left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<Speed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    generation: Option<Speed>,
}

/// Tokens a second.
#[derive(Serialize)]
struct Speed {
    tokens: u32,
    median: f64,
    runs: Vec<f64>,
}

/// Measures and prints.
pub(super) fn run(args: &BenchArgs) -> Result<()> {
    let file = ImageFile::open(&args.image)?;
    let image = file.parse()?;
    args.engine.install(|| {
        let mut session = Session::load(&image, args.engine.board, args.engine.numerics())
            .with_context(|| file.name())?;
        let context = session.header().context;
        ensure!(
            args.prompt.max(args.count) <= context,
            "{}: {} tokens do not fit the context of {context}\nhint: convert with --ctx, or choose smaller -p and -n",
            file.name(),
            args.prompt.max(args.count)
        );
        let n_vocab = session.header().n_vocab;
        // Any tokens will do; these are spread over the vocabulary and the same each time.
        let tokens: Vec<u32> = (0..args.prompt.max(1)).map(|i| (i * 7919 + 1) % n_vocab).collect();
        let encoder = image.is_encoder();
        let mut measure = |tokens: u32, work: &dyn Fn(&mut Session) -> Result<()>| -> Result<Option<Speed>> {
            if tokens == 0 {
                return Ok(None);
            }
            let mut runs = Vec::new();
            for _ in 0..=args.runs {
                session.clear()?;
                let start = Instant::now();
                work(&mut session)?;
                runs.push(f64::from(tokens) / start.elapsed().as_secs_f64());
            }
            runs.remove(0);
            Ok(Some(Speed { tokens, median: median(&runs), runs }))
        };
        let prompt = measure(args.prompt, &|session| {
            session.push(&tokens)?;
            if encoder { session.embed().map(drop) } else { session.advance().map(drop) }?;
            Ok(())
        })?;
        let count = if encoder { 0 } else { args.count };
        let generation = measure(count, &|session| {
            session.push(&tokens[..1])?;
            // An end token ends a run of the script, not the measurement.
            while session.len() <= count {
                session.generate(count + 1 - session.len(), |_| ControlFlow::Continue(()))?;
            }
            Ok(())
        })?;
        let numerics = session.machine().numerics().name();
        print(args, &Report { image: file.name(), numerics, threads: rayon::current_num_threads(), prompt, generation })
    })
}

fn print(args: &BenchArgs, report: &Report) -> Result<()> {
    let mut out = io::stdout().lock();
    if args.json {
        return Ok(writeln!(out, "{}", serde_json::to_string(report)?)?);
    }
    let s = if report.threads == 1 { "" } else { "s" };
    writeln!(out, "{}: {} numerics, {} thread{s}", report.image, report.numerics, report.threads)?;
    for (what, speed) in [("prompt", &report.prompt), ("generation", &report.generation)] {
        if let Some(Speed { tokens, median, runs }) = speed {
            let least = runs.iter().copied().fold(f64::INFINITY, f64::min);
            let most = runs.iter().copied().fold(0.0, f64::max);
            writeln!(
                out,
                "{what:<10} {tokens:>5} tokens  {median:>9.1} tokens/s  ({least:.1} to {most:.1} in {} runs)",
                runs.len()
            )?;
        }
    }
    Ok(())
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn the_median_is_the_middle_or_between_both() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(&[7.0]), 7.0);
    }
}
