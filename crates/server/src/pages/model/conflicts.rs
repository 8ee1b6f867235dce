//! Readings that cannot all be right: pairs of them, and those that name another storage tier than the estimate.

use maud::{Markup, html};

use super::{Shown, empty, section};
use crate::charts::estimate::tiers_shown;
use unroof_base::units::readable;
use unroof_infer::estimate::judgement::headline::listed;
use unroof_infer::estimate::record::stored_estimate::{StoredConflict, StoredReading};
use unroof_infer::estimate::storage_tiers::OfferTiers;
use unroof_report::chart::kinds::heat::tier_name;
use unroof_report::words::{capital, percent, spaced};

/// Quantity of the readings that name a storage tier.
const STORAGE_TIER: &str = "storage_tier";
/// Probability below which the estimate contradicts a tier that a reading names.
const LEAST_PROBABILITY: f64 = 0.05;

/// A cache offer, and the readings whose tier the estimate all but excludes.
struct Misplaced<'a> {
    tiers: &'a OfferTiers,
    readings: Vec<(&'a StoredReading, &'a str)>,
}

/// Conflicts with their verdict.
pub(super) fn conflicts(shown: &Shown) -> Markup {
    let conflicts = shown.answer.iter().flat_map(|answer| &answer.conflicts);
    let conflicts: Vec<&StoredConflict> = conflicts.collect();
    let misplaced = misplaced(shown);
    if conflicts.is_empty() && misplaced.is_empty() {
        let words = html! { p { "No two readings of the sheet contradict each other. Each is listed below with its equation." } };
        return section("conflicts", "No readings are in conflict", &empty(&words));
    }
    let content = html! {
        div.columns {
            @for conflict in &conflicts { (of_pair(conflict)) }
            @for offer in &misplaced { (of_offer(offer)) }
        }
    };
    section(
        "conflicts",
        &finding(conflicts.len(), misplaced.len()),
        &content,
    )
}

fn finding(pairs: usize, offers: usize) -> String {
    let pairs = match pairs {
        0 => None,
        1 => Some("one pair of readings cannot both be right".to_owned()),
        number => Some(format!("{number} pairs of readings cannot both be right")),
    };
    let offers = match offers {
        0 => None,
        1 => Some(
            "readings of one cache offer name another storage tier than the estimate".to_owned(),
        ),
        number => Some(format!(
            "readings of {number} cache offers name another storage tier than the estimate"
        )),
    };
    let both: Vec<String> = pairs.into_iter().chain(offers).collect();
    capital(&both.join("; "))
}

fn of_pair(conflict: &StoredConflict) -> Markup {
    let [left, right] = conflict.sides();
    html! {
        div.card {
            h3 { (capital(&spaced(&conflict.quantity))) }
            p { (spaced(left)) ": " (readable(conflict.values[0])) ", " (spaced(right)) ": " (readable(conflict.values[1])) }
            p { strong { "Verdict: " } (conflict.why) "." }
        }
    }
}

/// The cache offers whose readings name a tier that the estimate all but excludes.
fn misplaced(shown: &Shown) -> Vec<Misplaced<'_>> {
    let all = shown.answer.iter().flat_map(|answer| &answer.readings);
    let named: Vec<(&StoredReading, &str)> = all
        .filter(|reading| reading.quantity == STORAGE_TIER)
        .filter_map(|reading| Some((reading, reading.value.as_str()?)))
        .collect();
    let of_offer = |tiers: &&'_ OfferTiers, (reading, tier): &(&StoredReading, &str)| {
        let time = reading
            .inputs
            .iter()
            .find(|input| input.name == "ttl_seconds");
        let is_its_time =
            time.is_some() && time.and_then(|input| input.value.as_f64()) == tiers.ttl_seconds;
        let share = tiers.probabilities.get(*tier).copied().unwrap_or_default();
        is_its_time && share < LEAST_PROBABILITY
    };
    let offer = |tiers| {
        let readings = named.iter().filter(|reading| of_offer(&tiers, reading));
        Misplaced {
            tiers,
            readings: readings.copied().collect(),
        }
    };
    let offers = tiers_shown(&shown.subject).into_iter().map(offer);
    offers.filter(|offer| !offer.readings.is_empty()).collect()
}

fn of_offer(offer: &Misplaced<'_>) -> Markup {
    let tiers = offer.tiers;
    let share = tiers.probabilities.get(&tiers.most_likely).copied();
    html! {
        div.card {
            h3 { "Storage tier of “" (tiers.name) "” at " (tiers.provider) }
            p {
                @for (reading, tier) in &offer.readings { (capital(&spaced(&reading.id))) ": " (tier_name(tier)) "; " }
                "the joint estimate: " (tier_name(&tiers.most_likely))
                @if let Some(share) = share { " with " (percent(share)) }
                "."
            }
            p {
                strong { "Verdict: " }
                @match &tiers.document {
                    Some(document) if document.medium.is_some() => {
                        "the vendor’s own document names the medium, and outweighs readings that take the time to live alone for evidence"
                    }
                    _ => { "the estimate rests on " (listed(&tiers.rests_on)) ", the readings on the time to live alone" }
                }
                ". A tier that a reading names has less than " (percent(LEAST_PROBABILITY)) " in the estimate."
            }
        }
    }
}
