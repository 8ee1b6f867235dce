//! Models whose latest estimates `/metrics` shows.

use std::str::FromStr;
use std::sync::atomic::AtomicU64;

use jiff::Timestamp;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::registry::Registry;
use serde_json::{Map, Value};
use tokio::sync::Mutex;

use super::app::App;
use crate::storage::{StoreError, WatchedRow};

/// The most models, and the most offers of them, that are shown: every one is some forty series.
const MOST_WATCHED: usize = 100;

/// A model of a provider.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct WatchedModel {
    /// Who bills.
    provider: String,
    /// The model as the provider spells it.
    model: String,
}

/// Why a text names no model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected a provider and its name for a model, such as `openai/gpt-5.4`")]
pub struct WatchedModelError;

impl FromStr for WatchedModel {
    type Err = WatchedModelError;

    /// The provider ends at the first slash; models may have slashes in their names.
    fn from_str(text: &str) -> Result<Self, WatchedModelError> {
        match text.split_once('/') {
            Some((provider, model)) if !provider.is_empty() && !model.is_empty() => Ok(Self {
                provider: provider.to_owned(),
                model: model.to_owned(),
            }),
            _ => Err(WatchedModelError),
        }
    }
}

/// The models to watch, and what was last read of them.
#[derive(Debug, Default)]
pub struct Watchlist {
    models: Vec<WatchedModel>,
    has_more: bool,
    known: Mutex<Known>,
}

/// What was read at a version of the store, and whether the database answered the last time.
#[derive(Debug, Default)]
struct Known {
    version: Option<i64>,
    is_up: bool,
    gauges: Gauges,
}

type FloatGauge = Gauge<f64, AtomicU64>;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfferLabels {
    provider: String,
    model: String,
    region: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct QuantileLabels {
    provider: String,
    model: String,
    region: String,
    quantile: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct IdentifiedLabels {
    provider: String,
    model: String,
    region: String,
    quantity: &'static str,
}

/// A quantity of the joint estimate as a gauge: its name in lists, its name here, how many of our unit make one of
/// theirs, and what it is.
type QuantityGauge = (&'static str, &'static str, f64, &'static str);

const TOKENS_PER_MTOK: f64 = 1e6;

const QUANTITIES: [QuantityGauge; 10] = [
    (
        "active_parameters",
        "unroof_active_parameters",
        1.0,
        "Parameters that work on a token",
    ),
    (
        "total_parameters",
        "unroof_total_parameters",
        1.0,
        "Parameters",
    ),
    (
        "kv_bytes_per_token_read",
        "unroof_kv_bytes_per_token",
        1.0,
        "Bytes of KV cache that decoding reads per token of context, at one byte per element",
    ),
    (
        "kv_bytes_per_token_stored",
        "unroof_kv_stored_bytes_per_token",
        1.0,
        "Bytes of KV cache that a token of context takes, at one byte per element",
    ),
    (
        "memory_time_over_compute_time",
        "unroof_memory_bound_ratio",
        1.0,
        "Time for memory over time for arithmetic; above 1 decoding is memory-bound",
    ),
    (
        "batch_over_optimal_batch",
        "unroof_batch_over_optimal_ratio",
        1.0,
        "Batch over the batch that balances weights and arithmetic",
    ),
    (
        "crossover_context_tokens",
        "unroof_crossover_context_tokens",
        1.0,
        "Context from which decoding waits for the KV cache",
    ),
    (
        "latency_floor_seconds",
        "unroof_latency_floor_seconds",
        1.0,
        "Shortest time of a step: all weights read once",
    ),
    (
        "cost_input_usd_per_mtok",
        "unroof_input_cost_usd_per_token",
        TOKENS_PER_MTOK,
        "Cost of an input token",
    ),
    (
        "cost_output_usd_per_mtok",
        "unroof_output_cost_usd_per_token",
        TOKENS_PER_MTOK,
        "Cost of an output token",
    ),
];

/// The columns of a quantity in lists, by the ends of their names, and the quantiles that they are.
const QUANTILES: [(&str, &str); 3] = [("low_90", "0.05"), ("median", "0.5"), ("high_90", "0.95")];

/// Gauges of what was read last.
#[derive(Debug, Clone, Default)]
struct Gauges {
    estimates: Family<WatchedModel, Gauge>,
    quantities: [Family<QuantileLabels, FloatGauge>; QUANTITIES.len()],
    identified: Family<IdentifiedLabels, Gauge>,
    updated: Family<OfferLabels, FloatGauge>,
    is_truncated: bool,
}

impl Watchlist {
    /// A list of these models, of which the first hundred are watched.
    #[must_use]
    pub fn new(mut models: Vec<WatchedModel>) -> Self {
        let has_more = models.len() > MOST_WATCHED;
        models.truncate(MOST_WATCHED);
        Self {
            models,
            has_more,
            known: Mutex::default(),
        }
    }

    /// Registers what is known of the models, read again if the store has changed. While the database is away the last
    /// values stay.
    pub(super) async fn register(&self, app: &App, registry: &mut Registry) {
        let version = app.version().await;
        let mut known = self.known.lock().await;
        known.is_up = match version {
            Ok(version) => self.refresh(app, version, &mut known).await.is_ok(),
            Err(_) => false,
        };
        let is_up = ConstGauge::new(u32::from(known.is_up));
        registry.register("unroof_database_up", "Whether the database answers", is_up);
        registry.register(
            "unroof_store_version",
            "Transactions that have written to the store",
            ConstGauge::new(known.version.unwrap_or_default()),
        );
        if !self.models.is_empty() {
            known.gauges.register(registry);
        }
    }

    /// The version was asked for before, so that what is kept under it is never older than it.
    async fn refresh(&self, app: &App, version: i64, known: &mut Known) -> Result<(), StoreError> {
        if known.version != Some(version) {
            known.gauges = self.read(app).await?;
            known.version = Some(version);
        }
        Ok(())
    }

    async fn read(&self, app: &App) -> Result<Gauges, StoreError> {
        if self.models.is_empty() {
            return Ok(Gauges::default());
        }
        let names: Vec<_> = self
            .models
            .iter()
            .map(|watched| (&*watched.provider, &*watched.model))
            .collect();
        let one_more = u32::try_from(MOST_WATCHED + 1).unwrap_or(u32::MAX);
        let rows = app
            .store
            .watched_estimates(&names, app.now().into(), one_more)
            .await?;
        let gauges = Gauges {
            is_truncated: self.has_more || rows.len() > MOST_WATCHED,
            ..Gauges::default()
        };
        for watched in &self.models {
            gauges.estimates.get_or_create(watched).set(0);
        }
        for row in rows.into_iter().take(MOST_WATCHED) {
            gauges.show(row);
        }
        Ok(gauges)
    }
}

impl Gauges {
    fn show(&self, row: WatchedRow) {
        let values: Map<String, Value> = serde_json::from_str(&row.row_values).unwrap_or_default();
        let (provider, model, region) = (row.provider, row.model, row.region);
        for ((name, _, divisor, _), family) in QUANTITIES.iter().zip(&self.quantities) {
            for (column, quantile) in QUANTILES {
                // A row that was stored before there was a joint estimate has none.
                if let Some(value) = values
                    .get(&format!("{name}_{column}"))
                    .and_then(Value::as_f64)
                {
                    let labels = QuantileLabels {
                        provider: provider.clone(),
                        model: model.clone(),
                        region: region.clone(),
                        quantile,
                    };
                    family.get_or_create(&labels).set(value / divisor);
                }
            }
            if let Some(identified) = values
                .get(&format!("{name}_identified"))
                .and_then(Value::as_bool)
            {
                let labels = IdentifiedLabels {
                    provider: provider.clone(),
                    model: model.clone(),
                    region: region.clone(),
                    quantity: name,
                };
                self.identified
                    .get_or_create(&labels)
                    .set(identified.into());
            }
        }
        let offer = OfferLabels {
            provider,
            model,
            region,
        };
        let updated = Timestamp::from(row.observed_at).as_duration().as_secs_f64();
        self.updated.get_or_create(&offer).set(updated);
        let watched = WatchedModel {
            provider: offer.provider,
            model: offer.model,
        };
        self.estimates.get_or_create(&watched).inc();
    }

    fn register(&self, registry: &mut Registry) {
        registry.register(
            "unroof_watchlist_truncated",
            "Whether more is to be watched than is shown",
            ConstGauge::new(u32::from(self.is_truncated)),
        );
        registry.register(
            "unroof_watched_estimates",
            "Estimates shown of a watched model, one per region; 0 where its name matches none",
            self.estimates.clone(),
        );
        for ((_, name, _, help), family) in QUANTITIES.into_iter().zip(&self.quantities) {
            registry.register(name, help, family.clone());
        }
        registry.register(
            "unroof_estimate_identified",
            "Whether the price sheet tells 0.3 bits or more about the quantity",
            self.identified.clone(),
        );
        registry.register(
            "unroof_estimate_updated_timestamp_seconds",
            "When the estimate was stored",
            self.updated.clone(),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unroof_core::estimate::row_columns;

    #[test]
    fn every_quantity_of_the_joint_estimate_has_a_gauge() {
        let ends = QUANTILES
            .map(|(end, _)| end)
            .into_iter()
            .chain(["identified"]);
        let shown: Vec<String> = ends
            .flat_map(|end| QUANTITIES.map(|(name, ..)| format!("{name}_{end}")))
            .collect();
        let in_lists: Vec<&str> = row_columns()
            .filter(|column| shown.iter().any(|name| name == column))
            .collect();
        assert_eq!(in_lists.len(), shown.len());
        let identified = row_columns()
            .filter(|column| column.ends_with("_identified"))
            .count();
        assert_eq!(identified, QUANTITIES.len());
    }

    #[test]
    fn a_name_is_split_at_its_first_slash() {
        let watched: WatchedModel = "openrouter/z-ai/glm-5".parse().unwrap();
        assert_eq!(
            (&*watched.provider, &*watched.model),
            ("openrouter", "z-ai/glm-5")
        );
        for text in ["", "openai", "/gpt-5.4", "openai/"] {
            assert_eq!(
                text.parse::<WatchedModel>(),
                Err(WatchedModelError),
                "{text}"
            );
        }
    }
}
