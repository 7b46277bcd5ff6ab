//! Hyperparameters and tensors of a model file, with a record of which have been used, so that what the file asks for
//! and nobody does is found.

use super::{ModelError, Shape};
use crate::gguf::{FromValue, Gguf, GgufError, TensorInfo, Value};
use ssnail_isa::table::{MAX_COLUMNS, MAX_HEAD_DIM, MAX_HEADS, MAX_VECTOR};
use std::cell::RefCell;
use std::collections::HashSet;

/// Keys under the architecture's prefix that say nothing about the arithmetic.
const HARMLESS: &[&str] = &[
    "vocab_size",
    "tensor_data_layout",
    "rope.scaling.finetuned",
    "rope.scaling.original_context_length",
    "rope.scaling.type",
    "decoder_start_token_id",
];

/// A GGUF file read as a model of one architecture.
pub(super) struct ModelFile<'a> {
    gguf: &'a Gguf,
    /// GGUF's name of the architecture: the prefix of its keys.
    arch: &'static str,
    used_keys: RefCell<HashSet<String>>,
    used_tensors: RefCell<HashSet<String>>,
}

impl<'a> ModelFile<'a> {
    pub(super) fn new(gguf: &'a Gguf, arch: &'static str) -> Self {
        Self { gguf, arch, used_keys: RefCell::default(), used_tensors: RefCell::default() }
    }

    fn key(&self, key: &str) -> String {
        self.used_keys.borrow_mut().insert(key.to_owned());
        self.full(key)
    }

    /// The value of a key under the architecture's prefix.
    pub(super) fn get<T: FromValue<'a>>(&self, key: &str) -> Result<Option<T>, GgufError> {
        self.gguf.get(&self.key(key))
    }

    /// The value of a key that must be there.
    pub(super) fn require<T: FromValue<'a>>(&self, key: &str) -> Result<T, GgufError> {
        self.gguf.require(&self.key(key))
    }

    /// A count between 1 and `max`, with the reason for `max`.
    pub(super) fn count(&self, key: &str, max: u32, why: &str) -> Result<u32, ModelError> {
        let value: u64 = self.require(key)?;
        self.check_count(key, value, max, why)
    }

    /// As [`count`](Self::count), with a default where the key is missing.
    pub(super) fn count_or(&self, key: &str, default: u32, max: u32, why: &str) -> Result<u32, ModelError> {
        let value = self.get::<u64>(key)?.unwrap_or(u64::from(default));
        self.check_count(key, value, max, why)
    }

    fn check_count(&self, key: &str, value: u64, max: u32, why: &str) -> Result<u32, ModelError> {
        match u32::try_from(value) {
            Ok(n) if (1..=max).contains(&n) => Ok(n),
            _ => Err(self.unsupported(format!("{}.{key} = {value}", self.arch), format!("{why} 1..={max}"))),
        }
    }

    /// The epsilon of the norms.
    pub(super) fn epsilon(&self, key: &str) -> Result<f32, ModelError> {
        let value: f32 = self.require(key)?;
        if value.is_finite() && value >= 0.0 {
            Ok(value)
        } else {
            Err(self.mismatch(self.full(key), "a finite number of at least 0", value))
        }
    }

    /// Refuses a key whose value asks for something that no script does, unless it says "off".
    pub(super) fn refuse(&self, key: &str, why: &str) -> Result<(), ModelError> {
        let full = self.key(key);
        match self.gguf.metadata().value(&full) {
            Some(value) if !is_neutral(key, &value) => {
                Err(self.unsupported(format!("{full} = {value}"), why))
            }
            _ => Ok(()),
        }
    }

    /// The tensor of this name, which must have these dimensions (row length first).
    pub(super) fn tensor(&self, name: &str, dims: &[u32]) -> Result<&'a TensorInfo, ModelError> {
        let info = self.gguf.require_tensor(name)?;
        self.used_tensors.borrow_mut().insert(name.to_owned());
        // Trailing dimensions of 1 say nothing.
        let significant = info.dims.iter().rposition(|&d| d != 1).map_or(1, |i| i + 1).max(dims.len());
        let same = info.dims.len() >= dims.len()
            && significant == dims.len()
            && info.dims.iter().zip(dims).all(|(a, b)| *a == u64::from(*b));
        if !same {
            let (need, have) = (format!("{dims:?} elements"), format!("{:?}", info.dims));
            return Err(self.mismatch(format!("tensor `{name}`"), need, have));
        }
        // No elements: only the type is judged.
        crate::ggml::dequantize_row(info.ggml_type, &[], &mut [])
            .map_err(|e| self.unsupported(format!("tensor `{name}`"), e))?;
        Ok(info)
    }

    /// Rows of a tensor whose rows must have `cols` elements.
    pub(super) fn rows(&self, name: &str, cols: u32) -> Result<u32, ModelError> {
        let info = self.gguf.require_tensor(name)?;
        let rows = u32::try_from(info.n_rows()).unwrap_or(u32::MAX);
        if info.dims.len() == 1 {
            self.tensor(name, &[cols])?
        } else {
            self.tensor(name, &[cols, rows])?
        };
        Ok(rows)
    }

    /// Whether the tensor is there; if so it must have these dimensions.
    pub(super) fn optional(&self, name: &str, dims: &[u32]) -> Result<bool, ModelError> {
        Ok(self.gguf.tensor(name).is_some() && self.tensor(name, dims).map(|_| true)?)
    }

    /// A small tensor as F32, which must have `len` elements.
    pub(super) fn vector(&self, name: &str, len: u32) -> Result<Vec<f32>, ModelError> {
        let info = self.tensor(name, &[len])?;
        let mut out = vec![0.0; len as usize];
        crate::ggml::dequantize_row(info.ggml_type, self.gguf.tensor_data(info), &mut out)
            .map_err(|e| self.unsupported(format!("tensor `{name}`"), e))?;
        Ok(out)
    }

    /// Marks a tensor as known and not needed.
    pub(super) fn ignore(&self, name: &str) {
        self.used_tensors.borrow_mut().insert(name.to_owned());
    }

    /// The number of tokens that the tokenizer has.
    fn vocab(&self) -> Result<u32, ModelError> {
        let tokens: crate::gguf::Array<'_> = self.gguf.require("tokenizer.ggml.tokens")?;
        self.check_count(
            "tokenizer.ggml.tokens",
            tokens.len() as u64,
            MAX_VECTOR,
            "the number of tokens can be",
        )
    }

    /// Sizes that all architectures have under the same keys.
    pub(super) fn shape(&self) -> Result<Shape, ModelError> {
        let gemv = "a GEMV takes rows of";
        let layers = self.count("block_count", 1024, "the number of layers can be")?;
        let dim = self.count("embedding_length", MAX_COLUMNS, gemv)?;
        let ffn = self.count("feed_forward_length", MAX_COLUMNS, gemv)?;
        let heads = self.count("attention.head_count", MAX_HEADS, "ATTN takes heads")?;
        let kv_heads = self.count_or("attention.head_count_kv", heads, MAX_HEADS, "ATTN takes KV heads")?;
        if !heads.is_multiple_of(kv_heads) {
            let what = format!("{}.attention.head_count_kv", self.arch);
            return Err(self.mismatch(what, format!("a divisor of the {heads} heads"), kv_heads));
        }
        let head_dim = match self.get::<u64>("attention.key_length")? {
            Some(n) => self.check_count("attention.key_length", n, MAX_HEAD_DIM, "a head can have")?,
            None if dim.is_multiple_of(heads) && dim / heads <= MAX_HEAD_DIM => dim / heads,
            None => {
                let what = format!("{}.embedding_length / attention.head_count = {dim} / {heads}", self.arch);
                return Err(self.unsupported(what, limit("head dimension", MAX_HEAD_DIM)));
            }
        };
        if let Some(v) = self.get::<u64>("attention.value_length")?.filter(|&v| v != u64::from(head_dim)) {
            let what = format!("{}.attention.value_length = {v}", self.arch);
            return Err(self.unsupported(what, format!("ATTN needs values as long as keys, {head_dim}")));
        }
        if heads * head_dim > MAX_COLUMNS {
            let what =
                format!("{} = {heads}, of {head_dim} elements each", self.full("attention.head_count"));
            return Err(self.unsupported(what, limit("row of a GEMV", MAX_COLUMNS)));
        }
        let (vocab, rows) = (self.vocab()?, self.rows("token_embd.weight", dim)?);
        if vocab != rows {
            let need = format!("one for each of the {rows} rows of token_embd.weight");
            return Err(self.mismatch("tokenizer.ggml.tokens".into(), need, vocab));
        }
        let context = self.count("context_length", u32::MAX, "the context can be")?;
        Ok(Shape { layers, dim, heads, kv_heads, head_dim, ffn, vocab, context })
    }

    /// Refuses what no script does, then every key of the architecture and every tensor that was not asked for.
    pub(super) fn finish(&self, arch: &'static str) -> Result<(), ModelError> {
        self.refuse("expert_count", "mixtures of experts have no lowering")?;
        self.refuse("attention.sliding_window", "attention always covers the whole context")?;
        let used = self.used_keys.borrow();
        let prefix = format!("{}.", self.arch);
        for (key, value) in self.gguf.metadata().iter() {
            let Some(key) = key.strip_prefix(&prefix) else { continue };
            if !used.contains(key) && !HARMLESS.contains(&key) && !is_neutral(key, &value) {
                let what = format!("{prefix}{key} = {value}");
                return Err(self.unsupported(what, format!("the {arch} script has nothing for it")));
            }
        }
        let used = self.used_tensors.borrow();
        match self.gguf.tensors().iter().find(|t| !used.contains(&t.name)) {
            Some(t) => Err(ModelError::UnknownTensor { file: self.file(), name: t.name.clone(), arch }),
            None => Ok(()),
        }
    }

    /// A key with the architecture's prefix, for messages.
    pub(super) fn full(&self, key: &str) -> String {
        format!("{}.{key}", self.arch)
    }

    pub(super) fn unsupported(&self, what: String, why: impl ToString) -> ModelError {
        ModelError::Unsupported { file: self.file(), what, why: why.to_string() }
    }

    pub(super) fn mismatch(&self, what: String, need: impl ToString, have: impl ToString) -> ModelError {
        ModelError::Mismatch { file: self.file(), what, need: need.to_string(), have: have.to_string() }
    }

    fn file(&self) -> String {
        self.gguf.path().map(|p| format!("{}: ", p.display())).unwrap_or_default()
    }
}

/// The reason for refusing something longer than the hardware takes.
fn limit(what: &str, max: u32) -> String {
    format!("the longest {what} of the hardware is {max}")
}

/// Whether a value switches nothing on: 0, false, an empty array; 1 where something is multiplied by it.
fn is_neutral(key: &str, value: &Value<'_>) -> bool {
    // `attention.scale` takes the place of ATTN's own factor, so that 1 is far from neutral.
    let multiplies = key != "attention.scale" && (key.contains("scale") || key.ends_with("_factor"));
    match value {
        Value::Bool(on) => !on,
        Value::Array(a) => a.is_empty(),
        v => match (v.as_int(), v.as_float()) {
            (Some(n), _) => n == 0,
            (_, Some(x)) => x == 0.0 || (x == 1.0 && multiplies),
            _ => false,
        },
    }
}
