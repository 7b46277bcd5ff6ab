//! Addresses: script, vocabulary, tokenizer, weights, tables, then scratch memory.

use super::object::{Content, Object, Objects, Placed, Places};
use super::wtype::FormatRule;
use crate::gguf::Gguf;
use crate::image_tokenizer::TokenizerTables;
use crate::model::{Lowering, RunShape};
use ssnail_isa::Format;
use ssnail_isa::check::AttnBlock;
use ssnail_isa::image::layout::{OBJECT_ALIGN, OUTPUT, PAYLOAD, PAYLOAD_ALIGN, SCRATCH_ALIGN};
use ssnail_isa::image::{Header, NO_TOKEN};
use ssnail_isa::instr::WORD_BYTES;
use ssnail_isa::map::{ADDRESS_END, MAX_MB, MB, RAM_BASE, SECOND_RAM};

/// Why a model has no layout at all.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum PlanError {
    /// It would not even fit the address space.
    #[error("needs {:.1} MB of memory; the address space ends at {MAX_MB} MB", *needed as f64 / f64::from(MB))]
    TooLarge {
        /// Bytes of memory needed.
        needed: u64,
    },
}

/// A complete plan of an image.
#[derive(Debug)]
pub struct Layout {
    /// The header, as it will be written.
    pub header: Header,
    /// Objects of the payload by ascending address.
    pub payload: Vec<Placed>,
    /// Objects of scratch memory by ascending address.
    pub scratch: Vec<Placed>,
    /// Instructions of the script.
    pub instructions: usize,
}

/// Names of the objects that every image has.
const SCRIPT: &str = "script";
const VOCAB: &str = "vocab";
const TOKENIZER: &str = "tokenizer";

impl Layout {
    /// Gives every object a place.
    pub fn new(
        model: &dyn Lowering,
        run: &RunShape,
        rule: FormatRule,
        gguf: &Gguf,
        tables: &TokenizerTables,
    ) -> Result<Self, PlanError> {
        let Objects { payload, scratch } = model.objects(run);

        // The script comes first and its length does not depend on addresses: lower it once to know the length.
        let format = |o: &Object| match o.content {
            Content::Matrix { cols, role, .. } => {
                gguf.tensor(&o.name).map(|t| rule.format(t.ggml_type, cols, role))
            }
            _ => None,
        };
        let unplaced = |o: &Object| Placed { object: o.clone(), addr: 0, bytes: 0, format: format(o) };
        let nowhere: Vec<Placed> = payload.iter().chain(&scratch).map(unplaced).collect();
        let instructions = model.script(run, &Places::new(nowhere.iter())).len();

        let mut cursor = Cursor::default();
        let bytes = |name: &str, len: usize| Object::new(name, Content::Bytes(vec![0; len]));
        cursor.place(bytes(SCRIPT, instructions * WORD_BYTES), None, OBJECT_ALIGN);
        for (name, len) in tables.sizes() {
            cursor.place(bytes(name, len), None, OBJECT_ALIGN);
        }
        let weights = cursor.align(OBJECT_ALIGN);
        for object in payload {
            let format = format(&object);
            cursor.place(object, format, OBJECT_ALIGN);
        }
        let end = cursor.align(PAYLOAD_ALIGN);
        let mut placed = std::mem::take(&mut cursor.placed);
        for object in scratch {
            cursor.place(object, None, SCRATCH_ALIGN);
        }
        let (scratch, memory_end) = (cursor.placed, cursor.at);
        if memory_end > u64::from(ADDRESS_END) {
            return Err(PlanError::TooLarge { needed: memory_end - u64::from(RAM_BASE) });
        }

        let places = Places::new(placed.iter().chain(&scratch));
        let block = tables.block_at(|name| places.addr(name));
        let script = model.script(run, &places).encode(places.addr(SCRIPT));
        fill(&mut placed, SCRIPT, script);
        for (name, content) in tables.contents(&block) {
            fill(&mut placed, name, content);
        }
        let header = header(model, run, tables, &places, [weights, end, memory_end].map(|a| a as u32));
        Ok(Layout { header, payload: placed, scratch, instructions })
    }

    /// Bytes of memory needed, everything included.
    pub fn memory(&self) -> u64 {
        u64::from(self.header.memory)
    }

    /// Everything that has a place, by ascending address.
    pub fn objects(&self) -> impl Iterator<Item = &Placed> {
        self.payload.iter().chain(&self.scratch)
    }
}

/// Hands out addresses in ascending order.
struct Cursor {
    at: u64,
    placed: Vec<Placed>,
}

impl Default for Cursor {
    fn default() -> Self {
        Cursor { at: u64::from(PAYLOAD), placed: Vec::new() }
    }
}

impl Cursor {
    fn align(&mut self, align: u32) -> u64 {
        self.at = self.at.next_multiple_of(u64::from(align));
        self.at
    }

    /// Places an object; one that would straddle the start of the second RAM starts there.
    fn place(&mut self, object: Object, format: Option<Format>, align: u32) {
        let bytes = match &object.content {
            Content::Matrix { cols, rows, .. } => {
                format.expect("a matrix has a format").row_bytes(u64::from(*cols)) * u64::from(*rows)
            }
            Content::Floats { tensors, len } => 4 * len * tensors.len() as u64,
            Content::Bytes(b) => b.len() as u64,
            Content::Attention { .. } => u64::from(AttnBlock::BYTES),
            Content::Scratch { bytes } => *bytes,
        };
        self.align(align);
        if self.at < u64::from(SECOND_RAM) && self.at + bytes > u64::from(SECOND_RAM) {
            self.at = u64::from(SECOND_RAM);
        }
        // An address beyond the map is refused before it is used.
        let addr = u32::try_from(self.at).unwrap_or(u32::MAX);
        self.placed.push(Placed { object, addr, bytes, format });
        self.at += bytes;
    }
}

fn fill(placed: &mut [Placed], name: &str, content: Vec<u8>) {
    let p = placed.iter_mut().find(|p| p.object.name == name).expect("every image has it");
    assert_eq!(p.bytes, content.len() as u64, "`{name}` has another size than was planned");
    p.object.content = Content::Bytes(content);
}

fn header(
    model: &dyn Lowering,
    run: &RunShape,
    tables: &TokenizerTables,
    places: &Places,
    ends: [u32; 3],
) -> Header {
    let [weights, end, memory_end] = ends;
    let shape = model.shape();
    let (output, output_len) = match model.output() {
        Some(name) => (places.addr(name), shape.vocab),
        None => (OUTPUT, shape.dim),
    };
    Header {
        script: places.addr(SCRIPT),
        weights,
        scratch: end,
        tokens: ssnail_isa::image::layout::TOKENS,
        vocab: places.addr(VOCAB),
        n_vocab: shape.vocab,
        context: run.context,
        bos: tables.bos.unwrap_or(NO_TOKEN),
        eos: run.eos.unwrap_or(NO_TOKEN),
        payload_bytes: end - PAYLOAD,
        output,
        output_len,
        memory: memory_end - RAM_BASE,
        architecture: model.architecture().code(),
        payload: PAYLOAD,
        tokenizer: places.addr(TOKENIZER),
    }
}
