//! Folds of a setting as rows, for rivals that are fitted elsewhere.

use serde::Serialize;

use super::ridge::median_prices;
use super::scored::scored_models;
use super::setting::folds;
use crate::prices::PricedModel;
use unroof_roofline::reference::RecordSetting;

/// A model in a fold: of its training, or one that is estimated.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RivalRow {
    /// Setting of the validation.
    pub setting: RecordSetting,
    /// Number of the fold in its setting.
    pub fold: usize,
    /// Whether it is estimated, and not a part of the training.
    pub estimated: bool,
    /// Whether it counts in the tables.
    pub counted: bool,
    /// Share of the model.
    pub weight: f64,
    /// Name of the model.
    pub model: String,
    /// log USD per Mtok: median over the sheets.
    pub log_input: f64,
    /// log USD per Mtok: median over the sheets.
    pub log_output: f64,
    /// Years of release since the start of 2025; empty where it is not known.
    pub years: Option<f64>,
    /// log of the longest context
    pub log_context: f64,
    /// log of the published active parameters
    pub log_active: f64,
    /// log of the published total parameters
    pub log_total: f64,
    /// log of the published KV bytes read per token of a context of 8,192
    pub log_kv_read: f64,
    /// log of the published KV bytes stored per token
    pub log_kv_stored: f64,
}

/// Every fold of a setting with the models that have both prices.
#[must_use]
pub fn rival_rows(models: &[&PricedModel], setting: RecordSetting) -> Vec<RivalRow> {
    let row = |fold: usize, model: &PricedModel, weight: Option<f64>| {
        let [log_input, log_output] = median_prices(model)?;
        Some(RivalRow {
            setting,
            fold,
            estimated: weight.is_some(),
            counted: scored_models(setting).any(|listed| listed == model.name),
            weight: weight.unwrap_or(1.0),
            model: model.name.clone(),
            log_input,
            log_output,
            years: model.truth.years(),
            log_context: model.truth.log_context,
            log_active: model.truth.log_active,
            log_total: model.truth.log_total,
            log_kv_read: model.truth.log_kv_read_8k,
            log_kv_stored: model.truth.log_kv_stored,
        })
    };
    let mut rows = Vec::new();
    for (place, fold) in folds(models, setting).iter().enumerate() {
        rows.extend(
            fold.training
                .iter()
                .filter_map(|model| row(place, model, None)),
        );
        let cases = fold.cases.iter();
        rows.extend(cases.filter_map(|case| row(place, &case.model, Some(case.weight))));
    }
    rows
}
