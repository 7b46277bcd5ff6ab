//! Weight types: which format each matrix is stored in.

use super::object::{Content, Object, Role};
use crate::ggml::GgmlType;
use crate::gguf::Gguf;
use ssnail_isa::Format;

/// What the user asks for with `--wtype`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
#[value(rename_all = "lower")]
pub enum WeightType {
    /// As in the model; formats that the hardware lacks become the fallback
    Keep,
    /// The first of keep, q8_0, mixed, q4_0 that fits
    Auto,
    /// Layers Q8_0, embedding and classifier Q4_0
    Mixed,
    /// Single precision
    F32,
    /// Half precision
    F16,
    /// The upper half of single precision
    Bf16,
    /// 8 bits and a scale for 32 weights
    #[value(name = "q8_0")]
    Q8_0,
    /// 4 bits and a scale for 32 weights
    #[value(name = "q4_0")]
    Q4_0,
}

impl WeightType {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            WeightType::Keep => "keep",
            WeightType::Auto => "auto",
            WeightType::Mixed => "mixed",
            WeightType::F32 => "f32",
            WeightType::F16 => "f16",
            WeightType::Bf16 => "bf16",
            WeightType::Q8_0 => "q8_0",
            WeightType::Q4_0 => "q4_0",
        }
    }

    /// What is tried in turn: itself, or for auto what auto stands for.
    pub fn candidates(self) -> &'static [WeightType] {
        use WeightType::*;
        match self {
            Auto => &[Keep, Q8_0, Mixed, Q4_0],
            Keep => &[Keep],
            Mixed => &[Mixed],
            F32 => &[F32],
            F16 => &[F16],
            Bf16 => &[Bf16],
            Q8_0 => &[Q8_0],
            Q4_0 => &[Q4_0],
        }
    }
}

/// Decides formats: a weight type, and what stands in for formats that the hardware lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FormatRule {
    /// The weight type, not auto.
    pub wtype: WeightType,
    /// The fallback.
    pub fallback: Format,
}

impl FormatRule {
    /// The format of a matrix of `source` type in rows of `cols`.
    pub fn format(&self, source: GgmlType, cols: u32, role: Role) -> Format {
        let wanted = match self.wtype {
            WeightType::Keep | WeightType::Auto => {
                Format::from_ggml(source.number()).unwrap_or(self.fallback)
            }
            WeightType::Mixed if role == Role::Layer => Format::Q8_0,
            WeightType::Mixed | WeightType::Q4_0 => Format::Q4_0,
            WeightType::F32 => Format::F32,
            WeightType::F16 => Format::F16,
            WeightType::Bf16 => Format::Bf16,
            WeightType::Q8_0 => Format::Q8_0,
        };
        // Blocks cannot span rows.
        if cols.is_multiple_of(wanted.block_len()) { wanted } else { Format::F16 }
    }
}

/// What a rule makes of a model's weights.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// Weights in all matrices.
    pub weights: u64,
    /// Weights that an already quantised source has more bits for.
    pub reduced: u64,
}

impl Choice {
    /// Counts over the matrices of `objects`.
    pub fn of(rule: FormatRule, objects: &[Object], gguf: &Gguf) -> Self {
        let mut choice = Choice { weights: 0, reduced: 0 };
        for o in objects {
            let (Content::Matrix { cols, rows, role }, Some(t)) = (&o.content, gguf.tensor(&o.name)) else {
                continue;
            };
            let n = u64::from(*cols) * u64::from(*rows);
            let source_bits = t.ggml_type.block_bytes() as f64 * 8.0 / t.ggml_type.block_len() as f64;
            let is_quantised = t.ggml_type.block_len() > 1;
            choice.weights += n;
            if is_quantised && rule.format(t.ggml_type, *cols, *role).bits_per_weight() < source_bits {
                choice.reduced += n;
            }
        }
        choice
    }

    /// Share of the weights that lose bits they were already short of, in percent.
    pub fn reduced_percent(&self) -> f64 {
        100.0 * self.reduced as f64 / self.weights.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_give_the_documented_formats() {
        let rule = |wtype| FormatRule { wtype, fallback: Format::Q8_0 };
        let keep = rule(WeightType::Keep);
        assert_eq!(keep.format(GgmlType::Q4_0, 64, Role::Layer), Format::Q4_0);
        assert_eq!(keep.format(GgmlType::Q6_K, 256, Role::Layer), Format::Q8_0);
        assert_eq!(keep.format(GgmlType::BF16, 7, Role::Layer), Format::Bf16);
        let bf16 = FormatRule { wtype: WeightType::Keep, fallback: Format::Bf16 };
        assert_eq!(bf16.format(GgmlType::Q4_K, 256, Role::Layer), Format::Bf16);
        let mixed = rule(WeightType::Mixed);
        assert_eq!(mixed.format(GgmlType::F32, 64, Role::Layer), Format::Q8_0);
        assert_eq!(mixed.format(GgmlType::F32, 64, Role::Embedding), Format::Q4_0);
        assert_eq!(mixed.format(GgmlType::F32, 64, Role::Classifier), Format::Q4_0);
        assert_eq!(rule(WeightType::Q4_0).format(GgmlType::F32, 172, Role::Layer), Format::F16);
    }
}
