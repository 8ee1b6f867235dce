//! Load of a simulation: batch, contexts, prompts, speculation.

use super::efficiency::Efficiency;
use super::grid::{BATCHES, MOST_TOKENS};
use super::hardware::Hardware;
use super::model::{Model, Precision};
use crate::calculator::inputs::{InputOrigin as Origin, Inputs};
use crate::forward::{
    Engine, KvCache, Serving, Speculation, Spread, compute_to_bandwidth, optimal_batch,
};
use unroof_base::input::body::body;
use unroof_base::input::body::{Stated, number};
use unroof_base::units::readable;

/// B/B* of a batch that is not stated: the lecture's "two or three".
const DEFAULT_BATCH_OVER_OPTIMAL: f64 = 2.5;

body! {
    /// The load. At most one of the three batch fields is stated.
    pub struct SimulatedLoad {
        /// B: sequences over all chips; 2.5 times the optimal batch, or the largest that fits, if no way is stated.
        batch: Stated<f64> = number(BATCHES).unit("sequences").flag("batch"),
        /// B/G: sequences per chip.
        batch_per_chip: Stated<f64> = number(BATCHES).unit("sequences").flag("batch-per-chip"),
        /// B/B*: the batch over the optimal one.
        batch_over_optimal_batch: Stated<f64> = number(BATCHES),
        /// L: tokens in the KV cache.
        context_tokens: Stated<f64> = number(0.0..=MOST_TOKENS).unit("tokens").or(8_192.0).flag("context"),
        /// S: tokens of a prompt that are computed.
        prompt_tokens: Stated<f64> = number(1.0..=MOST_TOKENS).unit("tokens").or(4_096.0).flag("prompt"),
        /// `P_c`: tokens before them that are found in the cache.
        cached_prompt_tokens: Stated<f64> = number(0.0..=MOST_TOKENS).unit("tokens").or(0.0),
        /// Prompts of a prefill pass; if left out, as many as make 16,384 tokens, per chip with expert parallelism.
        prompts_per_pass: Stated<f64> = number(BATCHES).unit("prompts"),
        /// Share of the time for which a user has a request under way.
        user_activity: Stated<f64> = number(1e-9..=1.0).or(1.0),
        /// Tokens per second of the provider, of which this machine generates a share; the talk's 500 million.
        provider_tokens_per_second: Stated<f64> = number(1e-6..=1e15).unit("tokens/s").or(500e6),
        /// γ: tokens drafted per step.
        drafted_tokens: Stated<f64> = number(0.0..=1_000.0).unit("tokens").or(0.0).flag("drafted"),
        /// V: tokens accepted per step, at most γ + 1.
        accepted_tokens_per_step: Stated<f64> = number(1.0..=1_001.0).unit("tokens").or(1.0).flag("accepted"),
    }
}

/// Load of the serving unit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    pub(super) batch: f64,
    pub(super) context_tokens: f64,
    pub(super) prompt_tokens: f64,
    pub(super) cached_prompt_tokens: f64,
    pub(super) prompts_per_pass: f64,
    pub(super) states_prompts_per_pass: bool,
    pub(super) user_activity: f64,
    pub(super) provider_tokens_per_second: f64,
    pub(super) speculation: Speculation,
}

/// Serving setup whose load is chosen.
#[derive(Clone, Copy)]
pub(super) struct Served<'a> {
    pub(super) model: &'a Model,
    pub(super) precision: Precision,
    pub(super) hardware: &'a Hardware,
    pub(super) cache: &'a KvCache,
    pub(super) efficiency: Efficiency,
}

pub(super) fn fill_load(
    stated: &SimulatedLoad,
    inputs: &Inputs<'_>,
    served: Option<Served<'_>>,
) -> Option<Load> {
    let context = inputs.or_default(&stated.context_tokens);
    let prompt = inputs.or_default(&stated.prompt_tokens);
    let cached = inputs.or_default(&stated.cached_prompt_tokens);
    let pass_tokens = served.map_or_else(
        || Engine::pass_tokens(Spread::Tensor, 1.0),
        |served| Engine::pass_tokens(served.hardware.spread, served.hardware.prefill_chips),
    );
    let prompts = prompt.map(|prompt| ((pass_tokens / prompt).max(1.0), Origin::Derived));
    let prompts_per_pass = inputs.or_else(&stated.prompts_per_pass, prompts);
    let user_activity = inputs.or_default(&stated.user_activity);
    let provider = inputs.or_default(&stated.provider_tokens_per_second);
    let speculation = fill_speculation(stated, inputs);
    let batch = fill_batch(stated, inputs, served.zip(context));
    Some(Load {
        batch: batch?,
        context_tokens: context?,
        prompt_tokens: prompt?,
        cached_prompt_tokens: cached?,
        prompts_per_pass: prompts_per_pass?,
        states_prompts_per_pass: stated.prompts_per_pass.is_stated(),
        user_activity: user_activity?,
        provider_tokens_per_second: provider?,
        speculation: speculation?,
    })
}

fn fill_speculation(stated: &SimulatedLoad, inputs: &Inputs<'_>) -> Option<Speculation> {
    let drafted = inputs.or_default(&stated.drafted_tokens);
    let accepted = inputs.or_default(&stated.accepted_tokens_per_step);
    let (drafted, accepted) = (drafted?, accepted?);
    let most = 1.0 + drafted;
    if accepted > most {
        let allowed = format!("a number from 1 to {}", readable(most));
        inputs.fault(
            &stated.accepted_tokens_per_step,
            format!("{} is not {allowed}", readable(accepted)),
            format!("write {allowed}, or state more `drafted_tokens`"),
        );
    }
    Some(Speculation { accepted, drafted })
}

/// The batch over all chips, from one of its three fields; by default 2.5 times the optimal batch, or the largest that
/// fits.
fn fill_batch(
    stated: &SimulatedLoad,
    inputs: &Inputs<'_>,
    known: Option<(Served<'_>, f64)>,
) -> Option<f64> {
    let ways = [
        &stated.batch,
        &stated.batch_per_chip,
        &stated.batch_over_optimal_batch,
    ];
    if ways.iter().filter(|way| way.is_stated()).count() > 1 {
        inputs.fault(
            &stated.batch,
            "the batch is stated in more than one way",
            "state one of `batch`, `batch_per_chip` and `batch_over_optimal_batch`",
        );
        return None;
    }
    let (served, context) = known?;
    let optimal = optimal(served);
    let batch = if stated.batch_per_chip.is_stated() {
        inputs.or_else(&stated.batch_per_chip, None)? * served.hardware.machine.chips
    } else if stated.batch_over_optimal_batch.is_stated() {
        inputs.or_else(&stated.batch_over_optimal_batch, None)? * optimal
    } else {
        let wanted = (DEFAULT_BATCH_OVER_OPTIMAL * optimal).floor().max(1.0);
        let fitting = largest_batch(served, context).map_or(wanted, |largest| largest.max(1.0));
        let batch = wanted.min(fitting).min(*BATCHES.end());
        inputs.or(&stated.batch, batch, Origin::Derived)?
    };
    if batch > *BATCHES.end() {
        inputs.fault(
            &stated.batch,
            format!("a batch of {batch:e} sequences over all chips"),
            "state at most 1e12",
        );
        return None;
    }
    Some(batch)
}

/// B*: batch at which memory time and compute time are equal.
fn optimal(served: Served<'_>) -> f64 {
    let unit = &served.hardware.machine.unit;
    let weights = served.precision.weights;
    let ratio = compute_to_bandwidth(weights, unit.multiply_rate, unit.bandwidth);
    optimal_batch(ratio, served.model.architecture.sparsity())
}

fn largest_batch(served: Served<'_>, context: f64) -> Option<f64> {
    let efficiency = served.efficiency;
    let serving = Serving {
        architecture: &served.model.architecture,
        cache: served.cache.clone(),
        weights: served.precision.formats,
        kv_bytes_per_element: served.precision.cache,
        machine: served.hardware.machine,
        spread: served.hardware.spread,
        efficiencies: efficiency.efficiencies,
        overheads: efficiency.overheads,
        overlap: efficiency.overlap,
        speculation: Speculation::NONE,
    };
    serving.memory(context).largest_batch()
}
