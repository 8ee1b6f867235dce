//! Load of a simulation: batch, contexts, prompts, speculation.

use super::efficiency::Efficiency;
use super::hardware::Hardware;
use crate::calculator::inputs::{InputOrigin as Origin, Inputs};
use crate::calculator::scenario::load::BATCHES;
use crate::calculator::scenario::{Model, Precision, StatedLoad};
use crate::forward::{
    Engine, KvCache, Serving, Speculation, Spread, compute_to_bandwidth, optimal_batch,
};

/// B/B* of a batch that is not stated: the lecture's "two or three".
const DEFAULT_BATCH_OVER_OPTIMAL: f64 = 2.5;

/// The load.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    pub(super) batch: f64,
    pub(super) context_tokens: f64,
    /// P: tokens of a prompt.
    pub(super) input_tokens: f64,
    /// `P_c`: tokens of it that are found in the cache.
    pub(super) cached_input_tokens: f64,
    pub(super) prompts_per_pass: f64,
    pub(super) states_prompts_per_pass: bool,
    pub(super) user_activity: f64,
    /// Tokens per second of the provider.
    pub(super) provider_tokens_per_second: f64,
    pub(super) speculation: Speculation,
}

impl Load {
    /// S: tokens of a prompt that are computed.
    pub(super) fn fresh_tokens(&self) -> f64 {
        self.input_tokens - self.cached_input_tokens
    }
}

/// The serving setup.
#[derive(Clone, Copy)]
pub(super) struct Served<'a> {
    pub(super) model: &'a Model,
    pub(super) precision: Precision,
    pub(super) hardware: &'a Hardware,
    pub(super) cache: &'a KvCache,
    pub(super) efficiency: Efficiency,
}

pub(super) fn fill_load(
    stated: &StatedLoad,
    inputs: &Inputs<'_>,
    served: Option<Served<'_>>,
) -> Option<Load> {
    let context = inputs.or_default(&stated.context_tokens);
    let prompt = stated.prompt(inputs);
    let prompt = prompt.map(|prompt| (prompt.input.mean(), prompt.cached));
    let pass_tokens = served.map_or_else(
        || Engine::pass_tokens(Spread::Tensor, 1.0),
        |served| {
            let hardware = served.hardware;
            Engine::pass_tokens(hardware.spread, hardware.prefill_machine.chips)
        },
    );
    let prompts = prompt.map(|(input, cached)| {
        let prompts = (pass_tokens / (input - cached)).max(1.0);
        (prompts, Origin::Derived)
    });
    let prompts_per_pass = inputs.or_else(&stated.prompts_per_pass, prompts);
    let user_activity = inputs.or_default(&stated.user_activity);
    let provider = inputs.or_default(&stated.tokens_per_second);
    let speculation = stated.speculation(inputs);
    let batch = fill_batch(stated, inputs, served.zip(context));
    let (input_tokens, cached_input_tokens) = prompt?;
    Some(Load {
        batch: batch?,
        context_tokens: context?,
        input_tokens,
        cached_input_tokens,
        prompts_per_pass: prompts_per_pass?,
        states_prompts_per_pass: stated.prompts_per_pass.is_stated(),
        user_activity: user_activity?,
        provider_tokens_per_second: provider?,
        speculation: speculation?,
    })
}

/// The batch over all chips, from one of its three fields; by default 2.5 times the optimal batch, or the largest that
/// fits.
fn fill_batch(
    stated: &StatedLoad,
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
