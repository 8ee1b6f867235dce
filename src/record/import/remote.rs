//! A running service that imports catalogs: found by the address next to its SQLite file, or named by `--server`.

use std::io::{BufRead, BufReader};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use jiff::Timestamp;
use serde_json::Value;
use ureq::Body;
use ureq::http::Response;
use url::Url;

use crate::Failure;
use crate::service::running::{ServiceUrl, USER_AGENT, key_in_environment, problem_of, route};
use unroof_store::import::{CatalogFormat, Line, Summary, client_error, without_secrets};
use unroof_store::{DatabaseUrl, INSTANCE_HEADER, ServiceAddress};

/// Timeout of the health check of a service on this machine.
const LONGEST_CHECK: Duration = Duration::from_secs(3);
/// Timeout from the end of the catalog to the first line, which follows once all entries are read.
const LONGEST_WAIT: Duration = Duration::from_mins(5);
/// Time for which a catalog is sent again to a service that is busy, as it is during another import.
const LONGEST_BUSY: Duration = Duration::from_mins(2);
/// Pause before a catalog is sent again.
const BUSY_PAUSE: Duration = Duration::from_secs(1);

/// Options of an import, as `POST /catalogs` takes them.
pub(super) struct Query<'a> {
    pub(super) format: Option<CatalogFormat>,
    pub(super) provider: Option<&'a str>,
    pub(super) only_changed: bool,
    pub(super) dry_run: bool,
    pub(super) observed_at: Option<Timestamp>,
}

/// A running service that imports.
pub(super) struct Service {
    /// Address for messages, without secrets.
    name: String,
    catalogs: Url,
    authorization: Option<String>,
    client: ureq::Agent,
}

impl Service {
    /// The service at an address. User name and password in it are sent as Basic authorization.
    pub(super) fn at(address: &str) -> Result<Self, Failure> {
        let ServiceUrl { url, authorization } = ServiceUrl::read(address)?;
        let client = ureq::Agent::config_builder();
        Ok(Self::new(&url, authorization, client))
    }

    /// The service that runs on the file of an embedded database, found by the address next to it.
    ///
    /// # Errors
    /// There is no address, or the service of this file does not answer there.
    pub(super) fn on(database: &DatabaseUrl) -> anyhow::Result<Self> {
        let read = ServiceAddress::read(database)?;
        let ServiceAddress { url, instance } =
            read.context("it has written no address of this machine next to the file")?;
        // The service is on this machine: the proxy variables of the environment are ignored.
        let config = || ureq::Agent::config_builder().proxy(None);
        let checking = config()
            .timeout_global(Some(LONGEST_CHECK))
            .max_redirects(0);
        let health = url.join("healthz")?;
        let answer = checking.build().new_agent().get(health.as_str()).call();
        let answer = answer
            .map_err(|error| anyhow!(client_error(&error)))
            .with_context(|| format!("the address next to the file, {url}, does not answer"))?;
        let stated = answer.headers().get(INSTANCE_HEADER);
        if stated.is_none_or(|stated| stated.as_bytes() != instance.to_string().as_bytes()) {
            return Err(anyhow!(
                "the address next to the file, {url}, is that of another process"
            ));
        }
        Ok(Self::new(&url, key_in_environment(), config()))
    }

    fn new(
        url: &Url,
        authorization: Option<String>,
        config: ureq::config::ConfigBuilder<ureq::typestate::AgentScope>,
    ) -> Self {
        let name = without_secrets(url.as_str());
        let url = route(url, &["catalogs"]);
        let client = config
            .http_status_as_error(false)
            .max_redirects(0)
            .user_agent(USER_AGENT)
            .timeout_recv_response(Some(LONGEST_WAIT))
            .build();
        Self {
            name,
            catalogs: url,
            authorization,
            client: client.new_agent(),
        }
    }

    /// Sends a catalog, again and again while the service is busy.
    ///
    /// # Errors
    /// The service is unreachable, or refuses the catalog.
    pub(super) fn send(
        &self,
        source: &str,
        catalog: &[u8],
        query: &Query,
    ) -> Result<Answer, Failure> {
        let began = Instant::now();
        loop {
            let answer = self.send_once(catalog, query)?;
            let status = answer.status();
            if status.is_success() {
                return Ok(Answer {
                    service: self.name.clone(),
                    source: source.to_owned(),
                    body: answer.into_body(),
                });
            }
            let problem = problem_of(answer);
            if problem["type"] != "/problems/busy" || began.elapsed() > LONGEST_BUSY {
                let said = words_of(&problem);
                let said = said.unwrap_or_else(|| format!("{} answered {status}", self.name));
                return Err(Failure::Other(anyhow!("{source}: {said}")));
            }
            tracing::debug!(
                server = self.name,
                "the service is busy; the catalog is sent again"
            );
            std::thread::sleep(BUSY_PAUSE);
        }
    }

    fn send_once(&self, catalog: &[u8], query: &Query) -> anyhow::Result<Response<Body>> {
        let mut request = self
            .client
            .post(query.address(&self.catalogs).as_str())
            .header("content-type", "application/json")
            .header("accept", "application/x-ndjson, application/problem+json");
        if let Some(authorization) = &self.authorization {
            request = request.header("authorization", authorization);
        }
        request
            .send(catalog)
            .map_err(|error| anyhow!(client_error(&error)))
            .with_context(|| format!("the catalog could not be sent to {}", self.name))
    }
}

/// The answer of a service that has taken a catalog: the lines of the import.
pub(super) struct Answer {
    /// Address of the service for messages.
    service: String,
    /// Name of the catalog.
    source: String,
    body: Body,
}

impl Answer {
    /// Passes on the lines while they arrive.
    ///
    /// # Errors
    /// The import fails, the answer ends early, or a line is not taken.
    pub(super) fn read(
        self,
        mut take: impl FnMut(Line) -> Result<(), Failure>,
    ) -> Result<Summary, Failure> {
        let Self {
            service,
            source,
            body,
        } = self;
        let unfinished = || format!("{source} was not fully imported; run it again to continue");
        for line in BufReader::new(body.into_reader()).lines() {
            let line = line.with_context(unfinished)?;
            let line: Line = serde_json::from_str(&line).with_context(|| {
                format!("{service} sent a line that this version does not read")
            })?;
            take(line.clone())?;
            match line {
                Line::Done(summary) => return Ok(summary),
                Line::Failed { reason } => {
                    return Err(Failure::Other(anyhow!(reason).context(unfinished())));
                }
                _ => {}
            }
        }
        let ended = anyhow!("{service} ended its answer without a result");
        Err(Failure::Other(ended.context(unfinished())))
    }
}

/// The detail of a problem and its hint.
fn words_of(problem: &Value) -> Option<String> {
    let detail = problem["detail"].as_str()?;
    let hint = problem["hint"].as_str();
    Some(hint.map_or_else(|| detail.to_owned(), |hint| format!("{detail}; {hint}")))
}

impl Query<'_> {
    fn address(&self, catalogs: &Url) -> Url {
        let mut url = catalogs.clone();
        let mut pairs = url.query_pairs_mut();
        if let Some(format) = self.format {
            pairs.append_pair("format", format.name());
        }
        if let Some(provider) = self.provider {
            pairs.append_pair("provider", provider);
        }
        if let Some(observed_at) = self.observed_at {
            pairs.append_pair("observed_at", &observed_at.to_string());
        }
        for (name, is_set) in [
            ("only_changed", self.only_changed),
            ("dry_run", self.dry_run),
        ] {
            if is_set {
                pairs.append_pair(name, "true");
            }
        }
        drop(pairs);
        url
    }
}
