//! The answer of `/cost`: the exact price of one request, line by line.

use std::fmt::Display;

use maud::{Markup, html};

use super::parts::part;
use crate::names::offer_address;
use crate::tables::Head::{Number, Text};
use crate::tables::{scrolling, table};
use crate::words::{count, or_dash, spaced};
use unroof_base::units::{compact, readable};
use unroof_price_sheet::cost::{Amount, Cost, CostLine};

/// The answer in words.
#[must_use]
pub fn summary(cost: &Cost) -> Markup {
    html! {
        p.lead data-finding {
            @match &cost.total {
                Some(total) => {
                    "This request costs " strong { (amount(cost, total)) } ", and a thousand of them " strong { (thousand(cost, total)) } ", "
                }
                None => { "This request has no total, since a price is missing; what is priced costs " strong { (amount(cost, &cost.priced)) } ", " }
            }
            (prices(cost))
            @if let Some(dearest) = dearest(cost).filter(|_| cost.lines.len() > 1) { "; most of it is " (spaced(dearest.meter.name())) }
            "."
        }
        @for line in &cost.lines {
            @if let Some(reason) = &line.reason {
                p.warning { strong { (spaced(line.meter.name())) " has no price. " } (reason) @if let Some(hint) = &line.hint { "; " (hint) } "." }
            }
        }
    }
}

/// An amount, with every digit.
fn amount(cost: &Cost, amount: impl Display) -> String {
    match cost.currency.as_str() {
        "USD" => format!("${amount}"),
        currency => format!("{amount} {currency}"),
    }
}

fn thousand(cost: &Cost, total: &Amount) -> String {
    amount(cost, readable(1e3 * number(total)))
}

/// An amount for a drawing or a comparison.
fn number(amount: &Amount) -> f64 {
    amount.to_string().parse().unwrap_or_default()
}

/// The source of the prices.
fn prices(cost: &Cost) -> Markup {
    html! {
        @match &cost.sheet.source {
            Some(source) => {
                "at the prices of " a href=(offer_address(&cost.sheet.provider, &cost.sheet.model)) { (cost.sheet.provider) " for " (cost.sheet.model) } " as " @if source == "official" { "its own page" } @else { (source) } " states them"
            }
            None => "at the prices stated here",
        }
    }
}

fn dearest(cost: &Cost) -> Option<&CostLine> {
    let amount = |line: &CostLine| line.amount.as_ref().map_or(0.0, number);
    let lines = cost.lines.iter();
    lines.max_by(|one, other| amount(one).total_cmp(&amount(other)))
}

/// Lines, tariff, sources and notes.
#[must_use]
pub fn details(cost: &Cost) -> Markup {
    html! {
        (lines(cost))
        @for note in &cost.notes { p.warning { (note) "." } }
        (tariff(cost))
        (sources(cost))
    }
}

fn lines(cost: &Cost) -> Markup {
    let amounts = cost.lines.iter().filter_map(|line| line.amount.as_ref());
    let largest = amounts.map(number).fold(0.0, f64::max);
    html! {
        (scrolling("Lines", &table(&[
            Text("Tokens"), Number("Number"), Number("Price per million"), Text("Factors"), Number("Amount"), Text("Share"),
        ], &html! { @for line in &cost.lines { (row(line, largest)) } })))
    }
}

fn row(line: &CostLine, largest: f64) -> Markup {
    let factors: Vec<String> = line
        .factors
        .iter()
        .map(|factor| format!("{} × {}", spaced(&factor.name), factor.multiplier))
        .collect();
    html! {
        tr {
            th scope="row" {
                (spaced(line.meter.name()))
                @if let Some(other) = line.priced_as { " " small { "priced as " (spaced(other.name())) } }
                @if let Some(seconds) = line.seconds { " " small { "for " (readable(seconds.into())) " s" } }
            }
            td.number { (count(line.tokens)) }
            td.number { (or_dash(line.price.as_ref(), ToString::to_string)) }
            td { (factors.join(", ")) }
            td.number { (or_dash(line.amount.as_ref(), ToString::to_string)) }
            td { @if let Some(amount) = &line.amount && largest > 0.0 { (part(number(amount) / largest)) } }
        }
    }
}

fn tariff(cost: &Cost) -> Markup {
    html! {
        @if let Some(tariff) = &cost.tariff {
            p.note {
                "Service tier " (tariff.service_tier)
                @if let Some(schedule) = &tariff.schedule { ", schedule " (schedule) }
                ", " (compact_tokens(tariff.context_tokens)) " tokens of context. Prices of " (cost.at.strftime("%Y-%m-%d %H:%M")) " UTC"
                @if let Some(from) = cost.sheet.valid_from { ", in force since " (from.strftime("%Y-%m-%d")) }
                "."
                @if !cost.modifiers_left_out.is_empty() {
                    " Not applied: " (spaced(&cost.modifiers_left_out.join(", "))) "."
                }
                @if !cost.other_meters_left_out.is_empty() {
                    " Not counted: " (spaced(&cost.other_meters_left_out.join(", "))) "."
                }
            }
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a request has few tokens")]
fn compact_tokens(number: u64) -> String {
    compact(number as f64)
}

fn sources(cost: &Cost) -> Markup {
    html! {
        @if cost.sources.len() > 1 {
            h3 { "By each source of the price" }
            (scrolling("Sources", &table(&[Text("Source"), Number("Total"), Text("Agrees")], &html! {
                @for source in &cost.sources {
                    tr {
                        th scope="row" { (source.source) }
                        td.number { @match &source.total { Some(total) => { (total) " " (source.currency) } None => "–" } }
                        td { @if source.agrees { "yes" } @else { strong.bad { "no" } } }
                    }
                }
            })))
        }
    }
}
