//! Real models in hardware numerics against float numerics: the same greedy ids along llama.cpp's text, except where the
//! float logits of the first two are near each other.
//!
//! SmolLM2-135M-v32k is not among them: hardware numerics turn 5 of its 96 greedy ids, the widest at a float margin of
//! 0.27. Whether the function tables' chords account for that over 30 layers has not been established.

mod golden_data;

use golden_data::{load, logits_along};
use ssnail_isa::Format;
use ssnail_isa::image::Image;
use ssnail_sim::numerics::argmax;
use ssnail_sim::{Float, Hardware, Numerics, Session};

/// Where the first is less ahead of the second than this, rounding may turn them.
const NEAR_TIE: f32 = 0.1;

/// How far the first two are apart.
fn margin(row: &[f32]) -> f32 {
    let mut sorted = row.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    sorted[0] - sorted[1]
}

fn check(model: &str) {
    let Some((file, cases)) = load(model, Format::Q8_0) else { return };
    let image = Image::parse(&file).unwrap();
    let session = |numerics: Box<dyn Numerics + Send>| Session::load(&image, None, numerics).unwrap();
    let (mut float, mut hardware) = (session(Box::new(Float::new())), session(Box::new(Hardware::new())));
    let (mut positions, mut turned, mut widest) = (0, 0, 0f32);
    for case in &cases {
        let (f, h) = (logits_along(&mut float, case), logits_along(&mut hardware, case));
        for (f, h) in f.iter().zip(&h) {
            positions += 1;
            if argmax(f) != argmax(h) {
                turned += 1;
                widest = widest.max(margin(f));
            }
        }
    }
    println!("{model}: {turned} of {positions} greedy ids differ, the widest margin among them {widest}");
    assert!(widest < NEAR_TIE, "{model}: hardware numerics turn a margin of {widest}");
}

macro_rules! models {
    ($( $name:ident $model:literal; )*) => { $( #[test] fn $name() { check($model); } )* };
}

models! {
    published_stories260k "ggml-org-stories260K";
    stories260k_f32 "stories260K-f32";
    stories260k_f16_untied "stories260K-f16-untied";
    stories260k_q8_0 "stories260K-Q8_0";
    stories260k_q4_0 "stories260K-Q4_0";
    stories260k_q4_1 "stories260K-Q4_1";
    stories260k_q5_0 "stories260K-Q5_0";
    stories260k_q5_1 "stories260K-Q5_1";
    tinygpt2 "tinygpt2-stories-Q4_K_M";
    tinyllama256 "tinyllama256-stories-kmix";
    smollm2_two_layers "smollm2-l2-v4k-Q4_0";
}
