//! The three families written out from their definitions, in F64 with the plainest loops, on the weights of a GGUF
//! file. Nothing here knows how the converter lowers a model.

use ssnail_convert::gguf::Gguf;
use ssnail_isa::Format;

/// A matrix of `rows` times `cols`, or a vector of one row.
struct Matrix {
    cols: usize,
    weights: Vec<f64>,
}

impl Matrix {
    fn row(&self, index: usize) -> &[f64] {
        &self.weights[index * self.cols..][..self.cols]
    }

    fn times(&self, x: &[f64]) -> Vec<f64> {
        assert_eq!(x.len(), self.cols);
        self.weights.chunks(self.cols).map(|row| dot(row, x)).collect()
    }
}

/// The file as hyperparameters and weights.
struct Model<'a> {
    gguf: &'a Gguf,
    arch: String,
}

impl Model<'_> {
    fn count(&self, key: &str) -> Option<usize> {
        self.gguf.get::<u64>(&format!("{}.{key}", self.arch)).unwrap().map(|n| n as usize)
    }

    fn number(&self, key: &str) -> Option<f64> {
        self.gguf.get::<f32>(&format!("{}.{key}", self.arch)).unwrap().map(f64::from)
    }

    fn has(&self, name: &str) -> bool {
        self.gguf.tensor(name).is_some()
    }

    fn matrix(&self, name: &str) -> Matrix {
        let tensor = self.gguf.require_tensor(name).unwrap();
        let format = Format::from_ggml(tensor.ggml_type.number()).expect("a native format");
        let cols = tensor.row_len() as usize;
        let mut row = vec![0.0; cols];
        let mut weights = Vec::new();
        for bytes in self.gguf.tensor_data(tensor).chunks(format.row_bytes(cols as u64) as usize) {
            format.decode_row(bytes, &mut row).unwrap();
            weights.extend(row.iter().map(|&w| f64::from(w)));
        }
        Matrix { cols, weights }
    }

    fn vector(&self, name: &str) -> Vec<f64> {
        self.matrix(name).weights
    }

    /// W x + b, b where the model has one.
    fn linear(&self, name: &str, x: &[f64]) -> Vec<f64> {
        let mut y = self.matrix(&format!("{name}.weight")).times(x);
        let bias = format!("{name}.bias");
        if self.has(&bias) {
            add(&mut y, &self.vector(&bias));
        }
        y
    }

    fn rms_norm(&self, name: &str, x: &[f64]) -> Vec<f64> {
        let eps = self.number("attention.layer_norm_rms_epsilon").unwrap();
        let scale = 1.0 / (dot(x, x) / x.len() as f64 + eps).sqrt();
        let gain = self.vector(&format!("{name}.weight"));
        x.iter().zip(gain).map(|(x, g)| x * scale * g).collect()
    }

    fn layer_norm(&self, name: &str, x: &[f64]) -> Vec<f64> {
        let eps = self.number("attention.layer_norm_epsilon").unwrap();
        let n = x.len() as f64;
        let mean = x.iter().sum::<f64>() / n;
        let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
        let scale = 1.0 / (variance + eps).sqrt();
        let (gain, bias) = (self.vector(&format!("{name}.weight")), self.vector(&format!("{name}.bias")));
        x.iter().zip(gain).zip(bias).map(|((x, g), b)| (x - mean) * scale * g + b).collect()
    }

    fn classify(&self, x: &[f64]) -> Vec<f64> {
        let name = if self.has("output.weight") { "output.weight" } else { "token_embd.weight" };
        self.matrix(name).times(x)
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn add(x: &mut [f64], y: &[f64]) {
    assert_eq!(x.len(), y.len());
    x.iter_mut().zip(y).for_each(|(x, y)| *x += y);
}

/// The tanh form, as GPT-2's and llama.cpp's.
fn gelu(x: f64) -> f64 {
    0.5 * x * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3))).tanh())
}

fn silu(x: f64) -> f64 {
    x / (1.0 + (-x).exp())
}

/// Attention of one position's q over the given positions' k and v.
fn attention(q: &[f64], k: &[Vec<f64>], v: &[Vec<f64>], heads: usize, kv_heads: usize) -> Vec<f64> {
    let len = q.len() / heads;
    let mut out = Vec::new();
    for head in 0..heads {
        let kv = head / (heads / kv_heads) * len;
        let q = &q[head * len..][..len];
        let scores: Vec<f64> = k.iter().map(|k| dot(q, &k[kv..][..len]) / (len as f64).sqrt()).collect();
        let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = scores.iter().map(|s| (s - largest).exp()).collect();
        let total: f64 = weights.iter().sum();
        out.extend((0..len).map(|d| weights.iter().zip(v).map(|(w, v)| w / total * v[kv + d]).sum::<f64>()));
    }
    out
}

/// Rotates adjacent pairs of every head of `x`, the first `rope.dimension_count` elements of each.
fn rotate(model: &Model<'_>, x: &mut [f64], head_len: usize, position: usize) {
    let rotated = model.count("rope.dimension_count").unwrap_or(head_len);
    let base = model.number("rope.freq_base").unwrap_or(10000.0);
    let factor = model.number("rope.scaling.factor").unwrap_or(1.0);
    let divisors = model.has("rope_freqs.weight").then(|| model.vector("rope_freqs.weight"));
    for head in x.chunks_mut(head_len) {
        for j in 0..rotated / 2 {
            let divisor = divisors.as_ref().map_or(1.0, |d| d[j]);
            let angle = position as f64 * base.powf(-2.0 * j as f64 / rotated as f64) / factor / divisor;
            let (sin, cos) = angle.sin_cos();
            let (a, b) = (head[2 * j], head[2 * j + 1]);
            head[2 * j] = a * cos - b * sin;
            head[2 * j + 1] = a * sin + b * cos;
        }
    }
}

/// What the model of a file gives for these tokens: the logits at every position, or an encoder's one embedding.
pub(crate) fn forward(gguf: &Gguf, tokens: &[u32]) -> Vec<Vec<f64>> {
    let arch = gguf.require::<&str>("general.architecture").unwrap().to_owned();
    let model = Model { gguf, arch };
    match model.arch.as_str() {
        "llama" => llama(&model, tokens),
        "gpt2" => gpt2(&model, tokens),
        "bert" => vec![bert(&model, tokens)],
        other => panic!("no definition of {other}"),
    }
}

/// Llama (Touvron et al. 2023): pre-norms, rotary positions, grouped queries, SwiGLU.
fn llama(model: &Model<'_>, tokens: &[u32]) -> Vec<Vec<f64>> {
    let heads = model.count("attention.head_count").unwrap();
    let kv_heads = model.count("attention.head_count_kv").unwrap_or(heads);
    let head_len =
        model.count("attention.key_length").unwrap_or(model.count("embedding_length").unwrap() / heads);
    let embedding = model.matrix("token_embd.weight");
    let mut xs: Vec<Vec<f64>> = tokens.iter().map(|&t| embedding.row(t as usize).to_vec()).collect();
    for layer in 0..model.count("block_count").unwrap() {
        let name = |part: &str| format!("blk.{layer}.{part}");
        let (mut ks, mut vs) = (Vec::new(), Vec::new());
        for (position, x) in xs.iter_mut().enumerate() {
            let h = model.rms_norm(&name("attn_norm"), x);
            let mut q = model.linear(&name("attn_q"), &h);
            let mut k = model.linear(&name("attn_k"), &h);
            rotate(model, &mut q, head_len, position);
            rotate(model, &mut k, head_len, position);
            ks.push(k);
            vs.push(model.linear(&name("attn_v"), &h));
            let attended = attention(&q, &ks, &vs, heads, kv_heads);
            add(x, &model.linear(&name("attn_output"), &attended));
            let h = model.rms_norm(&name("ffn_norm"), x);
            let gate = model.linear(&name("ffn_gate"), &h);
            let up = model.linear(&name("ffn_up"), &h);
            let h: Vec<f64> = gate.iter().zip(up).map(|(g, u)| silu(*g) * u).collect();
            add(x, &model.linear(&name("ffn_down"), &h));
        }
    }
    xs.iter().map(|x| model.classify(&model.rms_norm("output_norm", x))).collect()
}

/// GPT-2 (Radford et al. 2019): pre-norms, learned positions, fused q, k, v.
fn gpt2(model: &Model<'_>, tokens: &[u32]) -> Vec<Vec<f64>> {
    let heads = model.count("attention.head_count").unwrap();
    let embedding = model.matrix("token_embd.weight");
    let positions = model.matrix("position_embd.weight");
    let mut xs: Vec<Vec<f64>> = tokens.iter().map(|&t| embedding.row(t as usize).to_vec()).collect();
    for (position, x) in xs.iter_mut().enumerate() {
        add(x, positions.row(position));
    }
    for layer in 0..model.count("block_count").unwrap() {
        let name = |part: &str| format!("blk.{layer}.{part}");
        let (mut ks, mut vs) = (Vec::new(), Vec::new());
        for x in &mut xs {
            let qkv = model.linear(&name("attn_qkv"), &model.layer_norm(&name("attn_norm"), x));
            let (q, kv) = qkv.split_at(x.len());
            let (k, v) = kv.split_at(x.len());
            ks.push(k.to_vec());
            vs.push(v.to_vec());
            add(x, &model.linear(&name("attn_output"), &attention(q, &ks, &vs, heads, heads)));
            let mut h = model.linear(&name("ffn_up"), &model.layer_norm(&name("ffn_norm"), x));
            h.iter_mut().for_each(|h| *h = gelu(*h));
            add(x, &model.linear(&name("ffn_down"), &h));
        }
    }
    xs.iter().map(|x| model.classify(&model.layer_norm("output_norm", x))).collect()
}

/// BERT (Devlin et al. 2018) as a sentence encoder: post-norms, all positions see each other, then pooling.
fn bert(model: &Model<'_>, tokens: &[u32]) -> Vec<f64> {
    let heads = model.count("attention.head_count").unwrap();
    let embedding = model.matrix("token_embd.weight");
    let positions = model.matrix("position_embd.weight");
    let types = model.matrix("token_types.weight");
    let mut xs = Vec::new();
    for (position, &token) in tokens.iter().enumerate() {
        let mut x = embedding.row(token as usize).to_vec();
        add(&mut x, positions.row(position));
        add(&mut x, types.row(0));
        xs.push(model.layer_norm("token_embd_norm", &x));
    }
    for layer in 0..model.count("block_count").unwrap() {
        let name = |part: &str| format!("blk.{layer}.{part}");
        let project =
            |part: &str| -> Vec<Vec<f64>> { xs.iter().map(|x| model.linear(&name(part), x)).collect() };
        let (qs, ks, vs) = (project("attn_q"), project("attn_k"), project("attn_v"));
        for (x, q) in xs.iter_mut().zip(&qs) {
            let attended = attention(q, &ks, &vs, heads, heads);
            add(x, &model.linear(&name("attn_output"), &attended));
            *x = model.layer_norm(&name("attn_output_norm"), x);
            let mut h = model.linear(&name("ffn_up"), x);
            h.iter_mut().for_each(|h| *h = gelu(*h));
            add(x, &model.linear(&name("ffn_down"), &h));
            *x = model.layer_norm(&name("layer_output_norm"), x);
        }
    }
    match model.count("pooling_type").unwrap() {
        1 => {
            let mut mean = vec![0.0; xs[0].len()];
            xs.iter().for_each(|x| add(&mut mean, x));
            mean.iter().map(|m| m / xs.len() as f64).collect()
        }
        2 => xs.swap_remove(0),
        other => panic!("no definition of pooling {other}"),
    }
}
