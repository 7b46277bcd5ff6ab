//! The conversion as a whole: options, plan, image.

use crate::gguf::{Gguf, GgufError};
use crate::image;
use crate::image_tokenizer::TokenizerTables;
use crate::model::{self, KvFormat, Lowering, ModelError, Pooling, RunShape};
use crate::output::{OutputError, write_whole};
use crate::plan::{FitError, Ingredients, Plan, Suggestion, WeightType, Wish};
use crate::vocab::VocabError;
use crate::weights::WeightError;
use ssnail_isa::Format;
use ssnail_isa::image::layout::MAX_CONTEXT;
use ssnail_isa::map::MAX_MB;
use std::path::Path;

/// What the user decides.
#[derive(Debug, Clone, PartialEq)]
pub struct ConvertOptions {
    /// How weights are stored.
    pub wtype: WeightType,
    /// What stands in for formats that the hardware lacks.
    pub fallback: Format,
    /// Context in tokens; by default the model's, at most [`DEFAULT_CONTEXT`] or [`DEFAULT_CONTEXT_ENCODER`].
    pub context: Option<u32>,
    /// Format of the KV cache.
    pub kv: KvFormat,
    /// Memory in MB.
    pub mem_mb: u32,
    /// The type in the description.
    pub model_type: String,
    /// How an encoder pools, where it is not to be what the file says.
    pub pooling: Option<Pooling>,
    /// The pre-tokenizer, where it is not to be what the file says.
    pub pre: Option<String>,
}

/// The context of decoders where none is asked for, in tokens.
pub const DEFAULT_CONTEXT: u32 = 256;
/// The context of encoders where none is asked for, in tokens.
pub const DEFAULT_CONTEXT_ENCODER: u32 = 128;

impl Default for ConvertOptions {
    fn default() -> Self {
        ConvertOptions {
            wtype: WeightType::Keep,
            fallback: Format::Q8_0,
            context: None,
            kv: KvFormat::F16,
            mem_mb: 8,
            model_type: "General".into(),
            pooling: None,
            pre: None,
        }
    }
}

/// Why there is no image.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // the wrapped errors say what they are
pub enum ConvertError {
    #[error(transparent)]
    Gguf(#[from] GgufError),
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error("{file}{error}")]
    Vocab { file: String, error: Box<VocabError> },
    #[error(transparent)]
    Fit(#[from] FitError),
    #[error(transparent)]
    Weights(#[from] WeightError),
    #[error(transparent)]
    Output(#[from] OutputError),
    #[error("{option} {value}: {expected}")]
    Option { option: &'static str, value: String, expected: String },
}

/// A conversion that will succeed but for the writing.
#[derive(Debug)]
pub struct Conversion<'a> {
    /// The model's file.
    pub gguf: &'a Gguf,
    /// The model.
    pub model: Box<dyn Lowering>,
    /// Context, cache format, end token.
    pub run: RunShape,
    /// Everything in its place.
    pub plan: Plan,
    /// Tables and properties of the tokenizer.
    pub tables: TokenizerTables,
    /// The description in the header.
    pub description: String,
    /// What the user should know.
    pub warnings: Vec<String>,
    wish: Wish,
}

impl<'a> Conversion<'a> {
    /// Plans a conversion.
    pub fn plan(gguf: &'a Gguf, options: &ConvertOptions) -> Result<Self, ConvertError> {
        if !(1..=MAX_MB).contains(&options.mem_mb) {
            let expected = format!("boards have 8, 64 or 72 MB; for a preview 1 to {MAX_MB} are possible");
            return Err(ConvertError::Option {
                option: "--mem-mb",
                value: options.mem_mb.to_string(),
                expected,
            });
        }
        let model = model::read(gguf, options.pooling)?;
        let tables =
            TokenizerTables::from_gguf(gguf, options.pre.as_deref()).map_err(|error| match error {
                VocabError::Gguf(e) => e.into(), // which names the file itself
                error => {
                    let file = gguf.path().map(|p| format!("{}: ", p.display())).unwrap_or_default();
                    ConvertError::Vocab { file, error: Box::new(error) }
                }
            })?;
        let mut warnings = tables.warnings.clone();
        let context = choose_context(&*model, options.context, &mut warnings)?;
        let run = RunShape { context, kv: options.kv, eos: tables.eos };
        let wish = Wish { wtype: options.wtype, fallback: options.fallback, run, mem_mb: options.mem_mb };
        let plan = Ingredients { model: &*model, gguf, tables: &tables }.plan(&wish)?;
        let description = describe(gguf, &*model, &options.model_type)?;
        Ok(Conversion { gguf, model, run, plan, tables, description, warnings, wish })
    }

    /// Whether auto chose a type that takes bits from weights that were quantised already: nobody asked for that.
    pub fn needs_consent(&self) -> bool {
        self.wish.wtype == WeightType::Auto && self.plan.choice.reduced > 0
    }

    /// What would fit without taking such bits.
    pub fn gentler(&self) -> Vec<Suggestion> {
        Ingredients { model: &*self.model, gguf: self.gguf, tables: &self.tables }.gentler(&self.wish)
    }

    /// Memory in MB that the plan was made for.
    pub fn mem_mb(&self) -> u32 {
        self.wish.mem_mb
    }

    /// Bytes of the file that will be written.
    pub fn file_bytes(&self) -> u64 {
        u64::from(ssnail_isa::image::layout::HEADER_BYTES) + u64::from(self.plan.layout.header.payload_bytes)
    }

    /// The image in memory.
    pub fn to_bytes(&self) -> Result<Vec<u8>, ConvertError> {
        let mut out = Vec::with_capacity(self.file_bytes() as usize);
        image::write(self.gguf, &self.plan.layout, &self.description, &mut out, &|_| {})?;
        Ok(out)
    }

    /// The image as a file, whole or not at all; `progress` is told the bytes of each piece.
    pub fn write(&self, path: &Path, progress: &dyn Fn(u64)) -> Result<(), ConvertError> {
        write_whole(path, |out| {
            image::write(self.gguf, &self.plan.layout, &self.description, out, progress).map_err(
                |e| match e {
                    WeightError::Io(source) => OutputError { path: path.to_owned(), source }.into(),
                    other => other.into(),
                },
            )
        })
    }
}

/// Converts a file; the image is returned.
pub fn convert(path: impl AsRef<Path>, options: &ConvertOptions) -> Result<Vec<u8>, ConvertError> {
    Conversion::plan(&Gguf::open(path)?, options)?.to_bytes()
}

fn choose_context(
    model: &dyn Lowering,
    asked: Option<u32>,
    warnings: &mut Vec<String>,
) -> Result<u32, ConvertError> {
    let own = model.shape().context;
    let default = if model.architecture().is_encoder() { DEFAULT_CONTEXT_ENCODER } else { DEFAULT_CONTEXT };
    let context = asked.unwrap_or(own.min(default));
    let refuse = |expected| ConvertError::Option { option: "--ctx", value: context.to_string(), expected };
    if !(1..=MAX_CONTEXT).contains(&context) {
        return Err(refuse(format!("the token buffer has room for 1 to {MAX_CONTEXT}")));
    }
    if context > own {
        if model.context_is_fixed() {
            return Err(refuse(format!("the model has learned {own} positions and no more")));
        }
        warnings
            .push(format!("context {context} is longer than the {own} tokens that the model was made for"));
    }
    Ok(context)
}

fn describe(gguf: &Gguf, model: &dyn Lowering, model_type: &str) -> Result<String, ConvertError> {
    let (arch, s) = (model.architecture().name(), model.shape());
    let name =
        gguf.get::<&[u8]>("general.name")?.map(String::from_utf8_lossy).filter(|n| !n.trim().is_empty());
    Ok(match name {
        Some(name) => format!("{name} ({arch}) [{model_type}]"),
        None => format!("{arch} {}d {}L {}H [{model_type}]", s.dim, s.layers, s.heads),
    })
}
