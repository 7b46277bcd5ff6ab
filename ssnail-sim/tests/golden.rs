//! Real models, converted and run in float numerics, against what llama.cpp and an independent numpy implementation
//! give (`golden/*.json` of the shared test data, see its MANIFEST.md). Without the data the tests say so and pass.
//!
//! Images that hold a model's weights exactly must give numpy's logits within 1e-3 and numpy's ids everywhere; those of
//! F32 and F16 models also llama.cpp's whole text (for quantised models llama.cpp rounds activations to 8 bits). Images
//! whose weights were quantised once more must give numpy's ids but for near ties.

mod golden_data;

use golden_data::{ids_of, load, logits_along};
use ssnail_convert::testdata;
use ssnail_isa::Format;
use ssnail_isa::image::Image;
use ssnail_sim::{Float, Session};
use ssnail_tok::Tokenizer;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// Where the first is less ahead of the second than this, rounding weights once more may turn them.
const NEAR_TIE: f32 = 0.06;

fn session(image: &[u8]) -> Session {
    Session::load(&Image::parse(image).unwrap(), None, Box::new(Float::new())).unwrap()
}

/// A model whose weights the image holds as they are, with this fallback for formats that the hardware lacks.
fn check_exact(model: &str, fallback: Format) {
    let Some((file, cases)) = load(model, fallback) else { return };
    let image = Image::parse(&file).unwrap();
    let tokenizer = Tokenizer::new(&image);
    let mut session = session(&file);
    for case in &cases {
        let what = format!("{model}, prompt {:?}", case.prompt);
        if case.prompt.is_ascii() && !case.prompt.contains("<|") {
            assert_eq!(tokenizer.encode(&case.prompt), case.ids, "{what}");
        }
        let rows = logits_along(&mut session, case);
        for (&id, &want) in case.top_ids.iter().zip(&case.top_logits_numpy) {
            let got = f64::from(rows[0][id as usize]);
            assert!((got - want).abs() <= 1e-3, "{what}: logit of {id} is {got}, not {want}");
        }
        assert_eq!(ids_of(&rows), case.argmax_numpy, "{what}");
    }
}

/// A model of F32 or F16.
fn check_float(model: &str) {
    check_exact(model, Format::Q8_0);
    let Some((file, cases)) = load(model, Format::Q8_0) else { return };
    let image = Image::parse(&file).unwrap();
    let mut session = session(&file);
    for case in &cases {
        let mut generated = Vec::new();
        session.clear().unwrap();
        session.push(&case.ids).unwrap();
        let on_token = |t| {
            generated.push(t);
            ControlFlow::Continue(())
        };
        session.generate(case.greedy.len() as u32, on_token).unwrap();
        assert_eq!(generated, case.greedy, "{model}, prompt {:?}", case.prompt);
        let text = generated.iter().flat_map(|&t| image.token(t)).copied().collect::<Vec<u8>>();
        assert_eq!(String::from_utf8_lossy(&text), case.text);
    }
}

/// A model whose weights become Q8_0, against the same weights unchanged.
fn check_requantised(model: &str) {
    let (Some((file, cases)), Some((exact, _))) = (load(model, Format::Q8_0), load(model, Format::F32))
    else {
        return;
    };
    let (mut requantised, mut exact) = (session(&file), session(&exact));
    for case in &cases {
        let ids = ids_of(&logits_along(&mut requantised, case));
        for (i, (mut row, id)) in logits_along(&mut exact, case).into_iter().zip(ids).enumerate() {
            row.sort_by(|a, b| b.total_cmp(a));
            let (margin, want) = (row[0] - row[1], case.argmax_numpy[i]);
            let what = format!("{model}, prompt {:?}: token {i} is {id}, not {want}", case.prompt);
            assert!(id == want || margin < NEAR_TIE, "{what}, which is ahead by {margin}");
        }
    }
}

fn check_encoder(model: &str) {
    let Some((file, cases)) = load(model, Format::Q8_0) else { return };
    let image = Image::parse(&file).unwrap();
    let mut session = session(&file);
    for case in &cases {
        if case.prompt.is_ascii() {
            assert_eq!(Tokenizer::new(&image).encode(&case.prompt), case.ids, "{}", case.prompt);
        }
        session.clear().unwrap();
        session.push(&case.ids).unwrap();
        let got: Vec<f64> = session.embed().unwrap().into_iter().map(f64::from).collect();
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let want = &case.embedding_numpy;
        let cosine = dot(&got, want) / (dot(&got, &got) * dot(want, want)).sqrt();
        assert_eq!(got.len(), want.len());
        assert!(cosine >= 0.9999, "{}: cosine {cosine}", case.prompt);
    }
}

macro_rules! golden {
    ($( $name:ident $model:literal $check:expr; )*) => {
        $( #[test] fn $name() { let check: fn(&str) = $check; check($model); } )*

        /// The models that the tests here cover.
        const COVERED: &[&str] = &[$( $model ),*];
    };
}

golden! {
    published_stories260k "ggml-org-stories260K" check_float;
    stories260k_f32 "stories260K-f32" check_float;
    stories260k_f16_untied "stories260K-f16-untied" check_float;
    stories260k_q8_0 "stories260K-Q8_0" |m| check_exact(m, Format::Q8_0);
    stories260k_q4_0 "stories260K-Q4_0" |m| check_exact(m, Format::Q8_0);
    stories260k_q4_1 "stories260K-Q4_1" |m| check_exact(m, Format::F32);
    stories260k_q4_1_to_q8_0 "stories260K-Q4_1" check_requantised;
    stories260k_q5_0 "stories260K-Q5_0" |m| check_exact(m, Format::F32);
    stories260k_q5_0_to_q8_0 "stories260K-Q5_0" check_requantised;
    stories260k_q5_1 "stories260K-Q5_1" |m| check_exact(m, Format::F32);
    stories260k_q5_1_to_q8_0 "stories260K-Q5_1" check_requantised;
    tinygpt2_k_quants "tinygpt2-stories-Q4_K_M" |m| check_exact(m, Format::F32);
    tinygpt2_k_quants_to_q8_0 "tinygpt2-stories-Q4_K_M" check_requantised;
    tinyllama_k_quants "tinyllama256-stories-kmix" |m| check_exact(m, Format::F32);
    tinyllama_k_quants_to_q8_0 "tinyllama256-stories-kmix" check_requantised;
    smollm2_two_layers "smollm2-l2-v4k-Q4_0" |m| check_exact(m, Format::Q8_0);
    smollm2 "SmolLM2-135M-Instruct-v32k-Q4_0" |m| check_exact(m, Format::Q8_0);
    minilm "all-MiniLM-L6-v2-Q4_0" check_encoder;
}

#[test]
fn every_golden_file_is_covered() {
    let Some(folder) = testdata::find("golden") else { return };
    let files = std::fs::read_dir(folder).unwrap();
    let names = files.map(|f| f.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned());
    assert_eq!(names.collect::<BTreeSet<_>>(), COVERED.iter().map(ToString::to_string).collect());
}
