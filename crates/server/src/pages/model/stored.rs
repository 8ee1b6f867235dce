//! The parts that show what is stored: what moved the estimate, where caches are kept, prices over time, open models near.

use jiff::Timestamp;
use maud::{Markup, html};

use super::{Shown, empty, section};
use crate::charts::drawn::Side;
use crate::charts::model::{cache_tiers_of, moves_of, neighbours_of, tier_name, tiers_shown};
use crate::charts::time::{estimates_of, prices_of};
use crate::pages::changes::changed_prices;
use crate::pages::figure::{figure, under_heading};
use crate::pages::names::segment;
use unroof_edge::answer::problem::Problem;
use unroof_infer::estimate::judgement::headline::listed;
use unroof_infer::estimate::quantities::JointQuantity;
use unroof_infer::estimate::storage_tiers::OfferTiers;
use unroof_roofline::reference::address_of_document;

/// The quantities whose moves are shown first.
const FIRST: [JointQuantity; 2] = [
    JointQuantity::ActiveParameters,
    JointQuantity::TotalParameters,
];

/// The moves of each quantity.
pub(super) fn moves(shown: &Shown) -> Result<Markup, Problem> {
    let estimate = &shown.subject.estimate;
    let draw = |quantity: JointQuantity| -> Result<Markup, Problem> {
        let query = shown.question.with("quantity", quantity.name()).query();
        Ok(figure(
            &moves_of(&shown.subject, quantity)?,
            "moves",
            &query,
        ))
    };
    let moved = estimate
        .in_order()
        .filter(|(_, own)| !own.moved_by.is_empty());
    let (first, others): (Vec<_>, Vec<_>) = moved
        .map(|(quantity, _)| quantity)
        .partition(|quantity| FIRST.contains(quantity));
    if first.is_empty() && others.is_empty() {
        let words = html! {
            p { "The sheets have no clue that moves an estimate, such as a price in US dollars. " a href="/ui/try" { "Try a sheet" }
                " with prices of input and output." }
        };
        return Ok(section(
            "moves",
            "No clue moved the estimate",
            &empty(&words),
        ));
    }
    let figures = |quantities: Vec<JointQuantity>| {
        quantities
            .into_iter()
            .map(draw)
            .collect::<Result<Vec<Markup>, Problem>>()
    };
    let (first, others) = (figures(first)?, figures(others)?);
    let clues = estimate
        .quantity(JointQuantity::ActiveParameters)
        .map_or(0, |own| own.moved_by.len());
    let content = html! {
        div.columns { @for figure in &first { (figure) } }
        @if !others.is_empty() {
            details {
                summary { "What moved the other " (others.len()) " quantities" }
                div.columns { @for figure in &others { (figure) } }
            }
        }
    };
    let finding = match clues {
        0 => "No clue moved the active parameters".to_owned(),
        1 => "One clue moved the active parameters".to_owned(),
        clues => format!("{clues} clues moved the active parameters"),
    };
    Ok(section("moves", &finding, &content))
}

/// Storage tiers of the caches, with the evidence.
pub(super) fn caches(shown: &Shown) -> Markup {
    let Some(chart) = cache_tiers_of(&shown.subject) else {
        let words = html! {
            p { "No sheet prices a cache, so nothing says where one is kept. A sheet with a price of cached input, and of writing \
                 it, shows it: " a href="/ui/try" { "try one" } "." }
        };
        return section("caches", "No cache is offered", &empty(&words));
    };
    let content = html! {
        (under_heading(&chart, "cache-tiers", &shown.question.query()))
        h3 { "Why" }
        ul { @for tiers in tiers_shown(&shown.subject) { li { (why(tiers)) } } }
    };
    section("caches", &chart.title, &content)
}

/// The evidence behind an offer's tiers.
fn why(tiers: &OfferTiers) -> Markup {
    html! {
        strong { (tiers.provider) ": " (tiers.name) } ": " (tier_name(&tiers.most_likely)) ". It rests on: " (listed(&tiers.rests_on)) "."
        @if let Some(document) = &tiers.document {
            " The vendor’s document says: " (document.medium.as_deref().unwrap_or(&document.lifetime)) " (" (source(&document.source)) ")."
        }
        @if let Some(without) = &tiers.probability_without_document {
            @let most = without.iter().max_by(|one, other| one.1.total_cmp(other.1));
            @if let Some((tier, share)) = most {
                " Without this document: " (tier_name(tier)) " with " (format!("{:.0}\u{a0}%", 100.0 * share)) "."
            }
        }
    }
}

/// The source of a document, with a link to it.
fn source(name: &str) -> Markup {
    html! {
        @match address_of_document(name) {
            Some(address) => a href=(address) rel="external" { (name) },
            None => (name),
        }
    }
}

/// Prices and the estimate over time.
pub(super) fn over_time(shown: &Shown, now: Timestamp) -> Markup {
    let Some(series) = &shown.series else {
        let words = html! {
            p { "The hosts of a model are compared on the page of the model. The prices of this offer are in "
                a href=(history_of_offer(shown)) { "its history" } "." }
        };
        return section(
            "time",
            "One host, whose prices have a history",
            &empty(&words),
        );
    };
    let output = prices_of(series, Side::Output, now);
    let input = prices_of(series, Side::Input, now);
    let active = JointQuantity::ActiveParameters;
    let estimates = estimates_of(series, active, now);
    let of_side = |side: Side| shown.question.with("side", side.name()).query();
    let content = html! {
        div.columns {
            (figure(&output, "prices", &of_side(Side::Output)))
            (figure(&input, "prices", &of_side(Side::Input)))
            (figure(&estimates, "estimates", &shown.question.with("quantity", active.name()).query()))
        }
    };
    section("time", &history(shown), &content)
}

/// Address of the history of an offer.
fn history_of_offer(shown: &Shown) -> String {
    let part = |name| segment(shown.question.last(name).unwrap_or_default());
    format!("/offers/{}/{}/history", part("provider"), part("offer"))
}

/// Prices that changed, in words.
fn history(shown: &Shown) -> String {
    format!(
        "{} since the first observation",
        changed_prices(&shown.changes)
    )
}

/// The open-weight models near the estimate.
pub(super) fn neighbours(shown: &Shown) -> Result<Markup, Problem> {
    let draw = |against: JointQuantity| -> Result<Markup, Problem> {
        let chart = neighbours_of(&shown.subject, against)?;
        let query = shown.question.with("against", against.name()).query();
        Ok(under_heading(&chart, "neighbours", &query))
    };
    let (total, cache) = (
        draw(JointQuantity::TotalParameters)?,
        draw(JointQuantity::KvBytesRead)?,
    );
    let title = neighbours_of(&shown.subject, JointQuantity::TotalParameters)?.title;
    let content = html! { div.columns { (total) (cache) } };
    Ok(section("neighbours", &title, &content))
}
