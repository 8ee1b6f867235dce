//! Prompts that are computed in chunks, each in a decode step of the answers that are running.

use super::decode::{DecodeUnit, StepCurve};
use super::forward::Parts;
use crate::forward::PromptTokens;
use crate::plan::question::request::Question;

/// Tokens of a chunk that are tried: 512, and the usual 2,048 and 8,192 of serving engines.
const SIZES: [f64; 3] = [512.0, 2_048.0, 8_192.0];

/// Prompts of a unit in chunks of one size.
#[derive(Debug, Clone)]
pub(crate) struct Chunks {
    /// C: tokens of a chunk, one of each group of chips, after the mean number of tokens before it.
    chunk: PromptTokens,
    /// S/C: chunks of a prompt, for the lengths of prompts, with shares.
    per_prompt: Vec<(f64, f64)>,
    /// T(B, C): time of a step with a chunk.
    curve: StepCurve,
}

impl Chunks {
    /// Chunks of every size that is worth trying on a unit, none larger than a prompt.
    pub(crate) fn all(question: &Question, unit: &DecodeUnit<'_>) -> Vec<Self> {
        let prompt = question.fresh_tokens();
        let mut sizes = SIZES.map(|size| f64::min(size, prompt)).to_vec();
        sizes.dedup();
        let of_size = |tokens| Self::new(question, unit, tokens);
        sizes.into_iter().map(of_size).collect()
    }

    fn new(question: &Question, unit: &DecodeUnit<'_>, tokens: f64) -> Self {
        let (mut per_prompt, mut computed, mut before) = (Vec::new(), 0.0, 0.0);
        for [length, fresh, share] in question.load.prompts() {
            per_prompt.push((fresh / tokens, share));
            computed += share * fresh;
            // Chunks lie evenly between the cached prefix and the end of the prompt.
            before += share * fresh * (length - fresh + (fresh - tokens).max(0.0) / 2.0);
        }
        let chunk = PromptTokens {
            fresh: tokens,
            cached: before / computed,
        };
        Self {
            chunk,
            per_prompt,
            curve: unit.curve_of(|batch| {
                let step = unit.engine.mixed_step(batch, unit.context_tokens, chunk);
                step.total_s
            }),
        }
    }

    /// Tokens of a chunk.
    pub(crate) fn tokens(&self) -> f64 {
        self.chunk.fresh
    }

    /// A step with a chunk, by part.
    pub(crate) fn step(&self, unit: &DecodeUnit<'_>, batch: f64) -> Parts {
        (unit.engine).mixed_step(batch, unit.context_tokens, self.chunk)
    }

    /// S/C·(T(B, C) − T(B)): time that the chunks of a prompt add to the steps that compute them, on average.
    pub(crate) fn added_s(&self, unit: &DecodeUnit<'_>, batch: f64) -> f64 {
        self.mean_number() * (self.curve.at(batch) - unit.step_s(batch))
    }

    /// S/C·T(B, C): time of the steps that compute a prompt, on average.
    pub(crate) fn occupied_s(&self, batch: f64) -> f64 {
        self.mean_number() * self.curve.at(batch)
    }

    fn mean_number(&self) -> f64 {
        let chunks = self.per_prompt.iter();
        chunks.map(|(number, share)| number * share).sum()
    }

    /// ⌈S/C⌉·T(B) + S/C·(T(B, C) − T(B)): time of a prompt, for the lengths of prompts, with shares: the last chunk is shorter.
    pub(crate) fn services(&self, unit: &DecodeUnit<'_>, batch: f64) -> Vec<(f64, f64)> {
        let step_s = unit.step_s(batch);
        let added_s = self.curve.at(batch) - step_s;
        let chunks = self.per_prompt.iter();
        chunks
            .map(|(number, share)| (number.ceil() * step_s + number * added_s, *share))
            .collect()
    }
}
