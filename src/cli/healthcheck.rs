//! `unroof healthcheck`: for images that hold nothing else to ask with.

use std::time::Duration;

use anyhow::{Context, anyhow};
use clap::Args;

use super::Failure;
use crate::import::{client_error, without_secrets};
use crate::secrets::{AMBIGUOUS, is_certain};

/// Arguments of `unroof healthcheck`.
#[derive(Debug, Args)]
pub(super) struct HealthcheckArguments {
    /// What is asked; `/readyz` instead says whether the database answers too
    #[arg(long, default_value = "http://127.0.0.1:8080/healthz")]
    url: String,
}

/// Longer than it takes a service that is well, shorter than whoever runs this waits.
const LONGEST_WAIT: Duration = Duration::from_secs(3);

pub(super) fn run(arguments: &HealthcheckArguments) -> Result<(), Failure> {
    let client = ureq::Agent::config_builder()
        .timeout_global(Some(LONGEST_WAIT))
        // The service is asked itself, whatever proxy the environment names for others.
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
        .with_context(|| format!("{} does not answer well", without_secrets(url)))?;
    Ok(())
}
