//! A heat map of probabilities: a row per offer of a cache, and a column per storage tier.

use maud::{Markup, html};

use crate::chart::frame::WIDTH;
use crate::chart::mark::{Anchor, bar, labelled, text};
use crate::chart::table::Table;
use crate::chart::tone::Tone;
use crate::chart::{Chart, Words};
use crate::words::percent;
use unroof_base::units::count_f64;
use unroof_infer::estimate::storage_tiers::OfferTiers;
use unroof_roofline::reference::storage_tiers;

/// Height of the names of the columns.
const HEAD: f64 = 40.0;
/// Height of a row: its name, and its cells below.
const ROW: f64 = 50.0;
/// Least share that is written.
const LEAST: f64 = 0.005;
/// Opacity of a probability of 1, so that the words in it are read.
const FULL: f64 = 0.6;

/// Opacity of a cell without a probability.
const GROUND: f64 = 0.12;

/// The name of a storage tier by its id.
#[must_use]
pub fn tier_name(id: &str) -> &str {
    let found = storage_tiers().iter().find(|tier| tier.id == id);
    found.map_or(id, |tier| tier.name.as_str())
}

/// Chart of the storage tiers of cache offers; `None` without an offer.
#[must_use]
pub fn cache_tiers(offers: &[&OfferTiers]) -> Option<Chart> {
    let first = offers.first()?;
    let words = Words {
        title: format!(
            "The cache “{}” is probably kept in {} ({})",
            first.name,
            tier_name(&first.most_likely),
            percent(share(first, &first.most_likely)),
        ),
        description: "Rows are cache offers, columns are storage tiers; a cell has the probability that the offer is kept there."
            .to_owned(),
    };
    let is_used = |id: &&str| {
        let mut offers = offers.iter();
        offers.any(|tiers| tiers.probabilities.contains_key(*id))
    };
    let ids = storage_tiers().iter().map(|tier| tier.id.as_str());
    let columns: Vec<&'static str> = ids.filter(is_used).collect();
    let height = HEAD + ROW * count_f64(offers.len()) + 4.0;
    let row = |tiers: &&OfferTiers| {
        let shares = columns.iter().map(|id| share(tiers, id).into());
        std::iter::once(name(tiers).into()).chain(shares).collect()
    };
    let table = Table {
        rows: offers.iter().map(row).collect(),
        columns: [&["offer"], columns.as_slice()].concat(),
    };
    Some(words.chart((WIDTH, height), drawing(offers, &columns), table))
}

fn share(tiers: &OfferTiers, id: &str) -> f64 {
    tiers.probabilities.get(id).copied().unwrap_or_default()
}

fn name(tiers: &OfferTiers) -> String {
    format!("{}: {}", tiers.provider, tiers.name)
}

fn drawing(offers: &[&OfferTiers], columns: &[&str]) -> Markup {
    let width = WIDTH / count_f64(columns.len().max(1));
    html! {
        @for (number, column) in columns.iter().enumerate() {
            @let middle = width * (count_f64(number) + 0.5);
            @for (place, word) in column.splitn(2, '-').enumerate() {
                (text(Tone::Muted, (middle, 14.0 + 15.0 * count_f64(place)), Anchor::Middle, word))
            }
        }
        @for (number, tiers) in offers.iter().enumerate() {
            @let top = HEAD + ROW * count_f64(number);
            @let name = name(tiers);
            (text(Tone::Ink, (2.0, top + 14.0), Anchor::Start, &name))
            @for (place, column) in columns.iter().enumerate() {
                (cell(&format!("{name}: {column}"), share(tiers, column), (width * count_f64(place), top + 20.0), width))
            }
        }
    }
}

/// A cell with its share; the words are left out where there is almost none.
fn cell(name: &str, share: f64, (left, top): (f64, f64), width: f64) -> Markup {
    let (from, to) = ((left + 1.0, top), (left + width - 1.0, top + 26.0));
    let ground = bar(Tone::Prior, from, to, GROUND);
    if share < LEAST {
        return ground;
    }
    let words = percent(share);
    let marks = html! { (ground) (bar(Tone::Estimate, from, to, FULL * share)) };
    html! {
        (labelled(&format!("{name} with {words}"), &marks))
        (text(Tone::Ink, (left + width / 2.0, top + 17.0), Anchor::Middle, &words))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn probabilities_are_written_where_they_are_seen() {
        let [first, second] = [&storage_tiers()[0].id, &storage_tiers()[1].id];
        let tiers: OfferTiers = serde_json::from_value(json!({
            "provider": "acme", "name": "5 minutes", "probabilities": {first: 0.93, second: 0.001},
            "most_likely": first, "fill_seconds": {}, "load_over_recompute": {}, "rests_on": [],
        }))
        .unwrap();
        let chart = cache_tiers(&[&tiers]).unwrap();
        let svg = chart.svg().into_string();
        let words = format!("acme: 5 minutes: {first} with 93\u{a0}%");
        assert!(svg.contains(&words), "{svg}");
        assert_eq!(svg.matches("\u{a0}%</text>").count(), 1, "{svg}");
        assert_eq!(chart.table.columns, ["offer", first, second]);
    }
}
