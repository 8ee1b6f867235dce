//! The parts that show what is stored: what moved the estimate, where caches are kept, prices over time, open models near.

use jiff::Timestamp;
use maud::{Markup, html};

use super::{Shown, empty, figures_by_quantity, section};
use crate::charts::estimate::{moves_of, tiers_shown};
use crate::charts::over_time::{estimates_of, prices_of};
use crate::pages::changes::changed_prices;
use crate::pages::figure::{figure, under_heading};
use unroof_infer::estimate::judgement::headline::listed;
use unroof_infer::estimate::quantities::JointQuantity;
use unroof_infer::estimate::storage_tiers::OfferTiers;
use unroof_report::chart::kinds::heat::{cache_tiers, tier_name};
use unroof_report::chart::kinds::neighbours;
use unroof_report::names::segment;
use unroof_report::price_line::PriceLine;
use unroof_report::words::percent;
use unroof_roofline::reference::address_of_document;

/// The quantities whose moves are shown first.
const FIRST: [JointQuantity; 2] = [
    JointQuantity::ActiveParameters,
    JointQuantity::TotalParameters,
];

/// The moves of each quantity.
pub(super) fn moves(shown: &Shown) -> Markup {
    let estimate = &shown.subject.estimate;
    let all = estimate.in_order();
    let moved = all.filter(|(_, own)| !own.moved_by.is_empty());
    let moved = moved.map(|(quantity, _)| quantity).collect();
    let draw = |quantity| moves_of(&shown.subject, quantity);
    let (first, others) = figures_by_quantity(shown, "moves", &FIRST, moved, draw);
    if first.is_empty() && others.is_empty() {
        let words = html! {
            p { "The sheets have no clue that moves an estimate, such as a price in US dollars. " a href="/ui/try" { "Try a sheet" }
                " with prices of input and output." }
        };
        return section("moves", "No clue moved the estimate", &empty(&words));
    }
    let content = html! {
        div.columns { @for figure in &first { (figure) } }
        @if !others.is_empty() {
            details {
                summary { "What moved the other " (others.len()) " quantities" }
                div.columns { @for figure in &others { (figure) } }
            }
        }
    };
    let active = estimate.quantity(JointQuantity::ActiveParameters);
    let finding = match active.map_or(0, |own| own.moved_by.len()) {
        0 => "No clue moved the active parameters".to_owned(),
        1 => "One clue moved the active parameters".to_owned(),
        clues => format!("{clues} clues moved the active parameters"),
    };
    section("moves", &finding, &content)
}

/// Storage tiers of the caches, with the evidence.
pub(super) fn caches(shown: &Shown) -> Markup {
    let offers = tiers_shown(&shown.subject);
    let Some(chart) = cache_tiers(&offers) else {
        let words = html! {
            p { "No sheet prices a cache, so nothing says where one is kept. A sheet with a price of cached input, and of writing \
                 it, shows it: " a href="/ui/try" { "try one" } "." }
        };
        return section("caches", "No cache is offered", &empty(&words));
    };
    let content = html! {
        (under_heading(&chart, "cache-tiers", &shown.question.query()))
        h3 { "Why" }
        ul { @for tiers in offers { li { (why(tiers)) } } }
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
                " Without this document: " (tier_name(tier)) " with " (percent(*share)) "."
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
    let active = JointQuantity::ActiveParameters;
    let estimates = estimates_of(series, active, now);
    let of_line = |line: PriceLine| {
        let query = shown.question.with("side", line.name()).query();
        let offers = shown.subject.offers.iter().map(|own| &own.offer);
        figure(&prices_of(series, offers, line, now), "prices", &query)
    };
    let content = html! {
        div.columns {
            @for line in PriceLine::ALL { (of_line(line)) }
            (figure(&estimates, "estimates", &shown.question.with("quantity", active.name()).query()))
        }
    };
    let history = format!(
        "{} since the first observation",
        changed_prices(&shown.changes)
    );
    section("time", &history, &content)
}

/// Address of the history of an offer.
fn history_of_offer(shown: &Shown) -> String {
    let part = |name| segment(shown.question.last(name).unwrap_or_default());
    format!("/offers/{}/{}/history", part("provider"), part("offer"))
}

/// The open-weight models near the estimate.
pub(super) fn neighbours(shown: &Shown) -> Markup {
    let against = [JointQuantity::TotalParameters, JointQuantity::KvBytesRead];
    let charts = against.map(|against| {
        let chart = neighbours::neighbours(&shown.subject.estimate, against);
        chart.map(|chart| (chart, against.name()))
    });
    let title = charts
        .iter()
        .flatten()
        .map(|(chart, _)| &chart.title)
        .next();
    let content = html! {
        div.columns {
            @for (chart, against) in charts.iter().flatten() {
                (under_heading(chart, "neighbours", &shown.question.with("against", against).query()))
            }
        }
    };
    let none = "Open-weight models are not compared".to_owned();
    section("neighbours", title.unwrap_or(&none), &content)
}
