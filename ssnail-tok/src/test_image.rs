//! Small images for tests, built in code.

use ssnail_isa::image::header::Header;
use ssnail_isa::image::layout::{HEADER_BYTES, PAYLOAD, TOKENS};
use ssnail_isa::image::tokenizer::TokenizerFields;
use ssnail_isa::image::{NO_TOKEN, PreSplit, TokenizerBlock, TokenizerKind};
use ssnail_isa::{Instruction, Opcode};

/// What goes into the tables. Ids are positions in `tokens`.
pub(crate) struct TestImage {
    pub(crate) block: TokenizerBlock,
    /// Bytes and priority of each token.
    pub(crate) tokens: Vec<(Vec<u8>, u32)>,
    /// Ids in the order of the index.
    pub(crate) index: Vec<u32>,
    pub(crate) byte_table: Vec<u32>,
}

impl TestImage {
    /// Tokens with their priorities; all that have bytes go into the index, one-byte tokens into the byte table.
    pub(crate) fn new(kind: TokenizerKind, tokens: &[(&str, u32)]) -> Self {
        let tokens: Vec<_> = tokens.iter().map(|(text, p)| (text.as_bytes().to_vec(), *p)).collect();
        let mut index: Vec<u32> =
            (0..tokens.len() as u32).filter(|&id| !tokens[id as usize].0.is_empty()).collect();
        index.sort_by_key(|&id| &tokens[id as usize].0);
        let byte_token =
            |byte: u8| tokens.iter().position(|t| t.0 == [byte]).map_or(NO_TOKEN, |id| id as u32);
        let byte_table = (0..=255).map(byte_token).collect();
        let none =
            TokenizerFields { begin: NO_TOKEN, end: NO_TOKEN, unknown: NO_TOKEN, ..Default::default() };
        let block = TokenizerBlock {
            kind,
            lowercase: false,
            wide_priorities: false,
            pre_split: PreSplit::Gpt2,
            space_prefix: true,
            fields: none,
        };
        TestImage { block, tokens, index, byte_table }
    }

    /// The file.
    pub(crate) fn build(&self) -> Vec<u8> {
        let mut payload = Instruction::new(Opcode::Halt).encode().to_vec();
        let mut object = |bytes: Vec<u8>| {
            payload.resize(payload.len().next_multiple_of(32), 0);
            let addr = PAYLOAD + payload.len() as u32;
            payload.extend(bytes);
            addr
        };
        let words = |w: &[u32]| w.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>();

        let n_vocab = self.tokens.len() as u32;
        let mut offsets = vec![4 * (n_vocab + 1)];
        for (bytes, _) in &self.tokens {
            offsets.push(offsets[offsets.len() - 1] + bytes.len() as u32);
        }
        let text: Vec<u8> = self.tokens.iter().flat_map(|t| t.0.clone()).collect();
        let vocab = object([words(&offsets), text].concat());
        let priorities = self.tokens.iter().flat_map(|&(_, p)| {
            if self.block.wide_priorities {
                p.to_le_bytes().to_vec()
            } else {
                (p as u16).to_le_bytes().to_vec()
            }
        });
        let mut block = self.block;
        block.fields.n_vocab = n_vocab;
        block.fields.index = object(words(&self.index));
        block.fields.index_len = self.index.len() as u32;
        block.fields.priorities = object(priorities.collect());
        block.fields.byte_table = object(words(&self.byte_table));
        let tokenizer = object(block.to_bytes().to_vec());

        payload.resize(payload.len().next_multiple_of(256), 0);
        let payload_bytes = payload.len() as u32;
        let end = PAYLOAD + payload_bytes;
        let header = Header {
            script: PAYLOAD,
            weights: end,
            scratch: end,
            tokens: TOKENS,
            vocab,
            n_vocab,
            context: 16,
            bos: NO_TOKEN,
            eos: NO_TOKEN,
            payload_bytes,
            output: end,
            output_len: 1,
            memory: 16 << 20,
            architecture: 0,
            payload: PAYLOAD,
            tokenizer,
        };
        let mut file = header.to_bytes("test").to_vec();
        assert_eq!(file.len(), HEADER_BYTES as usize);
        file.extend(payload);
        file
    }
}
