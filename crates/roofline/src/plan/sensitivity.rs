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
    ("traffic.input_tokens", |question, factor| {
        question.traffic.input = question.traffic.input.times(factor);
    }),
    ("traffic.output_tokens", |question, factor| {
        question.traffic.output = question.traffic.output.times(factor);
    }),
    ("traffic.cache_hit_rate", |question, factor| {
        let share = question.traffic.hit_rate * factor;
        question.traffic.set_hit_rate(share);
    }),
    ("traffic.requests_per_second", |question, factor| {
        question.traffic.rate = question.traffic.rate.map(|rate| rate * factor);
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
        question.decode_chip.scale.arithmetic *= factor;
        question.prefill_chip.scale.arithmetic *= factor;
    }),
    ("machine: HBM bandwidth", |question, factor| {
        question.decode_chip.scale.bandwidth *= factor;
        question.prefill_chip.scale.bandwidth *= factor;
    }),
    ("machine: HBM capacity", |question, factor| {
        question.decode_chip.scale.capacity *= factor;
        question.prefill_chip.scale.capacity *= factor;
    }),
    ("machine: links", |question, factor| {
        question.decode_chip.scale.links *= factor;
        question.prefill_chip.scale.links *= factor;
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
            whole_units: changed.traffic.rate.is_none(),
            ..Goal::of(changed)
        };
        let best = search.cheapest(&goal);
        best.map(|best| best.cost_per_request())
    };
    let Some(base) = cost(question) else {
        return Vec::new();
    };
    let has = |name: &str| match name {
        "traffic.cache_hit_rate" => question.traffic.hit_rate > 0.0,
        "traffic.requests_per_second" => question.traffic.rate.is_some(),
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
