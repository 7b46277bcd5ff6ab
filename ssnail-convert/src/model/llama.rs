//! The llama family: RMS norms, rotary positions, grouped-query attention, gated SiLU.

use super::decoder::{self, Decoder, KV_PTR, POS, POSITION_PTR};
use super::emit::{Emit, at};
use super::hyper::ModelFile;
use super::kv::{self, Side, Slot};
use super::rope::Rope;
use super::{KvFormat, Lowering, ModelError, RunShape, Shape, tensor};
use crate::plan::{Content, Object, Objects, Places, Role};
use ssnail_isa::Opcode;
use ssnail_isa::image::Architecture;
use ssnail_isa::script::{GemvMode, Script};

/// A llama model.
#[derive(Debug)]
pub(super) struct Llama {
    shape: Shape,
    eps: f32,
    rope: Rope,
    /// Whether the classifier is a matrix of its own.
    untied: bool,
    layers: Vec<LayerBiases>,
}

/// Which of the optional biases a layer has.
#[derive(Debug, Clone, Copy)]
struct LayerBiases {
    q: bool,
    k: bool,
    v: bool,
    output: bool,
}

const NORMS: [&str; 2] = ["attn_norm", "ffn_norm"];

impl Llama {
    pub(super) fn read(file: ModelFile<'_>) -> Result<Self, ModelError> {
        let shape = file.shape()?;
        let eps = file.epsilon("attention.layer_norm_rms_epsilon")?;
        let rope = Rope::read(&file, shape.head_dim)?;
        let (dim, ffn, q, kv) = (shape.dim, shape.ffn, shape.q_dim(), shape.kv_dim());

        file.tensor("token_embd.weight", &[dim, shape.vocab])?;
        file.tensor("output_norm.weight", &[dim])?;
        let untied = file.optional("output.weight", &[dim, shape.vocab])?;
        let mut layers = Vec::new();
        for l in 0..shape.layers {
            for norm in NORMS {
                file.tensor(&tensor(l, norm, "weight"), &[dim])?;
            }
            let matrices = [
                ("attn_q", dim, q),
                ("attn_k", dim, kv),
                ("attn_v", dim, kv),
                ("attn_output", q, dim),
                ("ffn_gate", dim, ffn),
                ("ffn_up", dim, ffn),
                ("ffn_down", ffn, dim),
            ];
            for (name, cols, rows) in matrices {
                file.tensor(&tensor(l, name, "weight"), &[cols, rows])?;
            }
            let bias = |name: &str, len: u32| file.optional(&tensor(l, name, "bias"), &[len]);
            layers.push(LayerBiases {
                q: bias("attn_q", q)?,
                k: bias("attn_k", kv)?,
                v: bias("attn_v", kv)?,
                output: bias("attn_output", dim)?,
            });
            // Old converters stored the frequencies of every layer; they follow from the base.
            file.ignore(&format!("blk.{l}.attn_rot_embd"));
        }
        file.finish("llama")?;
        Ok(Llama { shape, eps, rope, untied, layers })
    }

    fn bias_addr(&self, e: &Emit<'_>, layer: u32, name: &str, has: bool) -> Option<u32> {
        has.then(|| e.addr(&tensor(layer, name, "bias")))
    }
}

impl Lowering for Llama {
    fn architecture(&self) -> Architecture {
        Architecture::Llama
    }

    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn context_is_fixed(&self) -> bool {
        false
    }

    fn objects(&self, run: &RunShape) -> Objects {
        let s = &self.shape;
        let mut payload = vec![Object::matrix("token_embd.weight", s.dim, s.vocab, Role::Embedding)];
        for l in 0..s.layers {
            let mut matrix = |name: &str, cols, rows| {
                payload.push(Object::matrix(tensor(l, name, "weight"), cols, rows, Role::Layer));
            };
            matrix("attn_q", s.dim, s.q_dim());
            matrix("attn_k", s.dim, s.kv_dim());
            matrix("attn_v", s.dim, s.kv_dim());
            matrix("attn_output", s.q_dim(), s.dim);
            matrix("ffn_gate", s.dim, s.ffn);
            matrix("ffn_up", s.dim, s.ffn);
            matrix("ffn_down", s.ffn, s.dim);
        }
        if self.untied {
            payload.push(Object::matrix("output.weight", s.dim, s.vocab, Role::Classifier));
        }
        for (l, has) in (0..).zip(&self.layers) {
            payload.extend(NORMS.map(|norm| Object::vector(tensor(l, norm, "weight"), s.dim)));
            for (name, has, len) in [
                ("attn_q", has.q, s.q_dim()),
                ("attn_k", has.k, s.kv_dim()),
                ("attn_v", has.v, s.kv_dim()),
                ("attn_output", has.output, s.dim),
            ] {
                payload.extend(has.then(|| Object::vector(tensor(l, name, "bias"), len)));
            }
        }
        payload.push(Object::vector("output_norm.weight", s.dim));
        payload.push(Object::new("rope", Content::Bytes(self.rope.table(run.context))));
        payload.extend((0..s.layers).map(|l| kv::attention_block(s, run.kv, l)));
        Objects { payload, scratch: decoder::scratch(s, run) }
    }

    fn script(&self, run: &RunShape, at: &Places) -> Script {
        decoder::script(self, &self.shape, run, Emit::new(at))
    }
}

impl Decoder for Llama {
    fn embed(&self, e: &mut Emit<'_>) {
        e.s.lea(POSITION_PTR, POS, e.addr("rope"), self.rope.row_bytes());
    }

    fn layer(&self, e: &mut Emit<'_>, run: &RunShape, l: u32) {
        let (s, has) = (&self.shape, &self.layers[l as usize]);
        let (x, xb, q, att, h, u) =
            (e.addr("x"), e.addr("xb"), e.addr("q"), e.addr("att"), e.addr("h"), e.addr("u"));
        let angles = at(POSITION_PTR);
        let w = |name: &str| tensor(l, name, "weight");

        e.norm(Opcode::Rmsnorm, s.dim, self.eps, x, &w("attn_norm"), xb);
        let k = Slot::point(e, s, run.kv, Side::K, l, KV_PTR, POS);
        let v = Slot::point(e, s, run.kv, Side::V, l, KV_PTR + 1, POS);
        e.linear(&w("attn_q"), GemvMode::Store, xb, q);
        e.linear(&w("attn_k"), GemvMode::Store, xb, k.work);
        if run.kv == KvFormat::F16 && !has.v {
            e.linear(&w("attn_v"), GemvMode::F16, xb, v.row);
        } else {
            e.linear(&w("attn_v"), GemvMode::Store, xb, v.work);
        }
        e.bias(s.q_dim(), self.bias_addr(e, l, "attn_q", has.q), q);
        e.bias(s.kv_dim(), self.bias_addr(e, l, "attn_k", has.k), k.work);
        if has.v {
            e.bias(s.kv_dim(), self.bias_addr(e, l, "attn_v", true), v.work);
            v.store(e);
        }
        e.rope(s.q_dim(), s.head_dim, q, angles);
        e.rope(s.kv_dim(), s.head_dim, k.work, angles);
        k.store(e);
        e.s.attn(POS, e.addr(&kv::block(l)), q, att);
        e.linear(&w("attn_output"), GemvMode::Accumulate, att, x);
        e.bias(s.dim, self.bias_addr(e, l, "attn_output", has.output), x);

        e.norm(Opcode::Rmsnorm, s.dim, self.eps, x, &w("ffn_norm"), xb);
        e.linear(&w("ffn_gate"), GemvMode::Store, xb, h);
        e.linear(&w("ffn_up"), GemvMode::Store, xb, u);
        e.vector(Opcode::Silumul, s.ffn, &[h.into(), u.into(), h.into()]);
        e.linear(&w("ffn_down"), GemvMode::Accumulate, h, x);
    }

    fn final_norm(&self, e: &mut Emit<'_>) {
        e.norm(Opcode::Rmsnorm, self.shape.dim, self.eps, e.addr("x"), "output_norm.weight", e.addr("xb"));
    }

    fn classifier(&self) -> &'static str {
        if self.untied { "output.weight" } else { "token_embd.weight" }
    }
}
