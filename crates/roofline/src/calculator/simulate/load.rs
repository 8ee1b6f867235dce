//! Load of a simulation: batch, contexts, prompts, speculation.

use super::hardware::Hardware;
use super::setup::Setup;
use crate::calculator::inputs::{InputOrigin as Origin, Inputs};
use crate::calculator::scenario::StatedLoad;
use crate::calculator::scenario::load::BATCHES;
use crate::forward::{Engine, Speculation, Spread};

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

pub(super) fn fill_load(
    stated: &StatedLoad,
    inputs: &Inputs<'_>,
    setup: Option<&Setup>,
) -> Option<Load> {
    let context = inputs.or_default(&stated.context_tokens);
    let prompt = stated.prompt(inputs);
    let prompt = prompt.map(|prompt| (prompt.input.mean(), prompt.cached));
    let hardware = setup.map(|setup| &setup.hardware);
    let groups = |hardware: &Hardware| {
        let groups = hardware.prefill_machine.chips / hardware.attention_chips;
        (hardware.spread, groups)
    };
    let (spread, groups) = hardware.map_or((Spread::Tensor, 1.0), groups);
    let pass_tokens = Engine::pass_tokens(spread, groups);
    let prompts = prompt.map(|(input, cached)| {
        let prompts = (pass_tokens / (input - cached)).max(1.0);
        (prompts, Origin::Derived)
    });
    let prompts_per_pass = inputs.or_else(&stated.prompts_per_pass, prompts);
    let user_activity = inputs.or_default(&stated.user_activity);
    let provider = inputs.or_default(&stated.tokens_per_second);
    let speculation = stated.speculation(inputs);
    let batch = fill_batch(stated, inputs, setup.zip(context));
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
    known: Option<(&Setup, f64)>,
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
    let (setup, context) = known?;
    let optimal = setup.optimal_batch();
    let batch = if stated.batch_per_chip.is_stated() {
        inputs.or_else(&stated.batch_per_chip, None)? * setup.hardware.machine.chips
    } else if stated.batch_over_optimal_batch.is_stated() {
        inputs.or_else(&stated.batch_over_optimal_batch, None)? * optimal
    } else {
        let wanted = (DEFAULT_BATCH_OVER_OPTIMAL * optimal).floor().max(1.0);
        let held = setup.serving(Speculation::NONE).memory(context);
        let largest = held.largest_batch();
        let fitting = largest.map_or(wanted, |largest| largest.max(1.0));
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
