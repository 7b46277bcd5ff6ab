use super::*;
use crate::ggml::dequantize_row;
use crate::gguf::Gguf;
use crate::vocab::{EncodeOptions, Tokenizer, VocabData};

fn open(model: &SynthModel) -> Gguf {
    Gguf::from_bytes(model.to_gguf().to_bytes()).unwrap()
}

fn weights(gguf: &Gguf, name: &str) -> Vec<f32> {
    let tensor = gguf.require_tensor(name).unwrap();
    let mut out = vec![0.0; tensor.n_elements() as usize];
    let (cols, data) = (tensor.row_len() as usize, gguf.tensor_data(tensor));
    let row_bytes = data.len() / tensor.n_rows() as usize;
    for (row, bytes) in out.chunks_mut(cols).zip(data.chunks(row_bytes)) {
        dequantize_row(tensor.ggml_type, bytes, row).unwrap();
    }
    out
}

#[test]
fn the_seed_decides_everything() {
    for arch in Architecture::ALL {
        let model = |seed| SynthModel { seed, ..SynthModel::tiny(arch) }.to_gguf().to_bytes();
        assert_eq!(model(1), model(1));
        assert_ne!(model(1), model(2));
    }
}

#[test]
fn models_of_every_format_are_read_and_lowered() {
    for arch in Architecture::ALL {
        for weights in Format::ALL {
            let gguf = open(&SynthModel { weights, ..SynthModel::tiny(arch) });
            let lowering = crate::model::read(&gguf, None).unwrap();
            assert_eq!(lowering.architecture(), arch);
            let embedding = gguf.require_tensor("token_embd.weight").unwrap();
            assert_eq!(embedding.ggml_type.number(), u32::from(weights.ggml()));
        }
    }
}

#[test]
fn rows_that_are_no_whole_blocks_become_f16() {
    let gguf = open(&SynthModel { weights: Format::Q4_0, ffn: 80, ..SynthModel::tiny(Architecture::Llama) });
    let type_of = |name| gguf.require_tensor(name).unwrap().ggml_type.number();
    assert_eq!(type_of("blk.0.ffn_down.weight"), u32::from(Format::F16.ggml()));
    assert_eq!(type_of("blk.0.ffn_up.weight"), u32::from(Format::Q4_0.ggml()));
}

#[test]
fn weights_have_the_scale_that_is_meant() {
    let gguf = open(&SynthModel::tiny(Architecture::Gpt2));
    let moments = |name| {
        let w = weights(&gguf, name);
        let mean = w.iter().sum::<f32>() / w.len() as f32;
        (mean, (w.iter().map(|x| (x - mean).powi(2)).sum::<f32>() / w.len() as f32).sqrt())
    };
    for (name, mean, deviation) in [
        ("blk.1.ffn_up.weight", 0.0, 1.0 / 8.0),
        ("token_embd.weight", 0.0, 2.0 / 8.0),
        ("blk.1.ffn_norm.weight", 1.0, 0.1),
        ("blk.0.attn_qkv.bias", 0.0, 0.1),
    ] {
        let (m, d) = moments(name);
        assert!((m - mean).abs() < 0.2 * deviation, "{name}: mean {m}, meant {mean}");
        assert!((0.8..1.2).contains(&(d / deviation)), "{name}: deviation {d}, meant {deviation}");
    }
    assert_ne!(weights(&gguf, "blk.0.ffn_up.weight"), weights(&gguf, "blk.1.ffn_up.weight"));
}

#[test]
fn the_tokenizers_know_their_words() {
    for arch in Architecture::ALL {
        for vocab in [MIN_VOCAB, 1000, 5000] {
            let gguf = open(&SynthModel { vocab, ..SynthModel::tiny(arch) });
            let data = VocabData::from_gguf(&gguf).unwrap();
            assert_eq!(data.tokens.len(), vocab as usize);
            let mut long = None;
            for token in data.tokens.iter().filter_map(|t| std::str::from_utf8(t).ok()) {
                let word = token.trim_start_matches(['\u{2581}', '\u{120}']);
                if word.len() > 3 && word != token && word.bytes().all(|b| b.is_ascii_lowercase()) {
                    long = Some((word.to_owned(), token.to_owned()));
                }
            }
            let Some((word, token)) = long else {
                assert_eq!(vocab, MIN_VOCAB, "{arch:?}: no words");
                continue;
            };
            let tokenizer = Tokenizer::new(data, None).unwrap();
            let ids = tokenizer.encode(&format!("a {word}"), EncodeOptions::default());
            let spelled = ids.iter().map(|&id| tokenizer.text(id).unwrap());
            assert!(
                spelled.into_iter().any(|t| t == token.as_bytes()),
                "{arch:?} {vocab}: {word} is {ids:?}"
            );
        }
    }
}
