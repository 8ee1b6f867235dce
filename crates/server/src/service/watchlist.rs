//! Models whose latest estimates `/metrics` shows.

use std::str::FromStr;
use std::sync::atomic::AtomicU64;

use jiff::Timestamp;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::registry::Registry;
use tokio::sync::Mutex;
use unroof_infer::estimate::StoredRow;
use unroof_infer::estimate::quantities::JointQuantity;

use super::metrics::register;
use unroof_store::{DbTime, Store, StoreError, WatchedRow};

/// Limit of watched models, and of their shown offers: each offer has about forty series.
const MOST_WATCHED: usize = 100;

/// A model of a provider.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct WatchedModel {
    /// Provider that bills for the offer.
    provider: String,
    /// Model name as the provider spells it.
    model: String,
}

/// Error of a text that is not PROVIDER/MODEL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected PROVIDER/MODEL, such as `openai/gpt-5.4`")]
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

/// The watched models, and their last estimates.
#[derive(Debug, Default)]
pub struct Watchlist {
    models: Vec<WatchedModel>,
    has_more: bool,
    known: Mutex<Known>,
}

/// Values read at a version of the store, and whether the database answered the last time.
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
    #[prometheus(flatten)]
    offer: OfferLabels,
    /// Level of the quantile. Prometheus reserves the name `quantile` for summaries.
    level: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct IdentifiedLabels {
    #[prometheus(flatten)]
    offer: OfferLabels,
    quantity: &'static str,
}

/// Gauges of the last estimates.
#[derive(Debug, Clone, Default)]
struct Gauges {
    estimates: Family<WatchedModel, Gauge>,
    quantities: [Family<QuantileLabels, FloatGauge>; JointQuantity::COUNT],
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

    /// Registers the values of the models, read again if the store has changed. While the database is unreachable, the
    /// last values stay.
    pub(crate) async fn register(
        &self,
        store: &Store,
        version: Result<i64, StoreError>,
        now: DbTime,
        registry: &mut Registry,
    ) {
        let mut known = self.known.lock().await;
        known.is_up = match version {
            Ok(version) => self.refresh(store, version, now, &mut known).await.is_ok(),
            Err(_) => false,
        };
        register! { registry,
            "unroof_database_up", "Whether the database answers" => ConstGauge::new(u32::from(known.is_up));
            "unroof_store_version", "Transactions that have written to the store" => ConstGauge::new(known.version.unwrap_or_default());
        }
        if !self.models.is_empty() {
            known.gauges.register(registry);
        }
    }

    /// The version is read first, so that the values kept under it are never older.
    async fn refresh(
        &self,
        store: &Store,
        version: i64,
        now: DbTime,
        known: &mut Known,
    ) -> Result<(), StoreError> {
        if known.version != Some(version) {
            known.gauges = self.read(store, now).await?;
            known.version = Some(version);
        }
        Ok(())
    }

    async fn read(&self, store: &Store, now: DbTime) -> Result<Gauges, StoreError> {
        if self.models.is_empty() {
            return Ok(Gauges::default());
        }
        let names: Vec<_> = self
            .models
            .iter()
            .map(|watched| (&*watched.provider, &*watched.model))
            .collect();
        let one_more = u32::try_from(MOST_WATCHED + 1).unwrap_or(u32::MAX);
        let rows = store.watched_estimates(&names, now, one_more).await?;
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
        let values = StoredRow::read(&row.row_values);
        let offer = OfferLabels {
            provider: row.provider,
            model: row.model,
            region: row.region,
        };
        for (quantity, family) in JointQuantity::ALL.into_iter().zip(&self.quantities) {
            let shown = values.quantity(quantity);
            let levels = [
                ("0.05", shown.low_90),
                ("0.5", shown.median),
                ("0.95", shown.high_90),
            ];
            for (level, value) in levels {
                let Some(value) = value else { continue };
                let offer = offer.clone();
                let value = value / quantity.definition().gauge.divisor;
                let gauge = family.get_or_create(&QuantileLabels { offer, level });
                gauge.set(value);
            }
            if let Some(identified) = shown.identified {
                let (offer, quantity) = (offer.clone(), quantity.name());
                let labels = IdentifiedLabels { offer, quantity };
                let gauge = self.identified.get_or_create(&labels);
                gauge.set(identified.into());
            }
        }
        let updated = Timestamp::from(row.observed_at).as_duration().as_secs_f64();
        self.updated.get_or_create(&offer).set(updated);
        let watched = WatchedModel {
            provider: offer.provider,
            model: offer.model,
        };
        self.estimates.get_or_create(&watched).inc();
    }

    fn register(&self, registry: &mut Registry) {
        register! { registry,
            "unroof_watchlist_truncated", "Whether the watchlist matches more estimates than are shown" => ConstGauge::new(u32::from(self.is_truncated));
            "unroof_watched_estimates", "Estimates shown for a watched model, one per region; 0 where its name matches none" => self.estimates.clone();
        }
        for (quantity, family) in JointQuantity::ALL.into_iter().zip(&self.quantities) {
            let definition = quantity.definition();
            register! { registry, definition.gauge.name, definition.description => family.clone(); }
        }
        register! { registry,
            "unroof_estimate_identified", "Whether the price sheet adds 0.3 bits of information or more about the quantity" => self.identified.clone();
            "unroof_estimate_updated_timestamp_seconds", "Time at which the estimate was stored" => self.updated.clone();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
