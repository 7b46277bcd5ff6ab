//! The options of a run, and those that other commands share with it.

use anyhow::{Context, Result};
use clap::Args;
use ssnail_isa::Board;
use ssnail_isa::image::Image;
use ssnail_sim::sampler::Sampling;
use ssnail_sim::session::DEFAULT_LIMIT;
use ssnail_sim::{Float, Hardware, Numerics};
use std::fs::File;
use std::path::{Path, PathBuf};

/// What a run takes.
#[derive(Args)]
pub(super) struct RunArgs {
    /// The image, as ssnail-convert writes it
    #[arg(required = true)]
    image: Option<PathBuf>,
    /// Text to start from
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, conflicts_with = "tokens")]
    pub(super) prompt: Option<String>,
    /// Token ids to start from, as they are: nothing is put before or after them
    #[arg(long, value_name = "ID,ID,..", value_delimiter = ',')]
    pub(super) tokens: Option<Vec<u32>>,
    /// Tokens to generate [default: 128, or what the context leaves]
    #[arg(short = 'n', long = "count", value_name = "N")]
    pub(super) count: Option<u32>,
    #[command(flatten)]
    pub(super) engine: EngineArgs,
    #[command(flatten)]
    pub(super) sampling: SamplingArgs,
    /// Write the logits of every position that runs to this file: little-endian F32, one row a position
    #[arg(long, value_name = "FILE")]
    pub(super) logits_out: Option<PathBuf>,
    /// Print one JSON object with ids, text and reason to stop instead of the text
    #[arg(long)]
    pub(super) json: bool,
    /// Show text in ASCII, as a MEGA65 does
    #[arg(long)]
    pub(super) ascii: bool,
    /// Print instructions, RAM traffic and tokens a second to standard error
    #[arg(long)]
    pub(super) stats: bool,
    /// RAM bandwidth of the hardware that --stats expects
    #[arg(long, value_name = "MB/s", default_value = "130", value_parser = positive)]
    pub(super) bandwidth: f64,
    #[command(flatten)]
    pub(super) trace: TraceArgs,
    /// Instructions that one job may take
    #[arg(long, value_name = "N", default_value_t = DEFAULT_LIMIT)]
    pub(super) max_instructions: u64,
}

impl RunArgs {
    /// The image: clap sees to it that there is one where there is no subcommand.
    pub(super) fn image(&self) -> &Path {
        self.image.as_deref().expect("an image is required")
    }
}

/// What an image runs on.
#[derive(Args)]
pub(super) struct EngineArgs {
    /// Compute what the hardware computes, to the bit, instead of what the model means
    #[arg(long)]
    pub(super) hw: bool,
    /// With --hw: without fast kernels, repacked weights and look-ahead, which change no bit
    #[arg(long, requires = "hw")]
    plain: bool,
    /// Threads [default: one a processor]
    #[arg(short = 't', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// Board whose RAM the machine has [default: the smallest that holds the image]
    #[arg(long, value_name = "r3|r6|preview", value_parser = board)]
    pub(super) board: Option<Board>,
}

impl EngineArgs {
    /// The arithmetic.
    pub(super) fn numerics(&self) -> Box<dyn Numerics + Send> {
        match (self.hw, self.plain) {
            (false, _) => Box::new(Float::new()),
            (true, false) => Box::new(Hardware::new()),
            (true, true) => Box::new(ssnail_sim::hardware::Plain),
        }
    }

    /// Does `work` on the threads that were asked for.
    pub(super) fn install<R: Send>(&self, work: impl FnOnce() -> Result<R> + Send) -> Result<R> {
        install(self.threads, work)
    }
}

/// Does `work` on so many threads, or on one a processor. All of it: who waits for other threads to take work over
/// would wait long beside what an instruction takes.
pub(super) fn install<R: Send>(threads: Option<u16>, work: impl FnOnce() -> Result<R> + Send) -> Result<R> {
    rayon::ThreadPoolBuilder::new().num_threads(threads.map_or(0, usize::from)).build()?.install(work)
}

/// The bytes of an image file.
pub(super) struct ImageFile<'a> {
    path: &'a Path,
    bytes: memmap2::Mmap,
}

impl<'a> ImageFile<'a> {
    /// Maps the file.
    pub(super) fn open(path: &'a Path) -> Result<Self> {
        let name = || path.display().to_string();
        let file = File::open(path).with_context(name)?;
        // SAFETY: a private map that is only read; whoever truncates the file meanwhile ends this process, nothing else.
        let bytes = unsafe { memmap2::Mmap::map(&file) }.with_context(name)?;
        Ok(Self { path, bytes })
    }

    /// The image, its header checked.
    pub(super) fn parse(&self) -> Result<Image<'_>> {
        Image::parse(&self.bytes).with_context(|| self.name())
    }

    /// The path, for messages.
    pub(super) fn name(&self) -> String {
        self.path.display().to_string()
    }
}

/// What is written of each instruction.
#[derive(Args)]
pub(super) struct TraceArgs {
    /// Write a record of each instruction that runs to this file, up to the fault where one ends the run
    #[arg(long, value_name = "FILE")]
    pub(super) trace: Option<PathBuf>,
    /// Leave out the first N instructions
    #[arg(long, value_name = "N", default_value_t = 0, requires = "trace")]
    pub(super) trace_from: u64,
    /// Write no more than N records [default: all]
    #[arg(long, value_name = "N", requires = "trace")]
    pub(super) trace_count: Option<u64>,
    /// Write lines to be read instead of the compact form
    #[arg(long, requires = "trace")]
    pub(super) trace_text: bool,
}

/// How tokens are chosen.
#[derive(Args)]
pub(super) struct SamplingArgs {
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
    pub(super) seed: Option<u64>,
}

impl SamplingArgs {
    /// What to sample with, `None` when greedy.
    pub(super) fn sampling(&self) -> Option<Sampling> {
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
