//! Readings of an implied sheet: each reading's value from the machine, by the equation that it inverts.

use super::{ReadBack, Tiers};
use crate::forward::crossover_context;
use unroof_base::units::BytesPerToken;

const COMPUTE_BOUND: &str =
    "decoding waits for compute there, so the output price says nothing about memory";
const NOTHING_GROWS: &str = "the bytes read per step do not grow with the context";
const NO_ATTENTION: &str = "the input price carries no arithmetic that grows with the prompt";
const CHEAP_OUTPUT: &str = "output costs no more than input, or its memory time does not exceed the compute time of a prompt token";

/// Smallest price step that a reading uses.
const LEAST_RISE: f64 = 1e-6;

/// Reading of a cell, with its quantity and threshold.
#[derive(Clone, Copy)]
struct Subject {
    reading: &'static str,
    quantity: &'static str,
    min_prompt_tokens: u32,
}

impl Subject {
    fn of(self, value: Result<f64, &'static str>) -> ReadBack {
        ReadBack {
            reading: self.reading,
            detail: None,
            min_prompt_tokens: self.min_prompt_tokens,
            quantity: self.quantity,
            value: value.ok(),
            not_read: value.err(),
        }
    }

    fn detail_of(self, detail: &str, value: f64) -> ReadBack {
        ReadBack {
            detail: Some(detail.to_owned()),
            ..self.of(Ok(value))
        }
    }
}

/// Values that the readings of the sheet give, and the reason for none where the equations that set the prices are not
/// those that the readings invert.
pub(super) fn reads_back(tiers: &Tiers<'_>) -> Vec<ReadBack> {
    let mut list = vec![ratio(tiers)];
    for pair in tiers.bounds.windows(2) {
        let ((_, below), (threshold, above)) = (pair[0], pair[1]);
        list.extend(cover(tiers, threshold, (below, above)));
        list.push(attention(tiers, threshold, (below, above)));
    }
    if tiers.has_fast_mode() {
        list.extend(fast_mode(tiers));
    }
    if let Some(tier) = tiers.cache_tier()
        && tiers.stored() > 0.0
    {
        let stored = |reading| Subject {
            reading,
            quantity: "k_st",
            min_prompt_tokens: 0,
        };
        if tiers.read_usd_per_mtok().is_some() {
            list.push(stored("cache_read_load_path").of(Ok(tiers.stored())));
        }
        if tiers.offer.ttls_seconds.len() > 1 {
            let subject = stored("cache_write_hold_price");
            list.push(subject.detail_of(&tier.id, tiers.stored()));
        }
    }
    list
}

/// r: memory time of a generated token over compute time of a prompt token in the tier.
fn ratio(tiers: &Tiers<'_>) -> ReadBack {
    let (min_prompt_tokens, longest) = tiers.bounds[0];
    let (costs, batch, context) = (tiers.costs, tiers.batch(), f64::from(longest));
    let question = costs.question;
    let subject = Subject {
        reading: "output_ratio_memory_boundness",
        quantity: "r = B*/B + L/L0, memory time over compute time",
        min_prompt_tokens,
    };
    if !costs.is_memory_bound(batch, context) {
        return subject.of(Err(COMPUTE_BOUND));
    }
    let compute_s =
        question.setup.model.architecture.active_parameters / question.setup.unit().multiply_rate.0;
    let memory_s = costs.step(batch, context).memory().0 * costs.efficiencies.decode_bandwidth
        / batch
        / question.load.speculation.accepted;
    let value = memory_s / compute_s;
    // A price ratio of 1 or less does not show that decoding waits for memory, at any margin.
    let is_read = value > 1.0 && tiers.output(batch, longest) > tiers.input(longest);
    subject.of(is_read.then_some(value).ok_or(CHEAP_OUTPUT))
}

/// x, and the KV bytes and the crossover that follow: the secant of the cost of a token between two contexts.
fn cover(tiers: &Tiers<'_>, threshold: u32, (below, above): (u32, u32)) -> Vec<ReadBack> {
    let (costs, batch) = (tiers.costs, tiers.batch());
    let (near, far) = (f64::from(below), f64::from(above));
    let question = costs.question;
    let subject = |quantity| Subject {
        reading: "output_multiplier_cover",
        quantity,
        min_prompt_tokens: threshold,
    };
    let of_cache = |context| question.setup.kv_bytes_per_sequence(context);
    let kv_bytes = (of_cache(far) - of_cache(near)) / (far - near);
    let cover = subject("x = L0·B*/B");
    if !costs.is_memory_bound(batch, near) || !costs.is_memory_bound(batch, far) {
        return vec![cover.of(Err(COMPUTE_BOUND))];
    }
    if kv_bytes <= 0.0 {
        return vec![cover.of(Err(NOTHING_GROWS))];
    }
    let weights = question.setup.weights().0 / batch;
    let beside = of_cache(near) - kv_bytes * near;
    let tokens = (weights + beside) / kv_bytes;
    // A reading takes all fixed cost for weights.
    let read_kv = kv_bytes * weights / (weights + beside);
    let is_own = beside.abs() <= 1e-9 * weights;
    let names = if is_own {
        ["k_bw", "L0 = w·N_a/(ρ·k_bw)"]
    } else {
        [
            "k_bw, with windows and state counted as weights",
            "L0 = w·N_a/(ρ·k_bw), with windows and state counted as weights",
        ]
    };
    let crossover = crossover_context(
        question.setup.precision.weights,
        question.setup.model.architecture.active_parameters,
        question.setup.compute_to_bandwidth(),
        BytesPerToken(read_kv),
    );
    let detail = "kv_bytes_per_token_read_slope";
    vec![
        cover.of(Ok(tokens)),
        subject(names[0]).detail_of(detail, read_kv),
        subject(names[1]).detail_of(detail, crossover),
    ]
}

/// `a_pre`/`N_a`: the secant of a prompt's arithmetic between two lengths.
fn attention(tiers: &Tiers<'_>, threshold: u32, (below, above): (u32, u32)) -> ReadBack {
    let subject = Subject {
        reading: "input_multiplier_attention",
        quantity: "a_pre/N_a",
        min_prompt_tokens: threshold,
    };
    let (near, far) = (f64::from(below), f64::from(above));
    let (near_macs, far_macs) = (tiers.costs.prompt_macs(near), tiers.costs.prompt_macs(far));
    let value = 2.0 * (far_macs - near_macs) / (far * near_macs - near * far_macs);
    // A smaller rise is lost among the digits of the price.
    let is_read = value.is_finite() && far_macs > near_macs * (1.0 + LEAST_RISE);
    subject.of(is_read.then_some(value).ok_or(NO_ATTENTION))
}

/// y: what grows with the batch over what does not.
fn fast_mode(tiers: &Tiers<'_>) -> Vec<ReadBack> {
    let (min_prompt_tokens, longest) = tiers.bounds[0];
    let (costs, batch, context) = (tiers.costs, tiers.batch(), f64::from(longest));
    let question = costs.question;
    let subject = |reading, quantity| Subject {
        reading,
        quantity,
        min_prompt_tokens,
    };
    let fixed = question.setup.weights().0;
    let growing = batch * question.setup.kv_bytes_per_sequence(context);
    let y = if !costs.is_memory_bound(batch, context) {
        Err(COMPUTE_BOUND)
    } else if growing <= 0.0 {
        Err(NOTHING_GROWS)
    } else {
        Ok(growing / fixed)
    };
    let ratio = y.map(|_| tiers.offer.fast_batch_ratio);
    vec![
        subject("fast_mode_batch_ratio", "B_std/B_fast").of(ratio),
        subject("fast_mode_kv_over_weights", "y").of(y),
        subject("fast_mode_max_speedup", "1 + y").of(y.map(|y| 1.0 + y)),
    ]
}
