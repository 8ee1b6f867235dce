//! Models and endpoints as `OpenRouter` lists them: `/api/v1/models`, and `/api/v1/models/{author}/{slug}/endpoints`.
//!
//! Prices are texts in USD per token: those of one endpoint at model level, those of each host at its endpoint. Overrides
//! inherit missing prices from the default ones.

mod measured;
mod pricing;
mod schedule;
#[cfg(test)]
mod tests;
mod upstream;

use std::collections::{BTreeMap, BTreeSet};

use self::pricing::Pricing;
use self::upstream::Upstream;
use super::canonical::canonical_model;
use super::entry::Entry;
use super::rules::{FREE, is_usable, take_retirement, undo_slip_of_router, unique};
use super::values::{alias, count, is_name};
use super::{Catalog, CatalogEntry, Form};
use crate::sheet::{
    CacheWriteBilling, Limits, PriceSheet, RateCell, ServiceTier, Source, SourceFormat,
};
use unroof_base::input::cursor::{Cursor, LONGEST_NAME, shortened};
use unroof_base::input::json::Json;

/// Catalog of `OpenRouter`.
pub(super) static CATALOG: Catalog = Catalog {
    format: SourceFormat::Openrouter,
    mark: MARK,
    signs: &["pricing/prompt", "pricing/completion"],
    form: Form {
        entries: listed,
        prices: &[&["pricing/prompt", "pricing/completion"]],
    },
    entries,
    read_entry: |key, cursor| read_entry(key, cursor).map(|sheet| vec![sheet]),
};

const MARK: &str = "pricing";
const PROVIDER: &str = "openrouter";
const API: &str = "https://openrouter.ai/api/v1/models";
/// Separator of model and tag in the key of an endpoint.
const AT: char = '@';

/// `{"data": [{"id": …, "pricing": …}]}` or `{"data": {"endpoints": […]}}`. Vercel lists endpoints in the same form, of a
/// model with the time of its release.
fn listed(document: &Json) -> Vec<&Json> {
    let Some(data) = document.at("data").filter(|data| !data.has("released")) else {
        return Vec::new();
    };
    data.at("endpoints")
        .unwrap_or(data)
        .items()
        .iter()
        .collect()
}

fn entries<'a>(document: &Cursor<'a>) -> Option<Vec<CatalogEntry<'a>>> {
    let Some(data) = document.at("data") else {
        return document.refuse(
            "the field `data` is missing",
            "send the answer of /api/v1/models, or of /api/v1/models/{author}/{slug}/endpoints",
        );
    };
    let Some(endpoints) = data.at("endpoints") else {
        let models = data.items()?.into_iter();
        let entry = |cursor: Cursor<'a>| {
            CatalogEntry::new(text_at(&cursor, "id").unwrap_or_default(), cursor)
        };
        return Some(unique(models.map(entry).collect()));
    };
    let mut keys = Keys::default();
    let Some(model) = data.at("id") else {
        return data.refuse(
            "the field `id` is missing",
            "send the answer of /api/v1/models/{author}/{slug}/endpoints unchanged",
        );
    };
    let model = model.name()?;
    let entry = |cursor: Cursor<'a>| {
        let tag = text_at(&cursor, "tag").or_else(|| text_at(&cursor, "provider_name"));
        let key = format!("{model}{AT}{}", tag.unwrap_or_default());
        CatalogEntry::new(keys.unique(&key), cursor)
    };
    Some(endpoints.items()?.into_iter().map(entry).collect())
}

/// Non-empty text of a field.
fn text_at(cursor: &Cursor<'_>, name: &str) -> Option<String> {
    let text = cursor.json.at(name)?.as_text()?;
    (!text.is_empty()).then(|| text.to_owned())
}

/// Keys already in use.
#[derive(Default)]
struct Keys {
    taken: BTreeSet<String>,
    counts: BTreeMap<String, usize>,
}

impl Keys {
    /// The key, with a number if it is repeated: one host can have two endpoints with one tag.
    fn unique(&mut self, key: &str) -> String {
        let count = self.counts.entry(key.to_owned()).or_default();
        loop {
            *count += 1;
            let candidate = if *count == 1 {
                key.to_owned()
            } else {
                format!("{key}#{count}")
            };
            if self.taken.insert(candidate.clone()) {
                return candidate;
            }
        }
    }
}

/// Reads a model by its id, or an endpoint by `model@tag`.
fn read_entry(key: &str, cursor: &Cursor<'_>) -> Option<PriceSheet> {
    let mut entry = Entry::new(cursor)?;
    let upstream = Upstream::take(&mut entry).ok()?;
    let model = match upstream {
        Some(_) => key.rsplit_once(AT).map_or(key, |(model, _)| model),
        None => check_id(key, cursor, &mut entry)?,
    };
    if !is_name(model) || !is_name(key) {
        return cursor.refuse(
            "the key is empty, too long, or holds control characters",
            format!(
                "name a model by its id and an endpoint by id@tag, in 1 to {LONGEST_NAME} characters"
            ),
        );
    }
    let Some(field) = entry.take(MARK) else {
        return cursor.refuse(
            format!("the field `{MARK}` is missing"),
            "send the entry as OpenRouter lists it: {\"pricing\": {\"prompt\": \"0.00000125\", …}}",
        );
    };
    let (host, region, quantization, service_tier) = match upstream {
        Some(upstream) => (
            Some(upstream.provider),
            upstream.region,
            upstream.quantization,
            upstream.service_tier,
        ),
        None => (None, None, None, RateCell::STANDARD.to_owned()),
    };
    let mut pricing = Pricing::read(&mut entry, &field, &service_tier)?;
    if pricing.is_free {
        entry.note(FREE);
    }
    if undo_slip_of_router(&mut entry, PROVIDER, model, &mut pricing.rates) {
        pricing.cache_write_billing = CacheWriteBilling::AsInput;
    }
    let others: Vec<&str> = pricing.others.iter().map(String::as_str).collect();
    if !is_usable(cursor, &entry, &pricing.rates, &others) {
        return None;
    }
    let retires_at = take_retirement(&mut entry, "expiration_date");
    let limits = read_limits(&mut entry, host.is_some());
    add_notes(cursor, &mut entry, host.is_some());
    let measured = measured::take(&mut entry).filter(|_| host.is_some());
    let service_tiers = measured.map(|measured| {
        let tier = ServiceTier {
            measured: Some(measured),
            ..ServiceTier::default()
        };
        (service_tier, tier)
    });
    let service_tiers = service_tiers.into_iter().collect();
    let (unmapped, notes) = entry.finish();
    // Each host of a model is a separate offer.
    let (url, name, other) = match host {
        Some(_) => (format!("{API}/{model}/endpoints"), key, model),
        None => (API.to_owned(), model, key),
    };
    Some(PriceSheet {
        upstream_provider: host,
        canonical_model: canonical_model(model),
        aliases: alias(name, other),
        region: region.unwrap_or_else(|| PriceSheet::DEFAULT_REGION.to_owned()),
        quantization,
        retires_at,
        limits,
        cache_write_billing: pricing.cache_write_billing,
        schedules: pricing.schedules,
        service_tiers,
        other_meters: pricing.other_meters,
        sources: vec![Source::entry(SourceFormat::Openrouter, &url, key)],
        notes,
        unmapped,
        ..PriceSheet::new(PROVIDER, name, pricing.rates)
    })
}

/// The id of a model, the start of the key.
fn check_id<'k>(key: &'k str, cursor: &Cursor<'_>, entry: &mut Entry<'_>) -> Option<&'k str> {
    let Some(field) = entry.take("id") else {
        return cursor.refuse(
            "the entry has neither `id` nor `tag`",
            "send a model or an endpoint as OpenRouter lists it",
        );
    };
    let id = field.name()?;
    if id != key {
        return field.refuse(
            format!(
                "the entry is of `{}`, not of `{}`",
                shortened(&id),
                shortened(key)
            ),
            "name the model by its `id`",
        );
    }
    Some(key)
}

fn read_limits(entry: &mut Entry<'_>, is_endpoint: bool) -> Limits {
    let context = entry.take_count("context_length");
    if is_endpoint {
        return Limits {
            context,
            max_input: entry.take_count("max_prompt_tokens"),
            max_output: entry.take_count("max_completion_tokens"),
            cache_min_tokens: None,
        };
    }
    // Also kept under `unmapped`, with its other information about the host.
    let answer = entry
        .look_at("top_provider")
        .and_then(|host| host.at("max_completion_tokens"));
    Limits {
        context,
        max_output: answer.and_then(|field| count(field.json)),
        ..Limits::default()
    }
}

fn add_notes(cursor: &Cursor<'_>, entry: &mut Entry<'_>, is_endpoint: bool) {
    if !is_endpoint {
        entry.note("At model level OpenRouter lists the price of one endpoint, often that of the cheapest host; it is not the price of the model's author.");
        return;
    }
    let is_null = |name: &&str| cursor.json.at(name) == Some(&Json::Null);
    let has_speed = |name: &&str| entry.look_at(name).is_some();
    if measured::FIELDS.iter().any(has_speed) {
        entry.note("OpenRouter measured the speed of this endpoint over 30 minutes: time to the first token, and tokens per second from the request to the end of the answer.");
    } else if measured::FIELDS.iter().any(is_null) {
        entry.note("OpenRouter returns latency and throughput only to requests with an API key.");
    }
}
