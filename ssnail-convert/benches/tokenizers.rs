//! The reference tokenizers against the `tokenizers` crate, made from the same vocabulary, on the same text in one run.
//!
//! The text is the story sample of the test data and code of this crate. `pass` encodes it as one document
//! with warm word caches on both sides (the other side's own `encode_fast`, which works out no offsets); `cold` adds
//! nothing to a cache: each side's first pass, its tokenizer made anew outside of the time taken.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use ssnail_convert::gguf::Gguf;
use ssnail_convert::vocab::{EncodeOptions, Tokenizer, VocabData, VocabKind};
use std::hint::black_box;
use tokenizers::models::bpe::{BPE, Vocab};
use tokenizers::models::wordpiece::WordPiece;
use tokenizers::normalizers::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::digits::Digits;
use tokenizers::pre_tokenizers::sequence::Sequence;

const OPTIONS: EncodeOptions = EncodeOptions { add_special: false, parse_special: false };

fn spelling(tokenizer: &Tokenizer, id: u32) -> String {
    String::from_utf8(tokenizer.text(id).unwrap().to_vec()).unwrap()
}

fn other_bpe(ours: &Tokenizer) -> tokenizers::Tokenizer {
    let vocab: Vocab = (0..ours.len() as u32).map(|id| (spelling(ours, id), id)).collect();
    let merges = ours.merges().iter().map(|merge| (spelling(ours, merge.left), spelling(ours, merge.right)));
    let model = BPE::builder().vocab_and_merges(vocab, merges.collect()).build().unwrap();
    let mut other = tokenizers::Tokenizer::new(model);
    let words = ByteLevel::new(false, true, true);
    if ours.pre() == Some("smollm") {
        other.with_pre_tokenizer(Some(Sequence::new(vec![Digits::new(true).into(), words.into()])));
    } else {
        other.with_pre_tokenizer(Some(words));
    }
    other
}

fn other_wordpiece(ours: &Tokenizer) -> tokenizers::Tokenizer {
    let unk = ours.ids().unk;
    let vocab: Vocab = (0..ours.len() as u32)
        .map(|id| match spelling(ours, id) {
            text if ours.is_special(id) || Some(id) == unk => (text, id),
            text => (text.strip_prefix('▁').map_or_else(|| format!("##{text}"), str::to_owned), id),
        })
        .collect();
    let model = WordPiece::builder().vocab(vocab).unk_token("[UNK]".to_owned()).build().unwrap();
    let mut other = tokenizers::Tokenizer::new(model);
    other.with_normalizer(Some(BertNormalizer::default())).with_pre_tokenizer(Some(BertPreTokenizer));
    other
}

fn compare(criterion: &mut Criterion) {
    let Some(root) = ssnail_convert::testdata::find("") else { return };
    let stories = std::fs::read_to_string(root.join("raw/stories-sample.txt")).unwrap();
    let text = stories + include_str!("../src/vocab/pre.rs") + include_str!("../src/vocab/tokenizer.rs");
    for name in ["gpt-2", "smollm2", "bert-bge"] {
        let gguf = Gguf::open(root.join(format!("vocab/ggml-vocab-{name}.gguf"))).unwrap();
        let data = VocabData::from_gguf(&gguf).unwrap();
        let ours = || Tokenizer::new(data.clone(), None).unwrap();
        let warm = ours();
        let others =
            || if warm.kind() == VocabKind::WordPiece { other_wordpiece(&warm) } else { other_bpe(&warm) };
        let other = others();
        let theirs = other.encode_fast(text.as_str(), false).unwrap();
        assert_eq!(warm.encode(&text, OPTIONS), theirs.get_ids(), "{name}: both must do the same work");

        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Bytes(text.len() as u64)).sample_size(30);
        group.bench_function("ours/pass", |bencher| bencher.iter(|| warm.encode(black_box(&text), OPTIONS)));
        group.bench_function("tokenizers/pass", |bencher| {
            bencher.iter(|| other.encode_fast(black_box(text.as_str()), false).unwrap());
        });
        group.sample_size(10);
        group.bench_function("ours/cold", |bencher| {
            bencher.iter_batched_ref(
                ours,
                |cold| cold.encode(black_box(&text), OPTIONS),
                BatchSize::PerIteration,
            );
        });
        group.bench_function("tokenizers/cold", |bencher| {
            let encode =
                |cold: &mut tokenizers::Tokenizer| cold.encode_fast(black_box(text.as_str()), false).unwrap();
            bencher.iter_batched_ref(others, encode, BatchSize::PerIteration);
        });
        group.finish();
    }
}

criterion_group!(benches, compare);
criterion_main!(benches);
