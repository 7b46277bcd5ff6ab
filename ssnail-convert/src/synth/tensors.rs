//! Names, shapes and random contents of the tensors, a list an architecture.

use super::SynthModel;
use crate::ggml::GgmlType;
use crate::gguf::GgufWriter;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};
use rayon::prelude::*;
use ssnail_isa::Format;
use ssnail_isa::image::Architecture;

/// Adds all tensors of the model.
pub(super) fn add(model: &SynthModel, writer: &mut GgufWriter) {
    let mut tensors = Tensors { model, writer, count: 0 };
    match model.arch {
        Architecture::Llama => tensors.llama(),
        Architecture::Gpt2 => tensors.gpt2(),
        Architecture::Bert => tensors.bert(),
    }
}

/// Mean and standard deviation of random weights.
struct Spread(f32, f32);

const GAIN: Spread = Spread(1.0, 0.1);
const BIAS: Spread = Spread(0.0, 0.1);

struct Tensors<'a> {
    model: &'a SynthModel,
    writer: &'a mut GgufWriter,
    /// Tensors so far: each has random numbers of its own.
    count: u64,
}

impl Tensors<'_> {
    fn llama(&mut self) {
        let m = self.model;
        let (q, kv) = (m.heads * m.head_len(), m.kv_heads * m.head_len());
        self.embedding();
        for l in 0..m.layers {
            let name = |part: &str| format!("blk.{l}.{part}");
            self.vector(&name("attn_norm.weight"), m.dim, GAIN);
            for (part, rows) in [("attn_q", q), ("attn_k", kv), ("attn_v", kv)] {
                self.matrix(&name(&format!("{part}.weight")), m.dim, rows);
                if m.qkv_biases {
                    self.vector(&name(&format!("{part}.bias")), rows, BIAS);
                }
            }
            self.matrix(&name("attn_output.weight"), q, m.dim);
            if m.output_bias {
                self.vector(&name("attn_output.bias"), m.dim, BIAS);
            }
            self.vector(&name("ffn_norm.weight"), m.dim, GAIN);
            self.matrix(&name("ffn_gate.weight"), m.dim, m.ffn);
            self.matrix(&name("ffn_up.weight"), m.dim, m.ffn);
            self.matrix(&name("ffn_down.weight"), m.ffn, m.dim);
        }
        self.vector("output_norm.weight", m.dim, GAIN);
        self.classifier();
        if m.rope.factors {
            let pairs = m.rope.dimension_count.unwrap_or(m.head_len()) / 2;
            let factors: Vec<f32> = (0..pairs).map(|j| 1.0 + 7.0 * j as f32 / pairs as f32).collect();
            let data: Vec<u8> = factors.iter().flat_map(|f| f.to_le_bytes()).collect();
            self.writer.tensor("rope_freqs.weight", GgmlType::F32, &[pairs.into()], data);
        }
    }

    fn gpt2(&mut self) {
        let m = self.model;
        self.embedding();
        self.table("position_embd.weight", m.context);
        for l in 0..m.layers {
            let name = |part: &str| format!("blk.{l}.{part}");
            self.norm(&name("attn_norm"), m.dim);
            self.linear(&name("attn_qkv"), m.dim, 3 * m.dim);
            self.linear(&name("attn_output"), m.dim, m.dim);
            self.norm(&name("ffn_norm"), m.dim);
            self.linear(&name("ffn_up"), m.dim, m.ffn);
            self.linear(&name("ffn_down"), m.ffn, m.dim);
        }
        self.norm("output_norm", m.dim);
        self.classifier();
    }

    fn bert(&mut self) {
        let m = self.model;
        self.embedding();
        self.table("position_embd.weight", m.context);
        self.table("token_types.weight", 2);
        self.norm("token_embd_norm", m.dim);
        for l in 0..m.layers {
            let name = |part: &str| format!("blk.{l}.{part}");
            for part in ["attn_q", "attn_k", "attn_v", "attn_output"] {
                self.linear(&name(part), m.dim, m.dim);
            }
            self.norm(&name("attn_output_norm"), m.dim);
            self.linear(&name("ffn_up"), m.dim, m.ffn);
            self.linear(&name("ffn_down"), m.ffn, m.dim);
            self.norm(&name("layer_output_norm"), m.dim);
        }
    }

    /// A matrix that keeps the size of what it is applied to.
    fn matrix(&mut self, name: &str, cols: u32, rows: u32) {
        self.random(name, self.format(cols), &[cols, rows], Spread(0.0, 1.0 / (cols as f32).sqrt()));
    }

    fn linear(&mut self, name: &str, cols: u32, rows: u32) {
        self.matrix(&format!("{name}.weight"), cols, rows);
        self.vector(&format!("{name}.bias"), rows, BIAS);
    }

    fn norm(&mut self, name: &str, len: u32) {
        self.vector(&format!("{name}.weight"), len, GAIN);
        self.vector(&format!("{name}.bias"), len, BIAS);
    }

    fn vector(&mut self, name: &str, len: u32, spread: Spread) {
        self.random(name, Format::F32, &[len], spread);
    }

    fn embedding(&mut self) {
        let (dim, vocab) = (self.model.dim, self.model.vocab);
        self.random("token_embd.weight", self.format(dim), &[dim, vocab], self.rows_spread());
    }

    fn classifier(&mut self) {
        let (dim, vocab) = (self.model.dim, self.model.vocab);
        if !self.model.tied {
            self.random("output.weight", self.format(dim), &[dim, vocab], self.rows_spread());
        }
    }

    fn table(&mut self, name: &str, rows: u32) {
        self.random(name, Format::F32, &[self.model.dim, rows], self.rows_spread());
    }

    /// Rows of length 2: as a classifier they give logits of that size.
    fn rows_spread(&self) -> Spread {
        Spread(0.0, 2.0 / (self.model.dim as f32).sqrt())
    }

    fn format(&self, cols: u32) -> Format {
        let wanted = self.model.weights;
        if cols.is_multiple_of(wanted.block_len()) { wanted } else { Format::F16 }
    }

    /// A tensor of random weights, each row with a generator of its own so that rows can be made in parallel.
    fn random(&mut self, name: &str, format: Format, dims: &[u32], Spread(mean, deviation): Spread) {
        let (cols, rows) = (dims[0] as usize, dims.get(1).map_or(1, |&rows| rows as usize));
        let row_bytes = format.row_bytes(cols as u64) as usize;
        let first_seed = self.model.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(self.count << 32);
        self.count += 1;
        let mut data = vec![0; rows * row_bytes];
        data.par_chunks_mut(row_bytes).enumerate().with_min_len(16).for_each_init(
            || vec![0.0; cols],
            |row, (index, bytes)| {
                let mut random = Pcg64Mcg::seed_from_u64(first_seed.wrapping_add(index as u64));
                row.fill_with(|| mean + deviation * bell(random.next_u64()));
                format.encode_row(row, bytes).expect("the bytes were made for this row");
            },
        );
        let dims: Vec<u64> = dims.iter().map(|&n| n.into()).collect();
        let ggml_type = GgmlType::from_number(format.ggml().into()).expect("ggml has all native formats");
        self.writer.tensor(name, ggml_type, &dims, data);
    }
}

/// A number of mean 0 and deviation 1, near enough normal, from 64 random bits: the sum of four uniform ones.
fn bell(bits: u64) -> f32 {
    let sum: u32 = (0..4).map(|i| (bits >> (16 * i)) as u32 & 0xFFFF).sum();
    // Four uniform numbers of 0..1 have mean 2 and variance 1/3.
    (sum as f32 / 65536.0 - 2.0) * 3f32.sqrt()
}
