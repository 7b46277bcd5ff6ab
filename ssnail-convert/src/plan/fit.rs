//! Whether a model fits: the choice of a weight type, and what to do where none will do.

use super::layout::{Layout, PlanError};
use super::object::Object;
use super::wtype::{Choice, FormatRule, WeightType};
use crate::gguf::Gguf;
use crate::image_tokenizer::TokenizerTables;
use crate::model::{Lowering, RunShape};
use ssnail_isa::Format;
use ssnail_isa::map::{MAX_MB, MB};

/// What the plan is made from.
#[derive(Clone, Copy)]
pub struct Ingredients<'a> {
    /// The model.
    pub model: &'a dyn Lowering,
    /// Its file.
    pub gguf: &'a Gguf,
    /// Its tokenizer.
    pub tables: &'a TokenizerTables,
}

/// What the user wants of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wish {
    /// Weight type, possibly auto.
    pub wtype: WeightType,
    /// What stands in for formats that the hardware lacks.
    pub fallback: Format,
    /// Context, cache format, end token.
    pub run: RunShape,
    /// Memory in MB.
    pub mem_mb: u32,
}

/// A plan that fits.
#[derive(Debug)]
pub struct Plan {
    /// Everything in its place.
    pub layout: Layout,
    /// How formats were chosen; the weight type is not auto.
    pub rule: FormatRule,
    /// What that does to the weights.
    pub choice: Choice,
}

/// Something that would work, as a change of the command line.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Suggestion {
    /// Options to add or change.
    pub options: String,
    /// Bytes of memory that are then needed.
    pub memory: u64,
}

/// No weight type that was asked for fits.
#[derive(Debug, thiserror::Error)]
#[error("does not fit {mem_mb} MB with weights {}: {needed}", wtype.name())]
pub struct FitError {
    /// Memory asked for.
    pub mem_mb: u32,
    /// Weight type asked for.
    pub wtype: WeightType,
    /// What each candidate would need, in words.
    pub needed: String,
    /// What would fit.
    pub suggestions: Vec<Suggestion>,
}

/// Memory sizes that boards have, and the largest that can be previewed.
const SIZES_MB: [u32; 4] = [8, 64, 72, MAX_MB];
/// The shortest context that is worth suggesting, in tokens.
const MIN_CONTEXT: u32 = 16;

impl Ingredients<'_> {
    /// The first candidate of the wish's weight type that fits.
    pub fn plan(&self, wish: &Wish) -> Result<Plan, FitError> {
        let mut needed = Vec::new();
        for &wtype in wish.wtype.candidates() {
            match self.layout(wish, wtype) {
                Ok(layout) if fits(&layout, wish.mem_mb) => {
                    let rule = FormatRule { wtype, fallback: wish.fallback };
                    let choice = Choice::of(rule, &self.objects(wish), self.gguf);
                    return Ok(Plan { layout, rule, choice });
                }
                Ok(layout) => needed.push(format!("{} needs {:.1} MB", wtype.name(), mb(layout.memory()))),
                Err(PlanError::TooLarge { needed: n }) => {
                    needed.push(format!("{} needs {:.1} MB", wtype.name(), mb(n)));
                }
            }
        }
        let suggestions = self.suggestions(wish, |_| true);
        Err(FitError { mem_mb: wish.mem_mb, wtype: wish.wtype, needed: needed.join(", "), suggestions })
    }

    /// What would fit without taking bits from weights that are quantised already.
    pub fn gentler(&self, wish: &Wish) -> Vec<Suggestion> {
        self.suggestions(wish, |plan| plan.choice.reduced == 0)
    }

    /// Changes of the wish that fit and are acceptable: more memory, smaller weights, a shorter context.
    fn suggestions(&self, wish: &Wish, accept: impl Fn(&Plan) -> bool) -> Vec<Suggestion> {
        let mut out = Vec::new();
        let mut attempt = |options: String, changed: Wish| -> bool {
            let plan = changed.wtype.candidates().iter().find_map(|&wtype| {
                let layout = self.layout(&changed, wtype).ok().filter(|l| fits(l, changed.mem_mb))?;
                let rule = FormatRule { wtype, fallback: changed.fallback };
                let choice = Choice::of(rule, &self.objects(&changed), self.gguf);
                Some(Plan { layout, rule, choice }).filter(|p| accept(p))
            });
            if let Some(p) = &plan {
                let wtype = p.rule.wtype.name();
                out.push(Suggestion {
                    options: format!("{options} --wtype {wtype}"),
                    memory: p.layout.memory(),
                });
            }
            plan.is_some()
        };
        // This memory with smaller weights, then this and each larger one with the longest context that fits.
        for wtype in [WeightType::Q8_0, WeightType::Mixed, WeightType::Q4_0] {
            let tried = wish.wtype.candidates().contains(&wtype);
            if !tried && attempt(format!("--mem-mb {}", wish.mem_mb), Wish { wtype, ..*wish }) {
                break;
            }
        }
        let larger = SIZES_MB.into_iter().filter(|&m| m > wish.mem_mb);
        for mem_mb in std::iter::once(wish.mem_mb).chain(larger) {
            let contexts = std::iter::successors(Some(wish.run.context), |c| Some(c / 2))
                .take_while(|&c| c >= MIN_CONTEXT);
            let fitting = contexts.into_iter().find(|&context| {
                let run = RunShape { context, ..wish.run };
                let ctx =
                    if context == wish.run.context { String::new() } else { format!(" --ctx {context}") };
                attempt(format!("--mem-mb {mem_mb}{ctx}"), Wish { run, mem_mb, ..*wish })
            });
            if fitting == Some(wish.run.context) {
                break;
            }
        }
        out
    }

    fn layout(&self, wish: &Wish, wtype: WeightType) -> Result<Layout, PlanError> {
        let rule = FormatRule { wtype, fallback: wish.fallback };
        Layout::new(self.model, &wish.run, rule, self.gguf, self.tables)
    }

    fn objects(&self, wish: &Wish) -> Vec<Object> {
        self.model.objects(&wish.run).payload
    }
}

fn fits(layout: &Layout, mem_mb: u32) -> bool {
    layout.memory() <= u64::from(mem_mb) * u64::from(MB)
}

fn mb(bytes: u64) -> f64 {
    bytes as f64 / f64::from(MB)
}
