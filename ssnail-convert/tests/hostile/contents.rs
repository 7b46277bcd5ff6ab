//! Faults in what sound files say: keys and tensors that are missing, contradict each other, or ask for what no script
//! does.

use super::draft::{Draft, model};
use super::{Case, check, integers};
use ssnail_convert::gguf::Value;
use ssnail_isa::image::Architecture;

/// Collects the cases of one architecture.
struct Cases {
    arch: Architecture,
    good: Draft,
    cases: Vec<Case>,
}

impl Cases {
    fn new(arch: Architecture) -> Self {
        Cases { arch, good: Draft::new(arch), cases: Vec::new() }
    }

    /// A key of the architecture.
    fn key(&self, name: &str) -> String {
        format!("{}.{name}", self.arch.name())
    }

    fn case(&mut self, what: impl Into<String>, place: &str, spoil: impl FnOnce(Draft) -> Draft) {
        let bytes = spoil(self.good.clone()).writer().to_bytes();
        let what = format!("{:?}: {}", self.arch, what.into());
        self.cases.push(Case { what, bytes, place: place.to_owned() });
    }

    fn set(&mut self, key: &str, value: impl Into<Value<'static>>, place: &str) {
        let value = value.into();
        self.case(format!("{key} = {value}"), place, |d| d.set(key, value));
    }

    /// As [`set`](Self::set), of a key of the architecture that the message must name in full.
    fn set_own(&mut self, name: &str, value: impl Into<Value<'static>>) {
        let key = self.key(name);
        self.set(&key, value, &key);
    }
}

fn for_each(fill: impl Fn(&mut Cases)) -> Vec<Case> {
    Architecture::ALL
        .into_iter()
        .flat_map(|arch| {
            let mut cases = Cases::new(arch);
            fill(&mut cases);
            cases.cases
        })
        .collect()
}

#[test]
fn the_model_is_good_before_it_is_spoiled() {
    for arch in Architecture::ALL {
        assert_eq!(Draft::new(arch).writer().to_bytes(), model(arch).to_gguf().to_bytes());
        let folder = tempfile::tempdir().unwrap();
        super::convert(model(arch).to_gguf().to_bytes(), &folder.path().join("good.ssnail")).unwrap();
    }
}

#[test]
fn faulty_hyperparameters_are_refused_by_key() {
    let cases = for_each(|c| {
        let epsilon = match c.arch {
            Architecture::Llama => "attention.layer_norm_rms_epsilon",
            _ => "attention.layer_norm_epsilon",
        };
        let counts = [
            "block_count",
            "embedding_length",
            "feed_forward_length",
            "attention.head_count",
            "context_length",
        ];
        for name in counts.into_iter().chain([epsilon]) {
            let key = c.key(name);
            c.case(format!("no {key}"), &key, |d| d.remove(&key));
            c.set_own(name, "four");
            c.set_own(name, true);
            c.set_own(name, i32::MIN);
        }
        for name in counts {
            c.set_own(name, 0u32);
            c.set_own(name, u64::MAX);
            c.set_own(name, 2.5f32);
        }
        for number in [f32::NAN, f32::INFINITY, -1e-5] {
            c.set_own(epsilon, number);
        }
        for count in [3u32, 257, u32::MAX] {
            let key = c.key("attention.head_count");
            c.set(&key, count, "attention.head_count");
        }
        c.set_own("embedding_length", 4097u32);
        c.set_own("feed_forward_length", 4097u32);
        // One more or less than the tensors have.
        let (layers, dim, ffn) =
            (c.key("block_count"), c.key("embedding_length"), c.key("feed_forward_length"));
        c.set(&layers, 3u32, "blk.2.");
        c.set(&layers, 1u32, "blk.1.");
        c.set(&dim, 68u32, "token_embd.weight");
        c.set(&dim, 60u32, "token_embd.weight");
        c.set(&ffn, 97u32, "blk.0.ffn_");
        c.set(&ffn, 95u32, "blk.0.ffn_");
        if c.arch != Architecture::Llama {
            let context = c.key("context_length");
            c.set(&context, 33u32, "position_embd.weight");
            c.set(&context, 31u32, "position_embd.weight");
        }
    });
    check(cases, 100);
}

#[test]
fn what_no_script_does_is_refused_by_key() {
    let cases = for_each(|c| {
        c.set_own("expert_count", 8u32);
        c.set_own("attention.sliding_window", 128u32);
        c.set_own("attention.key_length", 512u32);
        c.set_own("attention.key_length", 0u32);
        c.set_own("attention.value_length", 8u32);
        c.set_own("attention.head_count_kv", 3u32);
        c.set_own("attention.head_count_kv", 0u32);
        c.set_own("attention.head_count_kv", 8u32);
        c.set_own("attn_logit_softcapping", 50.0f32);
        c.set_own("logit_scale", 0.5f32);
        c.set_own("a_key_of_tomorrow", true);
        c.set_own("a_key_of_tomorrow", "on");
        c.set("general.architecture", "mamba", "mamba");
        c.set("general.architecture", "LLAMA", "LLAMA");
        c.set("general.architecture", 1u32, "general.architecture");
        c.case("no architecture", "general.architecture", |d| d.remove("general.architecture"));
        match c.arch {
            Architecture::Llama => {
                for kind in ["yarn", "longrope", "", "Linear"] {
                    c.set_own("rope.scaling.type", kind);
                }
                c.set_own("rope.scaling.attn_factor", 1.5f32);
                for factor in [-1.0, f32::NAN, f32::INFINITY] {
                    c.set_own("rope.scaling.factor", factor);
                }
                for base in [0.0, -1.0, f32::NAN] {
                    c.set_own("rope.freq_base", base);
                }
                for count in [0u32, 7, 18] {
                    c.set_own("rope.dimension_count", count);
                }
                c.case("factors of 0", "rope_freqs.weight", |d| d.zero("rope_freqs.weight"));
            }
            Architecture::Gpt2 => c.set_own("attention.head_count_kv", 2u32),
            Architecture::Bert => {
                c.set_own("attention.causal", true);
                for pooling in [0u32, 3, 4, 99] {
                    c.set_own("pooling_type", pooling);
                }
                c.case("no pooling", "bert.pooling_type", |d| d.remove("bert.pooling_type"));
            }
        }
    });
    check(cases, 60);
}

#[test]
fn faulty_tensors_are_refused_by_name() {
    let cases = for_each(|c| {
        for tensor in c.good.tensors.clone() {
            let name = tensor.name.as_str();
            // These two say something else by their absence.
            if !matches!(name, "output.weight" | "rope_freqs.weight") && !is_optional_bias(c.arch, name) {
                c.case(format!("no {name}"), name, |d| d.remove_tensor(name));
            }
            c.case(format!("{name} twice"), name, |d| d.add_tensor(name));
            let renamed = format!("{name}.old");
            c.case(format!("{renamed} beside it"), &renamed, |d| d.add_tensor(&renamed));
            c.case(format!("{name} of integers"), name, |d| integers(d, name));
            let mut dims = |what: &str, edit: fn(&mut Vec<u64>)| {
                let mut draft = c.good.clone();
                edit(&mut draft.edit_tensor(name).dims);
                if draft.edit_tensor(name).dims != tensor.dims {
                    c.case(format!("{name}: {what}"), name, |_| draft);
                }
            };
            dims("half of each row", |dims| dims[0] /= 2);
            dims("in one dimension", |dims| *dims = vec![dims.iter().product()]);
            dims("in another shape", |dims| *dims = vec![2, dims.iter().product::<u64>() / 2]);
            if name != "token_types.weight" && tensor.dims.len() == 2 {
                dims("half of the rows", |dims| dims[1] /= 2);
            }
            dims("in three dimensions", |dims| {
                *dims = vec![dims[0] / 2, 2, dims.get(1).copied().unwrap_or(1)];
            });
        }
        for stranger in [
            "blk.0.attn_norm_2.weight",
            "blk.0.ffn_gate_inp.weight",
            "blk.1.attn_q_norm.weight",
            "cls.weight",
        ] {
            c.case(format!("a tensor {stranger}"), stranger, |d| d.add_tensor(stranger));
        }
    });
    check(cases, 300);
}

fn is_optional_bias(arch: Architecture, name: &str) -> bool {
    arch == Architecture::Llama && name.ends_with(".bias")
}

#[test]
fn faulty_vocabularies_are_refused_by_key() {
    const TOKENS: &str = "tokenizer.ggml.tokens";
    const TYPES: &str = "tokenizer.ggml.token_type";
    const MODEL: &str = "tokenizer.ggml.model";
    let cases = for_each(|c| {
        let count = model(c.arch).vocab;
        for key in [TOKENS, MODEL] {
            c.case(format!("no {key}"), key, |d| d.remove(key));
            c.set(key, 5u32, key);
        }
        c.set(MODEL, "rwkv", MODEL);
        c.case("a token less", TOKENS, |d| {
            d.edit_strings(TOKENS, |tokens| {
                tokens.pop();
            })
        });
        c.case("a token more", TOKENS, |d| d.edit_strings(TOKENS, |tokens| tokens.push(b"more")));
        c.case("no tokens at all", TOKENS, |d| d.edit_strings(TOKENS, Vec::clear));
        c.case("tokens that are numbers", TOKENS, |d| d.set_array(TOKENS, 0..count));
        c.case("a type less", TYPES, |d| d.set_array(TYPES, vec![1i32; count as usize - 1]));
        c.case("a type more", TYPES, |d| d.set_array(TYPES, vec![1i32; count as usize + 1]));
        c.case("types that do not exist", TYPES, |d| d.set_array(TYPES, vec![7i32; count as usize]));
        c.case("negative types", TYPES, |d| d.set_array(TYPES, vec![-1i32; count as usize]));
        c.case("types that are strings", TYPES, |d| d.set_array(TYPES, vec!["normal"; count as usize]));
        let ids: &[&str] = match c.arch {
            Architecture::Llama => &["bos", "eos", "unknown"],
            Architecture::Gpt2 => &["bos", "eos"],
            Architecture::Bert => &["unknown", "seperator", "cls"],
        };
        for id in ids {
            let key = format!("tokenizer.ggml.{id}_token_id");
            c.set(&key, count, &key);
            c.set(&key, u32::MAX - 1, &key);
            c.set(&key, "</s>", &key);
        }
        match c.arch {
            Architecture::Llama => {
                let scores = "tokenizer.ggml.scores";
                c.case("a score less", scores, |d| d.set_array(scores, vec![0f32; count as usize - 1]));
                c.case("a score more", scores, |d| d.set_array(scores, vec![0f32; count as usize + 1]));
                c.case("scores that are no numbers", scores, |d| {
                    d.set_array(scores, vec![f32::NAN; count as usize])
                });
                c.case("scores that are strings", scores, |d| d.set_array(scores, vec!["0"; count as usize]));
            }
            Architecture::Gpt2 => {
                let merges = "tokenizer.ggml.merges";
                c.case("no merges", merges, |d| d.remove(merges));
                c.case("merges that are numbers", merges, |d| d.set_array(merges, 0..10u32));
                for merge in ["ab", "", " ", "a ", "zzz q", "q zzz", "q \u{120}", "a b c"] {
                    c.case(format!("merge `{merge}`"), merges, |d| {
                        d.edit_strings(merges, |merges| merges[3] = merge.as_bytes())
                    });
                }
                c.set("tokenizer.ggml.pre", "of tomorrow", "tokenizer.ggml.pre");
                c.set("tokenizer.ggml.pre", 1u32, "tokenizer.ggml.pre");
            }
            Architecture::Bert => {
                c.set("tokenizer.ggml.unknown_token_id", u32::MAX, "tokenizer.ggml.unknown_token_id");
            }
        }
    });
    check(cases, 60);
}

#[test]
fn faulty_files_are_refused_by_key() {
    let cases = for_each(|c| {
        for alignment in [0u32, 1, 3, 4, 33, 1 << 30, u32::MAX] {
            c.set("general.alignment", alignment, "general.alignment");
        }
        c.set("general.alignment", "32", "general.alignment");
        c.set("split.count", 2u16, "split");
        c.set("split.no", 1u16, "split");
        for key in ["general.name", "tokenizer.ggml.tokens"] {
            c.case(format!("{key} twice"), key, |d| {
                let value = d.value(key);
                d.add(key, value)
            });
        }
        c.set("general.name", 7u32, "general.name");
    });
    check(cases, 30);
}
