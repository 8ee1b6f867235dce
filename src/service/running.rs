//! A running service: its address, and what it says when it refuses.

use std::time::Duration;

use anyhow::anyhow;
use serde_json::Value;
use ureq::config::ConfigBuilder;
use ureq::http::Response;
use ureq::typestate::AgentScope;
use ureq::{Agent, Body, RequestBuilder};
use url::Url;

use crate::Failure;
use unroof_jobs::egress::without_credentials;
use unroof_telemetry::secrets::{AMBIGUOUS, is_certain, without_secrets};

/// Longest answer that is read of a refusal, in bytes.
const MOST_REFUSAL: u64 = 1024 * 1024;
/// The variable with the key that is sent to a service.
const KEY: &str = "UNROOF_KEY";
/// Name of this program in requests.
const USER_AGENT: &str = concat!("unroof/", env!("CARGO_PKG_VERSION"));

/// Address of a running service.
#[derive(Debug)]
pub(crate) struct ServiceUrl {
    /// Address without user name and password.
    pub(crate) url: Url,
    /// Value of `Authorization`: the key in `UNROOF_KEY`, else the user name and password of the address, for a proxy.
    pub(crate) authorization: Option<String>,
}

impl ServiceUrl {
    /// The address that `--server` states.
    ///
    /// # Errors
    /// It is none of http or https.
    pub(crate) fn read(address: &str) -> Result<Self, Failure> {
        let refused = |reason: &str| {
            let hint = "write the address of a running service, such as http://127.0.0.1:8080";
            Failure::Usage(anyhow!("--server: {reason}")).with_hint(hint)
        };
        if !is_certain(address) {
            return Err(refused(AMBIGUOUS));
        }
        let (bare, authorization) = without_credentials(address);
        let url = Url::parse(&bare).ok();
        let url = url.filter(|url| ["http", "https"].contains(&url.scheme()) && url.has_host());
        let url = url.ok_or_else(|| refused("expected an http or https address"))?;
        Ok(Self {
            url,
            authorization: key_in_environment().or(authorization),
        })
    }

    /// A request with the value of `Authorization`.
    pub(crate) fn authorized<Any>(&self, request: RequestBuilder<Any>) -> RequestBuilder<Any> {
        match &self.authorization {
            Some(authorization) => request.header("authorization", authorization),
            None => request,
        }
    }

    /// The address for messages, without secrets.
    pub(crate) fn name(&self) -> String {
        without_secrets(self.url.as_str())
    }
}

/// A client of a service that waits for an answer up to a time.
pub(crate) fn client(config: ConfigBuilder<AgentScope>, longest_wait: Duration) -> Agent {
    let config = config
        .http_status_as_error(false)
        .max_redirects(0)
        .user_agent(USER_AGENT)
        .timeout_recv_response(Some(longest_wait));
    config.build().new_agent()
}

/// Value of `Authorization` with the key in `UNROOF_KEY`; none without it.
pub(crate) fn key_in_environment() -> Option<String> {
    let key = std::env::var(KEY).ok().filter(|key| !key.is_empty());
    key.map(|key| format!("Bearer {}", key.trim()))
}

/// The address of a route below that of a service.
pub(crate) fn route(service: &Url, path: &[&str]) -> Url {
    let mut url = service.clone();
    url.set_query(None);
    url.set_fragment(None);
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.pop_if_empty().extend(path);
    }
    url
}

/// The problem that an answer describes; null if it is none of the service.
pub(crate) fn problem_of(answer: Response<Body>) -> Value {
    let mut body = answer.into_body();
    let text = body.with_config().limit(MOST_REFUSAL).read_to_vec();
    let problem = text
        .ok()
        .and_then(|text| serde_json::from_slice(&text).ok());
    problem.unwrap_or_default()
}
