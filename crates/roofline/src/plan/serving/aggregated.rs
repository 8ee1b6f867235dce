//! Prompts and answers on the same chips: prefill passes go first and decoding has the rest of the time, or chunks of prompts
//! are computed in decode steps.

use super::chunks::Chunks;
use super::decode::DecodeUnit;
use super::latency::FirstToken;
use super::prefill::PrefillUnit;
use super::queue::Queue;
use crate::plan::answer::ServingKind;
use crate::plan::question::goal::{Goal, bisected, fewest};

/// Load of prefill and decoding together above which a unit is not used.
const MOST_SHARE: f64 = 0.999;
/// Mean batch of a unit without load.
const LEAST_BATCH: f64 = 1e-9;

/// A unit that does both.
#[derive(Debug, Clone)]
pub(crate) struct SharedUnit<'a> {
    pub(crate) decode: DecodeUnit<'a>,
    pub(crate) prefill: PrefillUnit<'a>,
    /// Chunks that prompts are computed in; none where they have passes of their own.
    pub(crate) chunks: Option<Chunks>,
}

/// Work of shared units at a rate of requests.
#[derive(Debug, Clone)]
pub(crate) struct SharedWork {
    /// Mean sequences of a unit that are answered.
    pub(crate) batch: f64,
    /// Share of the time that goes to prefill.
    pub(crate) prefill_share: f64,
    /// Share of the time in which prompts are computed, alone or in decode steps.
    pub(crate) prefill_utilisation: f64,
    /// Mean time per generated token, in seconds.
    pub(crate) per_token_s: f64,
    /// Time per generated token at the limit's percentile, in seconds.
    pub(crate) per_token_at_limit_s: f64,
    pub(crate) first: FirstToken,
}

impl SharedUnit<'_> {
    pub(crate) fn chips(&self) -> f64 {
        self.decode.engine.chips()
    }

    pub(crate) fn serving(&self) -> ServingKind {
        match self.chunks {
            Some(_) => ServingKind::Chunked,
            None => ServingKind::Aggregated,
        }
    }

    /// Mean time that a prompt takes from decoding.
    fn added_s(&self, batch: f64) -> f64 {
        match &self.chunks {
            Some(chunks) => chunks.added_s(&self.decode, batch),
            None => self.prefill.pass_s,
        }
    }

    /// Mean time in which a prompt is computed.
    fn occupied_s(&self, batch: f64) -> f64 {
        match &self.chunks {
            Some(chunks) => chunks.occupied_s(batch),
            None => self.prefill.pass_s,
        }
    }

    /// Requests per second whose prompts a unit can compute.
    fn prompt_capacity(&self) -> f64 {
        self.prefill.servers() / self.occupied_s(LEAST_BATCH)
    }

    /// The work of this many units at this rate; none if they cannot keep up.
    pub(crate) fn work(&self, units: f64, rate: f64, goal: &Goal) -> Option<SharedWork> {
        let (decode, prefill) = (&self.decode, &self.prefill);
        let of_unit = rate / units;
        // Passes, or prompts in chunks, that a unit begins per second: each works on a prompt of every group.
        let begun_per_s = of_unit / prefill.servers();
        let rest = |batch: f64| 1.0 - begun_per_s * self.added_s(batch);
        let served = |batch: f64| decode.rate(batch) * rest(batch);
        let most = decode.most_that_fits();
        if rest(most) < 1.0 - MOST_SHARE || served(most) < of_unit {
            return None;
        }
        let batch = bisected(LEAST_BATCH, most, |batch| served(batch) <= of_unit);
        let rest = rest(batch);
        let step_s = decode.step_s(batch);
        let deviations = goal.limits.percentile.deviations();
        let at_limit = decode.batch_at(batch, deviations);
        let at_limit_s = decode.step_s(at_limit);
        let length = decode.steps_per_request;
        // Prompts that interrupt an answer: their number is random, and each delays those behind it too.
        let added_s = self.added_s(batch);
        let square = added_s * added_s * (1.0 + prefill.variation);
        let delay_s = (begun_per_s * square * length * step_s / rest.powi(3)).sqrt() / length;
        let delay_s = if prefill.is_random {
            deviations * delay_s
        } else {
            0.0
        };
        Some(SharedWork {
            batch,
            prefill_share: 1.0 - rest,
            prefill_utilisation: begun_per_s * self.occupied_s(batch),
            per_token_s: step_s / rest / decode.accepted,
            per_token_at_limit_s: (at_limit_s / rest + delay_s) / decode.accepted,
            // Answers outlast prompts: while the batch is large, all prompts behind each other are slow.
            first: self.first_token(units, rate, at_limit)?,
        })
    }

    /// A pass starts when it is full and the step that is running ends; a chunk, with the next step.
    fn first_token(&self, units: f64, rate: f64, batch: f64) -> Option<FirstToken> {
        let prefill = &self.prefill;
        let services = match &self.chunks {
            Some(chunks) => chunks.services(&self.decode, batch),
            None => prefill.services.clone(),
        };
        let alone = FirstToken {
            services,
            added_s: self.decode.step_s(batch) / 2.0,
            ..prefill.alone()
        };
        if !prefill.is_random {
            let keeps_up = rate / units * self.occupied_s(batch) <= prefill.servers();
            return keeps_up.then_some(alone);
        }
        let queue = Queue {
            servers: units * prefill.servers() / prefill.prompts,
            arrivals_per_second: rate / prefill.prompts,
            arrival_variation: 1.0 / prefill.prompts,
            service_s: self.occupied_s(batch),
            service_variation: prefill.variation,
        };
        Some(FirstToken {
            waiting: queue.waiting()?,
            window_s: (prefill.prompts - 1.0) * units / rate,
            window_probability: 1.0,
            ..alone
        })
    }

    fn keeps(&self, units: f64, rate: f64, goal: &Goal) -> bool {
        let Some(work) = self.work(units, rate, goal) else {
            return false;
        };
        let share = goal.limits.percentile.share();
        let first = goal.limits.first_token_s;
        let next = goal.limits.per_token_s;
        next.is_none_or(|limit| work.per_token_at_limit_s <= limit)
            && first.is_none_or(|limit| work.first.within(limit) >= share)
    }

    /// Units and rate that reach the goal, if any do.
    pub(crate) fn solved(&self, goal: &Goal) -> Option<(f64, f64)> {
        if let Some(rate) = goal.rate {
            let load = rate / self.most_rate(goal)?;
            let units = fewest(load, goal.whole_units, |units| {
                self.keeps(units, rate, goal)
            })?;
            return goal.allows(units * self.chips()).then_some((units, rate));
        }
        let units = (goal.budget? / self.chips()).floor();
        if units < 1.0 {
            return None;
        }
        let most = units * self.prompt_capacity();
        let least = most * 1e-6;
        // Passes that are filled slowly keep a limit only above some rate.
        let start = (0..8)
            .map(|step| least * 6.0_f64.powi(step))
            .find(|rate| self.keeps(units, *rate, goal))?;
        let rate = bisected(start, most, |rate| self.keeps(units, rate, goal));
        Some((units, rate))
    }

    /// Requests per second of one unit that no limit on the time to the first token lowers: decoding and prefill share
    /// its time.
    pub(crate) fn most_rate(&self, goal: &Goal) -> Option<f64> {
        let deviations = goal.limits.percentile.deviations();
        let batch = self
            .decode
            .most_batch(goal.limits.per_token_s, deviations)?;
        let of_prompt = self.added_s(batch) / self.prefill.servers();
        let both = 1.0 / (of_prompt + 1.0 / self.decode.rate(batch));
        Some(both.min(self.prompt_capacity()))
    }
}
