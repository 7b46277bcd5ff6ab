//! The plain form of the command: one prompt through one image.

use super::args::{ImageFile, RunArgs};
use super::logits_file::LogitsFile;
use super::screen::Screen;
use super::stats::RunStats;
use super::trace_file::TraceFile;
use anyhow::{Context, Result, bail};
use serde::Serialize;
use ssnail_isa::image::{Image, NO_TOKEN, StopReason};
use ssnail_sim::Session;
use ssnail_sim::sampler::{Sampler, Sampling};
use ssnail_sim::session::SessionError;
use ssnail_tok::Tokenizer;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Write};
use std::time::{Duration, Instant};

/// Tokens to generate where nothing else is said.
const DEFAULT_COUNT: u32 = 128;

/// What `--json` prints.
#[derive(Serialize)]
struct Report {
    prompt: Vec<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    generated: Option<Vec<u32>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    stop: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    embedding: Option<Vec<f32>>,
}

/// Loads the image and runs it.
pub(super) fn run(args: &RunArgs) -> Result<()> {
    args.engine.install(|| run_here(args))
}

fn run_here(args: &RunArgs) -> Result<()> {
    let file = ImageFile::open(args.image())?;
    let image = file.parse()?;
    let prompt = prompt(args, &image)?;
    let mut session =
        Session::load(&image, args.engine.board, args.engine.numerics()).with_context(|| file.name())?;
    session.set_limit(args.max_instructions);
    let trace = args.trace.trace.as_deref().map(|path| TraceFile::create(path, &args.trace)).transpose()?;
    if let Some(trace) = &trace {
        trace.observe(session.machine_mut());
    }
    let ended = if image.is_encoder() {
        embed(args, &mut session, prompt)
    } else {
        generate(args, &image, &mut session, prompt)
    };
    // The trace of a run that went astray is what one wants to see most.
    let traced = trace.map_or(Ok(()), TraceFile::finish);
    match (ended.map_err(|e| explain(e, args)), traced) {
        (Err(e), Err(of_trace)) => Err(e.context(format!("no trace was written: {of_trace:#}"))),
        (ended, traced) => ended.and(traced),
    }
}

/// The token ids to start from.
fn prompt(args: &RunArgs, image: &Image<'_>) -> Result<Vec<u32>> {
    let ids = match (&args.tokens, &args.prompt) {
        (Some(tokens), _) => tokens.clone(),
        (None, Some(text)) => Tokenizer::new(image).encode(text),
        (None, None) if image.is_encoder() => {
            bail!("an encoder needs a text\nhint: give one with --prompt TEXT or --tokens ID,ID,..")
        }
        (None, None) => [image.tokenizer().fields.begin].into_iter().filter(|&t| t != NO_TOKEN).collect(),
    };
    if ids.is_empty() {
        bail!(
            "the prompt has no tokens, and this model no token to begin with\nhint: give some text with --prompt TEXT"
        );
    }
    Ok(ids)
}

/// Says what to do about an error, where something is known.
fn explain(error: anyhow::Error, args: &RunArgs) -> anyhow::Error {
    match error.downcast_ref() {
        Some(SessionError::Context { context, .. }) => {
            let hint = format!(
                "{}: the prompt is too long; shorten it, or convert the model with --ctx above {context}",
                args.image().display()
            );
            error.context(hint)
        }
        _ => error.context(args.image().display().to_string()),
    }
}

fn embed(args: &RunArgs, session: &mut Session, prompt: Vec<u32>) -> Result<()> {
    if args.logits_out.is_some() || args.count.is_some() || args.sampling.sampling().is_some() {
        bail!("this is an encoder: it has no logits and generates nothing");
    }
    session.push(&prompt)?;
    let start = Instant::now();
    let embedding = session.embed()?;
    let time = start.elapsed();
    let positions = prompt.len() as u32;
    let mut out = io::stdout().lock();
    if args.json {
        let stop = StopReason::Count.name();
        let report =
            Report { prompt, generated: None, text: None, stop, seed: None, embedding: Some(embedding) };
        writeln!(out, "{}", serde_json::to_string(&report)?)?;
    } else {
        embedding.iter().try_for_each(|v| writeln!(out, "{v}"))?;
    }
    print_stats(args, session, positions, (positions, time), (0, Duration::ZERO));
    Ok(())
}

fn generate(args: &RunArgs, image: &Image<'_>, session: &mut Session, prompt: Vec<u32>) -> Result<()> {
    let mut logits = args.logits_out.as_deref().map(LogitsFile::create).transpose()?;
    let start = Instant::now();
    match &mut logits {
        Some(file) => session.push_observed(&prompt, |row| file.row(row))?,
        None => session.push(&prompt)?,
    }
    let mut screen = Screen::new(!args.json, args.ascii, Tokenizer::new(image), &prompt, start)?;
    let n = args.count.unwrap_or_else(|| session.room().min(DEFAULT_COUNT));
    let sampling = args.sampling.sampling();
    let seed =
        sampling.map(|_| args.sampling.seed.unwrap_or_else(|| RandomState::new().build_hasher().finish()));
    let stop = if logits.is_none() && sampling.is_none() {
        session.generate(n, |t| screen.token(t))?
    } else {
        let mut sampler = Sampler::new(sampling.unwrap_or(Sampling::GREEDY), seed.unwrap_or(0));
        prompt.iter().for_each(|&t| sampler.accept(t));
        if let (Some(file), 0) = (&mut logits, n) {
            // Nothing is to be generated, but the last position of the prompt has logits too.
            session.advance()?;
            file.row(&session.output()?);
            session.rewind(prompt.len() as u32)?;
        }
        let pick = |row: &[f32], choice| {
            if let Some(file) = &mut logits {
                file.row(row);
            }
            let token = if sampling.is_some() { sampler.pick(row) } else { choice };
            sampler.accept(token);
            token
        };
        session.generate_with(n, pick, |t| screen.token(t))?
    };
    let times = screen.times();
    let (generated, text) = screen.finish()?;
    logits.map_or(Ok(()), LogitsFile::finish)?;
    if let (Some(seed), None) = (seed, args.sampling.seed) {
        eprintln!("seed {seed}");
    }
    let (prompt_len, new) = (prompt.len() as u32, generated.len() as u32);
    if args.json {
        let report = Report {
            prompt,
            generated: Some(generated),
            text: Some(text),
            stop: stop.name(),
            seed,
            embedding: None,
        };
        writeln!(io::stdout().lock(), "{}", serde_json::to_string(&report)?)?;
    }
    let positions = if new > 0 || args.logits_out.is_some() { prompt_len + new.saturating_sub(1) } else { 0 };
    print_stats(args, session, positions, (prompt_len, times.0), (new.saturating_sub(1), times.1));
    Ok(())
}

fn print_stats(
    args: &RunArgs,
    session: &Session,
    positions: u32,
    prompt: (u32, Duration),
    generated: (u32, Duration),
) {
    if args.stats {
        let stats = session.machine().stats();
        let bandwidth = args.bandwidth * 1e6;
        eprint!("{}", RunStats { stats, positions, prompt, generated, bandwidth });
    }
}
