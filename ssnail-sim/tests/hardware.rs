//! Real models in hardware numerics against float numerics: the same greedy ids along llama.cpp's text, except where the
//! float logits of the first two are near each other.
//!
//! SmolLM2-135M-v32k needs more: its activations have outliers, and x in 8 bits, as GEMV of quantised weights wants it
//! (in llama.cpp too), turns greedy ids of margins up to 0.27. So it runs with that one operation in float: all the
//! rest of the hardware, function tables included, turns no id at all that is not near a tie.

mod golden_data;

use golden_data::{load, logits_along};
use ssnail_hw::fast::{PackedMatrix, Pages};
use ssnail_isa::Format;
use ssnail_isa::image::Image;
use ssnail_sim::numerics::{Attention, Matrix, Product, Weights, argmax};
use ssnail_sim::{Float, Hardware, Numerics, Session};

/// Where the first is less ahead of the second than this, rounding may turn them.
const NEAR_TIE: f32 = 0.1;

/// How far the first two are apart.
fn margin(row: &[f32]) -> f32 {
    let mut sorted = row.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    sorted[0] - sorted[1]
}

fn check(model: &str, other: Box<dyn Numerics + Send>) {
    let Some((file, cases)) = load(model, Format::Q8_0) else { return };
    let image = Image::parse(&file).unwrap();
    let session = |numerics: Box<dyn Numerics + Send>| Session::load(&image, None, numerics).unwrap();
    let (mut float, mut hardware) = (session(Box::new(Float::new())), session(other));
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
    ($( $name:ident $model:literal; )*) => { $( #[test] fn $name() { check($model, Box::new(Hardware::new())); } )* };
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

#[test]
fn smollm2_but_for_its_products() {
    check("SmolLM2-135M-Instruct-v32k-Q4_0", Box::<FloatProducts>::default());
}

/// Hardware numerics with GEMV of float numerics.
#[derive(Default)]
struct FloatProducts {
    float: Float,
    hardware: Hardware,
}

impl Numerics for FloatProducts {
    fn name(&self) -> &'static str {
        "hardware with float products"
    }
    fn pack(&self, matrix: Matrix<'_>, pages: &mut Pages) -> Option<PackedMatrix> {
        self.float.pack(matrix, pages)
    }
    fn gemv(&mut self, w: Weights<'_>, products: &mut [Product<'_>], accumulate: bool) {
        self.float.gemv(w, products, accumulate);
    }
    fn deqrow(&self, format: Format, row: &[u8], z: &mut [f32]) {
        self.hardware.deqrow(format, row, z);
    }
    fn vadd(&self, x: &[f32], y: &[f32], z: &mut [f32]) {
        self.hardware.vadd(x, y, z);
    }
    fn vmul(&self, x: &[f32], y: &[f32], z: &mut [f32]) {
        self.hardware.vmul(x, y, z);
    }
    fn rmsnorm(&self, x: &[f32], gain: &[f32], eps: f32, z: &mut [f32]) {
        self.hardware.rmsnorm(x, gain, eps, z);
    }
    fn silumul(&self, x: &[f32], y: &[f32], z: &mut [f32]) {
        self.hardware.silumul(x, y, z);
    }
    fn rope(&self, x: &mut [f32], table: &[f32]) {
        self.hardware.rope(x, table);
    }
    fn attn(&self, a: Attention<'_>, q: &[f32], out: &mut [f32]) {
        self.hardware.attn(a, q, out);
    }
    fn layernorm(&self, x: &[f32], gain: &[f32], bias: &[f32], eps: f32, z: &mut [f32]) {
        self.hardware.layernorm(x, gain, bias, eps, z);
    }
    fn gelu(&self, x: &[f32], z: &mut [f32]) {
        self.hardware.gelu(x, z);
    }
    fn meanrows(&self, x: &[f32], z: &mut [f32]) {
        self.hardware.meanrows(x, z);
    }
    fn cvt16(&self, x: &[f32], z: &mut [u16]) {
        self.hardware.cvt16(x, z);
    }
}
