//! What a question says is run.

use super::hardware::Hardware;
use super::request::{MOST_TOKENS, Model, Precision};
use crate::calculator::inputs::{InputOrigin as Origin, Inputs, Number};
use crate::roofline::{
    Efficiencies, KvCache, Overheads, Overlap, Serving, Speculation, Spread, compute_to_bandwidth,
    optimal_batch,
};

/// B/B* of a batch that is not stated: the lecture's "two or three".
const DEFAULT_BATCH_OVER_OPTIMAL: f64 = 2.5;
const DEFAULT_CONTEXT_TOKENS: f64 = 8_192.0;
const DEFAULT_PROMPT_TOKENS: f64 = 4_096.0;
/// Prompt tokens of a pass: per chip where experts are dealt out, of all chips where matrices are cut.
const DEFAULT_PASS_TOKENS: f64 = 16_384.0;
const MOST_BATCH: f64 = 1e12;

/// What is run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    pub(super) batch: f64,
    pub(super) context_tokens: f64,
    pub(super) prompt_tokens: f64,
    pub(super) cached_prompt_tokens: f64,
    pub(super) prompts_per_pass: f64,
    pub(super) states_prompts_per_pass: bool,
    pub(super) speculation: Speculation,
}

pub(super) fn read_load(
    inputs: &Inputs<'_>,
    model: Option<&Model>,
    precision: Option<Precision>,
    hardware: Option<&Hardware>,
    cache: Option<&KvCache>,
) -> Option<Load> {
    let tokens = |name, least: f64, other: f64| {
        let range = least..=MOST_TOKENS;
        let unit = "tokens";
        inputs.number(&Number { name, unit, range }, other)
    };
    let context = tokens("context_tokens", 0.0, DEFAULT_CONTEXT_TOKENS);
    let prompt = tokens("prompt_tokens", 1.0, DEFAULT_PROMPT_TOKENS);
    let cached = tokens("cached_prompt_tokens", 0.0, 0.0);
    let chips = hardware.map_or(1.0, |hardware| hardware.machine.chips);
    let prefill_chips = hardware.map_or(1.0, |hardware| hardware.prefill_chips);
    let spread = hardware.map_or(Spread::Tensor, |hardware| hardware.spread);
    let pass_tokens = match spread {
        Spread::Experts => DEFAULT_PASS_TOKENS * prefill_chips,
        Spread::Tensor => DEFAULT_PASS_TOKENS,
    };
    let prompts_per_pass = inputs.number_or_none(
        &Number {
            name: "prompts_per_pass",
            unit: "prompts",
            range: 1e-6..=MOST_BATCH,
        },
        prompt.map(|prompt| ((pass_tokens / prompt).max(1.0), Origin::Derived)),
    );
    let drafted = inputs.number(
        &Number {
            name: "drafted_tokens",
            unit: "tokens",
            range: 0.0..=1_000.0,
        },
        0.0,
    );
    let accepted = inputs.number(
        &Number {
            name: "accepted_tokens_per_step",
            unit: "tokens",
            range: 1.0..=1.0 + drafted.unwrap_or(0.0),
        },
        1.0,
    );
    let known = model.zip(precision).zip(hardware).zip(cache).zip(context);
    let default_batch = known.map(|((((model, precision), hardware), cache), context)| {
        default_batch(model, precision, hardware, cache, context)
    });
    let batch = read_batch(inputs, chips, default_batch);
    inputs.refuse_unknown();
    Some(Load {
        batch: batch?,
        context_tokens: context?,
        prompt_tokens: prompt?,
        cached_prompt_tokens: cached?,
        prompts_per_pass: prompts_per_pass?,
        states_prompts_per_pass: inputs.stated("prompts_per_pass").is_some(),
        speculation: Speculation {
            accepted: accepted?,
            drafted: drafted?,
        },
    })
}

/// What the batch may be stated by, and what follows where it is not.
struct BatchDefault {
    optimal: f64,
    largest: Option<f64>,
}

fn default_batch(
    model: &Model,
    precision: Precision,
    hardware: &Hardware,
    cache: &KvCache,
    context: f64,
) -> BatchDefault {
    let unit = &hardware.machine.unit;
    let ratio = compute_to_bandwidth(precision.weights, unit.multiply_rate, unit.bandwidth);
    let serving = Serving {
        architecture: &model.architecture,
        cache: cache.clone(),
        weight_bytes_per_parameter: precision.weights,
        kv_bytes_per_element: precision.cache,
        machine: hardware.machine,
        spread: hardware.spread,
        efficiencies: Efficiencies::PEAK,
        overheads: Overheads::NONE,
        overlap: Overlap::Full,
        speculation: Speculation::NONE,
    };
    BatchDefault {
        optimal: optimal_batch(ratio, model.architecture.sparsity()),
        largest: serving.memory(context).largest_batch(),
    }
}

/// The batch of all chips: as it is, per chip, or over the optimal one; 2.5 times that or the largest that fits.
fn read_batch(inputs: &Inputs<'_>, chips: f64, known: Option<BatchDefault>) -> Option<f64> {
    let number = |name, unit| Number {
        name,
        unit,
        range: 1e-6..=MOST_BATCH,
    };
    let stated = |name, unit, scale: f64| {
        inputs.stated(name)?;
        let value = inputs.number_or_none(&number(name, unit), None);
        Some(value.map(|value| value * scale))
    };
    let optimal = known.as_ref().map_or(1.0, |known| known.optimal);
    let ways = [
        stated("batch", "sequences", 1.0),
        stated("batch_per_chip", "sequences", chips),
        stated("batch_over_optimal_batch", "", optimal),
    ];
    let mut ways = ways.into_iter().flatten();
    let first = ways.next();
    if ways.next().is_some() {
        inputs.fault(
            "batch",
            "the batch is stated in more than one way".to_owned(),
            "state one of `batch`, `batch_per_chip` and `batch_over_optimal_batch`",
        );
        return None;
    }
    let Some(stated) = first else {
        let known = known?;
        let wanted = (DEFAULT_BATCH_OVER_OPTIMAL * known.optimal)
            .floor()
            .max(1.0);
        let largest = known.largest.map_or(wanted, |largest| largest.max(1.0));
        let derived = Some((wanted.min(largest).min(MOST_BATCH), Origin::Derived));
        return inputs.number_or_none(&number("batch", "sequences"), derived);
    };
    let batch = stated?;
    if batch > MOST_BATCH {
        inputs.fault(
            "batch",
            format!("a batch of {batch:e} sequences over all chips"),
            "state at most 1e12",
        );
        return None;
    }
    Some(batch)
}
