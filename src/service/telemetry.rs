//! Traces for OpenTelemetry, slow answers and slow statements, as flags.

use anyhow::Context;
use clap::Args;
use uuid::Uuid;

use super::limits::{Time, time_or_none};
use unroof_edge::Limits;
use unroof_store::StoreLimits;
use unroof_telemetry::{Endpoint, Telemetry};

/// Traces for OpenTelemetry, and what the log calls slow.
#[derive(Debug, Args)]
#[command(next_help_heading = "Telemetry")]
pub(crate) struct TelemetryArguments {
    /// Address of a receiver of OpenTelemetry over HTTP, such as `http://collector:4318`; `OTEL_EXPORTER_OTLP_ENDPOINT` if left out
    #[arg(
        long,
        env = "UNROOF_OTLP_ENDPOINT",
        hide_env_values = true,
        value_name = "URL"
    )]
    otlp_endpoint: Option<Endpoint>,
    /// Time beyond which the log names an answer as slow; 0s for never
    #[arg(long, env = "UNROOF_SLOW_ANSWER", default_value_t = Time(Limits::default().slow_answer), value_name = "TIME", value_parser = time_or_none)]
    slow_answer: Time,
    /// Time beyond which the log names a statement of the database as slow; 0s for never
    #[arg(long, env = "UNROOF_SLOW_QUERY", default_value_t = Time(StoreLimits::default().slow_statement), value_name = "TIME", value_parser = time_or_none)]
    slow_query: Time,
}

impl TelemetryArguments {
    /// Starts sending traces, if a receiver is stated.
    ///
    /// # Errors
    /// The address, or another variable of OpenTelemetry, cannot be used.
    pub(crate) fn start(&self, instance: Uuid) -> anyhow::Result<Option<Telemetry>> {
        let endpoint = match &self.otlp_endpoint {
            Some(endpoint) => Some(endpoint.clone()),
            None => endpoint_of_environment()?,
        };
        let Some(endpoint) = endpoint else {
            return Ok(None);
        };
        let started = Telemetry::start(endpoint, instance);
        started.context("cannot send traces").map(Some)
    }

    /// The limits with those of slow answers.
    pub(crate) fn service(&self, limits: Limits) -> Limits {
        Limits {
            slow_answer: self.slow_answer.0,
            ..limits
        }
    }

    /// The limits of the database with that of slow statements.
    pub(crate) fn store(&self, limits: StoreLimits) -> StoreLimits {
        StoreLimits {
            slow_statement: self.slow_query.0,
            ..limits
        }
    }
}

/// The receiver that all programs of an environment share.
fn endpoint_of_environment() -> anyhow::Result<Option<Endpoint>> {
    const VARIABLE: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
    let stated = std::env::var(VARIABLE).ok();
    let stated = stated.filter(|text| !text.is_empty());
    let endpoint = stated.map(|text| text.parse().map_err(anyhow::Error::msg));
    endpoint.transpose().context(VARIABLE)
}
