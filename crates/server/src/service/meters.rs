//! Metrics of imports, webhooks and change streams.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;

use jiff::Timestamp;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::registry::Registry;
use tokio::sync::Mutex;

use super::metrics::{Labels, register};
use unroof_import::CatalogFormat;
use unroof_jobs::{Jobs, Refresh};
use unroof_store::{CatalogImports, DbTime, HeldImports, StoreError, WebhookCounts};

type FloatGauge = Gauge<f64, AtomicU64>;

/// Figures from the database. While it is unreachable, those that were read last.
#[derive(Debug, Default)]
pub(crate) struct Meters {
    stored: Mutex<Option<Stored>>,
}

#[derive(Debug, Default)]
struct Stored {
    catalogs: Vec<CatalogImports>,
    held: Vec<HeldImports>,
    /// End of the last successful import by source.
    sources: BTreeMap<String, DbTime>,
    webhooks: WebhookCounts,
}

impl Meters {
    /// Registers the metrics. The database is only asked where it answered just before.
    pub(crate) async fn register(&self, jobs: &Jobs, is_up: bool, registry: &mut Registry) {
        let mut stored = self.stored.lock().await;
        if is_up && let Ok(read) = Stored::read(jobs).await {
            *stored = Some(read);
        }
        if let Some(stored) = &*stored {
            stored.register_imports(registry);
            stored.register_refreshes(jobs, registry);
            stored.register_webhooks(registry);
        }
        drop(stored);
        register_attempts(jobs, registry);
        register_check(jobs, registry);
        let (open, limit) = jobs.feed.streams();
        register! { registry,
            "unroof_change_streams_open", "Open streams of changes" => ConstGauge::new(open);
            "unroof_change_streams_limit", "Limit of open streams of changes" => ConstGauge::new(limit);
        }
    }
}

impl Stored {
    async fn read(jobs: &Jobs) -> Result<Self, StoreError> {
        let sources: Vec<String> = jobs.refreshes().iter().map(Refresh::source).collect();
        let store = &jobs.store;
        let catalogs = store.imports_of_catalogs(CatalogFormat::names()).await?;
        let sources = store.imports_of_sources(sources.iter().map(String::as_str));
        let sources = sources.await?.into_iter();
        Ok(Self {
            catalogs,
            held: store.held_imports(CatalogFormat::names()).await?,
            sources: sources.map(|row| (row.source, row.succeeded_at)).collect(),
            webhooks: store.webhook_counts().await?,
        })
    }

    fn register_imports(&self, registry: &mut Registry) {
        let succeeded = Family::<Labels<1>, FloatGauge>::default();
        let entries = Family::<Labels<1>, Gauge>::default();
        let refused = Family::<Labels<1>, Gauge>::default();
        for row in &self.catalogs {
            let labels = [("catalog", row.catalog.clone().into())];
            let gauge = succeeded.get_or_create(&labels);
            gauge.set(seconds(row.succeeded_at));
            for (family, count) in [(&entries, row.entries), (&refused, row.refused)] {
                if let Some(count) = count {
                    family.get_or_create(&labels).set(count);
                }
            }
        }
        let held = Family::<Labels<1>, Gauge>::default();
        for row in &self.held {
            let labels = [("catalog", row.catalog.clone().into())];
            held.get_or_create(&labels).set(row.held);
        }
        register! { registry,
            "unroof_imports_held", "Imports of the catalog that are held until they are accepted or discarded" => held;
            "unroof_import_last_success_timestamp_seconds", "End of the last successful import of the catalog, also of one that found it unchanged" => succeeded;
            "unroof_import_entries", "Entries in the last successful import that read the catalog" => entries;
            "unroof_import_refused_entries", "Entries without a usable sheet in the last successful import that read the catalog" => refused;
        }
    }

    fn register_refreshes(&self, jobs: &Jobs, registry: &mut Registry) {
        let succeeded = Family::<Labels<2>, FloatGauge>::default();
        let intervals = Family::<Labels<2>, FloatGauge>::default();
        for refresh in jobs.refreshes() {
            let source = refresh.source();
            let last = self.sources.get(&source).copied();
            let labels = [
                ("catalog", refresh.catalog().into()),
                ("source", source.into()),
            ];
            let gauge = succeeded.get_or_create(&labels);
            gauge.set(last.map_or(0.0, seconds));
            let gauge = intervals.get_or_create(&labels);
            gauge.set(refresh.period().as_secs_f64());
        }
        register! { registry,
            "unroof_refresh_last_success_timestamp_seconds", "End of the last successful import from an address that is fetched at an interval; 0 before the first" => succeeded;
            "unroof_refresh_interval_seconds", "Interval at which an address is fetched" => intervals;
        }
    }

    fn register_webhooks(&self, registry: &mut Registry) {
        let counts = self.webhooks;
        register! { registry,
            "unroof_webhooks_enabled", "Webhooks that are sent changes" => ConstGauge::new(counts.enabled);
            "unroof_webhooks_disabled", "Webhooks whose receiver answered 410, after which nothing is sent to it" => ConstGauge::new(counts.disabled);
            "unroof_webhook_deliveries_retrying", "Deliveries of which an attempt failed, and which are sent again" => ConstGauge::new(counts.retrying);
            "unroof_webhook_changes_waiting", "Changes that the webhook furthest behind was not sent yet" => ConstGauge::new(counts.waiting);
        }
    }
}

fn register_attempts(jobs: &Jobs, registry: &mut Registry) {
    let attempts = Family::<Labels<1>, Counter>::default();
    for (outcome, count) in jobs.attempts.by_outcome() {
        let labels = [("outcome", outcome.into())];
        attempts.get_or_create(&labels).inc_by(count);
    }
    register! { registry,
        "unroof_webhook_delivery_attempts", "Attempts of this process to deliver changes to webhooks, by outcome: delivered, retried (failed, and made again later), failed (given up after the last attempt), unwanted (the receiver answered 410)" => attempts;
    }
}

fn register_check(jobs: &Jobs, registry: &mut Registry) {
    let last = jobs.last_check.read();
    let faults = last.map_or(0, |(_, faults)| faults);
    let ended_at = last.map_or(0.0, |(ended_at, _)| seconds(ended_at.into()));
    register! { registry,
        "unroof_check_faults", "Faults that the last check of the database by this process found" => ConstGauge::new(faults);
        "unroof_check_last_timestamp_seconds", "End of the last check of the database by this process; 0 before the first" => ConstGauge::new(ended_at);
    }
}

fn seconds(time: DbTime) -> f64 {
    Timestamp::from(time).as_duration().as_secs_f64()
}
