//! Prompts and answers on the same chips: prefill passes go first, and decoding has the rest of the time.

use super::decode::DecodeUnit;
use super::latency::FirstToken;
use super::prefill::PrefillUnit;
use super::queue::Queue;
use crate::plan::question::goal::{Goal, bisected, fewest};

/// Load of prefill and decoding together above which a unit is not used.
const MOST_SHARE: f64 = 0.999;

/// A unit that does both.
#[derive(Debug, Clone)]
pub(crate) struct SharedUnit<'a> {
    pub(crate) decode: DecodeUnit<'a>,
    pub(crate) prefill: PrefillUnit<'a>,
}

/// Work of shared units at a rate of requests.
#[derive(Debug, Clone)]
pub(crate) struct SharedWork {
    /// Mean sequences of a unit that are answered.
    pub(crate) batch: f64,
    /// Share of the time that goes to prefill.
    pub(crate) prefill_share: f64,
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

    /// The work of this many units at this rate; none if they cannot keep up.
    pub(crate) fn work(&self, units: f64, rate: f64, goal: &Goal) -> Option<SharedWork> {
        let (decode, prefill) = (&self.decode, &self.prefill);
        let of_unit = rate / units;
        let share = of_unit / prefill.capacity();
        if share > MOST_SHARE {
            return None;
        }
        let rest = 1.0 - share;
        let most = decode.most_that_fits();
        let busy_rate = of_unit / rest;
        if decode.rate(most) < busy_rate {
            return None;
        }
        let batch = decode.batch_for(busy_rate, most);
        let step_s = decode.step_s(batch);
        let deviations = goal.limits.percentile.deviations();
        let at_limit_s = decode.step_s(decode.batch_at(batch, deviations));
        let length = decode.steps_per_request;
        // Passes that interrupt an answer: their number is random, and each delays those behind it too.
        let passes_per_s = of_unit / prefill.servers();
        let square = prefill.pass_s * prefill.pass_s * (1.0 + prefill.variation);
        let delay_s = (passes_per_s * square * length * step_s / rest.powi(3)).sqrt() / length;
        let delay_s = if prefill.is_random {
            deviations * delay_s
        } else {
            0.0
        };
        Some(SharedWork {
            batch,
            prefill_share: share,
            per_token_s: step_s / rest / decode.accepted,
            per_token_at_limit_s: (at_limit_s / rest + delay_s) / decode.accepted,
            first: self.first_token(units, rate, step_s)?,
        })
    }

    /// A pass starts when it is full and the step that is running ends.
    fn first_token(&self, units: f64, rate: f64, step_s: f64) -> Option<FirstToken> {
        let prefill = &self.prefill;
        let alone = FirstToken {
            added_s: step_s / 2.0,
            ..prefill.alone()
        };
        if !prefill.is_random {
            return Some(alone);
        }
        let queue = Queue {
            servers: units * prefill.servers() / prefill.prompts,
            arrivals_per_second: rate / prefill.prompts,
            arrival_variation: 1.0 / prefill.prompts,
            service_s: prefill.pass_s,
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
        let most = units * self.prefill.capacity();
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
        Some(1.0 / (1.0 / self.prefill.capacity() + 1.0 / self.decode.rate(batch)))
    }
}
