//! Where tokens go as the script publishes them.

use super::display::Display;
use anyhow::{Context, Result};
use ssnail_tok::Tokenizer;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Standard output, unless JSON is to follow, and the text and times of what was generated.
pub(super) struct Screen<'a> {
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
    /// Shows the prompt; nothing is shown at any time unless `live`. The prompt's time counts from `start`.
    pub(super) fn new(
        live: bool,
        ascii: bool,
        tokenizer: Tokenizer<'a>,
        prompt: &[u32],
        start: Instant,
    ) -> Result<Self> {
        let mut display = Display::new(tokenizer, ascii);
        let mut shown = String::new();
        display.push(prompt, &mut shown);
        if live {
            write(&shown)?;
        }
        Ok(Screen { display, text: String::new(), tokens: Vec::new(), live, error: None, start, first: None })
    }

    /// Takes a token; breaks when it cannot be shown.
    pub(super) fn token(&mut self, token: u32) -> ControlFlow<()> {
        self.first.get_or_insert_with(Instant::now);
        self.tokens.push(token);
        let shown = self.text.len();
        self.display.push(&[token], &mut self.text);
        self.show_from(shown);
        if self.error.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Time to the first token, and from there to now.
    pub(super) fn times(&self) -> (Duration, Duration) {
        let now = Instant::now();
        let first = self.first.unwrap_or(now);
        (first - self.start, now - first)
    }

    /// Ends the text; gives the tokens and their text.
    pub(super) fn finish(mut self) -> Result<(Vec<u32>, String)> {
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
