//! Sensitivity: each input a tenth lower and higher, with the layouts of the best plans and units on average.

use super::answer::SensitivityItem;
use super::grid::Layout;
use super::search::Search;
use crate::plan::question::goal::Goal;
use crate::plan::question::request::Question;
use crate::plan::serving::candidate::Candidate;

/// A change of the request by a factor.
type Change = fn(&mut Question, f64);

const INPUTS: [(&str, Change); 13] = [
    ("load.input_tokens", |question, factor| {
        question.load.input = question.load.input.times(factor);
    }),
    ("load.output_tokens", |question, factor| {
        question.load.output = question.load.output.times(factor);
    }),
    ("load.cache_hit_rate", |question, factor| {
        let hits = question.load.hits.changed(|rate| rate * factor);
        question.load.set_hits(&hits);
    }),
    ("load.requests_per_second", |question, factor| {
        question.load.rate = question.load.rate.map(|rate| rate * factor);
    }),
    ("limits.time_to_first_token_seconds", |question, factor| {
        question.limits.first_token_s = question.limits.first_token_s.map(|limit| limit * factor);
    }),
    (
        "limits.time_per_output_token_seconds",
        |question, factor| {
            question.limits.per_token_s = question.limits.per_token_s.map(|limit| limit * factor);
        },
    ),
    ("precision.kv_bytes_per_element", |question, factor| {
        question.precision.cache *= factor;
    }),
    ("machine.rental_usd_per_hour", |question, factor| {
        for chip in [&mut question.decode_chip, &mut question.prefill_chip] {
            chip.usd_per_hour = chip.usd_per_hour.map(|usd| usd * factor);
        }
    }),
    ("machine: arithmetic", |question, factor| {
        question.decode_chip.arithmetic *= factor;
        question.prefill_chip.arithmetic *= factor;
    }),
    ("machine: HBM bandwidth", |question, factor| {
        for chip in [&mut question.decode_chip, &mut question.prefill_chip] {
            chip.bandwidth = chip.bandwidth * factor;
        }
    }),
    ("machine: HBM capacity", |question, factor| {
        for chip in [&mut question.decode_chip, &mut question.prefill_chip] {
            chip.capacity = chip.capacity * factor;
        }
    }),
    ("machine: links", |question, factor| {
        for chip in [&mut question.decode_chip, &mut question.prefill_chip] {
            chip.scale_up = chip.scale_up.map(|link| link * factor);
            chip.scale_out = chip.scale_out.map(|link| link * factor);
        }
    }),
    ("machine.chips", |question, factor| {
        question.budget = question.budget.map(|chips| scaled(chips, factor));
    }),
];

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a positive number below 2^21"
)]
fn scaled(chips: u32, factor: f64) -> u32 {
    (f64::from(chips) * factor).round().max(1.0) as u32
}

/// The change of cost with every input that the request has.
pub(super) fn sensitivity(question: &Question, found: &[Candidate<'_>]) -> Vec<SensitivityItem> {
    let mut prefill: Vec<Layout> = Vec::new();
    let mut decode: Vec<Layout> = Vec::new();
    for candidate in found {
        let (of_prefill, of_decode) = candidate.layouts();
        let of_prefill = of_prefill.unwrap_or(of_decode);
        if !prefill.contains(&of_prefill) {
            prefill.push(of_prefill);
        }
        if !decode.contains(&of_decode) {
            decode.push(of_decode);
        }
    }
    let cost = |changed: &Question| {
        let search = Search::among(changed, &prefill, &decode);
        let goal = Goal {
            whole_units: changed.load.rate.is_none(),
            ..Goal::of(changed)
        };
        let best = search.cheapest(&goal);
        best.map(|best| best.cost_per_request())
    };
    let Some(base) = cost(question) else {
        return Vec::new();
    };
    let has = |name: &str| match name {
        "load.cache_hit_rate" => question.load.hit_rate() > 0.0,
        "load.requests_per_second" => question.load.rate.is_some(),
        "limits.time_to_first_token_seconds" => question.limits.first_token_s.is_some(),
        "limits.time_per_output_token_seconds" => question.limits.per_token_s.is_some(),
        "machine.rental_usd_per_hour" => question.decode_chip.usd_per_hour.is_some(),
        "machine.chips" => question.budget.is_some(),
        _ => true,
    };
    let inputs = INPUTS.into_iter().filter(|(name, _)| has(name));
    inputs
        .map(|(input, change)| {
            let at = |factor: f64| {
                let mut changed = question.clone();
                change(&mut changed, factor);
                cost(&changed).map(|cost| cost / base - 1.0)
            };
            SensitivityItem {
                input,
                cost_change_at_minus_10_percent: at(0.9),
                cost_change_at_plus_10_percent: at(1.1),
            }
        })
        .collect()
}
