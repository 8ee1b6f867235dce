//! What reading an implied sheet gives back: each reading's value from the machine, by the equation that it inverts.

use super::{Caches, ReadBack, Tiers};
use crate::reference::StorageTier;
use crate::roofline::crossover_context;
use crate::units::BytesPerToken;

/// What the readings of the sheet give, wherever the equations that they invert are those that set the prices.
pub(super) fn reads_back(tiers: &Tiers<'_>, caches: &Caches<'_>) -> Vec<ReadBack> {
    let mut list = Vec::new();
    if let Some((low, high)) = tiers.bounds.first() {
        list.extend(ratio(tiers, *low, *high));
    }
    for pair in tiers.bounds.windows(2) {
        let ((_, below), (threshold, above)) = (pair[0], pair[1]);
        list.extend(cover(tiers, threshold, (below, above)));
        list.extend(attention(tiers, threshold, (below, above)));
    }
    if let Some((low, high)) = tiers.bounds.first()
        && tiers.has_fast_mode()
    {
        list.extend(fast_mode(tiers, *low, f64::from(*high)));
    }
    let (low, _) = tiers.bounds[0];
    if let Some(tier) = caches.chosen()
        && caches.stored() > 0.0
    {
        list.extend(caches.read_usd_per_mtok().map(|_| load_path(tiers, caches)));
        if tiers.offer.ttls_seconds.len() > 1 {
            list.push(hold_price(caches, tier, low));
        }
    }
    list
}

fn hold_price(caches: &Caches<'_>, tier: &StorageTier, low: u32) -> ReadBack {
    ReadBack {
        reading: "cache_write_hold_price",
        detail: Some(tier.id.clone()),
        min_prompt_tokens: low,
        quantity: "k_st",
        value: caches.stored(),
    }
}

/// `k_st` as a hit price shows it against an input price that carries attention's arithmetic too.
fn load_path(tiers: &Tiers<'_>, caches: &Caches<'_>) -> ReadBack {
    let (low, high) = tiers.bounds[0];
    let active = tiers.costs.question.model.architecture.active_parameters;
    ReadBack {
        reading: "cache_read_load_path",
        detail: None,
        min_prompt_tokens: low,
        quantity: "k_st·N_a/(N_a + a_pre·S/2)",
        value: caches.stored() * active / tiers.costs.prompt_macs(f64::from(high)),
    }
}
/// r: what a generated token waits for memory over what a prompt token of that tier computes.
fn ratio(tiers: &Tiers<'_>, low: u32, high: u32) -> Option<ReadBack> {
    let (costs, batch, context) = (tiers.costs, tiers.batch(), f64::from(high));
    let question = costs.question;
    let compute_s = costs.prompt_macs(context) / question.unit().multiply_rate.0;
    let memory_s = costs.step(batch, context).memory().0 * costs.efficiencies.decode_bandwidth
        / batch
        / question.load.speculation.accepted;
    let value = memory_s / compute_s;
    // A price ratio of 1 or less is no sign of waiting for memory, whatever the margins.
    let is_read = value > 1.0 && tiers.output(batch, high) > tiers.input(high);
    (costs.is_memory_bound(batch, context) && is_read).then_some(ReadBack {
        reading: "output_ratio_memory_boundness",
        detail: None,
        min_prompt_tokens: low,
        quantity: "r = memory time of a generated token over compute time of a prompt token",
        value,
    })
}

/// x, and the KV bytes and the crossover that follow: the secant of the cost of a token between two contexts.
fn cover(tiers: &Tiers<'_>, threshold: u32, (below, above): (u32, u32)) -> Vec<ReadBack> {
    let (costs, batch) = (tiers.costs, tiers.batch());
    let (near, far) = (f64::from(below), f64::from(above));
    let question = costs.question;
    let bound = costs.is_memory_bound(batch, near) && costs.is_memory_bound(batch, far);
    let of_cache = |context| question.kv_bytes_per_sequence(context);
    let kv_bytes = (of_cache(far) - of_cache(near)) / (far - near);
    if !bound || kv_bytes <= 0.0 {
        return Vec::new();
    }
    let fixed = question.precision.weights * question.model.architecture.total_parameters / batch
        + (of_cache(near) - kv_bytes * near);
    let optimal = question.optimal_batch();
    let cover = fixed / kv_bytes;
    // What is fixed beside the weights (state, windows) counts as weights for whoever reads the sheet.
    let read_kv =
        question.precision.weights * question.model.architecture.active_parameters * optimal
            / (batch * question.compute_to_bandwidth() * cover);
    let entry = |detail: Option<&str>, quantity, value| ReadBack {
        reading: "output_multiplier_cover",
        detail: detail.map(str::to_owned),
        min_prompt_tokens: threshold,
        quantity,
        value,
    };
    vec![
        entry(None, "x = L0·B*/B", cover),
        entry(Some("kv_bytes_per_token_read"), "k_bw", read_kv),
        entry(
            Some("kv_bytes_per_token_read"),
            "L0 = w·N_a/(ρ·k_bw)",
            crossover_context(
                question.precision.weights,
                question.model.architecture.active_parameters,
                question.compute_to_bandwidth(),
                BytesPerToken(read_kv),
            ),
        ),
    ]
}

/// `a_pre`/`N_a`: the secant of a prompt's arithmetic between two lengths.
fn attention(tiers: &Tiers<'_>, threshold: u32, (below, above): (u32, u32)) -> Option<ReadBack> {
    let (near, far) = (f64::from(below), f64::from(above));
    let (near_macs, far_macs) = (tiers.costs.prompt_macs(near), tiers.costs.prompt_macs(far));
    let value = 2.0 * (far_macs - near_macs) / (far * near_macs - near * far_macs);
    (value.is_finite() && value > 0.0).then_some(ReadBack {
        reading: "input_multiplier_attention",
        detail: None,
        min_prompt_tokens: threshold,
        quantity: "a_pre/N_a",
        value,
    })
}

/// y: what grows with the batch over what does not.
fn fast_mode(tiers: &Tiers<'_>, low: u32, context: f64) -> Vec<ReadBack> {
    let (costs, batch) = (tiers.costs, tiers.batch());
    let question = costs.question;
    if !costs.is_memory_bound(batch, context) {
        return Vec::new();
    }
    let fixed = question.precision.weights * question.model.architecture.total_parameters;
    let growing = batch * question.kv_bytes_per_sequence(context);
    let entry = |reading, quantity, value| ReadBack {
        reading,
        detail: None,
        min_prompt_tokens: low,
        quantity,
        value,
    };
    vec![
        entry(
            "fast_mode_batch_ratio",
            "B_std/B_fast",
            tiers.offer.fast_batch_ratio,
        ),
        entry("fast_mode_kv_over_weights", "y", growing / fixed),
        entry("fast_mode_max_speedup", "1 + y", 1.0 + growing / fixed),
    ]
}
