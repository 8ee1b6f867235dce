//! One model of one provider in models.dev's `api.json`.
//!
//! Prices are in `cost`, in USD per million tokens, or in the currency of a seller that is listed in `currency.rs`: those of short prompts directly, those of longer ones in `tiers`.
//! Modes such as `fast` have their own cost, for short prompts. `release_date` is the day of release. Other fields are kept under `unmapped`.

mod currency;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use jiff::civil::Date;
use serde_json::Value;

use super::entry::Entry;
use super::meter::{Meter, other_meter};
use super::rules::{
    context_tier_of, has_room, is_usable, note_free, put_in_order, settle_writes, split_key, unique,
};
use super::values::{alias, count, is_name};
use super::{Catalog, CatalogEntry, Form, canonical, names};
use crate::sheet::{
    ContextTier, JsonObject, Limits, MOST_COUNT, OfferStatus, OtherMeter, PriceSheet, RateCell,
    ServiceTier, Source, SourceFormat,
};
use unroof_base::input::cursor::Cursor;
use unroof_base::input::json::Json;

/// Catalog of models.dev.
pub(super) static CATALOG: Catalog = Catalog {
    format: SourceFormat::ModelsDev,
    mark: "modalities",
    signs: &["modalities", "cost"],
    form: Form {
        entries: models,
        prices: &[&["cost/input", "cost/output"]],
    },
    entries,
    read_entry: |key, cursor| read_entry(key, cursor).map(|sheet| vec![sheet]),
};

const CATALOG_URL: &str = "https://models.dev/api.json";
/// Threshold of the older field `context_over_200k`, in tokens.
const OVER_200K: u32 = 200_000;
const METERS: [(&str, Meter); 5] = [
    ("input", Meter::Input),
    ("output", Meter::Output),
    ("reasoning", Meter::Reasoning),
    ("cache_read", Meter::CacheRead),
    ("cache_write", Meter::CacheWrite(None)),
];
/// Field names of audio prices in `cost`.
const AUDIO: [&str; 2] = ["input_audio", "output_audio"];

/// The models of an object of providers.
fn models(document: &Json) -> Vec<&Json> {
    let Json::Object(providers) = document else {
        return Vec::new();
    };
    let models = providers
        .values()
        .filter_map(|provider| match provider.at("models")? {
            Json::Object(models) => Some(models.values()),
            _ => None,
        });
    models.flatten().collect()
}

fn entries<'a>(document: &Cursor<'a>) -> Option<Vec<CatalogEntry<'a>>> {
    let mut entries = Vec::new();
    for (provider, fields) in document.entries()? {
        let models = fields.fields()?.required(
            "models",
            "write the models of the provider as an object: {\"models\": {…}}",
        )?;
        for (model, cursor) in models.entries()? {
            entries.push(CatalogEntry::new(format!("{provider}/{model}"), cursor));
        }
    }
    Some(unique(entries))
}

fn read_entry(key: &str, cursor: &Cursor<'_>) -> Option<PriceSheet> {
    let (provider, name) = split_key(cursor, key)?;
    let mut entry = Entry::new(cursor)?;
    let (region, model) = names::split_region(provider, name);
    let mut reader = Reader {
        provider,
        entry: &mut entry,
        cells: Vec::new(),
        service_tiers: BTreeMap::new(),
        other_meters: Vec::new(),
    };
    reader.read_cost()?;
    reader.read_modes()?;
    reader.set_zero_cells_aside();
    let (service_tiers, other_meters) = (reader.service_tiers, reader.other_meters);
    let mut rates: Vec<RateCell> = reader.cells.into_iter().map(|cell| cell.rate).collect();
    let cache_write_billing = settle_writes(&mut entry, model, "", &mut rates);
    note_free(&mut entry, &rates);
    let others: Vec<_> = other_meters
        .iter()
        .map(|other| other.meter.as_str())
        .collect();
    if !is_usable(cursor, &entry, &rates, &others) || !put_in_order(cursor, &mut rates) {
        return None;
    }
    let limits = read_limits(&mut entry);
    // The catalog's name for the same weights at all hosts.
    let stated = entry.take_read("canonical_model_id", |json| {
        json.as_text().filter(|name| is_name(name))
    });
    let canonical_model =
        canonical::canonical_model(model).or_else(|| canonical::of_stated(stated?));
    let released = read_release(&mut entry);
    entry.take_same("id", &Json::Text(name.into()));
    let is_deprecated = entry.take_same("status", &Json::Text("deprecated".into()));
    let foreign = currency::foreign_seller(provider, name);
    if let Some(foreign) = foreign {
        entry.note(&format!(
            "The catalog lists this seller's prices in {} without saying so ({}, read on {}).",
            foreign.currency, foreign.source, foreign.read_on
        ));
    }
    let (unmapped, notes) = entry.finish();
    let plain = PriceSheet::new(provider, model, rates);
    let sheet = PriceSheet {
        currency: foreign.map_or(plain.currency, |foreign| foreign.currency.to_owned()),
        aliases: alias(model, name),
        canonical_model,
        released,
        region: region.to_owned(),
        status: is_deprecated.then_some(OfferStatus::Deprecated),
        limits,
        cache_write_billing,
        service_tiers,
        other_meters,
        sources: vec![Source::entry(SourceFormat::ModelsDev, CATALOG_URL, key)],
        notes,
        unmapped,
        ..plain
    };
    has_room(cursor, &sheet).then_some(sheet)
}

/// A cell, and the object that states it.
struct Cell<'a> {
    path: String,
    json: &'a Json,
    rate: RateCell,
}

/// Reads the prices of an entry.
struct Reader<'r, 'a> {
    provider: &'r str,
    entry: &'r mut Entry<'a>,
    cells: Vec<Cell<'a>>,
    service_tiers: BTreeMap<String, ServiceTier>,
    other_meters: Vec<OtherMeter>,
}

impl<'a> Reader<'_, 'a> {
    /// `{"input": 2, "output": 10, "tiers": [{…, "tier": {"type": "context", "size": 272000}}], …}`
    fn read_cost(&mut self) -> Option<()> {
        let Some(cost) = self.entry.take("cost") else {
            return Some(());
        };
        let base = RateCell::new(RateCell::STANDARD, ContextTier::default(), None);
        self.add_cell("cost", &cost, base, &["context_over_200k", "tiers"], &AUDIO)?;
        let fields = cost.fields()?;
        let tiers = match fields.get_or_null("tiers") {
            Some(tiers) => tiers.items()?,
            None => Vec::new(),
        };
        for (index, tier) in tiers.iter().enumerate() {
            self.add_tier(index, tier)?;
        }
        match fields.get_or_null("context_over_200k") {
            Some(over) if tiers.is_empty() => self.add_over_200k(&over)?,
            // It repeats a tier, which may have another threshold.
            Some(over) if !tiers.iter().any(|tier| repeats(over.json, tier.json)) => {
                self.entry.keep("cost/context_over_200k", over.json);
            }
            _ => {}
        }
        Some(())
    }

    fn add_tier(&mut self, index: usize, tier: &Cursor<'a>) -> Option<()> {
        let path = format!("cost/tiers/{index}");
        let threshold = tier
            .fields()?
            .required("tier", "write where the tier begins: {\"tier\": {\"type\": \"context\", \"size\": 200000}}")?
            .fields()?;
        if !matches!(threshold.get("type"), Some(kind) if *kind.json == Json::Text("context".into()))
        {
            self.entry.keep(&path, tier.json);
            self.entry
                .note("A tier that is not by prompt length is kept under `unmapped`.");
            return Some(());
        }
        let size = threshold
            .required(
                "size",
                "write the prompt length from which the tier applies",
            )?
            .whole_number(1..=MOST_COUNT)?;
        let rate = RateCell::new(
            RateCell::STANDARD,
            context_tier_of(self.provider, size),
            None,
        );
        self.add_cell(&path, tier, rate, &["tier"], &[])
    }

    /// Older documents have no list of tiers.
    fn add_over_200k(&mut self, over: &Cursor<'a>) -> Option<()> {
        let tier = context_tier_of(self.provider, OVER_200K);
        let rate = RateCell::new(RateCell::STANDARD, tier, None);
        self.entry.note("The threshold is taken from the name `context_over_200k`; the catalog used this name for larger thresholds too.");
        self.add_cell("cost/context_over_200k", over, rate, &[], &[])
    }

    /// Adds the prices of an object. Fields in `not_prices` are skipped, those in `others` are other meters, and the rest is kept.
    fn add_cell(
        &mut self,
        path: &str,
        prices: &Cursor<'a>,
        mut rate: RateCell,
        not_prices: &[&str],
        others: &[&str],
    ) -> Option<()> {
        for (name, field) in prices.present()? {
            if not_prices.contains(&name) {
                continue;
            }
            let path = format!("{path}/{name}");
            if let Some((_, meter)) = METERS.iter().find(|(written, _)| *written == name) {
                meter.set(&mut rate, self.entry.decimal(&path, &field, 1)?, None);
            } else if others.contains(&name) {
                let price = self.entry.decimal(&path, &field, 1)?;
                self.other_meters
                    .push(other_meter(name, "per_1m_tokens", price));
            } else {
                self.entry.keep(&path, field.json);
            }
        }
        self.set_free_reasoning_aside(path, &mut rate, prices.json);
        let prices_something = rate.prices_tokens() || rate.reasoning.is_some();
        if prices_something {
            rate.source = Some(0);
            self.cells.push(Cell {
                path: path.to_owned(),
                json: prices.json,
                rate,
            });
        }
        Some(())
    }

    /// Keeps a reasoning price of 0 next to a priced output under `unmapped`: it is a missing value.
    fn set_free_reasoning_aside(&mut self, path: &str, rate: &mut RateCell, prices: &Json) {
        let is_priced = rate.output.as_ref().is_some_and(|output| !output.is_zero());
        if is_priced
            && let Some(zero) = rate
                .reasoning
                .take_if(|price| price.is_zero())
                .and(prices.at("reasoning"))
        {
            self.entry.keep(&format!("{path}/reasoning"), zero);
            self.entry.note(
                "A price of 0 for reasoning beside a priced output is unclear; it is kept under `unmapped`.",
            );
        }
    }

    /// `{"modes": {"fast": {"cost": {…}, "provider": {"body": {"service_tier": "priority"}}}}}`
    fn read_modes(&mut self) -> Option<()> {
        let Some(experimental) = self.entry.take_object("experimental") else {
            return Some(());
        };
        for (name, field) in experimental.entries()? {
            if name == "modes" && matches!(field.json, Json::Object(_)) {
                for (name, mode) in field.entries()? {
                    self.add_mode(name, &mode)?;
                }
            } else {
                self.entry.keep(&format!("experimental/{name}"), field.json);
            }
        }
        Some(())
    }

    fn add_mode(&mut self, name: &str, mode: &Cursor<'a>) -> Option<()> {
        let path = format!("experimental/modes/{name}");
        let Some(cost) = mode.fields()?.get_or_null("cost") else {
            self.entry.keep(&path, mode.json);
            return Some(());
        };
        let tier = ServiceTier {
            request: self.read_request(&path, mode)?,
            ..ServiceTier::default()
        };
        let (tier_name, tier) = self.named(mode.key_as_name(name)?, tier);
        let rate = RateCell::new(&tier_name, ContextTier::default(), None);
        self.add_cell(&format!("{path}/cost"), &cost, rate, &[], &[])?;
        self.service_tiers.insert(tier_name, tier);
        Some(())
    }

    /// The request fields that select a mode; other request data is kept.
    fn read_request(&mut self, path: &str, mode: &Cursor<'a>) -> Option<JsonObject> {
        let mut request = JsonObject::new();
        for (name, field) in mode.entries()? {
            match (name, field.json) {
                ("cost", _) => {}
                ("provider", Json::Object(parts)) => {
                    for (part, json) in parts {
                        match (part, Value::from(json)) {
                            ("body", Value::Object(body)) => request = body,
                            _ => self.entry.keep(&format!("{path}/provider/{part}"), json),
                        }
                    }
                }
                _ => self.entry.keep(&format!("{path}/{name}"), field.json),
            }
        }
        Some(request)
    }

    /// Names a tier by its request value, which is the same in all catalogs; the mode's name becomes an alias.
    fn named(&self, mode: String, mut tier: ServiceTier) -> (String, ServiceTier) {
        let requested = match tier.request.get("service_tier") {
            Some(Value::String(name)) if is_name(name) => name.clone(),
            _ => return (mode, tier),
        };
        if requested == mode || self.service_tiers.contains_key(&requested) {
            return (mode, tier);
        }
        tier.aliases.push(mode);
        (requested, tier)
    }

    /// Keeps tiers with all prices 0 next to a priced base under `unmapped`: they are missing values rather than free.
    fn set_zero_cells_aside(&mut self) {
        let is_priced = |cell: &Cell<'_>| {
            let prices = cell.rate.prices();
            prices.iter().any(|(_, price)| !price.is_zero())
        };
        if !self.cells.first().is_some_and(is_priced) {
            return;
        }
        for zero in self.cells.extract_if(1.., |cell| !is_priced(cell)) {
            self.entry.keep(&zero.path, zero.json);
            self.entry.note("A tier whose prices are all 0 beside a priced base is unclear; it is kept under `unmapped`.");
        }
    }
}

/// Whether a tier states the same prices.
fn repeats(over: &Json, tier: &Json) -> bool {
    let (Json::Object(over), Json::Object(tier)) = (over, tier) else {
        return false;
    };
    over.iter()
        .eq(tier.iter().filter(|(name, _)| *name != "tier"))
}

fn read_limits(entry: &mut Entry<'_>) -> Limits {
    let mut limits = Limits::default();
    let fields = entry.take_object("limit");
    for (name, Cursor { json, .. }) in fields
        .and_then(|field| field.entries())
        .into_iter()
        .flatten()
    {
        let place = match name {
            "context" => Some(&mut limits.context),
            "input" => Some(&mut limits.max_input),
            "output" => Some(&mut limits.max_output),
            _ => None,
        };
        match place.zip(count(json)) {
            Some((place, count)) => *place = Some(count),
            None => entry.keep(&format!("limit/{name}"), json),
        }
    }
    limits
}

/// The day of release; a month alone stands for its first day.
fn read_release(entry: &mut Entry<'_>) -> Option<Date> {
    let day = |text: &str| {
        let day = text.parse::<Date>().ok();
        day.filter(|day| day.to_string() == text)
    };
    let (released, is_month) = entry.take_read("release_date", |json| {
        let written = json.as_text()?;
        let whole = day(written).map(|day| (day, false));
        whole.or_else(|| Some((day(&format!("{written}-01"))?, true)))
    })?;
    if is_month {
        entry.note("The catalog states the month of release; its first day is taken.");
    }
    Some(released)
}
