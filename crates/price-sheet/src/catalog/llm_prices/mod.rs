//! One model of llm-prices: in `data/<vendor>.json` with its history, in `current-v1.json` and `historical-v1.json` a row.
//!
//! Prices are in USD per million tokens: input, output and cached input. Each price of a history becomes a sheet. A row for
//! long prompts has its own id, such as `gpt-5.4-272k`, and stays a separate model here: its sheet has only the cell from
//! that threshold, so it overlaps with no sheet of the base model.

#[cfg(test)]
mod tests;

use jiff::Timestamp;

use super::canonical::canonical_model;
use super::entry::Entry;
use super::rules::{context_tier_of, is_usable, note_free, split_key, start_of_day, unique_by};
use super::values::{is_name, renamed, thousands};
use super::{Catalog, CatalogEntry, Form};
use crate::sheet::{ContextTier, PriceSheet, RateCell, Source, SourceFormat};
use unroof_base::input::cursor::Cursor;
use unroof_base::input::json::Json;

/// Catalog of llm-prices.
pub(super) static CATALOG: Catalog = Catalog {
    format: SourceFormat::LlmPrices,
    mark: "id",
    signs: &[],
    form: Form {
        entries: rows,
        prices: &[
            &["vendor", "price_history"],
            &["input", "output", "price_history"],
        ],
    },
    entries,
    read_entry,
};

const CATALOG_URL: &str = "https://github.com/simonw/llm-prices";
/// Most prices in the history of a model: far above any real entry.
const MOST_PRICES: usize = 64;

/// Vendor names that differ here: the catalog's, ours.
const VENDORS: [(&str, &str); 5] = [
    ("amazon", "amazon-bedrock"),
    ("meta-ai", "meta"),
    ("moonshot-ai", "moonshotai"),
    ("qwen", "alibaba"),
    ("z.ai", "zai"),
];

/// The models of a vendor with their price histories, or a list of rows that name their vendor.
fn rows(document: &Json) -> Vec<&Json> {
    let list = if document.has("vendor") {
        "models"
    } else {
        "prices"
    };
    let rows = document.at(list).map_or(&[][..], Json::items);
    rows.iter().collect()
}

fn entries<'a>(document: &Cursor<'a>) -> Option<Vec<CatalogEntry<'a>>> {
    let fields = document.fields()?;
    let vendor = fields.get_or_null("vendor");
    let vendor = vendor
        .map(|vendor| vendor.name().ok_or(()))
        .transpose()
        .ok()?;
    let (list, hint) = match vendor {
        Some(_) => ("models", "list the models of the vendor"),
        None => (
            "prices",
            "list the rows as current-v1.json does, or name a `vendor` with its `models`",
        ),
    };
    let items = fields.required(list, hint)?.items()?;
    let keyed = items
        .into_iter()
        .map(|cursor| entry_of(vendor.as_deref(), cursor));
    Some(unique_by(keyed.collect::<Option<_>>()?, is_copy))
}

/// Whether two entries of a model state the same: their display names may differ, but not the threshold in them.
fn is_copy(first: &Json, then: &Json) -> bool {
    let (Json::Object(first), Json::Object(then)) = (first, then) else {
        return first.is_same_as(then);
    };
    let threshold = |name: Option<&Json>| {
        let (_, threshold) = name?.as_text()?.rsplit_once('>')?;
        Some(threshold.trim().to_owned())
    };
    let is_stated = |(key, _): &(&str, &Json)| *key != "name";
    let (one, other) = (
        first.iter().filter(is_stated),
        then.iter().filter(is_stated),
    );
    first.contains_key("name") == then.contains_key("name")
        && first.len() == then.len()
        && one
            .zip(other)
            .all(|((key, one), (other_key, other))| key == other_key && one.is_same_as(other))
        && threshold(first.get("name")) == threshold(then.get("name"))
}

/// Builds an entry. The key of a past row includes its start date, to distinguish it from the other rows of its model.
fn entry_of<'a>(vendor: Option<&str>, cursor: Cursor<'a>) -> Option<CatalogEntry<'a>> {
    let fields = cursor.fields()?;
    let vendor = match vendor {
        Some(vendor) => vendor.to_owned(),
        None => fields
            .required("vendor", "name the vendor, such as \"openai\"")?
            .name()?,
    };
    let id = fields
        .required("id", "name the model, such as \"gpt-5.4\"")?
        .name()?;
    let start = fields.get_or_null("from_date");
    let start = start.map_or(Some(String::new()), |day| Some(format!("@{}", day.name()?)))?;
    Some(CatalogEntry::new(format!("{vendor}/{id}{start}"), cursor))
}

fn read_entry(key: &str, cursor: &Cursor<'_>) -> Option<Vec<PriceSheet>> {
    let (vendor, named) = split_key(cursor, key)?;
    let mut entry = Entry::new(cursor)?;
    let start = match entry.look_at("from_date").map(|day| day.json) {
        Some(Json::Text(day)) => format!("@{day}"),
        _ => String::new(),
    };
    let id = named
        .strip_suffix(&start)
        .filter(|id| is_name(id))
        .unwrap_or(named);
    entry.take_same("id", &Json::Text(id.into()));
    entry.take_same("vendor", &Json::Text(vendor.into()));
    let provider = renamed(&VENDORS, vendor);
    if provider != vendor {
        entry.keep_value("vendor", vendor.into());
    }
    let (tier, model) = read_tier(&mut entry, provider, id);
    let prices = read_history(&mut entry, cursor, tier)?;
    let (unmapped, notes) = entry.finish();
    let sheet = PriceSheet {
        canonical_model: canonical_model(model),
        sources: vec![Source::entry(SourceFormat::LlmPrices, CATALOG_URL, key)],
        notes,
        unmapped,
        ..PriceSheet::new(provider, id, Vec::new())
    };
    let dated = prices.into_iter().map(|price| PriceSheet {
        valid_from: price.from,
        valid_to: price.to,
        rates: vec![price.rate],
        ..sheet.clone()
    });
    Some(dated.collect())
}

/// Tier and model of a row. `gpt-5.4-272k` is a tier only if its display name ends in `>272k`: some ids end in the size of
/// the context window.
fn read_tier<'k>(entry: &mut Entry<'_>, provider: &str, id: &'k str) -> (ContextTier, &'k str) {
    let whole = (ContextTier::default(), id);
    let Some(Json::Text(name)) = entry.look_at("name").map(|name| name.json) else {
        return whole;
    };
    let Some((model, threshold)) = id.rsplit_once('-') else {
        return whole;
    };
    let is_tier = name
        .rsplit_once('>')
        .is_some_and(|(_, end)| end.trim() == threshold);
    match thousands(threshold).filter(|_| is_tier && !model.is_empty()) {
        Some(tokens) => {
            entry.note(&format!(
                "These are the prices of {model} for longer prompts; its own entry has the others."
            ));
            (context_tier_of(provider, tokens), model)
        }
        None => whole,
    }
}

/// A price with its validity.
struct Price {
    from: Option<Timestamp>,
    to: Option<Timestamp>,
    rate: RateCell,
}

/// The prices in order of time.
fn read_history(
    entry: &mut Entry<'_>,
    cursor: &Cursor<'_>,
    tier: ContextTier,
) -> Option<Vec<Price>> {
    let Some(history) = entry.take("price_history") else {
        return Some(vec![read_row(entry, cursor, tier)?]);
    };
    let rows = history.items()?;
    if rows.is_empty() || rows.len() > MOST_PRICES {
        return history.refuse(
            format!("a list of {} prices", rows.len()),
            format!("list 1 to {MOST_PRICES} prices"),
        );
    }
    let mut prices = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        prices.push(read_past(entry, index, row, tier)?);
    }
    prices.sort_by_key(|price| price.from);
    let overlap = prices
        .windows(2)
        .any(|pair| pair[0].to.is_none_or(|end| Some(end) > pair[1].from));
    if overlap {
        return history.refuse(
            "two prices overlap in time",
            "end each price on the day the next one begins",
        );
    }
    Some(prices)
}

/// A price of a history; its other fields are kept under their path.
fn read_past(
    entry: &mut Entry<'_>,
    index: usize,
    row: &Cursor<'_>,
    tier: ContextTier,
) -> Option<Price> {
    let mut part = Entry::new(row)?;
    let price = read_row(&mut part, row, tier)?;
    let (left, notes) = part.finish();
    entry.keep_rest(&format!("price_history/{index}"), left);
    for note in &notes {
        entry.note(note);
    }
    Some(price)
}

fn read_row(entry: &mut Entry<'_>, row: &Cursor<'_>, tier: ContextTier) -> Option<Price> {
    let mut rate = RateCell::new(RateCell::STANDARD, tier, None);
    rate.source = Some(0);
    for (name, place) in [
        ("input", &mut rate.input),
        ("output", &mut rate.output),
        ("input_cached", &mut rate.cache_read),
    ] {
        if let Some(field) = entry.take(name) {
            *place = Some(entry.decimal(name, &field, 1)?);
        }
    }
    let rates = [rate];
    if !is_usable(row, entry, &rates, &[]) {
        return None;
    }
    note_free(entry, &rates);
    let mut day = |name| match entry.take(name) {
        Some(field) => Some(Some(start_of_day(&field)?)),
        None => Some(None),
    };
    let (from, to) = (day("from_date")?, day("to_date")?);
    if to.is_some_and(|end| from.is_some_and(|start| end <= start)) {
        return row.refuse(
            "the price ends before it begins",
            "write a `to_date` after the `from_date`; it is the first day without the price",
        );
    }
    let [rate] = rates;
    Some(Price { from, to, rate })
}
