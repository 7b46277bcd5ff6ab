//! Real models and the demo models, converted as a user would: into the smallest memory that they fit.

use ssnail_convert::convert::{Conversion, ConvertError, ConvertOptions};
use ssnail_convert::gguf::Gguf;
use ssnail_convert::vocab::{Tokenizer, VocabData};
use ssnail_convert::{testdata, tokcheck};
use ssnail_isa::Format;
use ssnail_isa::image::Image;
use std::path::{Path, PathBuf};

/// The model and the smallest memory in MB that it fits with the defaults; SmolLM2 with a context of 128.
const SMALLEST: &[(&str, u32)] = &[
    ("SmolLM2-135M-Instruct-v32k-Q4_0", 72),
    ("all-MiniLM-L6-v2-Q4_0", 64),
    ("ggml-org-stories260K", 8),
    ("smollm2-l2-v4k-Q4_0", 8),
    ("stories260K-Q4_0", 8),
    ("stories260K-Q4_1", 8),
    ("stories260K-Q5_0", 8),
    ("stories260K-Q5_1", 8),
    ("stories260K-Q8_0", 8),
    ("stories260K-f16-untied", 8),
    ("stories260K-f32", 8),
    ("tinygpt2-stories-Q4_K_M", 64),
    ("tinyllama256-stories-kmix", 64),
];

fn assets() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("assets")
}

/// Converts into the smallest memory, checks the image, and compares its tokenizer with the model's.
fn convert(path: &Path, context: Option<u32>) -> u32 {
    let gguf = Gguf::open(path).unwrap();
    let fitting = [8, 64, 72].into_iter().find_map(|mem_mb| {
        match Conversion::plan(&gguf, &ConvertOptions { mem_mb, context, ..ConvertOptions::default() }) {
            Ok(c) => Some(c),
            Err(ConvertError::Fit(e)) => {
                assert!(!e.suggestions.is_empty(), "{e}");
                None
            }
            Err(e) => panic!("{e}"),
        }
    });
    let conversion = fitting.unwrap_or_else(|| panic!("{} fits no board", path.display()));
    let bytes = conversion.to_bytes().unwrap();
    assert_eq!(bytes.len() as u64, conversion.file_bytes());
    let image = Image::parse(&bytes).unwrap();
    assert!(u64::from(image.header().memory) <= u64::from(conversion.mem_mb()) << 20);

    let model = Tokenizer::new(VocabData::from_gguf(&gguf).unwrap(), None).unwrap();
    let found = tokcheck::check(&ssnail_tok::Tokenizer::new(&image), &model, tokcheck::SAMPLE.lines());
    assert!(found.is_equal(), "{}: {}", path.display(), found.report());
    conversion.mem_mb()
}

#[test]
fn real_models_fit_the_memory_that_they_should() {
    let Some(folder) = testdata::find("models") else { return };
    for (name, mem_mb) in SMALLEST {
        let context = name.starts_with("SmolLM2").then_some(128);
        assert_eq!(convert(&folder.join(format!("{name}.gguf")), context), *mem_mb, "{name}");
    }
}

#[test]
fn the_demo_models_fit_every_board() {
    for name in ["snailtales.gguf", "snailtales-gpt2.gguf"] {
        assert_eq!(convert(&assets().join(name), None), 8, "{name}");
    }
}

#[test]
fn one_and_many_threads_make_the_same_image() {
    let gguf = Gguf::open(assets().join("snailtales.gguf")).unwrap();
    let wtype = ssnail_convert::plan::WeightType::Q8_0;
    let conversion =
        Conversion::plan(&gguf, &ConvertOptions { wtype, fallback: Format::F16, ..Default::default() })
            .unwrap();
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| conversion.to_bytes().unwrap())
    };
    let one = with(1);
    assert!(one == with(7) && one == conversion.to_bytes().unwrap());
}
