//! What all decoders share: the loop over tokens that image.md describes, the KV cache, the classifier.

use super::emit::{Emit, at};
use super::{RunShape, Shape, kv};
use crate::plan::Object;
use ssnail_isa::Operand;
use ssnail_isa::image::{StopReason, layout, runtime::addr};
use ssnail_isa::script::GemvMode;

/// Position that is being processed.
pub(super) const POS: u8 = 1;
const PROMPT_LEN: u8 = 2;
const N_GENERATE: u8 = 3;
const GENERATED: u8 = 4;
/// Token at that position.
const TOKEN: u8 = 5;
const NEXT: u8 = 6;
const RESULT: u8 = 7;
const CONTEXT: u8 = 8;
const REASON: u8 = 9;
const TEMP: u8 = 10;
/// Always 0.
const ZERO: u8 = 15;

/// Address of `tokens[pos]`.
const TOKEN_PTR: u8 = 0;
/// Address of a row of the embedding.
const EMBED_PTR: u8 = 1;
/// Address of the rotary table's, or learned positions', row.
pub(super) const POSITION_PTR: u8 = 2;
/// First of the two address registers of [`super::kv`].
pub(super) const KV_PTR: u8 = 3;

/// The parts of a decoder that differ by architecture.
pub(super) trait Decoder {
    /// After the token's row of the embedding is in `x`: positions.
    fn embed(&self, e: &mut Emit<'_>);
    /// One layer, on `x`.
    fn layer(&self, e: &mut Emit<'_>, run: &RunShape, layer: u32);
    /// The norm before the classifier, from `x` to `xb`.
    fn final_norm(&self, e: &mut Emit<'_>);
    /// The matrix that gives the logits.
    fn classifier(&self) -> &'static str;
}

/// The whole script.
pub(super) fn script(
    d: &dyn Decoder,
    shape: &Shape,
    run: &RunShape,
    mut e: Emit<'_>,
) -> ssnail_isa::script::Script {
    let (top, inside, next, done, stop) = (e.s.label(), e.s.label(), e.s.label(), e.s.label(), e.s.label());
    e.s.ldr(POS, addr::POS);
    e.s.ldr(PROMPT_LEN, addr::PROMPT_LEN);
    e.s.ldr(N_GENERATE, addr::N_GENERATE);
    e.s.li(GENERATED, 0);
    e.s.str(GENERATED, addr::GENERATED);
    e.s.li(CONTEXT, run.context);
    e.s.li(REASON, StopReason::Count as u32);
    e.s.beq(N_GENERATE, ZERO, stop);

    e.bind(top);
    e.s.blt(POS, CONTEXT, inside);
    e.s.li(REASON, StopReason::Context as u32);
    e.s.jump(stop);
    e.bind(inside);
    e.s.addi(NEXT, POS, 1);
    e.s.lea(TOKEN_PTR, POS, layout::TOKENS, 4);
    e.s.ldr(TOKEN, at(TOKEN_PTR));
    e.row("token_embd.weight", EMBED_PTR, TOKEN, e.addr("x"));
    d.embed(&mut e);
    for layer in 0..shape.layers {
        d.layer(&mut e, run, layer);
    }

    // Inside the prompt nobody asks for the logits.
    e.s.blt(NEXT, PROMPT_LEN, next);
    d.final_norm(&mut e);
    let logits = e.addr("logits");
    e.linear(d.classifier(), GemvMode::Store, e.addr("xb"), logits);
    e.argmax(shape.vocab, RESULT, logits);
    e.s.str(RESULT, Operand::Rel { reg: TOKEN_PTR, offset: 4 });
    e.s.addi(GENERATED, GENERATED, 1);
    e.s.str(GENERATED, addr::GENERATED);
    e.s.sync();
    if let Some(eos) = run.eos {
        e.s.li(REASON, StopReason::Eos as u32);
        e.s.li(TEMP, eos);
        e.s.beq(RESULT, TEMP, done);
    }
    e.s.li(REASON, StopReason::Count as u32);
    e.s.beq(GENERATED, N_GENERATE, done);
    e.s.li(REASON, StopReason::Request as u32);
    e.s.ldr(TEMP, addr::STOP_REQUEST);
    e.s.bne(TEMP, ZERO, done);
    e.bind(next);
    e.s.addi(POS, NEXT, 0);
    e.s.str(POS, addr::POS);
    e.s.jump(top);

    e.bind(done);
    e.s.addi(POS, NEXT, 0);
    e.bind(stop);
    e.s.str(POS, addr::POS);
    e.s.str(REASON, addr::STOP_REASON);
    e.s.sync();
    e.s.halt();
    e.s
}

/// Scratch memory that every decoder needs: activations, then the KV cache.
pub(super) fn scratch(shape: &Shape, run: &RunShape) -> Vec<Object> {
    let f32s = |name: &str, n: u32| Object::scratch(name, 4 * u64::from(n));
    let mut out = vec![
        f32s("x", shape.dim),
        f32s("xb", shape.dim),
        f32s("q", shape.q_dim()),
        f32s("att", shape.q_dim()),
        f32s("h", shape.ffn),
        f32s("u", shape.ffn),
        f32s("logits", shape.vocab),
    ];
    out.extend(kv::buffers(shape, run.kv));
    out.extend((0..shape.layers).flat_map(|layer| kv::caches(shape, run, layer)));
    out
}
