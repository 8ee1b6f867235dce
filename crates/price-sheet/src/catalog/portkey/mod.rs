//! Portkey's catalog: an object of its files `pricing/<provider>.json` by provider.
//!
//! Prices are in hundredths of the currency, often also by region, mode and context tier; those by region and mode take
//! precedence. Each region becomes a sheet.

mod offer;
mod parts;
mod prices;
mod reading;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use self::offer::TierName;
use self::parts::Parts;
use self::reading::Reading;
use super::values::is_name;
use super::{Catalog, CatalogEntry, Form};
use crate::sheet::{PriceSheet, SourceFormat};
use unroof_base::input::cursor::{Cursor, LONGEST_NAME, shortened};
use unroof_base::input::json::Json;

/// Catalog of Portkey.
pub(super) static CATALOG: Catalog = Catalog {
    format: SourceFormat::Portkey,
    mark: MARK,
    signs: &[MARK],
    form: Form {
        entries: models,
        prices: &[&["pricing_config/pay_as_you_go", "custom_pricing/regions"]],
    },
    entries,
    read_entry,
};

const MARK: &str = "pricing_config";
const CATALOG_URL: &str = "https://github.com/Portkey-AI/models";
/// Key of the default row, for models that a file does not list.
const FALLBACK: &str = "default";

fn has_mark(json: &Json) -> bool {
    json.has(MARK)
}

fn has_entries(json: &Json) -> bool {
    matches!(json, Json::Object(fields) if !has_mark(json) && fields.values().any(has_mark))
}

/// The models in the files of several providers, or in one file, which is refused with a hint.
fn models(document: &Json) -> Vec<&Json> {
    fn values(json: &Json) -> Vec<&Json> {
        match json {
            Json::Object(fields) => fields.values().collect(),
            _ => Vec::new(),
        }
    }
    let files = if has_mark(document) {
        Vec::new()
    } else {
        values(document)
    };
    if has_entries(document) {
        return files;
    }
    files.into_iter().flat_map(values).collect()
}

fn entries<'a>(document: &Cursor<'a>) -> Option<Vec<CatalogEntry<'a>>> {
    if has_entries(document.json) {
        return document.refuse(
            "the document is a single provider's file without the provider's name",
            "wrap it in an object with the file's name: {\"openai\": {\"gpt-5.4\": …}}",
        );
    }
    let mut entries = Vec::new();
    for (provider, models) in document.entries()? {
        if provider.contains('/') {
            return models.refuse(
                format!(
                    "the provider `{}` has a slash in its name",
                    shortened(provider)
                ),
                "name a provider as its file is named, such as \"openai\"",
            );
        }
        for (model, cursor) in entries_of(&models)? {
            entries.push(CatalogEntry::new(format!("{provider}/{model}"), cursor));
        }
    }
    Some(entries)
}

/// The models of a file. If a model's prices are split into names for short and long prompts, its entry is the whole file.
fn entries_of<'a>(file: &Cursor<'a>) -> Option<BTreeMap<&'a str, Cursor<'a>>> {
    let mut models = BTreeMap::new();
    for (name, cursor) in file.entries()? {
        match TierName::parse(name) {
            Some(tier) => models.insert(tier.model, file.clone()),
            None => models.insert(name, cursor),
        };
    }
    Some(models)
}

/// Reads the entry of `provider/model`: the model's value in the provider's file, or the whole file.
fn read_entry(key: &str, cursor: &Cursor<'_>) -> Option<Vec<PriceSheet>> {
    let refuse = |detail: String, hint: String| cursor.refuse(detail, hint);
    let Some((slug, name)) = key.split_once('/').filter(|_| is_name(key)) else {
        return refuse(
            format!("`{}` does not name a provider and a model", shortened(key)),
            format!(
                "name the entry by the provider's file and the model, in up to {LONGEST_NAME} characters: openai/gpt-5.4"
            ),
        );
    };
    if name == FALLBACK {
        return refuse(
            "`default` is the fallback for models that the catalog does not list, not a model"
                .to_owned(),
            "name a model by its key, such as openai/gpt-5.4".to_owned(),
        );
    }
    let parts = Parts::find(name, cursor)?;
    let offer = offer::offer(slug, &parts.model);
    if !is_name(&offer.provider) || !is_name(&offer.model) {
        return refuse(
            format!("`{}` does not name a provider and a model", shortened(key)),
            format!("write names of 1 to {LONGEST_NAME} characters, such as openai/gpt-5.4"),
        );
    }
    Reading {
        key,
        slug,
        cursor,
        offer: &offer,
        parts: &parts,
    }
    .sheets()
}
