//! One model of one provider in the version 2 data of genai-prices.
//!
//! Prices are in USD per million tokens, under names that end in `_mtok`. They may be a list, with start dates or daily
//! hours; variants change some of them for a service tier. Each day on which a price changes begins another sheet.

mod constraint;
mod prices;
#[cfg(test)]
mod tests;
mod timeline;

use self::prices::Context;
use self::timeline::{Interval, Timeline};
use super::canonical::canonical_model;
use super::entry::Entry;
use super::meter::write_lifetime_s;
use super::rules::{
    FREE, has_room, is_free, is_usable, put_in_order, settle_writes, split_key, unique,
};
use super::values::{alias, count, is_name, renamed};
use super::{Catalog, CatalogEntry, names};
use crate::sheet::{Limits, OfferStatus, PriceSheet, Source, SourceFormat};
use unroof_base::input::cursor::{Cursor, LONGEST_TEXT};
use unroof_base::input::json::Json;

/// Catalog of genai-prices.
pub(super) static CATALOG: Catalog = Catalog {
    format: SourceFormat::GenaiPrices,
    mark: "prices",
    signs: &[],
    recognizes: is_catalog,
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

/// Whether the document is a list of providers, each with models and API addresses.
fn is_catalog(document: &Json) -> bool {
    let is_provider = |provider: &Json| {
        provider.has("api_pattern") && matches!(provider.at("models"), Some(Json::Array(_)))
    };
    document.items().iter().any(is_provider)
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

/// Provider, model and region of an offer.
struct Offer {
    provider: String,
    upstream_provider: Option<String>,
    model: String,
    region: &'static str,
}

impl Offer {
    fn new(provider: &str, model: &str) -> Self {
        if let Some(host) = provider.strip_prefix(ROUTED.0).filter(|host| is_name(host)) {
            return Self {
                provider: ROUTED.1.to_owned(),
                upstream_provider: Some(renamed(&PROVIDERS, host).to_owned()),
                // Syntax by which a request to the router selects a host.
                model: format!("{model}:{host}"),
                region: PriceSheet::DEFAULT_REGION,
            };
        }
        let provider = match provider {
            // Of Google's two services, only Vertex sells other authors' models.
            "google" if model.starts_with("claude") => "google-vertex",
            other => renamed(&PROVIDERS, other),
        };
        let (region, model) = names::split_region(provider, model);
        Self {
            provider: provider.to_owned(),
            upstream_provider: None,
            model: model.to_owned(),
            region,
        }
    }

    /// Lifetime of a written token, in seconds: 30 minutes for `OpenAI` models at any seller, else 5 minutes.
    fn write_lifetime_s(&self) -> u32 {
        let is_openai = ["azure", "openai"].contains(&self.provider.as_str());
        write_lifetime_s(is_openai, &self.model)
    }
}

fn read_entry(key: &str, cursor: &Cursor<'_>) -> Option<Vec<PriceSheet>> {
    let (provider, name) = split_key(cursor, key)?;
    let offer = Offer::new(provider, name);
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
    let context = Context {
        provider: &offer.provider,
        write_lifetime_s: offer.write_lifetime_s(),
    };
    let timeline = Timeline::read(cursor, &mut entry, &context)?;
    let mut intervals = timeline.intervals(&mut entry, &context);
    if intervals.is_empty() {
        let others: Vec<_> = timeline.other_meters().collect();
        is_usable(cursor, &entry, &[], &others);
        return None;
    }
    for interval in &mut intervals {
        settle(cursor, &mut entry, &offer, interval)?;
    }
    let has_write = |interval: &Interval| {
        let mut rates = interval.rates.iter();
        rates.any(|rate| !rate.cache_write.is_empty())
    };
    if timeline.has_write_of_unknown_lifetime() && intervals.iter().any(has_write) {
        entry.note_lifetime("genai-prices", context.write_lifetime_s);
    }
    entry.take_same("id", name);
    let is_deprecated =
        matches!(entry.look_at("deprecated"), Some(field) if *field.json == Json::Bool(true));
    if is_deprecated {
        entry.take("deprecated");
    }
    add_price_comments(&mut entry);
    let sheet = PriceSheet {
        upstream_provider: offer.upstream_provider,
        canonical_model: canonical_model(name),
        aliases: alias(&offer.model, name),
        region: offer.region.to_owned(),
        status: is_deprecated.then_some(OfferStatus::Deprecated),
        limits: read_limits(&mut entry),
        sources: vec![Source::entry(SourceFormat::GenaiPrices, CATALOG_URL, key)],
        ..PriceSheet::new(&offer.provider, &offer.model, Vec::new())
    };
    let (unmapped, notes) = entry.finish();
    let sheet = PriceSheet {
        notes,
        unmapped,
        ..sheet
    };
    let sheets: Vec<_> = intervals
        .into_iter()
        .map(|interval| interval.fill(sheet.clone()))
        .collect();
    let has_room = sheets.iter().all(|sheet| has_room(cursor, sheet));
    has_room.then_some(sheets)
}

/// Corrects the cells of an interval as a whole.
fn settle(
    cursor: &Cursor<'_>,
    entry: &mut Entry<'_>,
    offer: &Offer,
    interval: &mut Interval,
) -> Option<()> {
    let place = interval.place();
    interval.cache_write_billing = settle_writes(entry, &offer.model, &place, &mut interval.rates);
    if is_free(&interval.rates) {
        entry.note(FREE);
    }
    let is_usable = is_usable(cursor, entry, &interval.rates, &[]);
    (is_usable && put_in_order(cursor, &mut interval.rates)).then_some(())
}

/// Adds the price comments as notes.
fn add_price_comments(entry: &mut Entry<'_>) {
    let is_note = |text: &str| {
        let is_odd = |letter: char| letter.is_control() && !['\n', '\t'].contains(&letter);
        !text.trim().is_empty() && text.chars().count() <= LONGEST_TEXT && !text.chars().any(is_odd)
    };
    let comments = entry.look_at("price_comments").map(|field| field.json);
    if let Some(Json::Text(text)) = comments
        && is_note(text)
    {
        entry.note(text);
        entry.take("price_comments");
    }
}

fn read_limits(entry: &mut Entry<'_>) -> Limits {
    let context = entry
        .look_at("context_window")
        .and_then(|field| count(field.json));
    if context.is_some() {
        entry.take("context_window");
    }
    Limits {
        context,
        ..Limits::default()
    }
}
