//! A change in one paragraph.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use maud::{Markup, html};

use unroof_report::names::{model_address, offer_address};
use unroof_report::words::count;
use unroof_store::{ChangeKind, ChangeRow, KindCount};

/// The page of a model, or of an offer whose model is not known.
pub(crate) fn address_of(canonical_model: Option<&str>, provider: &str, model: &str) -> String {
    canonical_model.map_or_else(|| offer_address(provider, model), model_address)
}

/// The changes with those of one moment and offer in one: a change of several prices has a row for each, all in the same
/// words. Of them the row with the largest factor stays; regions of an offer that changed alike are one too.
pub(crate) fn folded(rows: &[ChangeRow]) -> Vec<&ChangeRow> {
    let mut shown: Vec<&ChangeRow> = Vec::new();
    let mut places = HashMap::new();
    for row in rows {
        let key = (row.kind.name(), &row.provider, &row.model, &row.summary);
        match places.entry(key) {
            Entry::Vacant(place) => {
                place.insert(shown.len());
                shown.push(row);
            }
            Entry::Occupied(place) => {
                let kept = &mut shown[*place.get()];
                if row.factor > kept.factor {
                    *kept = row;
                }
            }
        }
    }
    shown
}

/// Numbers of prices that changed and of their offers: `12 prices of 3 offers have changed`. That another source lists an offer for
/// the first time is not a change of price.
pub(crate) fn changed_prices(counts: &[KindCount]) -> String {
    let of_prices = counts
        .iter()
        .find(|count| count.kind == ChangeKind::PriceChanged);
    match of_prices.map(|count| (count.changes, count.offers)) {
        None => "No price has changed".to_owned(),
        Some((1, _)) => "1 price has changed".to_owned(),
        Some((prices, 1)) => format!("{} prices of 1 offer have changed", count(prices)),
        Some((prices, offers)) => format!(
            "{} prices of {} offers have changed",
            count(prices),
            count(offers)
        ),
    }
}

/// The time, the offer and the words of a change.
pub(crate) fn brief(change: &ChangeRow, format: &str) -> Markup {
    let at = jiff::Timestamp::from(change.observed_at);
    let canonical_model = change.canonical_model.as_deref();
    let address = address_of(canonical_model, &change.provider, &change.model);
    html! {
        time datetime=(at.to_string()) { (at.strftime(format).to_string()) }
        " " a href=(address) { (change.model) }
        @if change.provider != "model" { " at " (change.provider) }
        ": " (change.summary)
    }
}
