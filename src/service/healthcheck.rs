//! `unroof healthcheck`: health probe for images without curl.

use std::time::Duration;

use anyhow::{Context, anyhow};
use clap::Args;

use crate::Failure;
use unroof_store::import::{client_error, without_secrets};
use unroof_telemetry::secrets::{AMBIGUOUS, is_certain};

/// Arguments of `unroof healthcheck`.
#[derive(Debug, Args)]
pub(crate) struct HealthcheckArguments {
    /// Health URL; use `/readyz` to check the database too
    #[arg(long, default_value = "http://127.0.0.1:8080/healthz")]
    url: String,
}

/// Longer than a healthy service needs, shorter than the usual timeout of a supervisor.
const LONGEST_WAIT: Duration = Duration::from_secs(3);

pub(crate) fn run(arguments: &HealthcheckArguments) -> Result<(), Failure> {
    let client = ureq::Agent::config_builder()
        .timeout_global(Some(LONGEST_WAIT))
        // Ignores the proxy variables of the environment.
        .proxy(None)
        .build()
        .new_agent();
    let url = &arguments.url;
    if !is_certain(url) {
        return Err(Failure::Usage(anyhow!(AMBIGUOUS)));
    }
    client
        .get(url)
        .call()
        .map_err(|error| anyhow!(client_error(&error)))
        .with_context(|| format!("{} is unhealthy", without_secrets(url)))?;
    Ok(())
}
