//! The golden cases of the test data, and a model's logits along them.
#![allow(dead_code, unreachable_pub, missing_docs, reason = "shared by test crates that use a part each")]

use serde::Deserialize;
use ssnail_convert::convert::{ConvertOptions, convert};
use ssnail_convert::model::KvFormat;
use ssnail_convert::testdata;
use ssnail_isa::Format;
use ssnail_sim::Session;
use ssnail_sim::numerics::argmax;
use std::path::Path;

#[derive(Deserialize)]
struct Golden {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
pub struct Case {
    pub prompt: String,
    pub ids: Vec<u32>,
    /// llama.cpp's ids.
    pub greedy: Vec<u32>,
    pub text: String,
    pub top_ids: Vec<u32>,
    pub top_logits_numpy: Vec<f64>,
    pub argmax_numpy: Vec<u32>,
    pub embedding_numpy: Vec<f64>,
}

/// The image of a model in the smallest memory that holds it, and its golden cases.
pub fn load(model: &str, fallback: Format) -> Option<(Vec<u8>, Vec<Case>)> {
    let golden = testdata::find(&format!("golden/{model}.json"))?;
    let cases = serde_json::from_str::<Golden>(&std::fs::read_to_string(golden).unwrap()).unwrap().cases;
    Some((image_of(&testdata::find(&format!("models/{model}.gguf"))?, fallback), cases))
}

fn image_of(gguf: &Path, fallback: Format) -> Vec<u8> {
    let context = Some(128);
    let sizes = [8, 64, 72, 128];
    let options = sizes.map(|mem_mb| ConvertOptions {
        fallback,
        context,
        kv: KvFormat::F32,
        mem_mb,
        ..ConvertOptions::default()
    });
    let mut errors = Vec::new();
    for options in options {
        match convert(gguf, &options) {
            Ok(image) => return image,
            Err(e) => errors.push(e.to_string()),
        }
    }
    panic!("{}: {}", gguf.display(), errors.join("\n"));
}

/// Logits along llama.cpp's text: at the prompt's last position, then at each greedy token but the last.
pub fn logits_along(session: &mut Session, case: &Case) -> Vec<Vec<f32>> {
    let forced = [&case.ids[..], &case.greedy[..case.greedy.len() - 1]].concat();
    let mut rows = Vec::new();
    session.clear().unwrap();
    session.push_observed(&forced, |row| rows.push(row.to_vec())).unwrap();
    session.advance().unwrap();
    rows.push(session.output().unwrap());
    rows.split_off(case.ids.len() - 1)
}

pub fn ids_of(rows: &[Vec<f32>]) -> Vec<u32> {
    rows.iter().map(|row| argmax(row)).collect()
}
