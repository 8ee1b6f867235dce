//! The service around its resources: listeners, middleware, metrics.

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
