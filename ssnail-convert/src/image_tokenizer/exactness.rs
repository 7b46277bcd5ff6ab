//! The proof that merging by one priority per token does what the model's own merging does.
//!
//! A token is *exact* when, from its bytes, both take the same steps, and when the last step comes at the place in
//! the model's order that its priority stands for: no merge with another result may lie between. If every token is
//! exact, so is every text: at the first step that differed in some text, the lower of the two candidates would be
//! a token whose own bytes are merged in the same order (nothing has crossed its borders yet), so both would have
//! it as their next step. Merges whose result is text but not in the index are left to `tokcheck`.

use super::{NEVER, TokenizerTables};
use crate::vocab::{TokenType, Tokenizer, VocabKind};
use hashbrown::{HashMap, HashSet};
use rayon::prelude::*;
use ssnail_tok::split::{takes_whole_words, word_end};

/// Tokens of more bytes are not tried and count as approximate.
const LONGEST: usize = 256;

/// How many tokens were compared, and which of them may come out otherwise.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exactness {
    /// Tokens of two bytes or more in the index of a vocabulary that merges.
    pub checked: usize,
    /// Those that are not exact, ascending by their bytes.
    pub approximate: Vec<u32>,
}

/// A step: the place of the pair, what it became, and how early it came in the model's order.
#[derive(Debug, Clone, Copy)]
struct Step<P> {
    start: usize,
    merged: u32,
    priority: P,
}

impl Exactness {
    pub(super) fn prove(model: &Tokenizer, tables: &TokenizerTables) -> Self {
        let merged: Vec<u32> =
            tables.index.iter().copied().filter(|&id| tables.token(id).len() > 1).collect();
        let image: HashMap<&[u8], u32> = tables.index.iter().map(|&id| (tables.token(id), id)).collect();
        let approximate = |is_exact: &(dyn Fn(u32) -> bool + Sync)| {
            let inexact = |id: &u32| {
                tables.token(*id).len() > LONGEST
                    || model.token_type(*id) == Some(TokenType::UserDefined)
                    || !is_exact(*id)
            };
            merged.par_iter().copied().filter(inexact).collect()
        };
        let approximate = match model.kind() {
            VocabKind::WordPiece => return Self::default(),
            VocabKind::ByteBpe => {
                let list = MergeList::new(model);
                approximate(&|id| bpe_is_exact(id, model, tables, &image, &list))
            }
            VocabKind::SentencePiece => {
                let shared = shared_scores(model, &merged);
                approximate(&|id| spm_is_exact(id, model, tables, &image) && !shared.contains(&id))
            }
        };
        Self { checked: merged.len(), approximate }
    }
}

/// The model's merges, ready to be looked up.
struct MergeList {
    /// Rank and result of a pair.
    ranks: HashMap<(u32, u32), (u32, u32)>,
    /// Number of the run of merges with one result that a rank is in.
    places: Vec<u32>,
    byte_tokens: Vec<u32>,
}

impl MergeList {
    fn new(model: &Tokenizer) -> Self {
        let merges = model.merges();
        let mut ranks = HashMap::with_capacity(merges.len());
        let mut places = Vec::with_capacity(merges.len());
        let mut place = 0;
        for (rank, merge) in merges.iter().enumerate() {
            ranks.entry((merge.left, merge.right)).or_insert((rank as u32, merge.result));
            place += u32::from(rank > 0 && merges[rank - 1].result != merge.result);
            places.push(place);
        }
        let byte_tokens = (0..=255).map(|byte| model.byte_token(byte).unwrap_or(NEVER)).collect();
        Self { ranks, places, byte_tokens }
    }
}

fn bpe_is_exact(
    id: u32,
    model: &Tokenizer,
    tables: &TokenizerTables,
    image: &HashMap<&[u8], u32>,
    list: &MergeList,
) -> bool {
    let text = tables.token(id);
    let tokens = text.iter().map(|&byte| list.byte_tokens[usize::from(byte)]);
    let by_list = steps(tokens, text.len(), |_, left, right| list.ranks.get(&(left, right)).copied());
    if !same_steps(&by_list, &image_steps(text, tables, image)) {
        return false;
    }
    let arrives = by_list.len() + 1 == text.len();
    if arrives {
        let place = |rank: u32| list.places.get(rank as usize);
        return by_list
            .last()
            .is_some_and(|last| place(last.priority) == place(tables.priorities[id as usize]));
    }
    // Merges do not arrive at it. Then it matters whether a word that is a token is taken whole.
    let rule = tables.block.pre_split;
    model.ignores_merges() == takes_whole_words(rule) || word_end(text, 0, rule) < text.len()
}

fn spm_is_exact(id: u32, model: &Tokenizer, tables: &TokenizerTables, image: &HashMap<&[u8], u32>) -> bool {
    let text = tables.token(id);
    // The model's tokens have U+2581 for a space.
    let find = |part: &[u8]| model.find(String::from_utf8_lossy(part).replace(' ', "\u{2581}").as_bytes());
    let tokens = text.chunks(1).map(|byte| find(byte).unwrap_or(NEVER));
    let by_score = steps(tokens, text.len(), |range, _, _| {
        let token = find(&text[range])?;
        Some((-model.score(token).unwrap_or(0.0), token))
    });
    same_steps(&by_score, &image_steps(text, tables, image))
}

/// Tokens that have their score in common with another: the model then goes by place in the text, the image by id.
fn shared_scores(model: &Tokenizer, merged: &[u32]) -> HashSet<u32> {
    let mut by_score: HashMap<u32, u32> = HashMap::with_capacity(merged.len());
    let mut shared = HashSet::new();
    for &id in merged {
        // Zero has two signs but is one score.
        let score = (model.score(id).unwrap_or(0.0) + 0.0).to_bits();
        if let Some(other) = by_score.insert(score, id) {
            shared.extend([id, other]);
        }
    }
    shared
}

fn image_steps(text: &[u8], tables: &TokenizerTables, image: &HashMap<&[u8], u32>) -> Vec<Step<u32>> {
    let tokens = text.iter().map(|&byte| tables.byte_table[usize::from(byte)]);
    steps(tokens, text.len(), |range, _, _| {
        let token = *image.get(&text[range])?;
        Some((tables.priorities[token as usize], token)).filter(|&(priority, _)| priority != NEVER)
    })
}

fn same_steps<P, Q>(a: &[Step<P>], b: &[Step<Q>]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a.start, a.merged) == (b.start, b.merged))
}

/// Merges neighbours, lowest priority first and of equal ones the leftmost. `pair` gets the bytes the two cover and
/// both tokens, and gives priority and result.
fn steps<P: PartialOrd + Copy>(
    tokens: impl Iterator<Item = u32>,
    len: usize,
    pair: impl Fn(std::ops::Range<usize>, u32, u32) -> Option<(P, u32)>,
) -> Vec<Step<P>> {
    struct Piece<P> {
        start: usize,
        token: u32,
        with_next: Option<(P, u32)>,
    }
    let mut pieces: Vec<Piece<P>> =
        tokens.enumerate().map(|(start, token)| Piece { start, token, with_next: None }).collect();
    let look = |pieces: &mut Vec<Piece<P>>, at: usize| {
        let end = pieces.get(at + 2).map_or(len, |piece| piece.start);
        pieces[at].with_next = match pieces.get(at + 1) {
            Some(next) => pair(pieces[at].start..end, pieces[at].token, next.token),
            None => None,
        };
    };
    for at in 0..pieces.len() {
        look(&mut pieces, at);
    }
    let mut steps = Vec::new();
    loop {
        let mut best: Option<(usize, P, u32)> = None;
        for (at, piece) in pieces.iter().enumerate() {
            if let Some((priority, merged)) = piece.with_next
                && best.is_none_or(|(_, lowest, _)| priority < lowest)
            {
                best = Some((at, priority, merged));
            }
        }
        let Some((at, priority, merged)) = best else { return steps };
        steps.push(Step { start: pieces[at].start, merged, priority });
        pieces[at].token = merged;
        pieces.remove(at + 1);
        look(&mut pieces, at);
        if at > 0 {
            look(&mut pieces, at - 1);
        }
    }
}
