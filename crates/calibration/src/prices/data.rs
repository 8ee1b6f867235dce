//! Open-weight models with the sheets of their hosts, from the project's own data or from files of the same columns.

use std::collections::BTreeMap;

use jiff::civil::Date;
use serde::Deserialize;
use thiserror::Error;

use unroof_base::units::Decimal;
use unroof_infer::evidence::release::years;
use unroof_price_sheet::sheet::{ContextTier, PriceSheet, RateCell};
use unroof_price_sheet::vendors::{is_known_vendor, vendor};
use unroof_roofline::forward::{KvCache, READ_CONTEXT_TOKENS};
use unroof_roofline::reference::{AttentionKind, open_models};

/// Published figures of a model; natural logarithms, KV bytes at one byte per element.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Truth {
    /// log `N_a`: active parameters.
    pub log_active: f64,
    /// log `N_t`: total parameters.
    pub log_total: f64,
    /// log of the bytes read per further token of a very long context
    pub log_kv_read: f64,
    /// log `k_st`: KV bytes stored per token.
    pub log_kv_stored: f64,
    /// log of the bytes that a step reads per token of a context of 8,192, windows and selected entries included
    pub log_kv_read_8k: f64,
    /// log of the longest context
    pub log_context: f64,
    /// Kind of attention of the model.
    pub attention: AttentionKind,
    /// Day of its release.
    pub released: Option<Date>,
}

impl Truth {
    /// Years from the start of 2025 to its release; none where that is not known.
    #[must_use]
    pub fn years(&self) -> Option<f64> {
        self.released.map(years)
    }

    /// Whether every parameter is active.
    #[must_use]
    pub fn is_dense(&self) -> bool {
        self.log_total <= self.log_active
    }
}

/// A model whose architecture is published, and what its hosts charge.
#[derive(Debug, Clone)]
pub struct PricedModel {
    /// Name of the model.
    pub name: String,
    /// Family: models of one author with a common design.
    pub family: String,
    /// Published figures of the model.
    pub truth: Truth,
    /// The vendor that made it.
    pub author: String,
    /// One sheet per host.
    pub sheets: Vec<PriceSheet>,
    /// Whether the model's author sells it, per sheet.
    pub first_party: Vec<bool>,
}

impl PricedModel {
    fn new(name: String, family: String, truth: Truth) -> Self {
        Self {
            author: vendor(&family),
            name,
            family,
            truth,
            sheets: Vec::new(),
            first_party: Vec::new(),
        }
    }

    fn push(&mut self, provider: &str, rates: Vec<RateCell>) {
        let sheet = sheet_of(self, provider, rates);
        if is_marked(provider) && !is_known_vendor(&self.author) {
            self.author = vendor(&sheet.provider);
        }
        // Marks of tiers are of a vendor's own tariff, also for models of others.
        self.first_party
            .push(is_marked(provider) && vendor(&sheet.provider) == self.author);
        self.sheets.push(sheet);
    }

    /// Copy of the model with the sheets that are wanted, each given with whether its seller is the model's author.
    #[must_use]
    pub fn with_sheets(&self, wanted: impl Fn(&PriceSheet, bool) -> bool) -> Self {
        let kept = self.sheets.iter().zip(&self.first_party);
        let (sheets, first_party) = kept
            .filter(|(sheet, is_author)| wanted(sheet, **is_author))
            .map(|(sheet, is_author)| (sheet.clone(), *is_author))
            .unzip();
        Self {
            name: self.name.clone(),
            family: self.family.clone(),
            truth: self.truth,
            author: self.author.clone(),
            sheets,
            first_party,
        }
    }
}

/// Reason that files of models and prices cannot be used.
#[derive(Debug, Error)]
pub enum DataError {
    /// A row has not the columns or values it should have.
    #[error("{file}: {source}")]
    Row {
        /// Name of the faulty file.
        file: &'static str,
        /// The fault and its place.
        source: csv::Error,
    },
    /// A row is about a model that the models do not list.
    #[error("{file}: no row of the models is named `{model}`")]
    UnknownModel {
        /// Name of the faulty file.
        file: &'static str,
        /// Name that no row of the models has.
        model: String,
    },
    /// A number is not a price, or a figure is not positive.
    #[error("{file}: `{value}` of `{model}` is not a positive number")]
    NotANumber {
        /// Name of the faulty file.
        file: &'static str,
        /// Name of the model of the row.
        model: String,
        /// The text found there.
        value: String,
    },
}

const MODELS: &str = "models";
const PRICES: &str = "prices";
const TIERS: &str = "tiers";
const HISTORY: &str = "history";

#[derive(Debug, Deserialize)]
struct ModelRow {
    model: String,
    family: String,
    total_params: f64,
    active_params: f64,
    max_context: f64,
    kv_stored_1b: f64,
    kv_read_per_step_1b: f64,
    #[serde(default)]
    avg_bytes_8k_1b: Option<f64>,
    #[serde(default)]
    bounded_read_elems: Option<f64>,
    #[serde(default)]
    attention_kind: String,
    #[serde(default)]
    released: Option<Date>,
}

impl ModelRow {
    /// Bytes that a step reads per token of a context of 8,192: what grows with the context, full windows, and the entries
    /// that sparse attention selects.
    fn kv_read_8k(&self) -> f64 {
        let windows = self
            .avg_bytes_8k_1b
            .map_or(0.0, |average| average - self.kv_stored_1b);
        let selected = self.bounded_read_elems.unwrap_or(0.0) / READ_CONTEXT_TOKENS;
        self.kv_read_per_step_1b + windows + selected
    }
}

/// Prices of a host: of today, or of a date.
#[derive(Debug, Deserialize)]
struct PriceRow {
    model: String,
    provider: String,
    input_usd_per_mtok: String,
    output_usd_per_mtok: String,
    #[serde(default)]
    cache_read_usd_per_mtok: String,
    #[serde(default)]
    date: String,
}

impl PriceRow {
    fn cell(&self, file: &'static str) -> Result<RateCell, DataError> {
        let prices = [&self.input_usd_per_mtok, &self.output_usd_per_mtok];
        let mut cell = cell(file, &self.model, ContextTier::default(), prices)?;
        cell.cache_read = price(file, &self.model, &self.cache_read_usd_per_mtok)?;
        Ok(cell)
    }
}

#[derive(Debug, Deserialize)]
struct TierRow {
    model: String,
    provider: String,
    threshold: u32,
    #[serde(rename = "in_")]
    input: String,
    #[serde(rename = "out")]
    output: String,
    base_in: String,
    base_out: String,
}

/// The models of `crates/roofline/data/open_models.json` with the prices of `data/open_model_prices.csv` and the context tiers of
/// `data/open_model_tiers.csv`.
#[must_use]
pub fn built_in() -> Vec<PricedModel> {
    let models = open_models().iter().map(|model| {
        let architecture = &model.architecture;
        let cache = KvCache::new(architecture);
        let truth = Truth {
            log_active: architecture.active_parameters.ln(),
            log_total: architecture.total_parameters.ln(),
            log_kv_read: cache.read_per_token(1.0).0.ln(),
            log_kv_stored: cache.stored_per_token(1.0).0.ln(),
            log_kv_read_8k: (cache.read_elements(READ_CONTEXT_TOKENS) / READ_CONTEXT_TOKENS).ln(),
            log_context: f64::from(model.max_context).ln(),
            attention: AttentionKind::of(&architecture.attention),
            released: model.released,
        };
        PricedModel::new(model.name.clone(), model.family.clone(), truth)
    });
    let prices = include_str!("../../data/open_model_prices.csv");
    let tiers = include_str!("../../data/open_model_tiers.csv");
    with_sheets(models.collect(), prices, Some(tiers))
        .unwrap_or_else(|error| panic!("data: {error}"))
}

/// The models of `data/price_history.csv` that have a price there which no sheet of today has, each with the sheets of
/// today and of all dated periods.
#[must_use]
pub fn with_history(models: &[&PricedModel]) -> Vec<PricedModel> {
    let text = include_str!("../../data/price_history.csv");
    let rows = rows::<PriceRow>(HISTORY, text).unwrap_or_else(|error| panic!("data: {error}"));
    models
        .iter()
        .filter_map(|model| dated(model, &rows).unwrap_or_else(|error| panic!("data: {error}")))
        .collect()
}

/// A model with its sheets of earlier dates; none if each of them has prices that its host still asks.
fn dated(model: &PricedModel, rows: &[PriceRow]) -> Result<Option<PricedModel>, DataError> {
    let mut pooled = model.clone();
    for row in rows.iter().filter(|row| row.model == model.name) {
        let cell = row.cell(HISTORY)?;
        let host = host_name(&row.provider);
        let is_asked = |sheet: &PriceSheet| {
            let base = sheet.base_rate();
            sheet.provider == host
                && base.is_some_and(|base| base.input == cell.input && base.output == cell.output)
        };
        if !pooled.sheets.iter().any(is_asked) {
            pooled.push(&row.provider, vec![cell]);
            if let Some(sheet) = pooled.sheets.last_mut() {
                sheet.valid_from = format!("{}T00:00:00Z", row.date).parse().ok();
            }
        }
    }
    Ok((pooled.sheets.len() > model.sheets.len()).then_some(pooled))
}

/// Models with their sheets, from the texts of files.
///
/// # Errors
/// [`DataError`] with the row that is wrong.
pub fn read(
    models: &str,
    prices: &str,
    tiers: Option<&str>,
) -> Result<Vec<PricedModel>, DataError> {
    let mut listed = Vec::new();
    for row in rows::<ModelRow>(MODELS, models)? {
        let log = |value: f64| {
            let not_positive = || DataError::NotANumber {
                file: MODELS,
                model: row.model.clone(),
                value: value.to_string(),
            };
            (value > 0.0 && value.is_finite())
                .then(|| value.ln())
                .ok_or_else(not_positive)
        };
        let truth = Truth {
            log_active: log(row.active_params)?,
            log_total: log(row.total_params)?,
            log_kv_read: log(row.kv_read_per_step_1b)?,
            log_kv_stored: log(row.kv_stored_1b)?,
            log_kv_read_8k: log(row.kv_read_8k())?,
            log_context: log(row.max_context)?,
            attention: AttentionKind::of_layers(&row.attention_kind),
            released: row.released,
        };
        listed.push(PricedModel::new(row.model, row.family, truth));
    }
    with_sheets(listed, prices, tiers)
}

fn rows<Row: serde::de::DeserializeOwned>(
    file: &'static str,
    text: &str,
) -> Result<Vec<Row>, DataError> {
    let wrong = |source| DataError::Row { file, source };
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    // Column names are compared without their capitals: `kv_stored_1B` is `kv_stored_1b`.
    let header: csv::StringRecord = reader
        .headers()
        .map_err(wrong)?
        .iter()
        .map(str::to_lowercase)
        .collect();
    reader.set_headers(header);
    reader
        .deserialize()
        .collect::<Result<_, _>>()
        .map_err(wrong)
}

fn with_sheets(
    mut models: Vec<PricedModel>,
    prices: &str,
    tiers: Option<&str>,
) -> Result<Vec<PricedModel>, DataError> {
    let places: BTreeMap<String, usize> = models
        .iter()
        .enumerate()
        .map(|(place, model)| (model.name.clone(), place))
        .collect();
    let place = |file, model: &str| {
        places
            .get(model)
            .copied()
            .ok_or_else(|| DataError::UnknownModel {
                file,
                model: model.to_owned(),
            })
    };
    for row in rows::<PriceRow>(PRICES, prices)? {
        let model = &mut models[place(PRICES, &row.model)?];
        let cell = row.cell(PRICES)?;
        if cell.input.is_some() || cell.output.is_some() {
            model.push(&row.provider, vec![cell]);
        }
    }
    for row in tiers
        .map(|tiers| rows::<TierRow>(TIERS, tiers))
        .transpose()?
        .unwrap_or_default()
    {
        let model = &mut models[place(TIERS, &row.model)?];
        let tier = ContextTier {
            min_prompt_tokens: row.threshold,
            inclusive: false,
        };
        let above = cell(TIERS, &row.model, tier, [&row.input, &row.output])?;
        let host = host_name(&row.provider);
        if let Some(sheet) = model.sheets.iter_mut().find(|sheet| sheet.provider == host) {
            sheet.rates.push(above);
            continue;
        }
        // A host whose base price no price row lists.
        let prices = [&row.base_in, &row.base_out];
        let base = cell(TIERS, &row.model, ContextTier::default(), prices)?;
        model.push(&row.provider, vec![base, above]);
    }
    for model in &mut models {
        let canonical = format!("{}/{}", model.author, model.name);
        for sheet in &mut model.sheets {
            sheet.canonical_model = Some(canonical.clone());
        }
    }
    Ok(models)
}

fn sheet_of(model: &PricedModel, provider: &str, rates: Vec<RateCell>) -> PriceSheet {
    let mut sheet = PriceSheet::new(&host_name(provider), &model.name, rates);
    sheet.released = model.truth.released;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a context is far below 2^32 tokens"
    )]
    {
        sheet.limits.context = Some(model.truth.log_context.exp().round() as u32);
    }
    sheet
}

/// The host without the marks that say whether it is the model's own vendor.
fn host_name(written: &str) -> String {
    let name = written.split_once(" (").map_or(written, |(name, _)| name);
    name.trim_end_matches('*').trim().to_owned()
}

/// Whether a row is marked as the tariff of the model's own vendor.
fn is_marked(written: &str) -> bool {
    written.trim_end().ends_with('*') || written.contains("(first party)")
}

/// A rate cell with an input and an output price.
fn cell(
    file: &'static str,
    model: &str,
    tier: ContextTier,
    [input, output]: [&String; 2],
) -> Result<RateCell, DataError> {
    let mut cell = RateCell::new(RateCell::STANDARD, tier, None);
    cell.input = price(file, model, input)?;
    cell.output = price(file, model, output)?;
    Ok(cell)
}

/// A price; none where the field is empty or zero, which is free or unknown.
fn price(file: &'static str, model: &str, written: &str) -> Result<Option<Decimal>, DataError> {
    if written.trim().is_empty() {
        return Ok(None);
    }
    let not_a_number = || DataError::NotANumber {
        file,
        model: model.to_owned(),
        value: written.to_owned(),
    };
    let price: Decimal = written.trim().parse().map_err(|_| not_a_number())?;
    Ok(Some(price).filter(|price| !price.is_zero()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_with_a_history_has_today_s_sheets_and_those_of_other_prices() {
        let models = built_in();
        let models: Vec<&PricedModel> = models.iter().collect();
        let pooled = with_history(&models);
        let of = |name: &str| pooled.iter().find(|model| model.name == name);
        let repriced = of("DeepSeek-V4-Pro").expect("its price was cut");
        let dated = repriced.sheets.iter().filter(|sheet| {
            sheet.provider == "deepseek"
                && sheet
                    .valid_from
                    .is_some_and(|day| day.to_string() == "2026-04-24T00:00:00Z")
        });
        assert_eq!(dated.count(), 1);
        assert_eq!(repriced.first_party.len(), repriced.sheets.len());
        assert!(of("Llama-2-70B").is_none());
    }

    #[test]
    fn the_marks_of_first_parties_are_kept() {
        let models = built_in();
        let of = |name: &str| -> Vec<&str> {
            let found = models.iter().find(|model| model.name == name);
            let model = found.expect("it is listed");
            let own = model.sheets.iter().zip(&model.first_party);
            own.filter(|(_, is_author)| **is_author)
                .map(|(sheet, _)| sheet.provider.as_str())
                .collect()
        };
        assert_eq!(of("Qwen2.5-7B"), ["alibaba", "alibaba-cn"]);
        // Alibaba's tariff is marked in the tiers, but the model is Zhipu's.
        assert_eq!(of("GLM-5"), ["zai", "zhipuai-cn"]);
        assert_eq!(of("Llama-3-8B"), [""; 0]);
        let sold = |model: &&PricedModel| model.first_party.contains(&true);
        assert_eq!(models.iter().filter(sold).count(), 97);
        assert!(
            models
                .iter()
                .all(|model| model.first_party.len() == model.sheets.len())
        );
    }
}
