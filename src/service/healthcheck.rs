//! `unroof healthcheck`: health probe for images without curl.

use std::time::Duration;

use anyhow::{Context, anyhow};
use clap::Args;

use crate::Failure;
use unroof_jobs::egress::client_error;
use unroof_telemetry::secrets::{AMBIGUOUS, is_certain, without_secrets};

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
        .max_redirects(0)
        .build()
        .new_agent();
    let url = &arguments.url;
    if !is_certain(url) {
        return Err(Failure::Usage(anyhow!(AMBIGUOUS)));
    }
    let unhealthy = || format!("{} is unhealthy", without_secrets(url));
    let answer = client.get(url).call();
    let answer = answer
        .map_err(|error| anyhow!(client_error(&error)))
        .with_context(unhealthy)?;
    let status = answer.status();
    if !status.is_success() {
        return Err(anyhow!("http status: {}", status.as_u16())
            .context(unhealthy())
            .into());
    }
    Ok(())
}
