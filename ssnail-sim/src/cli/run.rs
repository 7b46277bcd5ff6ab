//! The plain form of the command: one prompt through one image.

use super::display::Display;
use super::logits_file::LogitsFile;
use super::stats::RunStats;
use anyhow::{Context, Result, bail};
use clap::Args;
use serde::Serialize;
use ssnail_isa::Board;
use ssnail_isa::image::{Image, NO_TOKEN, StopReason};
use ssnail_sim::sampler::{Sampler, Sampling};
use ssnail_sim::session::{DEFAULT_LIMIT, SessionError};
use ssnail_sim::{Float, Session};
use ssnail_tok::Tokenizer;
use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Tokens to generate where nothing else is said.
const DEFAULT_COUNT: u32 = 128;

#[derive(Args)]
pub(crate) struct RunArgs {
    /// The image, as ssnail-convert writes it
    image: PathBuf,
    /// Text to start from
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, conflicts_with = "tokens")]
    prompt: Option<String>,
    /// Token ids to start from, as they are: nothing is put before or after them
    #[arg(long, value_name = "ID,ID,..", value_delimiter = ',')]
    tokens: Option<Vec<u32>>,
    /// Tokens to generate [default: 128, or what the context leaves]
    #[arg(short = 'n', long = "count", value_name = "N")]
    count: Option<u32>,
    #[command(flatten)]
    sampling: SamplingArgs,
    /// Write the logits of every position that runs to this file: little-endian F32, one row a position
    #[arg(long, value_name = "FILE")]
    logits_out: Option<PathBuf>,
    /// Print one JSON object with ids, text and reason to stop instead of the text
    #[arg(long)]
    json: bool,
    /// Show text in ASCII, as a MEGA65 does
    #[arg(long)]
    ascii: bool,
    /// Print instructions, RAM traffic and tokens a second to standard error
    #[arg(long)]
    stats: bool,
    /// RAM bandwidth of the hardware that --stats expects
    #[arg(long, value_name = "MB/s", default_value = "130", value_parser = positive)]
    bandwidth: f64,
    /// Board whose RAM the machine has [default: the smallest that holds the image]
    #[arg(long, value_name = "r3|r6|preview", value_parser = board)]
    board: Option<Board>,
    /// Instructions that one job may take
    #[arg(long, value_name = "N", default_value_t = DEFAULT_LIMIT)]
    max_instructions: u64,
}

/// How tokens are chosen.
#[derive(Args)]
struct SamplingArgs {
    /// Take the most likely token, as the hardware does; this is the default unless another of these is given
    #[arg(long, conflicts_with_all = ["temp", "top_k", "top_p", "penalty", "seed"])]
    greedy: bool,
    /// Temperature, 0 for the most likely token [default when sampling: 0.8]
    #[arg(long, value_name = "T", value_parser = not_negative)]
    temp: Option<f64>,
    /// Choose among the K most likely, 0 for all [default when sampling: 40]
    #[arg(long, value_name = "K")]
    top_k: Option<usize>,
    /// Choose among the most likely that together have probability P [default when sampling: 0.95]
    #[arg(long, value_name = "P", value_parser = probability)]
    top_p: Option<f64>,
    /// Make tokens of the last 64 less likely, 1 for not [default when sampling: 1]
    #[arg(long, value_name = "X", value_parser = positive)]
    penalty: Option<f64>,
    /// Seed of the choice [default: random, told on standard error]
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
}

impl SamplingArgs {
    /// What to sample with, `None` when greedy.
    fn sampling(&self) -> Option<Sampling> {
        let any = self.temp.is_some()
            || self.top_k.is_some()
            || self.top_p.is_some()
            || self.penalty.is_some()
            || self.seed.is_some();
        any.then(|| Sampling {
            temperature: self.temp.unwrap_or(0.8),
            top_k: self.top_k.unwrap_or(40),
            top_p: self.top_p.unwrap_or(0.95),
            penalty: self.penalty.unwrap_or(1.0),
        })
    }
}

fn number(text: &str, ok: impl Fn(f64) -> bool, what: &str) -> Result<f64, String> {
    text.parse().ok().filter(|&v: &f64| v.is_finite() && ok(v)).ok_or_else(|| format!("not {what}"))
}

fn positive(text: &str) -> Result<f64, String> {
    number(text, |v| v > 0.0, "a number above 0")
}

fn not_negative(text: &str) -> Result<f64, String> {
    number(text, |v| v >= 0.0, "a number of 0 or more")
}

fn probability(text: &str) -> Result<f64, String> {
    number(text, |v| (0.0..=1.0).contains(&v), "a number between 0 and 1")
}

fn board(text: &str) -> Result<Board, String> {
    let all = [Board::R3, Board::R6, Board::Preview];
    all.into_iter().find(|b| b.name() == text).ok_or_else(|| "not r3, r6 or preview".into())
}

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
    let name = || args.image.display().to_string();
    let file = File::open(&args.image).with_context(name)?;
    // SAFETY: a private map that is only read; whoever truncates the file meanwhile ends this process, nothing else.
    let bytes = unsafe { memmap2::Mmap::map(&file) }.with_context(name)?;
    let image = Image::parse(&bytes).with_context(name)?;
    let prompt = prompt(args, &image)?;
    let mut session = Session::load(&image, args.board, Box::new(Float::new())).with_context(name)?;
    session.set_limit(args.max_instructions);
    if image.is_encoder() {
        embed(args, &mut session, prompt)
    } else {
        generate(args, &image, &mut session, prompt)
    }
    .map_err(|e| explain(e, args))
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
                args.image.display()
            );
            error.context(hint)
        }
        _ => error.context(args.image.display().to_string()),
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
    let mut screen = Screen::new(args, Tokenizer::new(image), &prompt)?;
    match &mut logits {
        Some(file) => session.push_observed(&prompt, |row| file.row(row))?,
        None => session.push(&prompt)?,
    }
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

/// Where tokens go as the script publishes them: standard output, unless JSON is to follow.
struct Screen<'a> {
    display: Display<'a>,
    /// The text of the generated tokens.
    text: String,
    tokens: Vec<u32>,
    /// Whether text is shown as it comes.
    live: bool,
    error: Option<io::Error>,
    start: Instant,
    first: Option<Instant>,
}

impl<'a> Screen<'a> {
    /// Shows the prompt.
    fn new(args: &RunArgs, tokenizer: Tokenizer<'a>, prompt: &[u32]) -> Result<Self> {
        let mut display = Display::new(tokenizer, args.ascii, true);
        let mut shown = String::new();
        display.push(prompt, &mut shown);
        let live = !args.json;
        if live {
            write(&shown)?;
        }
        let start = Instant::now();
        Ok(Screen { display, text: String::new(), tokens: Vec::new(), live, error: None, start, first: None })
    }

    /// Takes a token; breaks when it cannot be shown.
    fn token(&mut self, token: u32) -> ControlFlow<()> {
        self.first.get_or_insert_with(Instant::now);
        self.tokens.push(token);
        let shown = self.text.len();
        self.display.push(&[token], &mut self.text);
        self.show_from(shown);
        if self.error.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Time to the first token, and from there to now.
    fn times(&self) -> (Duration, Duration) {
        let now = Instant::now();
        let first = self.first.unwrap_or(now);
        (first - self.start, now - first)
    }

    /// Ends the text; gives the tokens and their text.
    fn finish(mut self) -> Result<(Vec<u32>, String)> {
        let shown = self.text.len();
        self.display.finish(&mut self.text);
        self.show_from(shown);
        if self.live && self.error.is_none() {
            self.error = write("\n").err();
        }
        self.error.map_or(Ok((self.tokens, self.text)), |e| Err(e).context("standard output"))
    }

    fn show_from(&mut self, start: usize) {
        if self.live && self.error.is_none() {
            self.error = write(&self.text[start..]).err();
        }
    }
}

fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}
