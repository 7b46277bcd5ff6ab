//! Rotary positions: frequencies, their scaling, and the table of cosines and sines.

use super::ModelError;
use super::hyper::ModelFile;

/// How positions become angles.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rope {
    /// Angle of each rotated pair per position, in radians, scaling applied.
    frequencies: Vec<f64>,
    /// Elements of a head; pairs beyond the frequencies are not rotated.
    head_dim: u32,
}

impl Rope {
    /// From `rope.*` keys and `rope_freqs.weight`: base^(-2j/d), divided by a linear factor and by Llama 3's factors.
    pub(super) fn read(file: &ModelFile<'_>, head_dim: u32) -> Result<Self, ModelError> {
        if !head_dim.is_multiple_of(2) {
            return Err(file.unsupported(format!("a head of {head_dim} elements"), "rotation needs pairs"));
        }
        let rotated = file.count_or("rope.dimension_count", head_dim, head_dim, "a head has elements")?;
        if !rotated.is_multiple_of(2) {
            return Err(file.unsupported(
                format!("{} = {rotated}", file.full("rope.dimension_count")),
                "rotation needs pairs",
            ));
        }
        let base = file.get::<f32>("rope.freq_base")?.unwrap_or(10000.0);
        if !(base.is_finite() && base > 0.0) {
            return Err(file.mismatch(file.full("rope.freq_base"), "a positive number", base));
        }
        let factor = linear_factor(file)?;
        let mut frequencies: Vec<f64> = (0..rotated / 2)
            .map(|j| f64::from(base).powf(-f64::from(2 * j) / f64::from(rotated)) / factor)
            .collect();
        if file.optional("rope_freqs.weight", &[rotated / 2])? {
            for (f, divisor) in frequencies.iter_mut().zip(file.vector("rope_freqs.weight", rotated / 2)?) {
                if !(divisor.is_finite() && divisor > 0.0) {
                    return Err(file.mismatch("rope_freqs.weight".into(), "positive factors", divisor));
                }
                *f /= f64::from(divisor);
            }
        }
        Ok(Rope { frequencies, head_dim })
    }

    /// Bytes of the table's row of one position.
    pub(super) fn row_bytes(&self) -> u32 {
        4 * self.head_dim
    }

    /// The table: for each position, (cos, sin) of every pair of a head; (1, 0) for pairs that are not rotated.
    pub(super) fn table(&self, context: u32) -> Vec<u8> {
        let mut out = Vec::with_capacity((context * self.row_bytes()) as usize);
        for pos in 0..context {
            for pair in 0..self.head_dim as usize / 2 {
                let (sin, cos) =
                    self.frequencies.get(pair).map_or((0.0, 1.0), |f| (f64::from(pos) * f).sin_cos());
                out.extend((cos as f32).to_le_bytes());
                out.extend((sin as f32).to_le_bytes());
            }
        }
        out
    }
}

/// The divisor of linear scaling, 1 where there is none. Other kinds of scaling are refused.
fn linear_factor(file: &ModelFile<'_>) -> Result<f64, ModelError> {
    file.refuse("rope.scaling.attn_factor", "ATTN has a fixed scale")?;
    let kind = file.get::<&[u8]>("rope.scaling.type")?.map(String::from_utf8_lossy);
    let factor = file.get::<f32>("rope.scaling.factor")?;
    // The key that linear scaling had before there were kinds.
    let old = file.get::<f32>("rope.scale_linear")?;
    let factor = match kind.as_deref() {
        Some("none") => 1.0,
        None | Some("linear") => factor.or(old).unwrap_or(1.0),
        Some(other) => {
            return Err(file.unsupported(
                format!("{} = {other}", file.full("rope.scaling.type")),
                "linear scaling and rope_freqs are",
            ));
        }
    };
    if factor.is_finite() && factor >= 0.0 {
        Ok(if factor == 0.0 { 1.0 } else { f64::from(factor) })
    } else {
        Err(file.mismatch(file.full("rope.scaling.factor"), "a positive number", factor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ggml::GgmlType;
    use crate::gguf::{Gguf, GgufWriter, Value};

    fn rope(keys: &[(&str, Value<'_>)], factors: Option<&[f32]>, head_dim: u32) -> Result<Rope, String> {
        let mut w = GgufWriter::new();
        for (key, value) in keys {
            w.meta(format!("llama.{key}"), *value);
        }
        if let Some(f) = factors {
            let bytes: Vec<u8> = f.iter().flat_map(|v| v.to_le_bytes()).collect();
            w.tensor("rope_freqs.weight", GgmlType::F32, &[f.len() as u64], bytes);
        }
        let gguf = Gguf::from_bytes(w.to_bytes()).unwrap();
        Rope::read(&ModelFile::new(&gguf, "llama"), head_dim).map_err(|e| e.to_string())
    }

    fn floats(bytes: &[u8]) -> Vec<f32> {
        bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
    }

    #[test]
    fn frequencies_fall_from_one() {
        let r = rope(&[("rope.freq_base", 100f32.into())], None, 4).unwrap();
        assert_eq!(r.frequencies, [1.0, 0.1]);
        let table = floats(&r.table(3));
        assert_eq!(table[..4], [1.0, 0.0, 1.0, 0.0]);
        assert_eq!(table[8..], [2f64.cos(), 2f64.sin(), 0.2f64.cos(), 0.2f64.sin()].map(|v| v as f32));
    }

    #[test]
    fn pairs_beyond_the_dimension_count_stay() {
        let r = rope(&[("rope.dimension_count", 2u32.into())], None, 6).unwrap();
        assert_eq!(r.frequencies, [1.0]);
        assert_eq!(floats(&r.table(2))[8..], [1.0, 0.0, 1.0, 0.0]);
    }

    #[test]
    fn scaling_divides_frequencies() {
        let linear = [("rope.scaling.type", "linear".into()), ("rope.scaling.factor", 4f32.into())];
        assert_eq!(rope(&linear, None, 2).unwrap().frequencies, [0.25]);
        assert_eq!(rope(&[("rope.scale_linear", 2f32.into())], None, 2).unwrap().frequencies, [0.5]);
        assert_eq!(rope(&linear, Some(&[8.0]), 2).unwrap().frequencies, [1.0 / 32.0]);
    }

    #[test]
    fn what_has_no_table_is_refused_by_name() {
        let yarn = rope(&[("rope.scaling.type", "yarn".into())], None, 4).unwrap_err();
        assert!(yarn.contains("rope.scaling.type = yarn"), "{yarn}");
        assert!(rope(&[], None, 5).unwrap_err().contains("head of 5"));
        assert!(
            rope(&[("rope.dimension_count", 3u32.into())], None, 4)
                .unwrap_err()
                .contains("rope.dimension_count")
        );
        assert!(
            rope(&[("rope.freq_base", f32::NAN.into())], None, 4).unwrap_err().contains("rope.freq_base")
        );
        assert!(rope(&[], Some(&[1.0, 0.0]), 4).unwrap_err().contains("rope_freqs.weight"));
    }
}
