//! Cost, fit and speed of a draw of the joint estimate, by the engine.
//!
//! ```
//! use unroof_infer::evidence::assumptions::Assumptions;
//! use unroof_infer::evidence::unknowns::Unknowns;
//! use unroof_infer::posterior::{Prior, sample_prior};
//! use unroof_roofline::reference::calibration::Calibration;
//!
//! let prior = Prior::new(Calibration::shipped(), &Assumptions::default());
//! let draws = sample_prior(&prior, 16);
//! // With every model and machine, a token found in the cache costs less than one that is computed.
//! let is_cheaper = |drawn: Unknowns<'_>| drawn.log_cached_input_cost() < drawn.log_input_cost();
//! assert!(draws.iter().all(is_cheaper));
//! ```

use std::sync::LazyLock;

use super::canonical::{Attention, CanonicalModel, Sizes};
use super::unknowns::{Running, Unknowns};
use unroof_base::units::elementary::ln;
use unroof_base::units::number::Number;
use unroof_base::units::{Bytes, Seconds};
use unroof_roofline::forward;
use unroof_roofline::forward::{
    AttentionWork, Efficiencies, Engine, Overheads, Overlap, PassTime, PromptTokens, Speculation,
    Spread, UnitLogs,
};
use unroof_roofline::reference::{WeightFormats, fitted_attainment};

/// log of tokens per Mtok over seconds per hour
const LOG_MTOK_PER_HOUR: f64 = 5.626_821_433_520_073;
/// Fewest tokens per second and user of an offer that is not for batches: slower than anyone reads \[D\].
const LEAST_TOKENS_PER_SECOND: f64 = 5.0;
/// Log ratio of the error of predicted times, a little above the standard deviations of ln(predicted ÷ measured) on
/// benchmarks that were left out: 0.23 for decoding and 0.18 for prefill (docs/model/errors.md).
pub const DECODE_ERROR_SD: f64 = 0.27;
/// Log ratio of the error of predicted times of prefill.
pub const PREFILL_ERROR_SD: f64 = 0.30;

/// A draw as it is served, or several, each in a lane of its own.
#[derive(Debug, Clone, Copy)]
pub struct Served<N = f64> {
    attention: Attention<N>,
    engine: Engine<'static, N>,
    batch: N,
    context_tokens: N,
    kv_element_bytes: N,
    /// Share of the prompt tokens that are found in a cache.
    cached_share: N,
    /// S: tokens of a prompt.
    prompt_tokens: f64,
}

static OVERHEADS: LazyLock<Overheads> = LazyLock::new(|| Overheads::from(fitted_attainment().all));

#[cfg(test)]
impl Served {
    /// Whether weights and the caches of the batch fit beside what an engine leaves free.
    #[must_use]
    pub fn fits(&self) -> bool {
        let chips = self.engine.machine.chips;
        let memory = self.engine.memory_by_chips();
        memory.missing(chips, self.caches(chips)) <= 0.0
    }

    /// Output tokens per second and user at the drawn batch.
    #[must_use]
    pub fn tokens_per_second(&self) -> f64 {
        self.engine.speculation.accepted / self.step().total.0
    }
}

impl<N: Number> Served<N> {
    /// A draw for each lane, all of one class of models and one prior, on units of one chip.
    fn of_lanes(draws: &[Unknowns<'_>]) -> Self {
        let each = |value: fn(&Unknowns<'_>) -> f64| N::of_lanes(|lane| value(&draws[lane]));
        let first = &draws[0];
        let model = CanonicalModel::of_lanes(draws);
        let spread = if model.shape.has_experts {
            Spread::Experts
        } else {
            Spread::Tensor
        };
        let accepted = first.machine.accepted_tokens;
        let log_batch = each(|draw| draw.log_batch_over_optimal + draw.log_optimal_batch());
        Self {
            attention: model.attention,
            engine: Engine {
                shape: model.shape,
                weights: WeightFormats::uniform(each(|draw| draw.machine.weight_bytes)),
                machine: forward::Machine::of_lanes(|lane| &draws[lane].machine.chip),
                logs: UnitLogs::of_lanes(|_| &UnitLogs::OF_ONE_CHIP),
                spread,
                efficiencies: Efficiencies {
                    prefill: each(|draw| draw.machine.efficiencies.prefill),
                    decode_bandwidth: each(|draw| draw.machine.efficiencies.decode_bandwidth),
                    decode_compute: each(|draw| draw.machine.efficiencies.decode_compute),
                },
                overheads: &OVERHEADS,
                per_stage: Seconds(each(|draw| draw.machine.per_stage.0)),
                overlap: Overlap::AttentionApart,
                speculation: Speculation {
                    accepted,
                    drafted: accepted - 1.0,
                    draft_layers: 0.0,
                },
            },
            batch: log_batch.exp().max(N::splat(1.0)),
            context_tokens: each(|draw| draw.log_mean_decode_context).exp(),
            kv_element_bytes: each(|draw| draw.machine.kv_element_bytes),
            cached_share: each(|draw| draw.running.cached_share),
            prompt_tokens: first.running.prompt_tokens,
        }
    }

    /// Chips over which a cache is cut by heads. With distributed experts it is distributed evenly.
    fn cuts(&self, chips: N) -> N {
        match self.engine.spread {
            Spread::Tensor => chips,
            Spread::Experts => N::splat(1.0),
        }
    }

    /// Chips over which a cache is cut by heads on the unit's own chips.
    fn own_cuts(&self) -> N {
        self.cuts(self.engine.machine.chips)
    }

    /// Caches and state of the batch on a unit of this many chips.
    fn caches(&self, chips: N) -> Bytes<N> {
        let elements = self.attention.stored(self.context_tokens, self.cuts(chips));
        self.per_sequence(elements) * self.batch
    }

    fn per_sequence(&self, elements: N) -> Bytes<N> {
        Bytes(elements * self.kv_element_bytes + self.attention.state_bytes())
    }

    /// Chips of the largest unit that is built without need: cut matrices stay within a scale-up domain, and no chip is
    /// without an expert of its own.
    fn most_chips(&self) -> N {
        match self.engine.spread {
            Spread::Tensor => self.engine.machine.domain_chips,
            Spread::Experts => self.engine.shape.routed_experts,
        }
    }

    fn step(&self) -> PassTime<N> {
        let (elements, macs) = self.attention.decode(self.context_tokens, self.own_cuts());
        let work = AttentionWork {
            macs,
            bytes: elements * self.kv_element_bytes + self.attention.state_bytes() * 2.0,
        };
        self.engine.decode(self.batch, work)
    }

    /// log of USD per Mtok for this many tokens in this time at full use, at one USD per hour and chip.
    fn log_cost(&self, seconds: N, tokens: N) -> N {
        let chip_seconds = seconds * self.engine.machine.chips / tokens;
        chip_seconds.ln() + LOG_MTOK_PER_HOUR
    }

    /// A prefill pass of prompts of which a share is found in the cache, with their number.
    fn pass(&self) -> (PassTime<N>, N, PromptTokens<N>) {
        let (zero, one) = (N::splat(0.0), N::splat(1.0));
        let tokens = N::splat(self.prompt_tokens);
        let prompt = PromptTokens {
            fresh: tokens * (one - self.cached_share),
            cached: tokens * self.cached_share,
        };
        let pass_tokens = Engine::pass_tokens(self.engine.spread, self.engine.machine.chips);
        let prompts = (pass_tokens / prompt.fresh).max(one);
        let (elements, macs) = self.attention.prefill(prompt, self.own_cuts());
        let states = zero.if_less(self.cached_share, N::splat(2.0), one);
        let work = AttentionWork {
            macs,
            bytes: elements * self.kv_element_bytes + states * self.attention.state_bytes(),
        };
        (
            self.engine.prefill(prompts, prompt.fresh, work),
            prompts,
            prompt,
        )
    }

    fn log_prefill_cost(&self) -> N {
        let (pass, prompts, prompt) = self.pass();
        self.log_cost(pass.total.0, prompts * prompt.fresh)
    }

    /// log cost of a token that is found in the cache: what a pass takes longer for it than without it, over the tokens found.
    fn log_cached_cost(&self) -> N {
        let (pass, prompts, prompt) = self.pass();
        let cuts = self.own_cuts();
        let (elements, macs) = self
            .attention
            .prefill(PromptTokens::fresh(prompt.fresh), cuts);
        let work = AttentionWork {
            macs,
            bytes: elements * self.kv_element_bytes + self.attention.state_bytes(),
        };
        let without = self.engine.prefill(prompts, prompt.fresh, work);
        // The bytes are read once, whatever else the pass waits for.
        let stored = self.attention.stored(prompt.cached, cuts) * self.kv_element_bytes;
        let bandwidth =
            self.engine.machine.unit.bandwidth.0 * self.engine.efficiencies.decode_bandwidth;
        let least = prompts * stored / bandwidth;
        let longer = (pass.total.0 - without.total.0).max(least);
        self.log_cost(longer, prompts * prompt.cached)
    }

    /// Puts each lane on the unit of a size that a uniform coordinate below 1 chooses among those that are built, or on
    /// the next larger one that holds it; and says which lanes are held by one.
    fn put_on_units(&mut self, draws: &[Unknowns<'_>], uniform: N) -> N::Each<bool> {
        let (none, one) = (N::splat(0.0), N::splat(1.0));
        let memory = self.engine.memory_by_chips();
        let of_one_chip = self.caches(one);
        let are_copied = self.engine.spread == Spread::Tensor && self.attention.has_heads();
        // All machines of a prior have units of the same sizes.
        let sizes = draws[0].machine.units_with_shares();
        let most = self.most_chips();
        let first = N::splat(sizes.clone().next().map_or(0.0, |(_, share)| share));
        let built = sizes.clone().fold(first, |built, (chips, below)| {
            most.if_less(N::splat(chips), built, N::splat(below))
        });
        let wanted = uniform * built;
        let held = sizes.rev().fold(none, |held, (chips, below)| {
            let caches = if are_copied {
                self.caches(N::splat(chips))
            } else {
                of_one_chip
            };
            let holds = none.if_less(memory.missing(chips, caches), held, N::splat(chips));
            wanted.if_less(N::splat(below), holds, held)
        });
        let chips = none.if_less(held, held, one);
        let logs = N::each(|lane| draws[lane].machine.logs_of(chips.lane(lane)));
        self.engine.put_on(
            self.engine.machine.with_chips(chips),
            UnitLogs::of_lanes(|lane| logs.as_ref()[lane]),
        );
        N::each(|lane| held.lane(lane) > 0.0)
    }
}

impl<N: Number> CanonicalModel<N> {
    /// The model of a draw for each lane, all of one class of models and one prior.
    fn of_lanes(draws: &[Unknowns<'_>]) -> Self {
        let each = |value: fn(&Unknowns<'_>) -> f64| N::of_lanes(|lane| value(&draws[lane]));
        let first = &draws[0];
        let sizes = Sizes {
            log_active: each(|draw| draw.log_active_parameters),
            log_total: each(|draw| draw.log_total_parameters.max(draw.log_active_parameters)),
            log_kv_read: each(|draw| draw.log_kv_bytes_read),
            log_kv_stored: each(|draw| draw.log_kv_bytes_stored),
            is_dense: first.is_dense,
            attention: first.attention,
        };
        let known = first.machine.known_model;
        known.map_or_else(|| Self::of(&sizes), |known| known.with(&sizes))
    }
}

impl Unknowns<'_> {
    /// Unit and load of the draw on one of the units that hold it, chosen by a uniform coordinate below 1; none where no
    /// unit does, or where users who wait would have to wait too long.
    #[must_use]
    pub fn placed(&self, uniform: f64, is_for_users: bool) -> Option<Running> {
        let [placed] = Self::placed_each(&[*self], uniform, is_for_users, false);
        placed
    }

    /// Unit and load of a draw for each lane, all of one class of models and one prior; and the time of their prompts, if it is
    /// wanted.
    pub(crate) fn placed_each<N: Number>(
        draws: &[Self],
        uniform: N,
        is_for_users: bool,
        with_prompts: bool,
    ) -> N::Each<Option<Running>> {
        let mut served = Served::<N>::of_lanes(draws);
        let are_held = served.put_on_units(draws, uniform);
        let step_s = served.step().total.0;
        let log_step_seconds = step_s.ln();
        let log_prefill_cost = with_prompts.then(|| served.log_prefill_cost());
        let accepted = served.engine.speculation.accepted;
        N::each(|lane| {
            let is_fast = accepted / step_s.lane(lane) >= LEAST_TOKENS_PER_SECOND;
            let is_possible = are_held.as_ref()[lane] && (is_fast || !is_for_users);
            is_possible.then(|| Running {
                chips: served.engine.machine.chips.lane(lane),
                log_chips: served.engine.logs.chips.lane(lane),
                log_step_seconds: Some(log_step_seconds.lane(lane)),
                log_prefill_cost: log_prefill_cost.map(|log| log.lane(lane)),
                ..draws[lane].running
            })
        })
    }

    /// The draw on its unit.
    #[must_use]
    pub fn served(&self) -> Served {
        let mut served = Served::of_lanes(std::slice::from_ref(self));
        let unit = served.engine.machine.with_chips(self.running.chips);
        served.engine.put_on(unit, UnitLogs::of(&unit));
        served
    }

    /// log of USD per Mtok of output.
    #[must_use]
    pub fn log_output_cost(&self) -> f64 {
        let log_batch = (self.log_batch_over_optimal + self.log_optimal_batch()).max(0.0);
        let log_tokens = log_batch + self.machine.log_accepted_tokens;
        let log_chip_seconds = self.log_step_seconds() + self.running.log_chips - log_tokens;
        self.paid(log_chip_seconds + LOG_MTOK_PER_HOUR) + self.running.log_decode_error
    }

    /// log of output tokens per second of one user.
    #[must_use]
    pub fn log_output_speed(&self) -> f64 {
        self.machine.log_accepted_tokens - self.log_step_seconds() - self.running.log_decode_error
    }

    /// log of the time of a decode step by the engine.
    fn log_step_seconds(&self) -> f64 {
        let step = || ln(self.served().step().total.0);
        self.running.log_step_seconds.unwrap_or_else(step)
    }

    /// log of multiply-adds with weights per second and chip while decoding.
    #[must_use]
    pub fn log_decode_rate(&self) -> f64 {
        let log_batch = (self.log_batch_over_optimal + self.log_optimal_batch()).max(0.0);
        // A pass of speculative decoding multiplies for every token that it drafts.
        let log_tokens = log_batch + self.machine.log_accepted_tokens;
        log_tokens + self.log_active_parameters
            - self.log_step_seconds()
            - self.running.log_decode_error
            - self.running.log_chips
    }

    /// log of the seconds of one chip that a prompt token takes which is not found in a cache.
    #[must_use]
    pub fn log_prompt_chip_seconds(&self) -> f64 {
        let of_engine = || self.served().log_prefill_cost();
        self.running.log_prefill_cost.unwrap_or_else(of_engine) - LOG_MTOK_PER_HOUR
            + self.running.log_prefill_error
    }

    /// log of USD per Mtok of input that takes these seconds of one chip.
    #[must_use]
    pub fn log_input_cost_of(&self, log_chip_seconds: f64) -> f64 {
        self.paid(log_chip_seconds + LOG_MTOK_PER_HOUR)
    }

    /// log of USD per Mtok of input that is not found in a cache.
    #[must_use]
    pub fn log_input_cost(&self) -> f64 {
        self.log_input_cost_of(self.log_prompt_chip_seconds())
    }

    /// log of USD per Mtok of input that is found in a cache in the memory of the chips.
    #[must_use]
    pub fn log_cached_input_cost(&self) -> f64 {
        self.paid(self.served().log_cached_cost()) + self.running.log_prefill_error
    }

    /// log of B* (E6) of at least as many parameters as are active
    fn log_optimal_batch(&self) -> f64 {
        let log_sparsity = (self.log_total_parameters - self.log_active_parameters).max(0.0);
        self.machine.log_compute_to_bandwidth + log_sparsity
    }

    /// At the rent, and with the time that is paid and not used.
    fn paid(&self, log_cost: f64) -> f64 {
        log_cost + self.log_rental - self.log_utilisation
    }
}
