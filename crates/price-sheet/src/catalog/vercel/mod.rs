//! One model of Vercel's AI Gateway, as `/v1/models` lists it.
//!
//! Prices are texts in USD per token, under other names than those of `OpenRouter`. Prices of long prompts are lists of
//! tiers for each meter, those of service tiers and regions are objects beside them; each region becomes a sheet.

mod pricing;
#[cfg(test)]
mod tests;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use self::pricing::{Pricing, Region};
use super::entry::Entry;
use super::offer::Offer;
use super::rules::{has_room, is_usable, note_free, put_in_order, settle_writes, unique};
use super::values::{is_name, whole_number};
use super::{Catalog, CatalogEntry, Form};
use crate::sheet::{Limits, PriceSheet, Source, SourceFormat};
use unroof_base::input::cursor::{Cursor, LONGEST_NAME};
use unroof_base::input::json::Json;

/// List of Vercel's AI Gateway.
pub(super) static CATALOG: Catalog = Catalog {
    format: SourceFormat::Vercel,
    mark: MARK,
    signs: &["pricing/input", "pricing/output"],
    form: Form {
        entries: listed,
        prices: &[&["pricing/input", "pricing/output"]],
    },
    entries,
    read_entry,
};

const MARK: &str = "pricing";
const PROVIDER: &str = "vercel";
const CATALOG_URL: &str = "https://ai-gateway.vercel.sh/v1/models";

/// The models that are priced by tokens or not at all: pictures and films have prices of their own.
fn listed(document: &Json) -> Vec<&Json> {
    let models = document.at("data").map_or(&[][..], Json::items);
    let is_of_text = |model: &&Json| {
        let kind = model.at("type").and_then(Json::as_text);
        kind.is_none_or(|kind| kind == LANGUAGE)
    };
    models.iter().filter(is_of_text).collect()
}

/// The type of models that generate text.
const LANGUAGE: &str = "language";

fn entries<'a>(document: &Cursor<'a>) -> Option<Vec<CatalogEntry<'a>>> {
    let Some(data) = document.at("data") else {
        return document.refuse(
            "the field `data` is missing",
            "send the answer of https://ai-gateway.vercel.sh/v1/models",
        );
    };
    let models = data.items()?.into_iter();
    let entry = |cursor: Cursor<'a>| {
        let id = cursor.json.at("id").and_then(Json::as_text);
        CatalogEntry::new(id.unwrap_or_default(), cursor)
    };
    Some(unique(models.map(entry).collect()))
}

fn read_entry(key: &str, cursor: &Cursor<'_>) -> Option<Vec<PriceSheet>> {
    if !is_name(key) {
        return cursor.refuse(
            "the key is empty, too long, or holds control characters",
            format!("name a model by its id, in 1 to {LONGEST_NAME} characters"),
        );
    }
    let mut entry = Entry::new(cursor)?;
    if let Some(kind) = entry.look_at("type").and_then(|kind| kind.json.as_text())
        && kind != LANGUAGE
    {
        cursor.fault_without_price(
            format!("the model does not generate text: its type is `{kind}`"),
            "send models of the type `language`",
        );
        return None;
    }
    let Some(field) = entry.take(MARK) else {
        return cursor.refuse(
            format!("the field `{MARK}` is missing"),
            "send the entry as Vercel lists it: {\"pricing\": {\"input\": \"0.00000125\", …}}",
        );
    };
    let offer = Offer::new((PROVIDER, ""), (PriceSheet::DEFAULT_REGION, key), false);
    let author = key.split_once('/').map_or(key, |(author, _)| author);
    let pricing = Pricing::read(&mut entry, &field, author, offer.write_lifetime_s)?;
    let others: Vec<String> = pricing.other_names();
    let others: Vec<&str> = others.iter().map(String::as_str).collect();
    if !is_usable(cursor, &entry, &pricing.regions[0].rates, &others) {
        return None;
    }
    let regions = pricing.regions.into_iter();
    let sheets = regions.map(|region| sheet(cursor, &mut entry, &offer, region));
    let mut sheets: Vec<PriceSheet> = sheets.collect::<Option<_>>()?;
    let limits = Limits {
        context: entry.take_count("context_window"),
        max_output: entry.take_count("max_tokens"),
        ..Limits::default()
    };
    let released = entry.take_read("released", day);
    entry.take_same("id", &Json::Text(key.into()));
    let (unmapped, notes) = entry.finish();
    for sheet in &mut sheets {
        sheet.limits = limits.clone();
        sheet.released = released;
        sheet.other_meters.clone_from(&pricing.other_meters);
        sheet.sources = vec![Source::entry(SourceFormat::Vercel, CATALOG_URL, key)];
        sheet.notes.clone_from(&notes);
        sheet.unmapped.clone_from(&unmapped);
    }
    let has_room = sheets.iter().all(|sheet| has_room(cursor, sheet));
    has_room.then_some(sheets)
}

/// The sheet of a region with its prices; none if a fault is recorded.
fn sheet(
    cursor: &Cursor<'_>,
    entry: &mut Entry<'_>,
    offer: &Offer,
    region: Region,
) -> Option<PriceSheet> {
    let mut rates = region.rates;
    let place = format!("{}/", region.name);
    let billing = settle_writes(entry, &offer.model, &place, &mut rates);
    note_free(entry, &rates);
    put_in_order(cursor, &mut rates).then(|| PriceSheet {
        region: region.name,
        cache_write_billing: billing,
        ..offer.sheet(rates)
    })
}

/// The day of a time in seconds since 1970.
fn day(json: &Json) -> Option<Date> {
    let seconds = whole_number(json).filter(|seconds| *seconds > 0)?;
    let time = Timestamp::from_second(i64::from(seconds)).ok()?;
    Some(time.to_zoned(TimeZone::UTC).date())
}
