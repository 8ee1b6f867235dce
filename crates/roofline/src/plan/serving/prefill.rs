//! Prefill on units of its own: passes of prompts, and the queue in front of them.

use super::forward::{Engine, Parts};
use super::latency::FirstToken;
use super::queue::{Queue, Waiting};
use crate::plan::question::goal::{Goal, bisected, fewest};
use crate::plan::question::request::{Limits, Question};

/// Most prompt tokens of a pass in a group of chips.
const PASS_TOKENS: f64 = 16_384.0;

/// Prompts of a pass around which passes of several units bunch: the exponent of the load that agrees with simulated
/// units of 8 to 64 prompts.
const BUNCHING: f64 = 28.0;

/// Prefill on one unit, with a number of prompts per pass.
#[derive(Debug, Clone)]
pub(crate) struct PrefillUnit<'a> {
    pub(crate) engine: Engine<'a>,
    /// Prompts of a pass.
    pub(crate) prompts: f64,
    /// Mean time of a pass.
    pub(crate) pass_s: f64,
    /// Times of a pass for the lengths of prompts, with shares.
    pub(crate) services: Vec<(f64, f64)>,
    /// Squared coefficient of variation of the time of a pass.
    pub(crate) variation: f64,
    /// Transfer of the cache to the chips that decode.
    pub(crate) transfer_s: f64,
    pub(crate) parts: Parts,
    /// Whether requests arrive at random.
    pub(crate) is_random: bool,
}

impl<'a> PrefillUnit<'a> {
    /// The unit with every number of prompts per pass that is worth trying: one per group of chips, and powers of two of
    /// that while the prompts are short.
    pub(crate) fn all(question: &Question, engine: &Engine<'a>) -> Vec<Self> {
        let fresh = question.fresh_tokens();
        let memory = engine.memory(question.load.input.mean());
        let groups = f64::from(engine.layout.data);
        if memory.largest_batch() < groups * f64::from(engine.layout.pipeline) {
            return Vec::new();
        }
        let most = (PASS_TOKENS / fresh).max(1.0);
        let fits = memory.largest_batch() / groups / f64::from(engine.layout.pipeline);
        let mut units = Vec::new();
        let mut each = 1.0;
        while each <= most.min(fits) {
            units.push(Self::new(question, engine.clone(), groups * each));
            each *= 2.0;
        }
        units
    }

    fn new(question: &Question, engine: Engine<'a>, prompts: f64) -> Self {
        let traffic = &question.load;
        let passes: Vec<(Parts, f64)> = traffic
            .prompts()
            .map(|[tokens, fresh, share]| {
                (
                    engine.pass(prompts, fresh, (tokens - fresh).max(0.0)),
                    share,
                )
            })
            .collect();
        // A pass of several prompts holds prompts of all lengths: attention's work grows with their squares.
        let parts = Parts::mean(&passes);
        let mean_s = parts.total_s;
        let (services, variation) = if prompts > 1.0 {
            // A long prompt is cut over several passes.
            let mean = question.fresh_tokens();
            let services = traffic.prompts();
            let services =
                services.map(|[_, fresh, share]| (mean_s * (fresh / mean).max(1.0), share));
            let square = traffic
                .prompts()
                .map(|[_, fresh, share]| fresh * fresh * share);
            let variation = square.sum::<f64>() / (mean * mean) - 1.0;
            (services.collect(), variation.max(0.0) / prompts)
        } else {
            let services: Vec<(f64, f64)> = passes
                .iter()
                .map(|(pass, share)| (pass.total_s, *share))
                .collect();
            let square: f64 = services.iter().map(|(s, share)| s * s * share).sum();
            (services, (square / (mean_s * mean_s) - 1.0).max(0.0))
        };
        let transfer_s = transfer_s(question, &engine);
        Self {
            engine,
            prompts,
            pass_s: mean_s,
            services,
            variation,
            transfer_s,
            parts,
            is_random: traffic.is_random,
        }
    }

    /// Prompts that a unit works on at once.
    pub(crate) fn servers(&self) -> f64 {
        self.prompts * f64::from(self.engine.layout.pipeline)
    }

    /// Requests per second of a unit that is always busy.
    pub(crate) fn capacity(&self) -> f64 {
        self.servers() / self.pass_s
    }

    /// The time to the first token with this many units; none where the queue grows without end.
    pub(crate) fn first_token(&self, units: f64, rate: f64) -> Option<FirstToken> {
        if !self.is_random {
            let keeps_up = rate <= units * self.capacity() * (1.0 + 1e-9);
            return keeps_up.then(|| self.alone());
        }
        let queue = Queue {
            servers: units * self.servers(),
            arrivals_per_second: rate,
            arrival_variation: 1.0,
            service_s: self.pass_s,
            service_variation: self.variation,
        };
        let waiting = queue.waiting()?;
        let starts = units * f64::from(self.engine.layout.pipeline);
        let during = rate / starts * self.pass_s;
        let busy = during * during.min(50.0).exp();
        let is_shared = self.prompts > 1.0;
        Some(FirstToken {
            waiting,
            window_s: if is_shared {
                self.window_s(starts, queue.utilisation())
            } else {
                0.0
            },
            window_probability: busy / (1.0 + busy),
            ..self.alone()
        })
    }

    /// Longest wait for the start of a pass, where this many passes overlap: a pass over their number while they are
    /// spread evenly, a whole pass once a unit that is free takes all that wait and the next finds few.
    fn window_s(&self, starts: f64, load: f64) -> f64 {
        let bunched = load.powf(BUNCHING / self.prompts);
        self.pass_s * (bunched + (1.0 - bunched) / starts)
    }

    /// The time to the first token without a queue.
    pub(crate) fn alone(&self) -> FirstToken {
        FirstToken {
            waiting: Waiting::NONE,
            window_s: 0.0,
            window_probability: 0.0,
            services: self.services.clone(),
            added_s: self.transfer_s,
        }
    }

    /// Whether this share of the requests has the first token within a limit.
    fn keeps(&self, units: f64, rate: f64, limit: f64, share: f64) -> bool {
        let first = self.first_token(units, rate);
        first.is_some_and(|first| first.within(limit) >= share)
    }

    /// Fewest units that keep the limit at this rate; none if no number does.
    pub(crate) fn units_for(&self, goal: &Goal, rate: f64) -> Option<f64> {
        let load = rate / self.capacity();
        let Some(limit) = goal.limits.first_token_s else {
            let whole = if self.is_random {
                load.floor() + 1.0
            } else {
                load.ceil().max(1.0)
            };
            return Some(if goal.whole_units { whole } else { load });
        };
        let share = goal.limits.percentile.share();
        if self.alone().within(limit) < share {
            return None;
        }
        fewest(load, goal.whole_units, |units| {
            self.keeps(units, rate, limit, share)
        })
    }

    /// Most requests per second of this many units within the limit.
    pub(crate) fn rate_of(&self, limits: &Limits, units: f64) -> f64 {
        let most = units * self.capacity();
        let Some(limit) = limits.first_token_s else {
            return most * if self.is_random { 0.999 } else { 1.0 };
        };
        let keeps = |rate: f64| self.keeps(units, rate, limit, limits.percentile.share());
        let least = most * 1e-6;
        if !keeps(least) {
            return 0.0;
        }
        bisected(least, most, keeps)
    }
}

/// Time in which the chips of a prompt send its cache out of their scale-up domain; none where the bandwidth is not
/// known, or at peak.
fn transfer_s(question: &Question, engine: &Engine<'_>) -> f64 {
    let Some(link) = engine.chip.scale_out.filter(|_| !question.is_peak()) else {
        return 0.0;
    };
    let chips = f64::from(engine.layout.tensor * engine.layout.pipeline);
    engine.cache_bytes(question.load.input.mean()) / (link.0 * chips)
}
