//! The tokenizer block: 36 bytes that say where the tokenizer's tables are and how to use them.

use super::fields::u32_fields;

/// Bytes of the block.
pub const BYTES: usize = 36;
/// Entries of the byte table.
pub const BYTE_TABLE_LEN: u32 = 256;

/// How text becomes tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenizerKind {
    /// SentencePiece BPE with byte fallback.
    SentencePiece,
    /// Byte-level BPE.
    ByteLevelBpe,
    /// WordPiece.
    WordPiece,
}

impl TokenizerKind {
    /// All of them, by their number in the block.
    pub const ALL: [TokenizerKind; 3] =
        [TokenizerKind::SentencePiece, TokenizerKind::ByteLevelBpe, TokenizerKind::WordPiece];

    /// Name for people.
    pub const fn name(self) -> &'static str {
        match self {
            TokenizerKind::SentencePiece => "SentencePiece",
            TokenizerKind::ByteLevelBpe => "byte-level BPE",
            TokenizerKind::WordPiece => "WordPiece",
        }
    }
}

/// How byte-level BPE splits text before it merges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PreSplit {
    /// GPT-2's rule.
    #[default]
    Gpt2,
    /// GPT-2's rule with each digit alone.
    SmolLm,
    /// Llama 3: digits in groups of up to three.
    Llama3,
    /// Qwen 2: as Llama 3, each digit alone.
    Qwen2,
}

impl PreSplit {
    /// All of them, by their number in the flags.
    pub const ALL: [PreSplit; 4] = [PreSplit::Gpt2, PreSplit::SmolLm, PreSplit::Llama3, PreSplit::Qwen2];

    /// Name for people.
    pub const fn name(self) -> &'static str {
        match self {
            PreSplit::Gpt2 => "GPT-2",
            PreSplit::SmolLm => "SmolLM",
            PreSplit::Llama3 => "Llama-3",
            PreSplit::Qwen2 => "Qwen-2",
        }
    }
}

/// Flag: input is lower-cased first.
pub const FLAG_LOWERCASE: u8 = 1 << 1;
/// Flag: priorities are u32, else u16.
pub const FLAG_WIDE_PRIORITIES: u8 = 1 << 3;
/// Flag: no space is put before the text (SentencePiece).
pub const FLAG_NO_SPACE_PREFIX: u8 = 1 << 7;
/// Where the pre-split rule stands in the flags.
const PRE_SPLIT_SHIFT: u8 = 4;
const PRE_SPLIT_MASK: u8 = 7;

u32_fields! {
    /// The u32 fields of the block.
    TokenizerFields {
        4 n_vocab "number of tokens, as in the header";
        8 index "address of the sorted index: u32 token ids in the order of their bytes";
        12 index_len "entries of the index";
        16 priorities "address of the priorities, one a token; lower merges first, all ones = never";
        20 byte_table "address of 256 u32: the token that each byte starts as, FFFFFFFF = none";
        24 begin "token put before the text, FFFFFFFF = none";
        28 end "token put after the text, FFFFFFFF = none";
        32 unknown "token for what has none, FFFFFFFF = none";
    }
}

/// The tokenizer block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenizerBlock {
    /// How text becomes tokens.
    pub kind: TokenizerKind,
    /// Input is lower-cased first.
    pub lowercase: bool,
    /// Priorities are u32, else u16.
    pub wide_priorities: bool,
    /// Pre-split rule of byte-level BPE.
    pub pre_split: PreSplit,
    /// A space is put before the text (SentencePiece).
    pub space_prefix: bool,
    /// Addresses, lengths and tokens.
    pub fields: TokenizerFields,
}

impl TokenizerBlock {
    /// Bytes of one priority.
    pub fn priority_bytes(&self) -> u32 {
        if self.wide_priorities { 4 } else { 2 }
    }

    /// The bytes of the block.
    pub fn to_bytes(&self) -> [u8; BYTES] {
        let mut out = [0; BYTES];
        out[0] = self.kind as u8;
        let flag = |on: bool, bit: u8| if on { bit } else { 0 };
        out[1] = flag(self.lowercase, FLAG_LOWERCASE)
            | flag(self.wide_priorities, FLAG_WIDE_PRIORITIES)
            | flag(!self.space_prefix, FLAG_NO_SPACE_PREFIX)
            | (self.pre_split as u8) << PRE_SPLIT_SHIFT;
        self.fields.write_fields(&mut out);
        out
    }

    /// Reads the block. An unknown kind or rule is given back as the byte that names it.
    pub fn from_bytes(bytes: &[u8; BYTES]) -> Result<Self, u8> {
        let flags = bytes[1];
        let rule = flags >> PRE_SPLIT_SHIFT & PRE_SPLIT_MASK;
        Ok(TokenizerBlock {
            kind: *TokenizerKind::ALL.get(usize::from(bytes[0])).ok_or(bytes[0])?,
            lowercase: flags & FLAG_LOWERCASE != 0,
            wide_priorities: flags & FLAG_WIDE_PRIORITIES != 0,
            pre_split: *PreSplit::ALL.get(usize::from(rule)).ok_or(flags)?,
            space_prefix: flags & FLAG_NO_SPACE_PREFIX == 0,
            fields: TokenizerFields::read_fields(bytes),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn blocks_round_trip(
            kind in 0usize..3, rule in 0usize..4, lowercase: bool, wide_priorities: bool, space_prefix: bool, n: [u32; 8],
        ) {
            let [n_vocab, index, index_len, priorities, byte_table, begin, end, unknown] = n;
            let block = TokenizerBlock {
                kind: TokenizerKind::ALL[kind], pre_split: PreSplit::ALL[rule], lowercase, wide_priorities, space_prefix,
                fields: TokenizerFields { n_vocab, index, index_len, priorities, byte_table, begin, end, unknown },
            };
            prop_assert_eq!(TokenizerBlock::from_bytes(&block.to_bytes()), Ok(block));
        }
    }

    #[test]
    fn flags_stand_where_the_contract_says() {
        let mut bytes = [0; BYTES];
        (bytes[0], bytes[1]) = (1, 0b1010_1010);
        let b = TokenizerBlock::from_bytes(&bytes).unwrap();
        assert_eq!((b.kind, b.pre_split), (TokenizerKind::ByteLevelBpe, PreSplit::Llama3));
        assert!(b.lowercase && b.wide_priorities && !b.space_prefix);
        bytes[1] = 0x40;
        assert_eq!(TokenizerBlock::from_bytes(&bytes), Err(0x40));
        bytes[0] = 3;
        assert_eq!(TokenizerBlock::from_bytes(&bytes), Err(3));
    }
}
