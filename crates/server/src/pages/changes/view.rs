//! The changes as a page.

use std::collections::BTreeSet;

use jiff::Timestamp;
use maud::{Markup, html};

use super::{COUNTED, ChangesQuestion, WINDOWS, address_of, brief, changed_prices, folded};
use crate::pages::layout::{Page, Tab};
use unroof_base::shell::curl;
use unroof_base::units::readable;
use unroof_price_sheet::sheet::PriceSheet;
use unroof_report::words::{capital, count};
use unroof_store::{ChangeCount, ChangeKind, ChangeRow, MoveRow, Summarised};

/// The content of the page.
pub(super) struct View<'a> {
    pub(super) question: &'a ChangesQuestion,
    pub(super) summarised: &'a Summarised,
    pub(super) rows: &'a [ChangeRow],
    pub(super) has_more: bool,
}

impl View<'_> {
    pub(super) fn page(&self) -> Page {
        let kinds: Vec<&str> = ChangeKind::ALL.iter().map(|kind| kind.name()).collect();
        let content = html! {
            h1 { (self.finding()) }
            p.note {
                "Every price, offer and estimate that changed, in the order in which it was stored. "
                a href=(self.question.feed("/changes.atom")) { "Atom feed" } " · "
                a href=(self.question.feed("/changes")) { "JSON" } " of what is shown."
            }
            (self.controls())
            div id="changes" data-live=(kinds.join(" ")) {
                section aria-labelledby="movers" {
                    h2 id="movers" { "Prices that moved most, in " (days(self.question.days)) }
                    (self.movers())
                }
                (self.days())
            }
            (self.watch())
        };
        Page {
            title: "Changes".to_owned(),
            tab: Some(Tab::Changes),
            content,
        }
    }

    /// Numbers of changes in the window, with the largest move.
    fn finding(&self) -> String {
        let kinds = &self.summarised.kinds;
        let added = kinds
            .iter()
            .find(|count| count.kind == ChangeKind::OfferAdded);
        let added = match added.map(|count| count.offers) {
            None => "no offer was added".to_owned(),
            Some(1) => "1 offer was added".to_owned(),
            Some(offers) => format!("{} offers were added", count(offers)),
        };
        let days = days(self.question.days);
        let largest = self.summarised.moves.iter().max_by(|left, right| {
            left.factor
                .unwrap_or(f64::MAX)
                .total_cmp(&right.factor.unwrap_or(f64::MAX))
        });
        let mut finding = format!("{} and {added} in {days}", changed_prices(kinds));
        if let Some(largest) = largest {
            let moved = format!("; {} moved most, {}", largest.model, ratio(largest));
            finding.push_str(&moved);
        }
        finding
    }

    fn controls(&self) -> Markup {
        let of = |name| self.question.asked.text(name);
        html! {
            form.controls action="/ui/changes" method="get" data-instant {
                label { "Kind"
                    select name="kind" {
                        option value="" { "all" }
                        @for kind in ChangeKind::ALL { option value=(kind.name()) selected[kind.name() == of("kind")] { (kind.name()) } }
                    }
                }
                label { "Provider" input name="provider" value=(of("provider")) placeholder="any"; }
                label { "Model" input name="model" value=(of("model")) placeholder="author/model" data-suggest autocomplete="off"; }
                label { "Factor, at least" input.short name="min_factor" type="number" min="1" step="any" value=(of("min_factor")); }
                label { "Movers of"
                    select name="days" {
                        @for window in WINDOWS { option value=(window) selected[window == self.question.days] { (days(window)) } }
                    }
                }
                button { "Show" }
                a href="/ui/changes" { "Reset" }
            }
        }
    }

    fn movers(&self) -> Markup {
        let moves = &self.summarised.moves;
        if moves.is_empty() {
            return html! { p.empty { "No price moved in " (days(self.question.days)) ". A longer time may have one: choose it above." } };
        }
        let side = |is_rise: bool, name: &str| {
            let rows: Vec<&MoveRow> = moves.iter().filter(|row| row.is_rise == is_rise).collect();
            html! {
                div.card {
                    h3 { (name) }
                    @if rows.is_empty() { p.faint { "none" } }
                    @else { ol.movers { @for row in rows { li { (mover(row)) } } } }
                }
            }
        };
        html! { div.columns { (side(false, "Cheaper")) (side(true, "Dearer")) } }
    }

    fn days(&self) -> Markup {
        let days = self.days_with_changes();
        if days.is_empty() {
            return html! {
                p.empty {
                    "No change is stored that passes this filter. " a href="/ui/changes" { "Show all changes" } ", or import a catalog: "
                    code { "unroof import https://models.dev/api.json" }
                }
            };
        }
        let last = self.rows.last().filter(|_| self.has_more);
        html! {
            @for of_day in &days {
                section {
                    h2 { time datetime=(of_day) { (of_day) } }
                    (self.of_day(of_day))
                }
            }
            @if let Some(last) = last {
                nav.pages aria-label="Pages of changes" { a rel="next" href=(self.question.older(last.sequence)) { "Older changes →" } }
            }
        }
    }

    /// The days of the changes listed, the newest first; on the first page also those whose changes are only counted.
    fn days_with_changes(&self) -> Vec<String> {
        let mut days: BTreeSet<String> = self.rows.iter().map(day).collect();
        let first = days.first().cloned();
        let is_here =
            |day: &String| !self.has_more || first.as_ref().is_none_or(|first| day >= first);
        let counted = self.counts().map(|count| count.day.clone()).filter(is_here);
        days.extend(counted.collect::<Vec<_>>());
        days.into_iter().rev().collect()
    }

    /// Numbers of the changes that are only counted.
    fn counts(&self) -> impl Iterator<Item = &ChangeCount> {
        let question = self.question;
        let is_whole = question.before.is_none()
            && question.filter.kind.is_empty()
            && question.filter.min_factor.is_none();
        let is_counted = |count: &&ChangeCount| COUNTED.iter().any(|(kind, _)| *kind == count.kind);
        self.summarised
            .counts
            .iter()
            .filter(move |count| is_whole && is_counted(count))
    }

    /// The changes of a day: the numbers of what comes in large numbers, then prices by the size of their move, then the rest.
    fn of_day(&self, of_day: &str) -> Markup {
        let of_it: Vec<ChangeRow> = self
            .rows
            .iter()
            .filter(|row| day(row) == of_day)
            .cloned()
            .collect();
        let mut shown = folded(&of_it);
        let size = |row: &ChangeRow| row.factor.unwrap_or(0.0);
        shown.sort_by(|left, right| size(right).total_cmp(&size(left)));
        let counted: Vec<_> = COUNTED
            .iter()
            .filter_map(|(kind, words)| {
                let mut counts = self.counts().filter(|count| count.day == of_day);
                let count = counts.find(|count| count.kind == *kind)?;
                Some((*kind, words, count.changes))
            })
            .collect();
        html! {
            @if !counted.is_empty() {
                ul { @for (kind, words, number) in counted { li { a href=(self.question.of_kind(kind)) { (capital(words)) ": " (count(number)) } } } }
            }
            @if !shown.is_empty() {
                ol.changes { @for row in shown { li { span.tag { (row.kind.name()) } " " (brief(row, "%H:%M")) } } }
            }
        }
    }

    /// Ways to be notified of these changes.
    fn watch(&self) -> Markup {
        let filter = serde_json::to_string(&self.question.filter).unwrap_or_default();
        let body = format!(r#"{{"url": "https://example.com/hook", "filter": {filter}}}"#);
        html! {
            details {
                summary { "Watch this" }
                p { "A webhook is sent every change that passes the filter above, signed, and again until it is received:" }
                pre tabindex="0" { code { (curl("/webhooks", Some(&body))) } }
                p {
                    "A feed reader takes the " a href=(self.question.feed("/changes.atom")) { "Atom feed" }
                    ", a program the stream " code { (self.question.feed("/changes/stream")) } "."
                }
            }
        }
    }
}

fn mover(row: &MoveRow) -> Markup {
    let address = address_of(row.canonical_model.as_deref(), &row.provider, &row.model);
    let tone = if row.is_rise { "bad" } else { "good" };
    html! {
        a href=(address) { (row.model) } " at " (row.provider)
        @if row.region != PriceSheet::DEFAULT_REGION { " (" (row.region) ")" } ": " (row.cell.replace('_', " ")) " "
        (readable(row.old_value)) " → " (readable(row.new_value)) " " strong class=(tone) { (ratio(row)) }
    }
}

/// The move of a price, in per cent, or as a factor from two on.
fn ratio(row: &MoveRow) -> String {
    let of = row.new_value / row.old_value;
    match row.factor {
        None if row.new_value == 0.0 => "free now".to_owned(),
        None => "no longer free".to_owned(),
        Some(factor) if factor >= 2.0 && row.is_rise => {
            format!("{} times as dear", readable(round(factor)))
        }
        Some(factor) if factor >= 2.0 => format!("{} times as cheap", readable(round(factor))),
        Some(_) => format!("{:+.0} %", 100.0 * (of - 1.0)),
    }
}

/// A factor in three digits.
fn round(factor: f64) -> f64 {
    let unit = 10_f64.powf(factor.log10().floor() - 2.0);
    (factor / unit).round() * unit
}

fn day(row: &ChangeRow) -> String {
    Timestamp::from(row.observed_at)
        .strftime("%Y-%m-%d")
        .to_string()
}

fn days(number: i64) -> String {
    if number == 1 {
        "one day".to_owned()
    } else {
        format!("{number} days")
    }
}
