//! Random models of any shape as GGUF files, the same for the same seed: for tests, benchmarks and experiments where
//! no real model is at hand.
//!
//! They say nothing sensible, but are sound: weights of a scale at which activations, attention and logits behave as
//! in trained models, and a tokenizer of the right kind made of pronounceable words.

mod cli;
mod tensors;
mod tokens;

pub use cli::{Shape, SynthArgs, run};

use crate::gguf::GgufWriter;
use crate::model::Pooling;
use ssnail_isa::Format;
use ssnail_isa::image::Architecture;

/// The least vocabulary that has room for every kind's own tokens and a few words.
pub const MIN_VOCAB: u32 = 300;

/// Rotary positions of a llama model. Each `None` leaves the key out of the file.
#[derive(Debug, Clone, PartialEq)]
pub struct SynthRope {
    /// `rope.freq_base`.
    pub freq_base: Option<f32>,
    /// `rope.dimension_count`: elements of a head that are rotated.
    pub dimension_count: Option<u32>,
    /// `rope.scaling.factor`, with type `linear`.
    pub linear_factor: Option<f32>,
    /// Whether there is a tensor `rope_freqs.weight` with factors of 1 to 8, as Llama 3 has.
    pub factors: bool,
}

/// What a random model is to be like; sizes in elements.
#[derive(Debug, Clone, PartialEq)]
pub struct SynthModel {
    /// Family: decides names, tokenizer and which of the options below matter.
    pub arch: Architecture,
    /// Layers.
    pub layers: u32,
    /// Width of the residual stream.
    pub dim: u32,
    /// Query heads.
    pub heads: u32,
    /// KV heads; only llama can have fewer than heads.
    pub kv_heads: u32,
    /// Elements of a head where they are not `dim / heads`: `attention.key_length`. Only llama.
    pub head_dim: Option<u32>,
    /// Width of the feed-forward.
    pub ffn: u32,
    /// Tokens, at least [`MIN_VOCAB`].
    pub vocab: u32,
    /// Context in tokens.
    pub context: u32,
    /// Format of the matrices. Rows that are no whole number of blocks become F16, as llama.cpp's quantiser has it.
    /// Norms, biases, positions and token types are always F32.
    pub weights: Format,
    /// Whether the classifier is the embedding; encoders have none.
    pub tied: bool,
    /// Whether q, k and v have biases. Only llama has the choice.
    pub qkv_biases: bool,
    /// Whether the output of attention has a bias. Only llama has the choice.
    pub output_bias: bool,
    /// How an encoder pools.
    pub pooling: Pooling,
    /// Rotary positions. Only llama.
    pub rope: SynthRope,
    /// Everything random follows from this.
    pub seed: u64,
}

impl SynthModel {
    /// A model of a few kilobytes, for tests.
    pub fn tiny(arch: Architecture) -> Self {
        SynthModel {
            arch,
            layers: 2,
            dim: 64,
            heads: 4,
            kv_heads: if arch == Architecture::Llama { 2 } else { 4 },
            head_dim: None,
            ffn: 96,
            vocab: 320,
            context: 32,
            weights: Format::F32,
            tied: true,
            qkv_biases: false,
            output_bias: false,
            pooling: Pooling::Mean,
            rope: SynthRope { freq_base: None, dimension_count: None, linear_factor: None, factors: false },
            seed: 0,
        }
    }

    /// The shape of the TinyStories model with 15 million parameters.
    pub fn stories_15m() -> Self {
        SynthModel {
            layers: 6,
            dim: 288,
            heads: 6,
            kv_heads: 6,
            ffn: 768,
            vocab: 32000,
            context: 256,
            ..Self::tiny(Architecture::Llama)
        }
    }

    /// The shape of SmolLM2 with 135 million parameters.
    pub fn smollm_135m() -> Self {
        let tiny = Self::tiny(Architecture::Llama);
        SynthModel {
            layers: 30,
            dim: 576,
            heads: 9,
            kv_heads: 3,
            ffn: 1536,
            vocab: 49152,
            context: 8192,
            rope: SynthRope { freq_base: Some(100_000.0), ..tiny.rope.clone() },
            ..tiny
        }
    }

    /// Elements of a head.
    pub fn head_len(&self) -> u32 {
        self.head_dim.unwrap_or(self.dim / self.heads)
    }

    /// The model as a file. All of its weights are in memory.
    ///
    /// # Panics
    /// If the vocabulary is smaller than [`MIN_VOCAB`] or there are no heads.
    pub fn to_gguf(&self) -> GgufWriter {
        let mut writer = GgufWriter::new();
        self.add_hyperparameters(&mut writer);
        tokens::add(self, &mut writer);
        tensors::add(self, &mut writer);
        writer
    }

    fn add_hyperparameters(&self, writer: &mut GgufWriter) {
        let arch = self.arch.name();
        writer.meta("general.architecture", arch);
        writer.meta("general.name", format!("synth-{arch}-{}", self.seed).as_str());
        let key = |name: &str| format!("{arch}.{name}");
        for (name, value) in [
            ("block_count", self.layers),
            ("context_length", self.context),
            ("embedding_length", self.dim),
            ("feed_forward_length", self.ffn),
            ("attention.head_count", self.heads),
        ] {
            writer.meta(key(name), value);
        }
        match self.arch {
            Architecture::Llama => self.add_llama(writer),
            Architecture::Gpt2 => {
                writer.meta(key("attention.layer_norm_epsilon"), 1e-5f32);
            }
            Architecture::Bert => {
                writer.meta(key("attention.layer_norm_epsilon"), 1e-12f32);
                writer.meta(key("attention.causal"), false);
                // llama.cpp's numbers of the kinds of pooling.
                let pooling = match self.pooling {
                    Pooling::Mean => 1u32,
                    Pooling::Cls => 2,
                };
                writer.meta(key("pooling_type"), pooling);
            }
        }
    }

    fn add_llama(&self, writer: &mut GgufWriter) {
        writer.meta("llama.attention.head_count_kv", self.kv_heads);
        writer.meta("llama.attention.layer_norm_rms_epsilon", 1e-5f32);
        writer.meta("llama.vocab_size", self.vocab);
        if let Some(len) = self.head_dim {
            writer.meta("llama.attention.key_length", len);
            writer.meta("llama.attention.value_length", len);
        }
        let rope = &self.rope;
        if let Some(count) = rope.dimension_count {
            writer.meta("llama.rope.dimension_count", count);
        }
        if let Some(base) = rope.freq_base {
            writer.meta("llama.rope.freq_base", base);
        }
        if let Some(factor) = rope.linear_factor {
            writer.meta("llama.rope.scaling.type", "linear");
            writer.meta("llama.rope.scaling.factor", factor);
        }
    }
}

#[cfg(test)]
mod tests;
