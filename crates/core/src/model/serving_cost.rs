//! Cost, fit and speed of a draw of the joint estimate, by the engine.

use std::sync::LazyLock;

use super::canonical::{CanonicalModel, Sizes};
use super::machine::Machine;
use super::unknowns::{Running, Unknowns};
use crate::reference::{WeightFormats, fitted_attainment};
use crate::roofline::{
    AttentionKernels, AttentionWork, Engine, Overheads, Overlap, PassTime, PromptTokens,
    Speculation, Spread, UnitLogs,
};
use crate::units::Bytes;
use crate::units::elementary::{exp, ln};

/// log of tokens per Mtok over seconds per hour
const LOG_MTOK_PER_HOUR: f64 = 5.626_821_433_520_073;
/// Fewest tokens per second and user of an offer that is not for batches: slower than anyone reads \[D\].
const LEAST_TOKENS_PER_SECOND: f64 = 5.0;
/// Mean prompt over mean context while decoding: 4,384 over 4,989 tokens in \[DS6\].
const MEAN_PROMPT_OVER_CONTEXT: f64 = 0.88;
/// Standard deviation of prompt lengths over their mean: 1.313 in the conversations of Mooncake, as in `/plan`; 0.96 in both
/// traces of Azure.
const PROMPT_SPREAD: f64 = 1.313;
/// The prompt that a mean prompt token is in, over the mean context: attention's work grows with the squares of lengths,
/// and E\[S²\]/E\[S\] = (1 + spread²)·E\[S\].
const PROMPT_OVER_CONTEXT: f64 = MEAN_PROMPT_OVER_CONTEXT * (1.0 + PROMPT_SPREAD * PROMPT_SPREAD);
/// Log ratio of the error of predicted times: medians of |ln(predicted ÷ measured)| of 0.09 for decoding and 0.14 for
/// prefill (docs/model/measurements.md), over 0.6745.
pub const DECODE_ERROR_SD: f64 = 0.13;
/// The same for prefill.
pub const PREFILL_ERROR_SD: f64 = 0.21;

/// One draw as it is served.
#[derive(Debug, Clone, Copy)]
pub struct Served<'a> {
    machine: &'a Machine,
    model: CanonicalModel,
    engine: Engine<'a>,
    batch: f64,
    context_tokens: f64,
}

static OVERHEADS: LazyLock<Overheads> = LazyLock::new(|| Overheads::from(fitted_attainment()));

impl<'a> Served<'a> {
    /// The draw on a unit of one chip; [`Self::on_chips`] gives it others.
    #[must_use]
    pub fn new(unknowns: &Unknowns<'a>) -> Self {
        Self::of_model(&unknowns.model(), unknowns)
    }

    /// The same with the draw's model, which is that of the draw on any other machine.
    fn of_model(model: &CanonicalModel, unknowns: &Unknowns<'a>) -> Self {
        let machine = unknowns.machine;
        let spread = if model.shape.routed_experts > 0.0 {
            Spread::Experts
        } else {
            Spread::Tensor
        };
        let accepted = machine.accepted_tokens;
        let log_optimal = machine.log_compute_to_bandwidth + unknowns.log_sparsity();
        Self {
            machine,
            model: *model,
            engine: Engine {
                shape: model.shape,
                weights: WeightFormats::uniform(machine.weight_bytes),
                machine: machine.chip,
                logs: UnitLogs::OF_ONE_CHIP,
                spread,
                efficiencies: machine.efficiencies,
                overheads: &OVERHEADS,
                overlap: Overlap::AttentionApart,
                speculation: Speculation {
                    accepted,
                    drafted: accepted - 1.0,
                },
            },
            batch: exp(unknowns.log_batch_over_optimal + log_optimal).max(1.0),
            context_tokens: exp(unknowns.log_mean_decode_context),
        }
    }

    /// The same on a unit of this many chips.
    #[must_use]
    pub fn on_chips(&self, chips: f64) -> Self {
        let mut served = *self;
        let unit = self.machine.chip.with_chips(chips);
        served.engine.put_on(unit, UnitLogs::of(&unit));
        served
    }

    fn kernels(&self) -> AttentionKernels {
        self.kernels_on(self.engine.machine.chips)
    }

    fn kernels_on(&self, chips: f64) -> AttentionKernels {
        let is_cut = self.engine.spread == Spread::Tensor;
        AttentionKernels {
            chips: if is_cut { chips } else { 1.0 },
            fill_selections: true,
        }
    }

    fn element_bytes(&self) -> f64 {
        self.machine.kv_element_bytes
    }

    /// Whether weights and the caches of the batch fit beside what an engine leaves free.
    #[must_use]
    pub fn fits(&self) -> bool {
        self.fits_on(self.engine.machine.chips)
    }

    /// The same on a unit of another number of chips.
    fn fits_on(&self, chips: f64) -> bool {
        let elements = self
            .model
            .stored(self.context_tokens, self.kernels_on(chips));
        let memory = self.engine.memory_on(chips, self.per_sequence(elements));
        memory.missing(self.batch).is_none()
    }

    fn per_sequence(&self, elements: f64) -> Bytes {
        Bytes(elements * self.element_bytes() + self.model.state_bytes())
    }

    /// Whether a unit of this size is built without need: cut matrices stay within a scale-up domain, and no chip is without
    /// an expert of its own.
    fn is_built(&self, chips: f64) -> bool {
        let most = match self.engine.spread {
            Spread::Tensor => self.machine.chip.domain_chips,
            Spread::Experts => self.engine.shape.routed_experts,
        };
        chips <= most.max(1.0)
    }

    fn step(&self) -> PassTime {
        let (elements, macs) = self.model.decode(self.context_tokens, self.kernels());
        let work = AttentionWork {
            macs,
            bytes: elements * self.element_bytes() + 2.0 * self.model.state_bytes(),
        };
        self.engine.decode(self.batch, work)
    }

    /// Output tokens per second and user at the drawn batch.
    #[must_use]
    pub fn tokens_per_second(&self) -> f64 {
        self.engine.speculation.accepted / self.step().total.0
    }

    /// log of USD per Mtok for this many tokens in this time at full use, at one USD per hour and chip.
    fn log_cost(&self, seconds: f64, tokens: f64) -> f64 {
        let chip_seconds = seconds * self.engine.machine.chips / tokens;
        ln(chip_seconds) + LOG_MTOK_PER_HOUR
    }

    /// A prefill pass of prompts of which this share is found in the cache, with their number.
    fn pass(&self, running: &Running) -> (PassTime, f64, PromptTokens) {
        let follows = || (PROMPT_OVER_CONTEXT * self.context_tokens).max(1.0);
        let tokens = running.prompt_tokens.unwrap_or_else(follows);
        let cached_share = running.cached_share;
        let prompt = PromptTokens {
            fresh: tokens * (1.0 - cached_share),
            cached: tokens * cached_share,
        };
        let pass_tokens = Engine::pass_tokens(self.engine.spread, self.engine.machine.chips);
        let prompts = (pass_tokens / prompt.fresh).max(1.0);
        let (elements, macs) = self.model.prefill(prompt, self.kernels());
        let states = if cached_share > 0.0 { 2.0 } else { 1.0 };
        let work = AttentionWork {
            macs,
            bytes: elements * self.element_bytes() + states * self.model.state_bytes(),
        };
        (
            self.engine.prefill(prompts, prompt.fresh, work),
            prompts,
            prompt,
        )
    }

    fn log_prefill_cost(&self, running: &Running) -> f64 {
        let (pass, prompts, prompt) = self.pass(running);
        self.log_cost(pass.total.0, prompts * prompt.fresh)
    }

    /// The same of a token that is found in the cache: what a pass takes longer for it than without it, over the tokens
    /// found.
    fn log_cached_cost(&self, running: &Running) -> f64 {
        let (pass, prompts, prompt) = self.pass(running);
        let (elements, macs) = self
            .model
            .prefill(PromptTokens::fresh(prompt.fresh), self.kernels());
        let work = AttentionWork {
            macs,
            bytes: elements * self.element_bytes() + self.model.state_bytes(),
        };
        let without = self.engine.prefill(prompts, prompt.fresh, work);
        // The bytes are read once, whatever else the pass waits for.
        let stored = self.model.stored(prompt.cached, self.kernels()) * self.element_bytes();
        let bandwidth =
            self.engine.machine.unit.bandwidth.0 * self.engine.efficiencies.decode_bandwidth;
        let least = prompts * stored / bandwidth;
        let longer = (pass.total.0 - without.total.0).max(least);
        self.log_cost(longer, prompts * prompt.cached)
    }
}

impl Served<'_> {
    /// The same on the unit of a size that a uniform coordinate chooses among those that are built, or on the next larger one
    /// that holds it; none where no size does.
    fn placed(&mut self, uniform: f64) -> bool {
        let units = self.machine.units();
        let built = units.partition_point(|chips| self.is_built(*chips)).max(1);
        let below = &self.machine.units_below()[..built];
        let wanted = uniform * below[built - 1];
        let first = below.partition_point(|share| *share <= wanted);
        let mut larger = first.min(built - 1)..units.len();
        let holding = match self.model.stored_on_any_chips(self.context_tokens) {
            Some(elements) => {
                let needs = self
                    .engine
                    .memory_needs(self.batch, self.per_sequence(elements));
                larger.find(|unit| needs.are_met_by(units[*unit]))
            }
            None => larger.find(|unit| self.fits_on(units[*unit])),
        };
        if let Some(unit) = holding {
            let chips = self.machine.chip.with_chips(units[unit]);
            self.engine.put_on(chips, self.machine.unit_logs()[unit]);
        }
        holding.is_some()
    }
}

impl Unknowns<'_> {
    /// Unit and load of the draw on one of the units that hold it, chosen by a uniform coordinate; none where no unit does, or where
    /// users who wait would have to wait too long.
    #[must_use]
    pub fn placed(&self, uniform: f64, is_for_users: bool) -> Option<Running> {
        self.placed_as(&self.model(), uniform, is_for_users, false)
    }

    /// The same with the draw's model, which is the same on every machine; and the time of its prompts, if it is wanted.
    pub(crate) fn placed_as(
        &self,
        model: &CanonicalModel,
        uniform: f64,
        is_for_users: bool,
        with_prompts: bool,
    ) -> Option<Running> {
        let mut served = Served::of_model(model, self);
        if !served.placed(uniform) {
            return None;
        }
        let step_s = served.step().total.0;
        let is_fast = served.engine.speculation.accepted / step_s >= LEAST_TOKENS_PER_SECOND;
        (is_fast || !is_for_users).then(|| Running {
            log_chips: served.engine.logs.chips,
            log_step_seconds: Some(ln(step_s)),
            log_prefill_cost: with_prompts.then(|| served.log_prefill_cost(&self.running)),
            ..self.running
        })
    }

    /// The model of the draw.
    pub(crate) fn model(&self) -> CanonicalModel {
        let sizes = Sizes {
            log_active: self.log_active_parameters,
            log_total: self.log_total_parameters.max(self.log_active_parameters),
            log_kv_read: self.log_kv_bytes_read,
            log_kv_stored: self.log_kv_bytes_stored,
            is_dense: self.is_dense,
            attention: self.attention,
        };
        let known = self.machine.known_model;
        known.map_or_else(|| CanonicalModel::of(&sizes), |known| known.with(&sizes))
    }

    /// The draw on its unit.
    #[must_use]
    pub fn served(&self) -> Served<'_> {
        Served::new(self).on_chips(exp(self.running.log_chips))
    }

    /// log of USD per Mtok of output.
    #[must_use]
    pub fn log_output_cost(&self) -> f64 {
        let machine = self.machine;
        let step = || ln(self.served().step().total.0);
        let log_step_seconds = self.running.log_step_seconds.unwrap_or_else(step);
        let log_optimal = machine.log_compute_to_bandwidth + self.log_sparsity();
        let log_batch = (self.log_batch_over_optimal + log_optimal).max(0.0);
        let log_tokens = log_batch + machine.log_accepted_tokens;
        let log_chip_seconds = log_step_seconds + self.running.log_chips - log_tokens;
        self.paid(log_chip_seconds + LOG_MTOK_PER_HOUR) + self.running.log_decode_error
    }

    /// log of multiply-adds with weights per second and chip while decoding.
    #[must_use]
    pub fn log_decode_rate(&self) -> f64 {
        let step = || ln(self.served().step().total.0);
        let log_step_seconds = self.running.log_step_seconds.unwrap_or_else(step);
        let log_optimal = self.machine.log_compute_to_bandwidth + self.log_sparsity();
        let log_batch = (self.log_batch_over_optimal + log_optimal).max(0.0);
        // A pass of speculative decoding multiplies for every token that it drafts.
        let log_tokens = log_batch + self.machine.log_accepted_tokens;
        log_tokens + self.log_active_parameters
            - log_step_seconds
            - self.running.log_decode_error
            - self.running.log_chips
    }

    /// log of the seconds of one chip that a prompt token takes which is not found in a cache.
    #[must_use]
    pub fn log_prompt_chip_seconds(&self) -> f64 {
        let of_engine = || self.served().log_prefill_cost(&self.running);
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
        self.paid(self.served().log_cached_cost(&self.running)) + self.running.log_prefill_error
    }

    /// log of `N_t`/`N_a`, at least 0
    fn log_sparsity(&self) -> f64 {
        (self.log_total_parameters - self.log_active_parameters).max(0.0)
    }

    /// At the rent, and with the time that is paid and not used.
    fn paid(&self, log_cost: f64) -> f64 {
        log_cost + self.log_rental - self.log_utilisation
    }
}
