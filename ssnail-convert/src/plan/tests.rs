//! Layouts and choices for a model that is nothing but sizes.

use super::*;
use crate::ggml::GgmlType;
use crate::gguf::{ArrayBuf, Gguf, GgufWriter};
use crate::image_tokenizer::TokenizerTables;
use crate::model::{KvFormat, Lowering, RunShape, Shape};
use ssnail_isa::Format;
use ssnail_isa::image::layout::{OBJECT_ALIGN, PAYLOAD, SCRATCH_ALIGN};
use ssnail_isa::image::{Architecture, Image};
use ssnail_isa::map::{MB, RAM_BASE, SECOND_RAM};
use ssnail_isa::script::Script;

/// Bytes of scratch memory for each position, and fixed ones.
#[derive(Debug)]
struct Sizes {
    shape: Shape,
    per_position: u64,
    fixed: Vec<u64>,
}

const COLS: u32 = 64;
const ROWS: u32 = 1 << 12;

fn sizes(per_position: u64, fixed: &[u64]) -> Sizes {
    let shape =
        Shape { layers: 1, dim: COLS, heads: 1, kv_heads: 1, head_dim: 8, ffn: 8, vocab: 3, context: 4096 };
    Sizes { shape, per_position, fixed: fixed.into() }
}

impl Lowering for Sizes {
    fn architecture(&self) -> Architecture {
        Architecture::Llama
    }

    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn objects(&self, run: &RunShape) -> Objects {
        let payload = vec![
            Object::matrix("w", COLS, ROWS, Role::Layer),
            Object::new("odd", Content::Bytes(vec![7; 33])),
            Object::vector("gain", COLS),
        ];
        let mut scratch = vec![Object::scratch("logits", 12)];
        scratch.extend((0..).zip(&self.fixed).map(|(i, &n): (u32, _)| Object::scratch(format!("s{i}"), n)));
        scratch.push(Object::scratch("cache", self.per_position * u64::from(run.context)));
        Objects { payload, scratch }
    }

    fn script(&self, _: &RunShape, at: &Places) -> Script {
        let mut s = Script::new();
        s.deqrow(at.matrix("w").format, at.addr("w"), at.addr("logits"));
        s.halt();
        s
    }
}

fn model_file(weights: GgmlType) -> Gguf {
    let mut w = GgufWriter::new();
    w.meta("general.architecture", "llama");
    w.meta("tokenizer.ggml.model", "llama");
    w.meta("tokenizer.ggml.tokens", &ArrayBuf::new(["<unk>", "a", "b"]));
    w.meta("tokenizer.ggml.scores", &ArrayBuf::new([0f32, -1.0, -2.0]));
    w.meta("tokenizer.ggml.token_type", &ArrayBuf::new([2i32, 1, 1]));
    let bytes = weights.row_bytes(u64::from(COLS)).unwrap() * u64::from(ROWS);
    w.tensor("w", weights, &[u64::from(COLS), u64::from(ROWS)], vec![0; bytes as usize]);
    w.tensor("gain", GgmlType::F32, &[u64::from(COLS)], vec![0; 4 * COLS as usize]);
    Gguf::from_bytes(w.to_bytes()).unwrap()
}

fn wish(wtype: WeightType, mem_mb: u32) -> Wish {
    let run = RunShape { context: 1024, kv: KvFormat::F16, eos: None };
    Wish { wtype, fallback: Format::Q8_0, run, mem_mb }
}

fn plan(model: &Sizes, weights: GgmlType, wish: &Wish) -> Result<Plan, FitError> {
    let gguf = model_file(weights);
    let tables = TokenizerTables::from_gguf(&gguf, None).unwrap();
    Ingredients { model, gguf: &gguf, tables: &tables }.plan(wish)
}

#[test]
fn objects_ascend_aligned_and_apart() {
    let layout = plan(&sizes(100, &[1, 2, 3]), GgmlType::F16, &wish(WeightType::Keep, 8)).unwrap().layout;
    let all: Vec<&Placed> = layout.objects().collect();
    for pair in all.windows(2) {
        assert!(
            u64::from(pair[0].addr) + pair[0].bytes <= u64::from(pair[1].addr),
            "{} {}",
            pair[0].object.name,
            pair[1].object.name
        );
    }
    assert!(layout.payload.iter().all(|p| p.addr % OBJECT_ALIGN == 0 && p.addr >= PAYLOAD));
    assert!(layout.scratch.iter().all(|p| p.addr % SCRATCH_ALIGN == 0 && p.addr >= layout.header.scratch));
    let last = all.last().unwrap();
    assert_eq!(layout.memory(), u64::from(last.addr - RAM_BASE) + last.bytes);
}

#[test]
fn the_file_is_what_was_planned() {
    let (model, gguf) = (sizes(100, &[]), model_file(GgmlType::F16));
    let tables = TokenizerTables::from_gguf(&gguf, None).unwrap();
    let plan =
        Ingredients { model: &model, gguf: &gguf, tables: &tables }.plan(&wish(WeightType::Q8_0, 8)).unwrap();
    let mut file = Vec::new();
    crate::image::write(&gguf, &plan.layout, "sizes", &mut file, &|_| {}).unwrap();
    let image = Image::parse(&file).unwrap();
    let odd = plan.layout.payload.iter().find(|p| p.object.name == "odd").unwrap();
    assert_eq!(image.at(odd.addr, 33), [7; 33]);
    assert_eq!([0, 1, 2].map(|id| image.token(id)), [&b""[..], b"a", b"b"]);
}

#[test]
fn nothing_straddles_the_start_of_the_second_ram() {
    let large = 40 * u64::from(MB);
    let layout =
        plan(&sizes(1, &[large, large]), GgmlType::F16, &wish(WeightType::Keep, 128)).unwrap().layout;
    let addrs: Vec<u32> = layout.scratch.iter().map(|p| p.addr).collect();
    assert!(addrs[1] < SECOND_RAM);
    assert_eq!(addrs[2], SECOND_RAM);
    assert_eq!(addrs[3], SECOND_RAM + 40 * MB);
}

#[test]
fn auto_takes_the_first_that_fits() {
    // 2^18 weights: 0.5 MB as F16, 0.27 MB as Q8_0, 0.14 MB as Q4_0.
    let left_for_weights = |kb: u64| sizes(0, &[8 * u64::from(MB) - kb * 1024]);
    for (kb, wtype) in [(600, WeightType::Keep), (400, WeightType::Q8_0), (200, WeightType::Q4_0)] {
        let plan = plan(&left_for_weights(kb), GgmlType::F16, &wish(WeightType::Auto, 8)).unwrap();
        assert_eq!(plan.rule.wtype, wtype, "{kb} KB");
        assert_eq!(plan.choice.reduced, 0, "an F16 source is not quantised");
    }
    let plan = plan(&left_for_weights(200), GgmlType::Q8_0, &wish(WeightType::Auto, 8)).unwrap();
    assert_eq!(plan.choice.reduced_percent(), 100.0);
}

#[test]
fn what_does_not_fit_says_what_would() {
    let model = sizes(8 * 1024, &[]);
    let error = plan(&model, GgmlType::F16, &wish(WeightType::Keep, 8)).unwrap_err();
    assert_eq!(error.to_string(), "does not fit 8 MB with weights keep: keep needs 8.5 MB");
    let hints: Vec<&str> = error.suggestions.iter().map(|s| s.options.as_str()).collect();
    assert_eq!(hints, ["--mem-mb 8 --ctx 512 --wtype keep", "--mem-mb 64 --wtype keep"]);
    let huge = plan(&sizes(0, &[200 << 20]), GgmlType::F16, &wish(WeightType::Auto, 64)).unwrap_err();
    assert!(huge.to_string().contains("keep needs 264.0 MB"), "{huge}");
    assert!(huge.suggestions.is_empty());
}
