//! The image's tokenizer on the sample text of `ssnail-tok check`, for the demo models and, where the test data are
//! there, a large vocabulary of each kind.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ssnail_convert::convert::{ConvertOptions, convert};
use ssnail_convert::{testdata, tokcheck};
use ssnail_isa::image::Image;
use std::hint::black_box;
use std::path::{Path, PathBuf};

/// The models: demo models, then those of the test data.
fn models() -> Vec<PathBuf> {
    let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets");
    let own = ["snailtales.gguf", "snailtales-gpt2.gguf"].map(|name| assets.join(name));
    let real = ["tinyllama256-stories-kmix", "tinygpt2-stories-Q4_K_M", "all-MiniLM-L6-v2-Q4_0"];
    own.into_iter()
        .chain(real.iter().filter_map(|name| testdata::find(&format!("models/{name}.gguf"))))
        .collect()
}

fn encode(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("image tokenizer, tokens");
    for model in models() {
        let file = convert(&model, &ConvertOptions { mem_mb: 64, ..ConvertOptions::default() }).unwrap();
        let image = Image::parse(&file).unwrap();
        let tokenizer = ssnail_tok::Tokenizer::new(&image);
        let tokens: usize = tokcheck::SAMPLE.lines().map(|line| tokenizer.encode(line).len()).sum();
        group.throughput(Throughput::Elements(tokens as u64)).sample_size(20);
        group.bench_function(model.file_stem().unwrap().to_string_lossy(), |bencher| {
            bencher.iter(|| {
                tokcheck::SAMPLE.lines().map(|line| tokenizer.encode(black_box(line)).len()).sum::<usize>()
            });
        });
    }
}

criterion_group!(benches, encode);
criterion_main!(benches);
