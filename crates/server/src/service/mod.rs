//! State that describes the process itself: id, start, metrics, traces, connections.

pub(crate) mod access;
pub(crate) mod answer_time;
pub(crate) mod compression;
pub(crate) mod extract;
pub(crate) mod local;
pub(crate) mod meters;
pub(crate) mod metrics;
pub(crate) mod metrics_page;
pub(crate) mod middleware;
pub(crate) mod server;
pub(crate) mod telemetry;

use std::sync::Arc;

use jiff::Timestamp;
use tokio::sync::Semaphore;
use uuid::Uuid;

use crate::service::meters::Meters;
use crate::service::metrics::Metrics;
use unroof_edge::{Limits, Refusals};
use unroof_telemetry::Telemetry;

/// State of the layers and handlers that observe the process.
#[derive(Debug, Clone)]
pub(super) struct Service {
    /// Random id of this process, by which a client recognises it.
    pub(super) instance: Uuid,
    /// Start of the process.
    pub(super) started_at: Timestamp,
    /// Metrics of requests.
    pub(super) metrics: Arc<Metrics>,
    /// Metrics of imports, webhooks and change streams.
    pub(super) meters: Arc<Meters>,
    /// Receiver of traces.
    pub(super) telemetry: Option<Telemetry>,
    /// Permits for connections.
    pub(super) connections: Arc<Semaphore>,
    /// Refusals for overload.
    pub(super) refusals: Arc<Refusals>,
}

impl Service {
    /// A process that has started, without connections.
    pub(super) fn new(started_at: Timestamp, limits: &Limits) -> Self {
        Self {
            instance: Uuid::new_v4(),
            started_at,
            metrics: Arc::new(Metrics::new()),
            meters: Arc::default(),
            telemetry: None,
            connections: Arc::new(Semaphore::new(limits.connections)),
            refusals: Arc::new(Refusals::counting("busy: refusing requests")),
        }
    }
}
