//! `ssnail-sim compare`: what hardware numerics cost a model, against float numerics.

use super::args::{ImageFile, install};
use anyhow::{Context, Result, ensure};
use clap::Args;
use serde::Serialize;
use ssnail_isa::Board;
use ssnail_isa::image::{Image, NO_TOKEN};
use ssnail_sim::compare::{Position, Summary, compare, cosine};
use ssnail_sim::{Float, Hardware, Session};
use ssnail_tok::Tokenizer;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

/// Disagreements that the table shows.
const SHOWN: usize = 10;

/// What is compared on.
#[derive(Args)]
pub(super) struct CompareArgs {
    /// The image
    image: PathBuf,
    /// Text to compare along; of an encoder the text to embed
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, required_unless_present_any = ["text", "tokens"])]
    prompt: Option<String>,
    /// A file of text to compare along, cut into windows of the model's context
    #[arg(long, value_name = "FILE", conflicts_with = "prompt")]
    text: Option<PathBuf>,
    /// Token ids to compare along, as they are
    #[arg(long, value_name = "ID,ID,..", value_delimiter = ',', conflicts_with_all = ["prompt", "text"])]
    tokens: Option<Vec<u32>>,
    /// Threads [default: one a processor]
    #[arg(short = 't', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// Print one JSON object, with every position
    #[arg(long)]
    json: bool,
}

/// What `--json` prints of a decoder; pairs are float, then hardware.
#[derive(Serialize)]
struct Report {
    summary: Summary,
    positions: Vec<Position>,
}

/// What `--json` prints of an encoder.
#[derive(Serialize)]
struct Embeddings {
    cosine: f64,
    max_difference: f32,
    embeddings: [Vec<f32>; 2],
}

/// Compares and prints.
pub(super) fn run(args: &CompareArgs) -> Result<()> {
    let file = ImageFile::open(&args.image)?;
    let image = file.parse()?;
    let tokens = tokens(args, &image)?;
    ensure!(!tokens.is_empty(), "the text has no tokens");
    install(args.threads, || {
        let board: Option<Board> = None;
        let load = |numerics| Session::load(&image, board, numerics).with_context(|| file.name());
        let mut sessions = [load(Box::new(Float::new()))?, load(Box::new(Hardware::new()))?];
        if image.is_encoder() {
            return embeddings(args, &mut sessions, &tokens).with_context(|| file.name());
        }
        let begin =
            Some(image.tokenizer().fields.begin).filter(|&t| t != NO_TOKEN && tokens.first() == Some(&t));
        let total = tokens.len();
        let show = io::stderr().is_terminal();
        let positions = compare(&mut sessions, &tokens, begin, |done| {
            if show && (done.is_multiple_of(16) || done == total) {
                eprint!("\r{done} of {total} positions ");
            }
        })
        .with_context(|| file.name())?;
        if show {
            eprint!("\r{:40}\r", "");
        }
        let summary = Summary::of(&positions);
        let mut out = io::stdout().lock();
        if args.json {
            writeln!(out, "{}", serde_json::to_string(&Report { summary, positions })?)?;
        } else {
            table(&mut out, &summary, &positions, &Tokenizer::new(&image))?;
        }
        Ok(())
    })
}

fn tokens(args: &CompareArgs, image: &Image<'_>) -> Result<Vec<u32>> {
    let text = match (&args.tokens, &args.prompt, &args.text) {
        (Some(tokens), ..) => return Ok(tokens.clone()),
        (_, Some(prompt), _) => prompt.clone(),
        (_, _, Some(path)) => std::fs::read_to_string(path).with_context(|| path.display().to_string())?,
        _ => String::new(),
    };
    Ok(Tokenizer::new(image).encode(&text))
}

fn table(
    out: &mut impl Write,
    s: &Summary,
    positions: &[Position],
    tokenizer: &Tokenizer<'_>,
) -> io::Result<()> {
    writeln!(out, "positions            {}", s.positions)?;
    writeln!(
        out,
        "logit difference     {:.4} at most, {:.4} on average",
        s.max_difference, s.mean_difference
    )?;
    writeln!(out, "KL divergence        {:.6} nats on average, {:.6} at most", s.mean_kl, s.max_kl)?;
    let percent = 100.0 * s.agreed as f64 / s.positions.max(1) as f64;
    writeln!(out, "same greedy token    {} of {} ({percent:.1} %)", s.agreed, s.positions)?;
    if let Some([float, hardware]) = s.perplexity {
        let more = 100.0 * (hardware / float - 1.0);
        writeln!(out, "perplexity           {float:.4} float, {hardware:.4} hardware ({more:+.2} %)")?;
    }
    let turned: Vec<_> = positions.iter().enumerate().filter(|(_, p)| p.greedy[0] != p.greedy[1]).collect();
    if turned.is_empty() {
        return Ok(());
    }
    writeln!(out, "other greedy token   widest margin {:.4}", s.widest_margin)?;
    writeln!(out, "{:>8}  {:>8}  float -> hardware", "position", "margin")?;
    let text = |token: u32| String::from_utf8_lossy(tokenizer.token_text(token, false)).into_owned();
    for (at, p) in turned.iter().take(SHOWN) {
        let [a, b] = p.greedy.map(text);
        writeln!(out, "{at:>8}  {:>8.4}  {a:?} -> {b:?}", p.margin)?;
    }
    if turned.len() > SHOWN {
        writeln!(out, "{:>8}  {} more; --json shows all", "...", turned.len() - SHOWN)?;
    }
    Ok(())
}

fn embeddings(args: &CompareArgs, sessions: &mut [Session; 2], tokens: &[u32]) -> Result<()> {
    let mut embeddings = [Vec::new(), Vec::new()];
    for (session, embedding) in sessions.iter_mut().zip(&mut embeddings) {
        session.push(tokens)?;
        *embedding = session.embed()?;
    }
    let [a, b] = &embeddings;
    let cosine = cosine(a, b);
    let max_difference = a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    let mut out = io::stdout().lock();
    if args.json {
        let report = Embeddings { cosine, max_difference, embeddings };
        return Ok(writeln!(out, "{}", serde_json::to_string(&report)?)?);
    }
    writeln!(out, "cosine               {cosine:.6}")?;
    Ok(writeln!(out, "largest difference   {max_difference:.6}")?)
}
