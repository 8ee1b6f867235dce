//! Series of a simulation over batches and contexts: one flat row per point.

use super::Question;
use super::answer::{Bound, SeriesItem};
use crate::forward::{Overlap, PromptTokens, Serving, latency_floor};

pub(super) fn series(question: &Question) -> Vec<SeriesItem> {
    let load = &question.load;
    let grid = question.grid.clone().unwrap_or_default();
    let batches = grid.batch.map(|axis| axis.points);
    let batches = batches.unwrap_or_else(|| vec![load.batch]);
    let serving = question.serving();
    let mut rows = Vec::new();
    for batch in batches {
        let mut contexts = grid
            .context_tokens
            .as_ref()
            .map_or_else(|| vec![load.context_tokens], |axis| axis.points.clone());
        // Where attention overlaps nothing else, cost is a straight line.
        let is_made = grid
            .context_tokens
            .as_ref()
            .is_some_and(|axis| axis.is_made);
        let kink = if is_made && serving.overlap == Overlap::Full {
            kink(&serving, batch, &contexts)
        } else {
            None
        };
        if let Some(kink) = kink {
            let place = contexts.partition_point(|context| *context < kink);
            contexts.insert(place, kink);
        }
        rows.extend(contexts.into_iter().map(|context| SeriesItem {
            is_kink: kink.is_some_and(|kink| kink.total_cmp(&context).is_eq()),
            ..row(question, &serving, batch, context)
        }));
    }
    mark_front(&mut rows);
    rows
}

/// The context between the first and the last at which memory overtakes compute, or compute memory, if there is one.
fn kink(serving: &Serving<'_>, batch: f64, contexts: &[f64]) -> Option<f64> {
    let waits_for_memory = |context: f64| {
        let step = serving.decode(batch, context).step;
        step.memory().0 >= step.compute().0
    };
    let (mut low, mut high) = (*contexts.first()?, *contexts.last()?);
    if waits_for_memory(low) == waits_for_memory(high) {
        return None;
    }
    let at_low = waits_for_memory(low);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if waits_for_memory(middle) == at_low {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(high)
}

fn row(question: &Question, serving: &Serving<'_>, batch: f64, context: f64) -> SeriesItem {
    let pass = serving.decode(batch, context);
    let step = &pass.step;
    let accepted = question.load.speculation.accepted;
    let cost = |seconds: f64| Question::usd_per_mtok(&serving.machine, batch * accepted / seconds);
    let prompt = PromptTokens::fresh(context.max(1.0));
    let prompts = question.prompts_of(prompt.fresh);
    let prefill = question.prefill_serving();
    let prompt_tokens_per_second =
        prompts * prompt.fresh / prefill.prefill(prompts, prompt).total.0;
    let floor = latency_floor(question.setup.readable_weights(), question.setup.unit());
    SeriesItem {
        batch,
        context_tokens: context,
        step_seconds: pass.total.0,
        compute_seconds: step.compute().0,
        memory_seconds: step.memory().0,
        weight_compute_seconds: step.weight_compute.0,
        attention_compute_seconds: step.attention_compute.0,
        weight_memory_seconds: step.weight_memory.0,
        kv_memory_seconds: step.kv_memory.0,
        communication_seconds: pass.communication.0,
        overhead_seconds: pass.token_overhead.0 + pass.stage_overhead.0 + pass.draft.0,
        latency_floor_seconds: floor.0,
        tokens_per_second_per_user: accepted / pass.total.0,
        tokens_per_second_per_chip: batch * accepted
            / pass.total.0
            / question.setup.hardware.machine.chips,
        cost_output_usd_per_mtok: cost(pass.total.0),
        cost_compute_limit_usd_per_mtok: cost(step.compute().0),
        cost_kv_limit_usd_per_mtok: cost(step.kv_memory.0),
        cost_input_usd_per_mtok: Question::usd_per_mtok(&prefill.machine, prompt_tokens_per_second),
        memory_time_over_compute_time: question.memory_over_compute(batch, context),
        bound: Bound::of(step.memory().0, step.compute().0),
        fits: serving.memory(context).missing(batch).is_none(),
        is_kink: false,
        on_speed_cost_front: false,
    }
}

/// Marks, for each context, the points that fit and that none other beats in both speed and cost per token.
fn mark_front(rows: &mut [SeriesItem]) {
    let mut order: Vec<usize> = (0..rows.len()).filter(|index| rows[*index].fits).collect();
    let cost = |row: &SeriesItem| row.step_seconds / row.batch;
    order.sort_by(|left, right| {
        let (left, right) = (&rows[*left], &rows[*right]);
        left.context_tokens
            .total_cmp(&right.context_tokens)
            .then(left.step_seconds.total_cmp(&right.step_seconds))
            .then(cost(left).total_cmp(&cost(right)))
    });
    let mut cheapest: Option<(f64, f64)> = None;
    for index in order {
        let row = &mut rows[index];
        let is_beaten = cheapest.is_some_and(|(context, least)| {
            context.total_cmp(&row.context_tokens).is_eq() && least <= cost(row)
        });
        if !is_beaten {
            row.on_speed_cost_front = true;
            cheapest = Some((row.context_tokens, cost(row)));
        }
    }
}
