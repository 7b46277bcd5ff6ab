//! [`Session`]: drives an image as MEGA65 software does. It writes tokens and the runtime block, starts the script,
//! reads what the script publishes at each SYNC, and goes on from there.

use crate::loader::{self, LoadError};
use crate::machine::Machine;
use crate::memory::{Memory, OutsideRam};
use crate::numerics::Numerics;
use crate::report::RunError;
use byteorder::{ByteOrder, LittleEndian};
use ssnail_isa::image::runtime::addr;
use ssnail_isa::image::{Header, Image, StopReason};
use ssnail_isa::map::Board;
use std::ops::ControlFlow;

/// Instructions that one job may take where nothing else is said: some ten times what the longest context needs, and
/// seconds in a script that loops for ever.
pub const DEFAULT_LIMIT: u64 = 100_000_000;

/// Why a session cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The board's RAM is smaller than what the image needs.
    #[error("the image needs {needs} bytes of memory, {} has {has}", board.map_or("the largest board", Board::name))]
    DoesNotFit {
        /// Bytes that the header asks for.
        needs: u64,
        /// Bytes there are.
        has: u64,
        /// The board that was asked for; `None` when no board would do.
        board: Option<Board>,
    },
    /// More tokens than the context has room for.
    #[error("{tokens} tokens do not fit the context of {context}")]
    Context {
        /// Tokens in all.
        tokens: usize,
        /// The image's context.
        context: u32,
    },
    /// A token that the vocabulary lacks.
    #[error("token {token} at position {position} is not below {n_vocab}, the size of the vocabulary")]
    Token {
        /// The token.
        token: u32,
        /// Its place in the token buffer.
        position: u32,
        /// Tokens of the vocabulary.
        n_vocab: u32,
    },
    /// There is nothing to start from.
    #[error("no tokens to start from")]
    Empty,
    /// The image gives an embedding, or tokens, and the other was asked for.
    #[error("the image is {}", if *encoder { "an encoder: it gives an embedding, not tokens" } else { "a decoder: it gives tokens, not an embedding" })]
    Kind {
        /// Whether it is an encoder.
        encoder: bool,
    },
    /// The script wrote something into the runtime block that cannot be.
    #[error("the script left {field} = {value} in the runtime block, expected {expected}")]
    Runtime {
        /// Field of the runtime block.
        field: &'static str,
        /// What it holds.
        value: u32,
        /// What it could hold.
        expected: String,
    },
    /// The operating system has no memory for the machine's RAM.
    #[error("the operating system has no memory for the machine's RAM")]
    Host(#[from] std::io::Error),
    /// Loading failed.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The script went astray.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A place that the header names is not in RAM.
    #[error(transparent)]
    OutsideRam(#[from] OutsideRam),
}

/// An image in a machine, and how far it has got.
pub struct Session {
    machine: Machine,
    header: Header,
    encoder: bool,
    limit: u64,
    /// Tokens in the buffer: the prompt and what was generated.
    filled: u32,
}

impl Session {
    /// Loads an image into the smallest board that holds it, or into the one given.
    ///
    /// # Errors
    /// When no board, or not the one given, has the memory that the image needs.
    pub fn load(
        image: &Image<'_>,
        board: Option<Board>,
        numerics: Box<dyn Numerics + Send>,
    ) -> Result<Self, SessionError> {
        let header = *image.header();
        let needs = u64::from(header.memory);
        let fitting = board.or_else(|| Board::smallest_for(needs));
        let has = fitting.unwrap_or(Board::Preview).map().bytes();
        let Some(on) = fitting.filter(|_| needs <= has) else {
            return Err(SessionError::DoesNotFit { needs, has, board });
        };
        let mut machine = Machine::new(Memory::new(on)?, numerics);
        loader::load(&mut machine, image)?;
        machine.memory_mut().write_u32(addr::POS, 0)?;
        Ok(Session { machine, header, encoder: image.is_encoder(), limit: DEFAULT_LIMIT, filled: 0 })
    }

    /// Sets how many instructions a job may take.
    pub fn set_limit(&mut self, instructions: u64) {
        self.limit = instructions;
    }

    /// The machine.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The machine, for a debugger to play with.
    pub fn machine_mut(&mut self) -> &mut Machine {
        &mut self.machine
    }

    /// The image's header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Tokens so far, prompt and generated.
    pub fn len(&self) -> u32 {
        self.filled
    }

    /// Whether there are no tokens yet.
    pub fn is_empty(&self) -> bool {
        self.filled == 0
    }

    /// How many tokens can still be generated: the last one stands after the last position.
    pub fn room(&self) -> u32 {
        (self.header.context + 1).saturating_sub(self.filled)
    }

    /// Appends tokens for the next run to process.
    ///
    /// # Errors
    /// When they do not fit the context, or the vocabulary lacks one. Nothing is appended then.
    pub fn push(&mut self, tokens: &[u32]) -> Result<(), SessionError> {
        let total = self.filled as usize + tokens.len();
        if total > self.header.context as usize {
            return Err(SessionError::Context { tokens: total, context: self.header.context });
        }
        for (position, &token) in (self.filled..).zip(tokens) {
            self.check_token(token, position)?;
        }
        for &token in tokens {
            self.write_token(self.filled, token)?;
            self.filled += 1;
        }
        Ok(())
    }

    /// Forgets all tokens; the next run starts at position 0.
    pub fn clear(&mut self) -> Result<(), SessionError> {
        self.rewind(0)
    }

    /// Forgets the tokens from position `len` on. What was computed for those before stays, but for the last one,
    /// which the next run processes again for its logits.
    pub fn rewind(&mut self, len: u32) -> Result<(), SessionError> {
        self.filled = self.filled.min(len);
        let pos = self.runtime(addr::POS)?.min(self.filled.saturating_sub(1));
        Ok(self.machine.memory_mut().write_u32(addr::POS, pos)?)
    }

    /// Lets the script generate up to `n` tokens, the most likely ones. `on_token` gets each at the SYNC that
    /// publishes it; when it breaks, the script stops after that token.
    ///
    /// # Errors
    /// When there are no tokens to start from, or the script goes astray.
    pub fn generate(
        &mut self,
        n: u32,
        mut on_token: impl FnMut(u32) -> ControlFlow<()>,
    ) -> Result<StopReason, SessionError> {
        self.require_kind(false)?;
        if self.filled == 0 {
            return Err(SessionError::Empty);
        }
        let (first, limit) = (self.filled, self.room().min(n));
        for (at, value) in [
            (addr::PROMPT_LEN, first),
            (addr::N_GENERATE, n),
            (addr::GENERATED, 0),
            (addr::STOP_REQUEST, 0),
            (addr::STOP_REASON, 0),
        ] {
            self.machine.memory_mut().write_u32(at, value)?;
        }
        let (tokens, mut seen) = (self.header.tokens, 0);
        // What is new at a SYNC. A script that counts wrongly must not lead the reader out of the token buffer.
        let mut publish = |memory: &mut Memory| -> Result<(), SessionError> {
            let generated = memory.read_u32(addr::GENERATED)?;
            if generated < seen || generated > limit {
                let expected = format!("{seen}..={limit}");
                return Err(SessionError::Runtime { field: "generated", value: generated, expected });
            }
            for i in seen..generated {
                if on_token(memory.read_u32(tokens + 4 * (first + i))?).is_break() {
                    memory.write_u32(addr::STOP_REQUEST, 1)?;
                }
            }
            seen = generated;
            Ok(())
        };
        self.machine.go(self.header.script);
        let mut astray = None;
        let ended = self.machine.run(self.limit, |memory| match publish(memory) {
            Ok(()) => ControlFlow::Continue(()),
            Err(e) => {
                astray = Some(e);
                ControlFlow::Break(())
            }
        });
        self.machine.abort(); // a job that reached its limit ends here
        if let Some(e) = astray {
            return Err(e);
        }
        ended?;
        publish(self.machine.memory_mut())?;
        self.filled = first + seen;
        self.stop_reason()
    }

    /// Processes what was pushed and then one position, and gives the token that the script takes for the next one,
    /// appended already; `None` where the context is full.
    ///
    /// # Errors
    /// As [`Session::generate`].
    pub fn advance(&mut self) -> Result<Option<u32>, SessionError> {
        let mut token = None;
        self.generate(1, |t| {
            token = Some(t);
            ControlFlow::Continue(())
        })?;
        Ok(token)
    }

    /// Generates up to `n` tokens with a run for each, so that the host can choose: `pick` gets the logits and the
    /// script's own choice. Stops as the script would, with EOS looked for here. `on_token` as in [`Session::generate`].
    ///
    /// # Errors
    /// As [`Session::generate`]; also when `pick` gives a token that the vocabulary lacks.
    pub fn generate_with(
        &mut self,
        n: u32,
        mut pick: impl FnMut(&[f32], u32) -> u32,
        mut on_token: impl FnMut(u32) -> ControlFlow<()>,
    ) -> Result<StopReason, SessionError> {
        for _ in 0..n {
            let Some(choice) = self.advance()? else { return Ok(StopReason::Context) };
            let token = pick(&self.output()?, choice);
            self.replace_last(token)?;
            let wanted = on_token(token).is_continue();
            if token == self.header.eos {
                return Ok(StopReason::Eos);
            }
            if !wanted {
                return Ok(StopReason::Request);
            }
        }
        Ok(StopReason::Count)
    }

    /// As [`Session::push`], but processes all but the last token at once, with a run for each, and shows the logits
    /// that a script in the midst of its prompt would not compute.
    ///
    /// # Errors
    /// As [`Session::push`] and [`Session::generate`].
    pub fn push_observed(
        &mut self,
        tokens: &[u32],
        mut on_logits: impl FnMut(&[f32]),
    ) -> Result<(), SessionError> {
        let before = self.filled;
        self.push(tokens)?;
        if tokens.len() > 1 {
            self.filled = before + 1;
            for &token in &tokens[1..] {
                self.advance()?;
                on_logits(&self.output()?);
                self.replace_last(token)?;
            }
        }
        Ok(())
    }

    /// Puts another token in the place of the last one, which must not have been processed yet: the host's choice
    /// instead of the script's.
    ///
    /// # Errors
    /// When the vocabulary lacks it, or there is no last token.
    pub fn replace_last(&mut self, token: u32) -> Result<(), SessionError> {
        let last = self.filled.checked_sub(1).ok_or(SessionError::Empty)?;
        self.check_token(token, last)?;
        self.write_token(last, token)
    }

    /// The output vector: a decoder's logits of the last position that ran, an encoder's embedding.
    ///
    /// # Errors
    /// When the header's place for it is not in RAM.
    pub fn output(&self) -> Result<Vec<f32>, SessionError> {
        let bytes = self.machine.memory().get(self.header.output, 4 * u64::from(self.header.output_len))?;
        Ok(bytes.chunks_exact(4).map(LittleEndian::read_f32).collect())
    }

    /// Runs an encoder over what was pushed and gives the embedding.
    ///
    /// # Errors
    /// When there are no tokens, or the script goes astray.
    pub fn embed(&mut self) -> Result<Vec<f32>, SessionError> {
        self.require_kind(true)?;
        if self.filled == 0 {
            return Err(SessionError::Empty);
        }
        for (at, value) in [(addr::POS, 0), (addr::PROMPT_LEN, self.filled), (addr::STOP_REASON, 0)] {
            self.machine.memory_mut().write_u32(at, value)?;
        }
        self.machine.go(self.header.script);
        let ended = self.machine.run(self.limit, |_| ControlFlow::Continue(()));
        self.machine.abort();
        ended?;
        match self.stop_reason()? {
            StopReason::Count => self.output(),
            StopReason::Context => {
                Err(SessionError::Context { tokens: self.filled as usize, context: self.header.context })
            }
            other => Err(self.odd_reason(other as u32, "1 (count) or 3 (context) from an encoder")),
        }
    }

    fn stop_reason(&self) -> Result<StopReason, SessionError> {
        let code = self.runtime(addr::STOP_REASON)?;
        StopReason::from_code(code).ok_or_else(|| self.odd_reason(code, "1..=4"))
    }

    fn odd_reason(&self, value: u32, expected: &str) -> SessionError {
        SessionError::Runtime { field: "stop_reason", value, expected: expected.into() }
    }

    fn require_kind(&self, encoder: bool) -> Result<(), SessionError> {
        if self.encoder == encoder { Ok(()) } else { Err(SessionError::Kind { encoder: self.encoder }) }
    }

    fn check_token(&self, token: u32, position: u32) -> Result<(), SessionError> {
        let n_vocab = self.header.n_vocab;
        if token < n_vocab { Ok(()) } else { Err(SessionError::Token { token, position, n_vocab }) }
    }

    fn write_token(&mut self, position: u32, token: u32) -> Result<(), SessionError> {
        Ok(self.machine.memory_mut().write_u32(self.header.tokens + 4 * position, token)?)
    }

    fn runtime(&self, at: u32) -> Result<u32, SessionError> {
        Ok(self.machine.memory().read_u32(at)?)
    }
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
