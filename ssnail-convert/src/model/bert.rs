//! The bert family of encoders: learned positions and token types, post-norms, GELU, mean or CLS pooling.

use super::emit::{Emit, at};
use super::hyper::ModelFile;
use super::kv::{self, Side, Slot};
use super::{Lowering, ModelError, RunShape, Shape, tensor};
use crate::plan::{Object, Objects, Places, Role};
use ssnail_isa::Opcode;
use ssnail_isa::image::{Architecture, StopReason, layout, runtime::addr};
use ssnail_isa::script::{GemvMode, Script};

/// How the vectors of all positions become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Pooling {
    /// Their mean.
    Mean,
    /// The first one.
    Cls,
}

/// A bert model.
#[derive(Debug)]
pub(super) struct Bert {
    shape: Shape,
    eps: f32,
    pooling: Pooling,
}

const POS: u8 = 1;
const LENGTH: u8 = 2;
const LAST: u8 = 3;
const TOKEN: u8 = 5;
const CONTEXT: u8 = 8;
const REASON: u8 = 9;
/// Always 0.
const ZERO: u8 = 15;

const TOKEN_PTR: u8 = 0;
const EMBED_PTR: u8 = 1;
const POSITION_PTR: u8 = 2;
const KV_PTR: u8 = 3;
/// This position's row of x, and of q.
const X_PTR: u8 = 5;
const Q_PTR: u8 = 6;

impl Bert {
    pub(super) fn read(file: ModelFile<'_>, pooling: Option<Pooling>) -> Result<Self, ModelError> {
        let shape = file.shape()?;
        let (dim, ffn) = (shape.dim, shape.ffn);
        if 4 * dim > layout::OUTPUT_BYTES {
            let what = format!("bert.embedding_length = {dim}");
            return Err(file
                .unsupported(what, format!("the output vector has room for {}", layout::OUTPUT_BYTES / 4)));
        }
        if (shape.kv_heads, shape.q_dim()) != (shape.heads, dim) {
            let what = format!(
                "bert.attention.head_count_kv = {}, with {} heads of {}",
                shape.kv_heads, shape.heads, shape.head_dim
            );
            return Err(file.unsupported(what, "bert's heads make up the model's width"));
        }
        file.refuse("attention.causal", "the encoder looks at all positions")?;
        let pooling = read_pooling(&file, pooling)?;
        if pooling == Pooling::Cls && !dim.is_multiple_of(2) {
            return Err(
                file.unsupported(format!("CLS pooling of {dim} elements"), "COPY moves multiples of 8 bytes")
            );
        }
        let eps = file.epsilon("attention.layer_norm_epsilon")?;

        file.tensor("token_embd.weight", &[dim, shape.vocab])?;
        file.tensor("position_embd.weight", &[dim, shape.context])?;
        file.rows("token_types.weight", dim)?;
        let norm = |name: String| -> Result<(), ModelError> {
            file.tensor(&format!("{name}.weight"), &[dim])?;
            file.tensor(&format!("{name}.bias"), &[dim]).map(|_| ())
        };
        norm("token_embd_norm".into())?;
        for l in 0..shape.layers {
            norm(format!("blk.{l}.attn_output_norm"))?;
            norm(format!("blk.{l}.layer_output_norm"))?;
            for (name, cols, rows) in matrices(dim, ffn) {
                file.tensor(&tensor(l, name, "weight"), &[cols, rows])?;
                file.tensor(&tensor(l, name, "bias"), &[rows])?;
            }
        }
        file.finish("bert")?;
        Ok(Bert { shape, eps, pooling })
    }
}

/// Matrices of a layer, each with a bias: name, columns, rows.
fn matrices(dim: u32, ffn: u32) -> [(&'static str, u32, u32); 6] {
    [
        ("attn_q", dim, dim),
        ("attn_k", dim, dim),
        ("attn_v", dim, dim),
        ("attn_output", dim, dim),
        ("ffn_up", dim, ffn),
        ("ffn_down", ffn, dim),
    ]
}

fn read_pooling(file: &ModelFile<'_>, given: Option<Pooling>) -> Result<Pooling, ModelError> {
    // llama.cpp's numbers: 0 none, 1 mean, 2 CLS, 3 last, 4 rank.
    match (file.get::<u32>("pooling_type")?, given) {
        (_, Some(pooling)) => Ok(pooling),
        (Some(1), None) => Ok(Pooling::Mean),
        (Some(2), None) => Ok(Pooling::Cls),
        (other, None) => {
            let what = other.map_or("no bert.pooling_type".into(), |n| format!("bert.pooling_type = {n}"));
            Err(file.unsupported(
                what,
                "the script pools by mean or CLS; choose with --pooling mean or --pooling cls",
            ))
        }
    }
}

impl Lowering for Bert {
    fn architecture(&self) -> Architecture {
        Architecture::Bert
    }

    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn objects(&self, run: &RunShape) -> Objects {
        let s = &self.shape;
        let mut payload = vec![Object::matrix("token_embd.weight", s.dim, s.vocab, Role::Embedding)];
        for l in 0..s.layers {
            payload.extend(matrices(s.dim, s.ffn).map(|(name, cols, rows)| {
                Object::matrix(tensor(l, name, "weight"), cols, rows, Role::Layer)
            }));
        }
        payload.push(Object::rows("position_embd.weight", s.dim, run.context));
        payload.push(Object::rows("token_types.weight", s.dim, 1));
        payload.push(Object::norm("token_embd_norm", s.dim));
        for l in 0..s.layers {
            payload.push(Object::norm(format!("blk.{l}.attn_output_norm"), s.dim));
            payload.push(Object::norm(format!("blk.{l}.layer_output_norm"), s.dim));
            payload.extend(
                matrices(s.dim, s.ffn).map(|(name, _, rows)| Object::vector(tensor(l, name, "bias"), rows)),
            );
        }
        payload.push(kv::attention_block(s, run.kv, 0));

        let per_position = 4 * u64::from(s.dim) * u64::from(run.context);
        let mut scratch = vec![
            Object::scratch("x", per_position),
            Object::scratch("q", per_position),
            Object::scratch("att", 4 * u64::from(s.dim)),
            Object::scratch("h", 4 * u64::from(s.ffn)),
        ];
        scratch.extend(kv::buffers(s, run.kv));
        // Layers follow each other over all positions, so they share one cache.
        scratch.extend(kv::caches(s, run, 0));
        Objects { payload, scratch }
    }

    fn script(&self, run: &RunShape, at: &Places) -> Script {
        let mut e = Emit::new(at);
        let (fits, stop) = (e.s.label(), e.s.label());
        e.s.ldr(LENGTH, addr::PROMPT_LEN);
        e.s.li(CONTEXT, run.context + 1);
        e.s.blt(LENGTH, CONTEXT, fits);
        e.s.li(REASON, StopReason::Context as u32);
        e.s.jump(stop);
        e.bind(fits);
        e.s.li(REASON, StopReason::Count as u32);
        e.s.beq(LENGTH, ZERO, stop);
        e.s.addi(LAST, LENGTH, u32::MAX);

        self.positions(&mut e, Self::embed);
        for l in 0..self.shape.layers {
            self.positions(&mut e, |s, e| s.project(e, run, l));
            self.positions(&mut e, |s, e| s.attend(e, l));
        }
        let x = e.addr("x");
        match self.pooling {
            Pooling::Mean => e.meanrows(self.shape.dim, LENGTH, x, layout::OUTPUT),
            Pooling::Cls => e.s.copy(x, layout::OUTPUT, 4 * self.shape.dim),
        }
        e.bind(stop);
        e.s.str(REASON, addr::STOP_REASON);
        e.s.sync();
        e.s.halt();
        e.s
    }

    fn output(&self) -> Option<&'static str> {
        None
    }
}

impl Bert {
    /// A loop over the positions of the prompt, with [`X_PTR`] and [`Q_PTR`] at their rows.
    fn positions(&self, e: &mut Emit<'_>, body: impl FnOnce(&Self, &mut Emit<'_>)) {
        let top = e.s.label();
        e.s.li(POS, 0);
        e.bind(top);
        e.s.lea(X_PTR, POS, e.addr("x"), 4 * self.shape.dim);
        e.s.lea(Q_PTR, POS, e.addr("q"), 4 * self.shape.dim);
        body(self, e);
        e.s.addi(POS, POS, 1);
        e.s.blt(POS, LENGTH, top);
    }

    fn embed(&self, e: &mut Emit<'_>) {
        let (dim, x) = (self.shape.dim, at(X_PTR));
        e.s.lea(TOKEN_PTR, POS, layout::TOKENS, 4);
        e.s.ldr(TOKEN, at(TOKEN_PTR));
        e.row("token_embd.weight", EMBED_PTR, TOKEN, x);
        e.s.lea(POSITION_PTR, POS, e.addr("position_embd.weight"), 4 * dim);
        e.vector(Opcode::Vadd, dim, &[x, at(POSITION_PTR), x]);
        e.vector(Opcode::Vadd, dim, &[x, e.addr("token_types.weight").into(), x]);
        e.norm(Opcode::Layernorm, dim, self.eps, x, "token_embd_norm", x);
    }

    /// First pass of a layer: q, k and v of a position.
    fn project(&self, e: &mut Emit<'_>, run: &RunShape, l: u32) {
        let s = &self.shape;
        let k = Slot::point(e, s, run.kv, Side::K, 0, KV_PTR, POS);
        let v = Slot::point(e, s, run.kv, Side::V, 0, KV_PTR + 1, POS);
        let parts = [("attn_q", at(Q_PTR)), ("attn_k", k.work), ("attn_v", v.work)];
        for (name, y) in parts {
            e.linear(&tensor(l, name, "weight"), GemvMode::Store, at(X_PTR), y);
        }
        for (name, y) in parts {
            e.bias(s.dim, Some(e.addr(&tensor(l, name, "bias"))), y);
        }
        k.store(e);
        v.store(e);
    }

    /// Second pass of a layer: attention and feed-forward of a position.
    fn attend(&self, e: &mut Emit<'_>, l: u32) {
        let (dim, ffn, x) = (self.shape.dim, self.shape.ffn, at(X_PTR));
        let (att, h) = (e.addr("att"), e.addr("h"));
        let w = |name: &str| tensor(l, name, "weight");
        let b = |e: &Emit<'_>, name: &str| Some(e.addr(&tensor(l, name, "bias")));

        e.s.attn(LAST, e.addr(&kv::block(0)), at(Q_PTR), att);
        e.linear(&w("attn_output"), GemvMode::Accumulate, att, x);
        e.bias(dim, b(e, "attn_output"), x);
        e.norm(Opcode::Layernorm, dim, self.eps, x, &format!("blk.{l}.attn_output_norm"), x);
        e.linear(&w("ffn_up"), GemvMode::Store, x, h);
        e.bias(ffn, b(e, "ffn_up"), h);
        e.vector(Opcode::Gelu, ffn, &[h.into(), h.into()]);
        e.linear(&w("ffn_down"), GemvMode::Accumulate, h, x);
        e.bias(dim, b(e, "ffn_down"), x);
        e.norm(Opcode::Layernorm, dim, self.eps, x, &format!("blk.{l}.layer_output_norm"), x);
    }
}
