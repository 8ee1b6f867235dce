//! One entry of `LiteLLM`'s `model_prices_and_context_window.json`.
//!
//! Rates are flat fields in USD per token whose names contain service tier, context tier and time to live. Other fields are
//! kept unchanged under `unmapped`; unknown fields are accepted.

mod off_peak;
mod offer;
mod quotes;
mod rate_name;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde_json::json;

use self::quotes::Quotes;
use super::entry::Entry;
use super::offer::Offer;
use super::output::generates_text;
use super::rules::{
    fast_mode, is_usable, name_priority, note_free, object, take_retirement, undo_slip_of_router,
};
use super::values::{alias, is_name};
use super::{Catalog, CatalogEntry, Form};
use crate::sheet::{
    CacheWriteBilling, JsonObject, Limits, Modifier, PriceSheet, ServiceTier, Source, SourceFormat,
};
use unroof_base::input::cursor::{Cursor, LONGEST_NAME, LONGEST_TEXT};
use unroof_base::input::json::Json;
use unroof_base::units::Decimal;

/// Catalog of LiteLLM.
pub(super) static CATALOG: Catalog = Catalog {
    format: SourceFormat::Litellm,
    mark: "litellm_provider",
    signs: &[
        "litellm_provider",
        "input_cost_per_token",
        "output_cost_per_token",
    ],
    form: Form {
        entries: models,
        prices: &[
            &["litellm_provider"],
            &[
                "input_cost_per_token",
                "output_cost_per_token",
                "tiered_pricing",
            ],
        ],
    },
    entries,
    read_entry: |key, cursor| read_entry(key, cursor).map(|sheet| vec![sheet]),
};

/// Keys that are not models: an example in prose, and rules for names.
const NOT_MODELS: [&str; 2] = ["fallback_generalizations", "sample_spec"];
/// Source of entries that state none.
const CATALOG_URL: &str = "https://github.com/BerriAI/litellm";
/// Meters to which the multipliers of regions apply.
const TOKEN_METERS: [&str; 4] = ["input", "output", "cache_read", "cache_write"];
/// Regions that a request can select.
const INFERENCE_GEOGRAPHIES: [&str; 2] = ["eu", "us"];

/// The fields of an object, without those that are not models.
fn models(document: &Json) -> Vec<&Json> {
    let Json::Object(models) = document else {
        return Vec::new();
    };
    let models = models.iter();
    let models = models.filter(|(key, _)| !NOT_MODELS.contains(key));
    models.map(|(_, model)| model).collect()
}

fn entries<'a>(document: &Cursor<'a>) -> Option<Vec<CatalogEntry<'a>>> {
    let mut models = document.entries()?;
    models.retain(|(key, _)| !NOT_MODELS.contains(key));
    let entry = |(key, cursor): (&str, _)| CatalogEntry::new(key, cursor);
    Some(models.into_iter().map(entry).collect())
}

/// Reads one entry. `name` is its key in the catalog, which may carry prefixes. `None` means that a fault is recorded.
fn read_entry(name: &str, cursor: &Cursor<'_>) -> Option<PriceSheet> {
    if NOT_MODELS.contains(&name) {
        return cursor.refuse(
            format!("`{name}` is not a model of the catalog"),
            "name a model by its key",
        );
    }
    let mut entry = Entry::new(cursor)?;
    let offer = read_offer(name, cursor, &mut entry)?;
    if !generates_text(name, cursor) {
        return None;
    }
    let mut quotes = Quotes::take(&mut entry);
    let mut cache_write_billing = quotes.settle_cache_writes(&mut entry);
    if quotes.has_base_write() {
        entry.note_lifetime("LiteLLM", offer.write_lifetime_s);
    }
    let mut service_tiers = BTreeMap::new();
    let mut modifiers = read_geographies(&mut entry, &mut service_tiers);
    modifiers.extend(read_uplifts(&mut entry));
    let schedules = std::mem::take(&mut quotes.schedules);
    let mut rates = quotes.cells(&offer);
    note_free(&mut entry, &rates);
    if undo_slip_of_router(&mut entry, &offer.provider, &offer.model, &mut rates) {
        cache_write_billing = CacheWriteBilling::AsInput;
    }
    name_priority(&mut service_tiers, &rates, &offer.provider);
    if !is_usable(cursor, &entry, &rates, &entry.unparsed("cost")) {
        return None;
    }
    let limits = read_limits(&mut entry);
    let source = read_source(name, &mut entry);
    let retires_at = take_retirement(&mut entry, "deprecation_date");
    let (unmapped, notes) = entry.finish();
    Some(PriceSheet {
        aliases: alias(&offer.model, name),
        retires_at,
        limits,
        cache_write_billing,
        schedules,
        service_tiers,
        modifiers,
        sources: vec![source],
        notes,
        unmapped,
        ..offer.sheet(rates)
    })
}

fn read_offer(name: &str, cursor: &Cursor<'_>, entry: &mut Entry<'_>) -> Option<Offer> {
    let Some(field) = entry.take("litellm_provider") else {
        return cursor.refuse(
            "the field `litellm_provider` is missing",
            "name the provider as LiteLLM does, such as \"litellm_provider\": \"openai\"",
        );
    };
    let litellm_provider = field.name()?;
    let offer = offer::offer(name, &litellm_provider);
    if ![name, &offer.model].into_iter().all(is_name) {
        return cursor.refuse(
            format!(
                "the name of the model has {} characters, or control characters",
                name.chars().count()
            ),
            format!("name the entry as LiteLLM does, in 1 to {LONGEST_NAME} characters"),
        );
    }
    if offer.provider != litellm_provider {
        entry.keep("litellm_provider", field.json);
    }
    Some(offer)
}

/// Reads `{"us": 1.1, "fast": 2}`: multipliers for region and speed.
fn read_geographies(
    entry: &mut Entry<'_>,
    service_tiers: &mut BTreeMap<String, ServiceTier>,
) -> Vec<Modifier> {
    let mut modifiers = Vec::new();
    let specific = entry.take_object("provider_specific_entry");
    let Some(fields) = specific.and_then(|specific| specific.entries()) else {
        return modifiers;
    };
    let mut left = JsonObject::new();
    for (name, field) in fields {
        let is_multiplier = name == "fast" || INFERENCE_GEOGRAPHIES.contains(&name);
        if !is_multiplier || *field.json == Json::Null {
            left.insert(name.to_owned(), serde_json::Value::from(field.json));
            continue;
        }
        let Some(multiplier) = entry.decimal(&format!("provider_specific_entry/{name}"), &field, 1)
        else {
            continue;
        };
        if name == "fast" {
            let tier = ServiceTier {
                price_multiplier: Some(multiplier),
                ..fast_mode()
            };
            service_tiers.insert(name.to_owned(), tier);
        } else {
            let when = object(json!({"inference_geo": name}));
            modifiers.push(modifier(&format!("inference_geo_{name}"), when, multiplier));
        }
    }
    entry.keep_rest("provider_specific_entry", left);
    modifiers
}

/// Multipliers for serving or processing in a region.
fn read_uplifts(entry: &mut Entry<'_>) -> Vec<Modifier> {
    let uplifts = [
        (
            "regional_endpoint_uplift_multiplier",
            "regional_endpoint",
            json!({"endpoint": "regional"}),
        ),
        (
            "regional_processing_uplift_multiplier_us",
            "data_residency_us",
            json!({"region": ["us"]}),
        ),
        (
            "regional_processing_uplift_multiplier_eu",
            "data_residency_eu",
            json!({"region": ["eu"]}),
        ),
    ];
    let mut modifiers = Vec::new();
    for (field_name, name, when) in uplifts {
        let Some(field) = entry.take(field_name) else {
            continue;
        };
        let multiplier = entry.decimal(field_name, &field, 1);
        modifiers.extend(multiplier.map(|multiplier| modifier(name, object(when), multiplier)));
    }
    modifiers
}

fn modifier(name: &str, when: JsonObject, multiplier: Decimal) -> Modifier {
    Modifier {
        name: name.to_owned(),
        when,
        multiplier,
        applies_to: TOKEN_METERS.map(str::to_owned).to_vec(),
    }
}

fn read_limits(entry: &mut Entry<'_>) -> Limits {
    Limits {
        context: None,
        max_input: entry.take_count("max_input_tokens"),
        max_output: entry.take_count("max_output_tokens"),
        cache_min_tokens: entry.take_count("prompt_cache_min_tokens"),
    }
}

fn read_source(name: &str, entry: &mut Entry<'_>) -> Source {
    let is_address = |text: &str| {
        text.starts_with("http")
            && text.chars().count() <= LONGEST_TEXT
            && !text.chars().any(char::is_control)
    };
    let stated = entry.take_read("source", |json| {
        json.as_text().filter(|text| is_address(text))
    });
    Source::entry(SourceFormat::Litellm, stated.unwrap_or(CATALOG_URL), name)
}
