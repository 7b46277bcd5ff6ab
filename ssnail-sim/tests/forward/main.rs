//! Converted models, run in float numerics, against a plain F64 forward pass of the same GGUF file: random small models
//! of every architecture, format and option, compared at every position.

mod oracle;

use proptest::prelude::*;
use ssnail_convert::convert::{Conversion, ConvertOptions};
use ssnail_convert::gguf::Gguf;
use ssnail_convert::model::{KvFormat, Pooling};
use ssnail_convert::synth::{MIN_VOCAB, SynthModel, SynthRope};
use ssnail_isa::Format;
use ssnail_isa::image::{Architecture, Image};
use ssnail_sim::Float;
use ssnail_sim::session::Session;

/// Largest deviation allowed, relative to the largest magnitude in the vector.
const TOLERANCE: f64 = 1e-5;

/// Converts the model, runs it in float numerics, and gives the logits at every position, or the embedding.
fn emulate(gguf: &Gguf, tokens: &[u32]) -> Vec<Vec<f32>> {
    let options = ConvertOptions { kv: KvFormat::F32, ..ConvertOptions::default() };
    let bytes = Conversion::plan(gguf, &options).unwrap().to_bytes().unwrap();
    let image = Image::parse(&bytes).unwrap();
    let mut session = Session::load(&image, None, Box::new(Float::new())).unwrap();
    if image.is_encoder() {
        session.push(tokens).unwrap();
        return vec![session.embed().unwrap()];
    }
    let mut logits = Vec::new();
    for &token in tokens {
        // The script has put its own choice there.
        if session.is_empty() {
            session.push(&[token]).unwrap();
        } else {
            session.replace_last(token).unwrap();
        }
        session.advance().unwrap();
        logits.push(session.output().unwrap());
    }
    // The same as one prompt, inside of which the script skips the classifier.
    session.clear().unwrap();
    session.push(tokens).unwrap();
    session.advance().unwrap();
    assert_eq!(Some(session.output().unwrap()), logits.last().cloned(), "skipping the classifier");
    logits
}

/// Compares the emulator with the oracle; gives what is wrong.
fn check(model: &SynthModel, tokens: &[u32]) -> Result<(), String> {
    let gguf = Gguf::from_bytes(model.to_gguf().to_bytes()).unwrap();
    let (have, want) = (emulate(&gguf, tokens), oracle::forward(&gguf, tokens));
    assert_eq!(have.len(), want.len());
    for (position, (have, want)) in have.iter().zip(&want).enumerate() {
        assert_eq!(have.len(), want.len());
        let largest = want.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        assert!((0.1..1000.0).contains(&largest), "the model is degenerate: largest value {largest}");
        for (i, (&have, &want)) in have.iter().zip(want).enumerate() {
            let error = (f64::from(have) - want).abs() / largest;
            if error.is_nan() || error > TOLERANCE {
                return Err(format!(
                    "position {position}, value {i}: {have}, not {want}: off by {error:.2e}\n{model:#?}"
                ));
            }
        }
    }
    Ok(())
}

/// Tokens without a pattern.
fn some_tokens(model: &SynthModel) -> Vec<u32> {
    (0..model.context.min(12)).map(|i| (i * 7919 + 11) % model.vocab).collect()
}

fn check_all(models: impl IntoIterator<Item = SynthModel>) {
    for model in models {
        check(&model, &some_tokens(&model)).unwrap_or_else(|e| panic!("{e}"));
    }
}

fn in_all_formats(model: &SynthModel) -> impl Iterator<Item = SynthModel> {
    Format::ALL.into_iter().map(|weights| SynthModel {
        weights,
        seed: weights.ggml().into(),
        ..model.clone()
    })
}

#[test]
fn llama_in_every_format_tied_and_untied() {
    for tied in [true, false] {
        check_all(in_all_formats(&SynthModel { tied, ..SynthModel::tiny(Architecture::Llama) }));
    }
}

#[test]
fn llama_with_every_grouping_of_heads() {
    for (heads, kv_heads) in [(4, 4), (4, 2), (4, 1), (9, 3), (8, 1)] {
        let tiny = SynthModel::tiny(Architecture::Llama);
        check_all([SynthModel { dim: 8 * heads, heads, kv_heads, ..tiny }]);
    }
}

#[test]
fn llama_with_biases() {
    for (qkv_biases, output_bias) in [(true, false), (false, true), (true, true)] {
        check_all(in_all_formats(&SynthModel {
            qkv_biases,
            output_bias,
            ..SynthModel::tiny(Architecture::Llama)
        }));
    }
}

#[test]
fn llama_with_heads_of_their_own_length() {
    for (dim, heads, kv_heads, len) in [(64, 4, 2, 32), (64, 4, 2, 8), (36, 3, 1, 32), (40, 1, 1, 256)] {
        let tiny = SynthModel::tiny(Architecture::Llama);
        check_all([SynthModel { dim, heads, kv_heads, head_dim: Some(len), ..tiny }]);
    }
}

#[test]
fn llama_with_every_kind_of_rotation() {
    for freq_base in [None, Some(500_000.0)] {
        for dimension_count in [None, Some(16), Some(8), Some(2)] {
            for linear_factor in [None, Some(4.0)] {
                for factors in [false, true] {
                    let rope = SynthRope { freq_base, dimension_count, linear_factor, factors };
                    check_all([SynthModel { rope, ..SynthModel::tiny(Architecture::Llama) }]);
                }
            }
        }
    }
}

#[test]
fn gpt2_in_every_format_tied_and_untied() {
    for tied in [true, false] {
        check_all(in_all_formats(&SynthModel { tied, ..SynthModel::tiny(Architecture::Gpt2) }));
    }
}

#[test]
fn bert_in_every_format_with_both_poolings() {
    for pooling in [Pooling::Mean, Pooling::Cls] {
        check_all(in_all_formats(&SynthModel { pooling, ..SynthModel::tiny(Architecture::Bert) }));
    }
}

/// A small model of any kind and tokens that fit its context.
fn any_case() -> impl Strategy<Value = (SynthModel, Vec<u32>)> {
    let rope = (
        prop::option::of(100.0f32..1e6),
        prop::option::of(1u32..=8),
        prop::option::of(1.0f32..8.0),
        any::<bool>(),
    );
    (
        (prop::sample::select(&Architecture::ALL[..]), prop::sample::select(&Format::ALL[..]), any::<u64>()),
        // At least 16 wide: a LAYERNORM of two elements magnifies the last bit of their difference without bound.
        (1u32..=3, 2u32..=3, 1u32..=3, 4u32..=8, prop::option::of(4u32..=24)),
        (1u32..=120, MIN_VOCAB..=400, 1u32..=16),
        (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>()),
        rope,
    )
        .prop_map(|((arch, weights, seed), heads, sizes, flags, rope)| {
            let (layers, kv_heads, group, half_head, own_width) = heads;
            let (is_llama, head_len) = (arch == Architecture::Llama, 2 * half_head);
            let group = if is_llama { group } else { 1 };
            let own_width = own_width.filter(|_| is_llama);
            SynthModel {
                arch,
                layers,
                dim: own_width.map_or(kv_heads * group * head_len, |w| 4 * w),
                heads: kv_heads * group,
                kv_heads,
                head_dim: own_width.map(|_| head_len),
                ffn: sizes.0,
                vocab: sizes.1,
                context: sizes.2,
                weights,
                tied: flags.0,
                qkv_biases: flags.1,
                output_bias: flags.2,
                pooling: if flags.3 { Pooling::Mean } else { Pooling::Cls },
                rope: SynthRope {
                    freq_base: rope.0,
                    dimension_count: rope.1.map(|pairs| 2 * pairs.min(half_head)),
                    linear_factor: rope.2,
                    factors: rope.3,
                },
                seed,
            }
        })
        // The norm of a few elements can magnify a rounding a thousand times: their difference is all that it keeps.
        .prop_filter("wide enough for norms", |model| model.dim >= 16)
        .prop_flat_map(|model| {
            let tokens = prop::collection::vec(0..model.vocab, 1..=model.context as usize);
            (Just(model), tokens)
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn any_model_agrees_with_the_oracle((model, tokens) in any_case()) {
        check(&model, &tokens).map_err(TestCaseError::fail)?;
    }
}
