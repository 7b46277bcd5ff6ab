//! From a GGUF model to what an image must hold and do: one file an architecture.
//!
//! An architecture reads hyperparameters and tensor names, refuses by name whatever its script would not do, and then
//! answers three questions: which objects the payload needs, which scratch memory, and what the script is once
//! everything has an address.

mod bert;
mod decoder;
mod emit;
mod gpt2;
mod hyper;
mod kv;
mod llama;
mod rope;

use crate::gguf::{Gguf, GgufError};
use crate::plan::{Objects, Places};
use ssnail_isa::image::Architecture;
use ssnail_isa::script::Script;

pub use bert::Pooling;
use hyper::ModelFile;

/// What is wrong with a model, beyond what is wrong with the file.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The file itself, or a key or tensor that is missing.
    #[error(transparent)]
    Gguf(#[from] GgufError),
    /// An architecture that has no lowering.
    #[error("{file}architecture `{found}` is not supported; llama, gpt2 and bert are")]
    Architecture {
        /// The file, ending in `: `.
        file: String,
        /// general.architecture.
        found: String,
    },
    /// Something the file asks for and the script does not do.
    #[error("{file}{what} is not supported: {why}")]
    Unsupported {
        /// The file, ending in `: `.
        file: String,
        /// Key and value, or tensor.
        what: String,
        /// What can be done instead, or what is missing.
        why: String,
    },
    /// A key or tensor that contradicts another.
    #[error("{file}{what}: needs {need}, has {have}")]
    Mismatch {
        /// The file, ending in `: `.
        file: String,
        /// Key or tensor.
        what: String,
        /// What the other keys ask for.
        need: String,
        /// What is there.
        have: String,
    },
    /// A tensor that no part of the script uses.
    #[error(
        "{file}tensor `{name}` is not part of a {arch} model that can be converted, and leaving it out would change what the model says"
    )]
    UnknownTensor {
        /// The file, ending in `: `.
        file: String,
        /// The tensor.
        name: String,
        /// The architecture.
        arch: &'static str,
    },
}

/// Format of the KV cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum KvFormat {
    /// Single precision.
    F32,
    /// Half precision.
    #[default]
    F16,
}

impl KvFormat {
    /// Bytes of an element.
    pub const fn bytes(self) -> u32 {
        match self {
            KvFormat::F32 => 4,
            KvFormat::F16 => 2,
        }
    }

    /// The ggml type number, as the ATTN block has it.
    pub const fn ggml(self) -> u32 {
        match self {
            KvFormat::F32 => 0,
            KvFormat::F16 => 1,
        }
    }
}

/// The sizes of a model, all in elements.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Shape {
    /// Layers.
    pub layers: u32,
    /// Width of the residual stream.
    pub dim: u32,
    /// Query heads.
    pub heads: u32,
    /// KV heads.
    pub kv_heads: u32,
    /// Elements of a head.
    pub head_dim: u32,
    /// Width of the feed-forward.
    pub ffn: u32,
    /// Tokens.
    pub vocab: u32,
    /// Context that the model was made for, in tokens.
    pub context: u32,
}

impl Shape {
    /// Elements of all query heads.
    pub fn q_dim(&self) -> u32 {
        self.heads * self.head_dim
    }

    /// Elements of all KV heads: a row of either cache.
    pub fn kv_dim(&self) -> u32 {
        self.kv_heads * self.head_dim
    }
}

/// What the user decides about the run of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunShape {
    /// Context in tokens.
    pub context: u32,
    /// Format of the KV cache.
    pub kv: KvFormat,
    /// EOS token, where the vocabulary has one.
    pub eos: Option<u32>,
}

/// A model that can be lowered.
pub trait Lowering: std::fmt::Debug + Send + Sync {
    /// Its family.
    fn architecture(&self) -> Architecture;
    /// Its sizes.
    fn shape(&self) -> &Shape;
    /// Whether a context longer than [`Shape::context`] can be had at all.
    fn context_is_fixed(&self) -> bool {
        true
    }
    /// Objects of the payload and of scratch memory, each in order of addresses.
    fn objects(&self, run: &RunShape) -> Objects;
    /// The script, given the address of every object. Its length does not depend on the addresses.
    fn script(&self, run: &RunShape, at: &Places) -> Script;
    /// Where the script leaves its result, as an object of scratch memory; `None` is the output vector of encoders.
    fn output(&self) -> Option<&'static str> {
        Some("logits")
    }
}

/// GGUF's name of a tensor of a layer; `part` is weight or bias.
fn tensor(layer: u32, name: &str, part: &str) -> String {
    format!("blk.{layer}.{name}.{part}")
}

/// Reads a model and checks that its script can do everything the file asks for.
///
/// `pooling` says how an encoder pools where its file does not.
pub fn read(gguf: &Gguf, pooling: Option<Pooling>) -> Result<Box<dyn Lowering>, ModelError> {
    let name = String::from_utf8_lossy(gguf.require::<&[u8]>("general.architecture")?).into_owned();
    Ok(match name.as_str() {
        "llama" => Box::new(llama::Llama::read(ModelFile::new(gguf, "llama"))?),
        "gpt2" => Box::new(gpt2::Gpt2::read(ModelFile::new(gguf, "gpt2"))?),
        "bert" => Box::new(bert::Bert::read(ModelFile::new(gguf, "bert"), pooling)?),
        _ => {
            let file = gguf.path().map(|p| format!("{}: ", p.display())).unwrap_or_default();
            return Err(ModelError::Architecture { file, found: name });
        }
    })
}
