//! A running service that imports catalogs: found by the address next to its SQLite file, or named by `--server`.

use std::io::{BufRead, BufReader};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use serde_json::Value;
use ureq::Body;
use ureq::http::Response;
use uuid::Uuid;

use super::ImportArguments;
use super::report::Held;
use crate::Failure;
use crate::service::running::{ServiceUrl, client, key_in_environment, problem_of, route};
use unroof_import::{Line, Summary};
use unroof_jobs::egress::client_error;
use unroof_store::{DatabaseUrl, INSTANCE_HEADER, ServiceAddress};

/// Timeout of the health check of a service on this machine.
const LONGEST_CHECK: Duration = Duration::from_secs(3);
/// Timeout from the end of the catalog to the first line, which follows once all entries are read.
const LONGEST_WAIT: Duration = Duration::from_mins(5);
/// Time for which a catalog is sent again to a service that is busy, as it is during another import.
const LONGEST_BUSY: Duration = Duration::from_mins(2);
/// Pause before a catalog is sent again.
const BUSY_PAUSE: Duration = Duration::from_secs(1);

/// A running service that imports.
pub(crate) struct Service {
    service: ServiceUrl,
    client: ureq::Agent,
}

impl Service {
    /// The service at an address. User name and password in it are sent as Basic authorization.
    pub(crate) fn at(address: &str) -> Result<Self, Failure> {
        Ok(Self {
            service: ServiceUrl::read(address)?,
            client: client(ureq::Agent::config_builder(), LONGEST_WAIT),
        })
    }

    /// The service that runs on the file of an embedded database, found by the address next to it.
    ///
    /// # Errors
    /// There is no address, or the service of this file does not answer there.
    pub(crate) fn on(database: &DatabaseUrl) -> anyhow::Result<Self> {
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
        let authorization = key_in_environment();
        Ok(Self {
            service: ServiceUrl { url, authorization },
            client: client(config(), LONGEST_WAIT),
        })
    }

    /// Sends a catalog, again and again while the service is busy.
    ///
    /// # Errors
    /// The service is unreachable, or refuses the catalog.
    pub(super) fn send(
        &self,
        source: &str,
        catalog: &[u8],
        arguments: &ImportArguments,
    ) -> Result<Answer, Failure> {
        let began = Instant::now();
        loop {
            let answer = self.send_once(catalog, arguments)?;
            let status = answer.status();
            if status.is_success() {
                return Ok(Answer {
                    service: self.service.name(),
                    source: source.to_owned(),
                    body: answer.into_body(),
                });
            }
            let problem = problem_of(answer);
            if problem["type"] != "/problems/busy" || began.elapsed() > LONGEST_BUSY {
                let said = words_of(&problem);
                let said =
                    said.unwrap_or_else(|| format!("{} answered {status}", self.service.name()));
                return Err(Failure::Other(anyhow!("{source}: {said}")));
            }
            tracing::debug!(
                server = self.service.name(),
                "the service is busy; the catalog is sent again"
            );
            std::thread::sleep(BUSY_PAUSE);
        }
    }

    /// Asks the service to accept, discard or undo an import. A held import that is accepted answers with its lines.
    ///
    /// # Errors
    /// The service is unreachable, or refuses it.
    pub(crate) fn act(&self, id: Uuid, action: &str) -> Result<Answer, Failure> {
        let url = route(&self.service.url, &["imports", &id.to_string(), action]);
        let answer = self
            .service
            .authorized(self.client.post(url.as_str()))
            .header("accept", "application/x-ndjson, application/problem+json")
            .send_empty()
            .map_err(|error| anyhow!(client_error(&error)))
            .with_context(|| format!("{} does not answer", self.service.name()))?;
        let status = answer.status();
        if status.is_success() {
            return Ok(Answer {
                service: self.service.name(),
                source: format!("import {id}"),
                body: answer.into_body(),
            });
        }
        let said = words_of(&problem_of(answer));
        let said = said.unwrap_or_else(|| format!("{} answered {status}", self.service.name()));
        Err(Failure::Other(anyhow!(said)))
    }

    fn send_once(
        &self,
        catalog: &[u8],
        arguments: &ImportArguments,
    ) -> anyhow::Result<Response<Body>> {
        let mut url = route(&self.service.url, &["catalogs"]);
        url.query_pairs_mut().extend_pairs(query(arguments));
        self.service
            .authorized(self.client.post(url.as_str()))
            .header("content-type", "application/json")
            .header("accept", "application/x-ndjson, application/problem+json")
            .send(catalog)
            .map_err(|error| anyhow!(client_error(&error)))
            .with_context(|| format!("the catalog could not be sent to {}", self.service.name()))
    }
}

/// The answer of a service that has taken a catalog: the lines of the import.
pub(crate) struct Answer {
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
    pub(crate) fn read(
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
                line @ Line::Held { .. } => {
                    let held = Held::of(&line).map(|held| held.failure(&source));
                    return Err(held.unwrap_or_else(|| Failure::Other(anyhow!(unfinished()))));
                }
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

/// The options of an import, as `POST /catalogs` takes them.
fn query(arguments: &ImportArguments) -> impl Iterator<Item = (&'static str, String)> {
    let if_set = |is_set: bool| is_set.then(|| "true".to_owned());
    let options = [
        (
            "format",
            arguments.format.map(|format| format.name().to_owned()),
        ),
        ("provider", arguments.provider.clone()),
        (
            "observed_at",
            arguments.observed_at.map(|time| time.to_string()),
        ),
        ("only_changed", if_set(arguments.only_changed)),
        ("dry_run", if_set(arguments.dry_run)),
        ("partial", if_set(arguments.partial)),
    ];
    let options = options.into_iter();
    options.filter_map(|(name, value)| Some((name, value?)))
}
