//! The service and its settings.

pub(crate) mod access;
pub(crate) mod healthcheck;
pub(crate) mod limits;
pub(crate) mod retention;
pub(crate) mod running;
pub(crate) mod serve;
pub(crate) mod stop;
pub(crate) mod telemetry;
