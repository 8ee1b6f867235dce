//! One model of one provider in the version 2 data of genai-prices.
//!
//! Prices are in USD per million tokens, under names that end in `_mtok`. They may be a list, with start dates or daily
//! hours; variants change some of them for a service tier. Each day on which a price changes begins another sheet.

mod constraint;
mod prices;
#[cfg(test)]
mod tests;
mod timeline;

use self::prices::Reader;
use super::canonical::canonical_model;
use super::entry::Entry;
use super::offer::Offer;
use super::rules::{
    has_room, is_usable, note_free, put_in_order, settle_writes, split_key, unique,
};
use super::values::{alias, count, is_name, renamed};
use super::{Catalog, CatalogEntry, Form, names};
use crate::sheet::{Limits, OfferStatus, PriceSheet, Source, SourceFormat};
use unroof_base::input::cursor::{Cursor, LONGEST_TEXT};
use unroof_base::input::json::Json;

/// Catalog of genai-prices.
pub(super) static CATALOG: Catalog = Catalog {
    format: SourceFormat::GenaiPrices,
    mark: "prices",
    signs: &["match", "prices/input_mtok", "prices/output_mtok"],
    form: Form {
        entries: models,
        prices: &[&["prices"]],
    },
    entries,
    read_entry,
};

const CATALOG_URL: &str = "https://github.com/pydantic/genai-prices";

/// Provider names that differ here: the catalog's, ours.
const PROVIDERS: [(&str, &str); 6] = [
    ("aws", "amazon-bedrock"),
    ("cloudflare", "cloudflare-workers-ai"),
    ("fireworks", "fireworks-ai"),
    ("novita", "novita-ai"),
    ("together", "togetherai"),
    ("x-ai", "xai"),
];
/// The catalog's providers that are hosts behind one router.
const ROUTED: (&str, &str) = ("huggingface_", "huggingface");

/// The models of a list of providers.
fn models(document: &Json) -> Vec<&Json> {
    let providers = document.items().iter();
    let lists = providers.filter_map(|provider| provider.at("models"));
    lists.flat_map(Json::items).collect()
}

fn entries<'a>(document: &Cursor<'a>) -> Option<Vec<CatalogEntry<'a>>> {
    let mut entries = Vec::new();
    for provider in document.items()? {
        let fields = provider.fields()?;
        let id = fields
            .required("id", "name the provider, such as \"id\": \"openai\"")?
            .name()?;
        let models = fields.required("models", "list the models of the provider")?;
        for cursor in models.items()? {
            let model = cursor
                .fields()?
                .required("id", "name the model, such as \"id\": \"gpt-5.4\"")?
                .name()?;
            entries.push(CatalogEntry::new(format!("{id}/{model}"), cursor));
        }
    }
    Some(unique(entries))
}

fn offer_of(provider: &str, name: &str) -> Offer {
    if let Some(host) = provider.strip_prefix(ROUTED.0).filter(|host| is_name(host)) {
        // Syntax by which a request to the router selects a host.
        let model = format!("{name}:{host}");
        return Offer {
            upstream_provider: Some(renamed(&PROVIDERS, host).to_owned()),
            canonical_model: canonical_model(name),
            ..Offer::new((ROUTED.1, ""), (PriceSheet::DEFAULT_REGION, &model), false)
        };
    }
    let provider = match provider {
        // Of Google's two services, only Vertex sells other authors' models.
        "google" if name.starts_with("claude") => "google-vertex",
        other => renamed(&PROVIDERS, other),
    };
    let is_openai = ["azure", "openai"].contains(&provider);
    Offer {
        canonical_model: canonical_model(name),
        ..Offer::new(
            (provider, ""),
            names::split_region(provider, name),
            is_openai,
        )
    }
}

fn read_entry(key: &str, cursor: &Cursor<'_>) -> Option<Vec<PriceSheet>> {
    let (provider, name) = split_key(cursor, key)?;
    let offer = offer_of(provider, name);
    if !is_name(&offer.model) {
        return cursor.refuse(
            "the names of model and host are too long together",
            "shorten the model's name",
        );
    }
    let mut entry = Entry::new(cursor)?;
    if offer.provider != provider {
        entry.keep_value("provider_id", provider.into());
    }
    let mut reader = Reader {
        entry: &mut entry,
        offer: &offer,
    };
    let timeline = reader.timeline(cursor)?;
    let mut sheets = timeline.intervals(&mut entry, &offer);
    if sheets.is_empty() {
        let others: Vec<_> = timeline.other_meters().collect();
        is_usable(cursor, &entry, &[], &others);
        return None;
    }
    for sheet in &mut sheets {
        settle(cursor, &mut entry, sheet)?;
    }
    let mut rates = sheets.iter().flat_map(|sheet| &sheet.rates);
    let has_write = rates.any(|rate| !rate.cache_write.is_empty());
    if timeline.has_write_of_unknown_lifetime() && has_write {
        entry.note_lifetime("genai-prices", offer.write_lifetime_s);
    }
    entry.take_same("id", &Json::Text(name.into()));
    let is_deprecated = entry.take_same("deprecated", &Json::Bool(true));
    add_price_comments(&mut entry);
    let limits = Limits {
        context: entry.take_read("context_window", count),
        ..Limits::default()
    };
    let (unmapped, notes) = entry.finish();
    for sheet in &mut sheets {
        sheet.aliases = alias(&offer.model, name);
        sheet.status = is_deprecated.then_some(OfferStatus::Deprecated);
        sheet.limits = limits.clone();
        sheet.sources = vec![Source::entry(SourceFormat::GenaiPrices, CATALOG_URL, key)];
        sheet.notes.clone_from(&notes);
        sheet.unmapped.clone_from(&unmapped);
    }
    let has_room = sheets.iter().all(|sheet| has_room(cursor, sheet));
    has_room.then_some(sheets)
}

/// Corrects the cells of a sheet as a whole.
fn settle(cursor: &Cursor<'_>, entry: &mut Entry<'_>, sheet: &mut PriceSheet) -> Option<()> {
    let from = sheet.valid_from.map(|start| format!("{start}/"));
    let place = from.unwrap_or_default();
    sheet.cache_write_billing = settle_writes(entry, &sheet.model, &place, &mut sheet.rates);
    note_free(entry, &sheet.rates);
    let is_usable = is_usable(cursor, entry, &sheet.rates, &[]);
    (is_usable && put_in_order(cursor, &mut sheet.rates)).then_some(())
}

/// Adds the price comments as notes.
fn add_price_comments<'a>(entry: &mut Entry<'a>) {
    let is_note = |text: &str| {
        let is_odd = |letter: char| letter.is_control() && !['\n', '\t'].contains(&letter);
        !text.trim().is_empty() && text.chars().count() <= LONGEST_TEXT && !text.chars().any(is_odd)
    };
    let comments = |json: &'a Json| json.as_text().filter(|text| is_note(text));
    if let Some(text) = entry.take_read("price_comments", comments) {
        entry.note(text);
    }
}
