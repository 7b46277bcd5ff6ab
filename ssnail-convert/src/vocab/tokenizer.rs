//! The tokenizer of a model: text to ids and back.

use super::bpe::{Bpe, Merge};
use super::cache::WordCache;
use super::data::VocabData;
use super::error::VocabError;
use super::merge::Merger;
use super::pre::PreTokenizer;
use super::special::{self, Finder, Fragment};
use super::spm::Spm;
use super::vocabulary::{SPACE_MARK, SpecialIds, Vocab, VocabKind};
use super::wordpiece::WordPiece;
use std::fmt::Write;
use std::ops::Deref;
use std::sync::Mutex;

/// What [`Tokenizer::encode`] does beyond the text itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EncodeOptions {
    /// Put the begin and end tokens that the model wants.
    pub add_special: bool,
    /// Take control tokens written in the text (`<|im_start|>`) for what they say, not for text.
    /// Right for a prompt of one's own making, wrong for text from elsewhere.
    pub parse_special: bool,
}

/// How [`Tokenizer::decode`] prints.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DecodeOptions {
    /// Print control and unknown tokens by name; else they are left out.
    pub show_special: bool,
    /// The ids go on with a text: the space at the start is text, not the one that encoding put there.
    pub continuation: bool,
}

/// A model's own tokenizer.
pub struct Tokenizer {
    vocab: Vocab,
    algorithm: Algorithm,
    ends_of_generation: Vec<u32>,
    user_defined: Finder,
    all_special: Finder,
    /// Taken for the time of an `encode`; a second one at the same time works without.
    scratch: Mutex<Scratch>,
}

enum Algorithm {
    Spm(Box<Spm>),
    Bpe(Box<Bpe>),
    WordPiece(Box<WordPiece>),
}

#[derive(Default)]
struct Scratch {
    merger: Merger,
    cache: WordCache,
}

impl std::fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let vocab = &self.vocab;
        f.debug_struct("Tokenizer")
            .field("kind", &vocab.kind)
            .field("tokens", &vocab.len())
            .finish_non_exhaustive()
    }
}

/// The vocabulary's own questions are asked of the tokenizer: `len`, `text`, `bytes`, `token_type`, `score`, ...
impl Deref for Tokenizer {
    type Target = Vocab;

    fn deref(&self) -> &Vocab {
        &self.vocab
    }
}

impl Tokenizer {
    /// Checks a vocabulary and makes its tables. `pre` takes the place of the file's `tokenizer.ggml.pre`; a
    /// byte-level vocabulary with neither gets llama.cpp's `default`.
    ///
    /// # Errors
    /// Whatever [`VocabError`] names.
    pub fn new(mut data: VocabData, pre: Option<&str>) -> Result<Self, VocabError> {
        if let Some(pre) = pre {
            PreTokenizer::find(pre)?;
            data.pre = Some(pre.to_owned());
        }
        let byte_level = data.model == "gpt2";
        if byte_level && data.pre.as_deref().is_none_or(str::is_empty) {
            data.pre = Some("default".to_owned());
        }
        let pre = match &data.pre {
            Some(name) if byte_level => Some(PreTokenizer::find(name)?),
            _ => None,
        };
        let mut vocab = Vocab::new(&data, pre)?;
        let ends_of_generation = special::mark(&mut vocab, &data);
        let algorithm = match (vocab.kind, pre) {
            (VocabKind::ByteBpe, Some(pre)) => {
                Algorithm::Bpe(Box::new(Bpe::new(&vocab, pre, data.merges.as_ref())?))
            }
            (VocabKind::WordPiece, _) => Algorithm::WordPiece(Box::new(WordPiece::new(&vocab)?)),
            (VocabKind::SentencePiece | VocabKind::ByteBpe, _) => Algorithm::Spm(Box::new(Spm::new(&vocab)?)),
        };
        Ok(Self {
            user_defined: Finder::new(&vocab, &data, false),
            all_special: Finder::new(&vocab, &data, true),
            scratch: Mutex::default(),
            vocab,
            algorithm,
            ends_of_generation,
        })
    }

    /// The ids of `text`.
    pub fn encode(&self, text: &str, options: EncodeOptions) -> Vec<u32> {
        let mut out = Vec::with_capacity(text.len() / 3 + 2);
        let mut spare = Scratch::default();
        let mut shared = self.scratch.try_lock();
        let scratch = shared.as_deref_mut().unwrap_or(&mut spare);
        let (first, last) = if options.add_special { self.frame() } else { (None, None) };
        out.extend(first);
        let finder = if options.parse_special { &self.all_special } else { &self.user_defined };
        let mut after_special = true;
        for fragment in finder.fragments(text) {
            match fragment {
                Fragment::Token(id) => out.push(id),
                Fragment::Text(ref range) => {
                    self.encode_text(&text[range.clone()], after_special, scratch, &mut out);
                }
            }
            after_special = matches!(fragment, Fragment::Token(_));
        }
        out.extend(last);
        out
    }

    fn encode_text(&self, text: &str, after_special: bool, scratch: &mut Scratch, out: &mut Vec<u32>) {
        let Scratch { merger, cache } = scratch;
        match &self.algorithm {
            Algorithm::Spm(spm) => {
                let prefix = if self.vocab.add_space_prefix && after_special { SPACE_MARK } else { "" };
                let mut marked = String::with_capacity(text.len() + text.len() / 2 + prefix.len());
                marked.push_str(prefix);
                for (index, part) in text.split(' ').enumerate() {
                    marked.push_str(if index == 0 { "" } else { SPACE_MARK });
                    marked.push_str(part);
                }
                spm.encode(&self.vocab, &marked, merger, cache, out);
            }
            Algorithm::Bpe(bpe) => bpe.encode(&self.vocab, text, merger, cache, out),
            Algorithm::WordPiece(words) => words.encode(text, cache, out),
        }
    }

    /// The tokens before and behind a text.
    fn frame(&self) -> (Option<u32>, Option<u32>) {
        let vocab = &self.vocab;
        match vocab.kind {
            // As llama.cpp has it: whatever the file says, an encoder's text has both.
            VocabKind::WordPiece => (vocab.ids.bos, vocab.ids.sep),
            VocabKind::SentencePiece | VocabKind::ByteBpe => {
                (vocab.ids.bos.filter(|_| vocab.add_bos), vocab.ids.eos.filter(|_| vocab.add_eos))
            }
        }
    }

    /// The bytes that `ids` print, which need not be whole characters; ids outside of the vocabulary print nothing.
    ///
    /// SentencePiece and WordPiece begin a text with a space that is not in it; that one is dropped unless
    /// the ids are the continuation of a text.
    pub fn decode(&self, ids: &[u32], options: DecodeOptions) -> Vec<u8> {
        let mut out = Vec::new();
        let mut drop_space = !options.continuation
            && match self.vocab.kind {
                VocabKind::SentencePiece => self.vocab.add_space_prefix,
                VocabKind::WordPiece => true,
                VocabKind::ByteBpe => false,
            };
        for &id in ids {
            let bytes = self.vocab.bytes(id).unwrap_or_default();
            if self.vocab.is_special(id) {
                out.extend_from_slice(if options.show_special { bytes } else { &[] });
                continue;
            }
            out.extend_from_slice(if drop_space { bytes.strip_prefix(b" ").unwrap_or(bytes) } else { bytes });
            drop_space = false;
        }
        out
    }

    /// A token's output for the eye: line breaks and other controls escaped, bytes that are no whole character as `\xHH`.
    pub fn piece(&self, id: u32) -> String {
        let mut piece = String::new();
        for chunk in self.vocab.bytes(id).unwrap_or_default().utf8_chunks() {
            for char in chunk.valid().chars() {
                if char.is_control() {
                    piece.extend(char.escape_default());
                } else {
                    piece.push(char);
                }
            }
            for byte in chunk.invalid() {
                let _ = write!(piece, "\\x{byte:02x}");
            }
        }
        piece
    }

    /// The algorithm.
    pub fn kind(&self) -> VocabKind {
        self.vocab.kind
    }

    /// `tokenizer.ggml.model`.
    pub fn model(&self) -> &str {
        &self.vocab.model
    }

    /// The pre-tokenizer's name: the one given, else the file's; `None` if neither names one.
    pub fn pre(&self) -> Option<&str> {
        self.vocab.pre.as_deref()
    }

    /// The special tokens.
    pub fn ids(&self) -> SpecialIds {
        self.vocab.ids
    }

    /// True if a begin token is put before a text.
    pub fn adds_bos(&self) -> bool {
        self.frame().0.is_some()
    }

    /// True if an end token (a separator, in WordPiece) is put behind a text.
    pub fn adds_eos(&self) -> bool {
        self.frame().1.is_some()
    }

    /// True if SentencePiece puts a space before a text.
    pub fn adds_space_prefix(&self) -> bool {
        self.vocab.add_space_prefix
    }

    /// True if WordPiece takes text in lower case.
    pub fn lowercases(&self) -> bool {
        self.vocab.kind == VocabKind::WordPiece && self.vocab.lowercase
    }

    /// The merge list of a byte-level vocabulary, its rank being the position; empty for the others.
    pub fn merges(&self) -> &[Merge] {
        match &self.algorithm {
            Algorithm::Bpe(bpe) => &bpe.merges,
            Algorithm::Spm(_) | Algorithm::WordPiece(_) => &[],
        }
    }

    /// True if a word that is a token is taken whole, whatever the merges say.
    pub fn ignores_merges(&self) -> bool {
        matches!(&self.algorithm, Algorithm::Bpe(bpe) if bpe.ignore_merges)
    }

    /// The tokens after which a model has finished, ascending.
    pub fn ends_of_generation(&self) -> &[u32] {
        &self.ends_of_generation
    }
}
