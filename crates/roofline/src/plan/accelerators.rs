//! The cheapest plan on each accelerator.

use std::cmp::Ordering;

use super::answer::{PlanAnswer, PlannedAccelerator};
use super::assemble::{answer as answer_one, no_layout};
use super::search::Search;
use crate::calculator::scenario::Chip;
use crate::plan::question::goal::Goal;
use crate::plan::question::request::Question;
use crate::plan::serving::candidate::Candidate;
use crate::reference::{AcceleratorStatus, fitted_attainment};
use unroof_base::input::cancel::{CancelToken, Cancelled};
use unroof_base::units::Seconds;

/// Answers with the accelerators in the order of their cost, and with all about the first of them.
pub(super) fn answer(
    questions: &[Question],
    wanted: &CancelToken,
) -> Result<PlanAnswer, Cancelled> {
    let mut compared = Vec::with_capacity(questions.len());
    for question in questions {
        wanted.check()?;
        compared.push((question, cheapest(question)));
    }
    compared.sort_by(|(_, left), (_, right)| by_cost(left, right));
    let best = compared
        .first()
        .map_or(&questions[0], |(question, _)| *question);
    Ok(PlanAnswer {
        accelerators: compared.into_iter().map(|(_, item)| item).collect(),
        ..answer_one(best, wanted)?
    })
}

/// Order of the ranking: by cost what can be rented, then what is announced, then what has no rent by its chips, then what has no
/// plan.
fn by_cost(left: &PlannedAccelerator, right: &PlannedAccelerator) -> Ordering {
    let place = |item: &PlannedAccelerator| {
        let is_announced = item.status == AcceleratorStatus::Announced;
        (
            item.chips.is_none(),
            item.usd_per_mtok_high_80.is_none(),
            is_announced,
        )
    };
    let amount =
        |item: &PlannedAccelerator| item.usd_per_mtok_high_80.or(item.chips).unwrap_or(0.0);
    place(left)
        .cmp(&place(right))
        .then(amount(left).total_cmp(&amount(right)))
}

fn cheapest(question: &Question) -> PlannedAccelerator {
    let (search, goal) = (&Search::new(question), &Goal::of(question));
    let chip = &question.decode_chip;
    let found = search.cheapest(goal);
    let cost = found.as_ref().and_then(|found| search.usd_per_mtok(found));
    let end = |factor: f64| cost.map(|usd| usd * factor);
    let layouts = found.as_ref().map(Candidate::layouts);
    let mut caveats = caveats(question, chip);
    if found.is_none() {
        caveats.insert(0, no_layout(search).to_owned());
    }
    PlannedAccelerator {
        accelerator: chip.row.id.clone(),
        status: chip.row.status,
        usd_per_hour: chip.usd_per_hour,
        measured_rows: fitted_attainment().rows_of(&chip.row.id),
        serving: found.as_ref().map(Candidate::serving),
        prefill: layouts.and_then(|(prefill, _)| prefill),
        decode: layouts.map(|(_, decode)| decode),
        chips: found.as_ref().map(Candidate::chips),
        requests_per_second: found.as_ref().map(|found| found.rate),
        time_per_output_token_seconds: found
            .as_ref()
            .map(|found| Seconds(found.per_token_s(goal).1)),
        usd_per_mtok: cost,
        usd_per_mtok_low_80: found
            .as_ref()
            .and_then(|found| end(found.cost_factor(|range| range.low_80))),
        usd_per_mtok_high_80: found
            .as_ref()
            .and_then(|found| end(found.cost_factor(|range| range.high_80))),
        caveats,
    }
}

/// Reasons to doubt what is said of a chip.
fn caveats(question: &Question, chip: &Chip) -> Vec<String> {
    let row = chip.row;
    let was_measured = fitted_attainment().has_measured(&row.generation);
    let is_estimate = |column: &str| row.estimates.iter().any(|estimate| estimate == column);
    let mut caveats = Vec::new();
    if row.status == AcceleratorStatus::Announced {
        caveats
            .push("announced: no one can rent it yet, and its figures are the maker's".to_owned());
    }
    if chip.usd_per_hour.is_none() {
        caveats.push("no rent is known".to_owned());
    } else if chip.published_rent.is_none() && is_estimate("rental_typical_usd_per_hour") {
        caveats.push("its rent is an estimate".to_owned());
    }
    if !question.is_peak() && !was_measured {
        caveats.push("no measurement of its generation was fitted".to_owned());
    } else if !question.is_peak() && fitted_attainment().rows_of(&row.id) == 0 {
        caveats.push("measurements of its generation were fitted, none of its own".to_owned());
    }
    if chip.scale_out.is_none() {
        caveats.push("exchanges between scale-up domains are not counted".to_owned());
    }
    caveats
}
