//! The gpt2 family: layer norms, learned positions, one fused matrix for q, k and v, GELU.

use super::decoder::{self, Decoder, KV_PTR, POS, POSITION_PTR};
use super::emit::{Emit, at};
use super::hyper::ModelFile;
use super::kv::{self, Side, Slot};
use super::{Lowering, ModelError, RunShape, Shape, tensor};
use crate::plan::{Object, Objects, Places, Role};
use ssnail_isa::Opcode;
use ssnail_isa::image::Architecture;
use ssnail_isa::script::{GemvMode, Script};

/// A gpt2 model.
#[derive(Debug)]
pub(super) struct Gpt2 {
    shape: Shape,
    eps: f32,
    /// Whether the classifier is a matrix of its own.
    untied: bool,
}

impl Gpt2 {
    pub(super) fn read(file: ModelFile<'_>) -> Result<Self, ModelError> {
        let shape = file.shape()?;
        if (shape.kv_heads, shape.q_dim()) != (shape.heads, shape.dim) {
            let what = format!(
                "gpt2.attention.head_count_kv = {}, with {} heads of {}",
                shape.kv_heads, shape.heads, shape.head_dim
            );
            return Err(file.unsupported(what, "gpt2's fused matrix has q, k and v of the model's width"));
        }
        let eps = file.epsilon("attention.layer_norm_epsilon")?;
        let (dim, ffn) = (shape.dim, shape.ffn);

        file.tensor("token_embd.weight", &[dim, shape.vocab])?;
        file.tensor("position_embd.weight", &[dim, shape.context])?;
        let untied = file.optional("output.weight", &[dim, shape.vocab])?;
        let norm = |name: String| -> Result<(), ModelError> {
            file.tensor(&format!("{name}.weight"), &[dim])?;
            file.tensor(&format!("{name}.bias"), &[dim]).map(|_| ())
        };
        norm("output_norm".into())?;
        for l in 0..shape.layers {
            norm(format!("blk.{l}.attn_norm"))?;
            norm(format!("blk.{l}.ffn_norm"))?;
            for (name, cols, rows) in [
                ("attn_qkv", dim, 3 * dim),
                ("attn_output", dim, dim),
                ("ffn_up", dim, ffn),
                ("ffn_down", ffn, dim),
            ] {
                file.tensor(&tensor(l, name, "weight"), &[cols, rows])?;
                file.tensor(&tensor(l, name, "bias"), &[rows])?;
            }
        }
        file.finish("gpt2")?;
        Ok(Gpt2 { shape, eps, untied })
    }
}

impl Lowering for Gpt2 {
    fn architecture(&self) -> Architecture {
        Architecture::Gpt2
    }

    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn objects(&self, run: &RunShape) -> Objects {
        let s = &self.shape;
        let mut payload = vec![Object::matrix("token_embd.weight", s.dim, s.vocab, Role::Embedding)];
        for l in 0..s.layers {
            let mut matrix = |name: &str, cols, rows| {
                payload.push(Object::matrix(tensor(l, name, "weight"), cols, rows, Role::Layer));
            };
            matrix("attn_qkv", s.dim, 3 * s.dim);
            matrix("attn_output", s.dim, s.dim);
            matrix("ffn_up", s.dim, s.ffn);
            matrix("ffn_down", s.ffn, s.dim);
        }
        if self.untied {
            payload.push(Object::matrix("output.weight", s.dim, s.vocab, Role::Classifier));
        }
        payload.push(Object::rows("position_embd.weight", s.dim, run.context));
        for l in 0..s.layers {
            payload.push(Object::norm(format!("blk.{l}.attn_norm"), s.dim));
            payload.push(Object::norm(format!("blk.{l}.ffn_norm"), s.dim));
            let mut bias = |name: &str, len| payload.push(Object::vector(tensor(l, name, "bias"), len));
            bias("attn_qkv", 3 * s.dim);
            bias("attn_output", s.dim);
            bias("ffn_up", s.ffn);
            bias("ffn_down", s.dim);
        }
        payload.push(Object::norm("output_norm", s.dim));
        payload.extend((0..s.layers).map(|l| kv::attention_block(s, run.kv, l)));
        Objects { payload, scratch: decoder::scratch(s, run) }
    }

    fn script(&self, run: &RunShape, at: &Places) -> Script {
        decoder::script(self, &self.shape, run, Emit::new(at))
    }
}

impl Decoder for Gpt2 {
    fn embed(&self, e: &mut Emit<'_>) {
        let (dim, x) = (self.shape.dim, e.addr("x"));
        e.s.lea(POSITION_PTR, POS, e.addr("position_embd.weight"), 4 * dim);
        e.vector(Opcode::Vadd, dim, &[x.into(), at(POSITION_PTR), x.into()]);
    }

    fn layer(&self, e: &mut Emit<'_>, run: &RunShape, l: u32) {
        let s = &self.shape;
        let dim = s.dim;
        let (x, xb, q, att, h) = (e.addr("x"), e.addr("xb"), e.addr("q"), e.addr("att"), e.addr("h"));
        let w = |name: &str| tensor(l, name, "weight");
        let b = |e: &Emit<'_>, name: &str, first: u32| Some(e.addr(&tensor(l, name, "bias")) + 4 * first);

        e.norm(Opcode::Layernorm, dim, self.eps, x, &format!("blk.{l}.attn_norm"), xb);
        let k = Slot::point(e, s, run.kv, Side::K, l, KV_PTR, POS);
        let v = Slot::point(e, s, run.kv, Side::V, l, KV_PTR + 1, POS);
        let qkv = [(0, q.into()), (dim, k.work), (2 * dim, v.work)];
        for (first, y) in qkv {
            e.linear_rows(&w("attn_qkv"), first, dim, GemvMode::Store, xb, y);
        }
        for (first, y) in qkv {
            e.bias(dim, b(e, "attn_qkv", first), y);
        }
        k.store(e);
        v.store(e);
        e.s.attn(POS, e.addr(&kv::block(l)), q, att);
        e.linear(&w("attn_output"), GemvMode::Accumulate, att, x);
        e.bias(dim, b(e, "attn_output", 0), x);

        e.norm(Opcode::Layernorm, dim, self.eps, x, &format!("blk.{l}.ffn_norm"), xb);
        e.linear(&w("ffn_up"), GemvMode::Store, xb, h);
        e.bias(s.ffn, b(e, "ffn_up", 0), h);
        e.vector(Opcode::Gelu, s.ffn, &[h.into(), h.into()]);
        e.linear(&w("ffn_down"), GemvMode::Accumulate, h, x);
        e.bias(dim, b(e, "ffn_down", 0), x);
    }

    fn final_norm(&self, e: &mut Emit<'_>) {
        e.norm(Opcode::Layernorm, self.shape.dim, self.eps, e.addr("x"), "output_norm", e.addr("xb"));
    }

    fn classifier(&self) -> &'static str {
        if self.untied { "output.weight" } else { "token_embd.weight" }
    }
}
