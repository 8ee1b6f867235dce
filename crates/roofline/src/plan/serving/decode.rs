//! Decoding on a unit: the largest mean batch within the limits, and the batch that a rate of requests needs.
//!
//! Sequences that are answered at once are Poisson distributed, as in M/G/∞: with a mean of B, a step at the limit's
//! percentile has B + z·√B of them.

use super::forward::Engine;
use crate::plan::question::goal::bisected;
use crate::plan::question::request::Question;

/// Standard deviations above the mean batch whose caches must still fit: 99 % of the time.
const DEVIATIONS_THAT_FIT: f64 = 2.326_347_9;
/// Most sequences of a unit whose caches take no memory.
const MOST_SEQUENCES: f64 = 1e7;
/// Ratio of one batch of a curve to the one before.
const RATIO: f64 = 1.3;

/// Step times over batches, linear between points.
#[derive(Debug, Clone)]
pub(crate) struct StepCurve {
    points: Vec<(f64, f64)>,
}

impl StepCurve {
    /// The curve of such steps up to a largest batch.
    fn new(largest: f64, step_s: impl Fn(f64) -> f64) -> Self {
        let mut points = Vec::new();
        let mut batch = 1.0;
        loop {
            let at = f64::min(batch, largest);
            points.push((at, step_s(at)));
            if at >= largest {
                return Self { points };
            }
            batch *= RATIO;
        }
    }

    /// Step time with this batch; that of one sequence for less than one.
    pub(crate) fn at(&self, batch: f64) -> f64 {
        let above = self.points.partition_point(|(point, _)| *point < batch);
        let Some(before) = above.checked_sub(1) else {
            return self
                .points
                .first()
                .map_or(f64::INFINITY, |(_, step_s)| *step_s);
        };
        let (low, low_s) = self.points[before];
        match self.points.get(above) {
            Some((high, high_s)) => low_s + (high_s - low_s) * (batch - low) / (high - low),
            None => low_s * batch / low,
        }
    }
}

/// Decoding on one unit.
#[derive(Debug, Clone)]
pub(crate) struct DecodeUnit<'a> {
    pub(crate) engine: Engine<'a>,
    curve: StepCurve,
    /// Mean tokens in the cache of a sequence.
    pub(crate) context_tokens: f64,
    /// Sequences that fit the memory of the unit.
    pub(crate) slots: f64,
    /// Generated tokens of a request over tokens accepted per step.
    pub(crate) steps_per_request: f64,
    /// Tokens accepted per step.
    pub(crate) accepted: f64,
    is_random: bool,
}

impl<'a> DecodeUnit<'a> {
    /// Unit that decodes; none where not even one sequence fits.
    pub(crate) fn new(question: &Question, engine: Engine<'a>) -> Option<Self> {
        let context_tokens = question.mean_context();
        let slots = engine.memory(context_tokens).largest_batch();
        if slots < 1.0 {
            return None;
        }
        let curve = StepCurve::new(slots.min(MOST_SEQUENCES), |batch| {
            engine.step(batch, context_tokens).total_s
        });
        let accepted = question.speculation.accepted;
        Some(Self {
            engine,
            curve,
            context_tokens,
            slots,
            steps_per_request: question.load.output.mean() / accepted,
            accepted,
            is_random: question.load.is_random,
        })
    }

    /// The curve of other steps of this unit.
    pub(crate) fn curve_of(&self, step_s: impl Fn(f64) -> f64) -> StepCurve {
        StepCurve::new(self.slots.min(MOST_SEQUENCES), step_s)
    }

    pub(crate) fn step_s(&self, batch: f64) -> f64 {
        self.curve.at(batch)
    }

    /// The batch that is not exceeded more often than so many deviations are.
    pub(crate) fn batch_at(&self, mean: f64, deviations: f64) -> f64 {
        if self.is_random {
            mean + deviations * mean.sqrt()
        } else {
            mean
        }
    }

    /// Largest mean batch whose caches fit 99 % of the time.
    pub(crate) fn most_that_fits(&self) -> f64 {
        if !self.is_random {
            return self.slots;
        }
        let half = DEVIATIONS_THAT_FIT / 2.0;
        let root = (self.slots + half * half).sqrt() - half;
        root * root
    }

    /// Largest mean batch within memory and the limit on the time per token; none if one sequence is too slow.
    pub(crate) fn most_batch(&self, per_token_s: Option<f64>, deviations: f64) -> Option<f64> {
        let most = self.most_that_fits();
        let Some(limit) = per_token_s else {
            return Some(most);
        };
        let keeps =
            |mean: f64| self.step_s(self.batch_at(mean, deviations)) / self.accepted <= limit;
        if keeps(most) {
            return Some(most);
        }
        let least = 1e-3;
        keeps(least).then(|| bisected(least, most, keeps))
    }

    /// Requests per second with this mean batch.
    pub(crate) fn rate(&self, batch: f64) -> f64 {
        batch / (self.step_s(batch) * self.steps_per_request)
    }

    /// Mean batch that this rate of requests keeps busy, up to a largest one.
    pub(crate) fn batch_for(&self, rate: f64, most: f64) -> f64 {
        bisected(1e-9, most, |batch| self.rate(batch) <= rate)
    }
}
