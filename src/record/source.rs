//! The source of stored answers: the database of this machine, or a running service. Both answer by the same routes.

use std::io;
use std::time::Duration;

use anyhow::{Context, anyhow};
use clap::Args;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::runtime::Runtime;
use ureq::http::HeaderMap;
use url::Url;

use crate::service::running::{ServiceUrl, client, problem_of, route};
use crate::shell::terminal::{self, Output};
pub(crate) use crate::{DatabaseArguments, Failure, Verbosity};
use unroof_edge::Limits;
use unroof_jobs::egress::client_error;
use unroof_server::{App, ask};
use unroof_store::clock::Clock;
use unroof_store::{DatabaseUrl, Store, StoreError, StoreLimits};

/// Longest wait for an answer.
const LONGEST_WAIT: Duration = Duration::from_mins(1);
/// Longest answer of a service, in bytes.
const MOST_ANSWER: u64 = 256 * 1024 * 1024;
/// Placeholder for the address of this process.
const THIS_PROCESS: &str = "http://localhost";

/// Options of commands that read what is stored.
#[derive(Debug, Args)]
pub(crate) struct SourceArguments {
    /// Ask this running service instead of reading the database
    #[arg(
        long,
        env = "UNROOF_SERVER",
        hide_env_values = true,
        value_name = "URL"
    )]
    pub(super) server: Option<String>,
    #[command(flatten)]
    pub(super) database: DatabaseArguments,
}

impl SourceArguments {
    /// Whether a place is named, so that its absence is a mistake.
    pub(crate) fn is_stated(&self) -> bool {
        self.server.is_some() || self.database.database_url.is_some()
    }

    /// Opens the database to read from it, or finds the service.
    ///
    /// # Errors
    /// There is no such database, or the address is invalid.
    pub(crate) fn open(&self, verbosity: Verbosity) -> Result<Source, Failure> {
        self.database.start_logging(verbosity.of_reader())?;
        match self.server.as_deref().filter(|address| !address.is_empty()) {
            Some(address) => Ok(Source::Service(Remote::at(address)?)),
            None => Source::of_database(&self.database.database_url()?),
        }
    }
}

/// A place with stored answers.
pub(crate) enum Source {
    /// A running service that is asked.
    Service(Remote),
    /// A database, with the routes that answer from it.
    Database(Box<Local>),
}

/// The routes of this process.
pub(crate) struct Local {
    runtime: Runtime,
    app: App,
}

/// A running service that is asked over HTTP.
pub(crate) struct Remote {
    service: ServiceUrl,
    client: ureq::Agent,
}

/// An answer as it is sent.
#[derive(Debug)]
pub(crate) struct Document {
    /// Text of the document, JSON.
    pub(crate) text: String,
    /// Value of the header `Link`.
    pub(crate) link: Option<String>,
}

impl Document {
    /// Content of the document.
    ///
    /// # Errors
    /// It is of another version of the service.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        let read = serde_json::from_str(&self.text);
        Ok(read.context("the answer is not one that this version reads")?)
    }

    /// Prints the document as it is, or as it is written for a person.
    ///
    /// # Errors
    /// It is of another version of the service, or the output fails.
    pub(crate) fn print<T: DeserializeOwned>(
        &self,
        is_json: bool,
        write: impl FnOnce(&mut Output, &T) -> io::Result<()>,
    ) -> Result<(), Failure> {
        if is_json {
            return crate::print_line(&self.text);
        }
        Ok(write(&mut terminal::stdout(), &self.read()?)?)
    }
}

/// A page of a list.
#[derive(Debug, Deserialize)]
pub(crate) struct Page<Row> {
    pub(crate) data: Vec<Row>,
    /// Position of the next page; none of the last one.
    pub(crate) next_cursor: Option<String>,
}

/// The parameters of a query that have a value.
pub(crate) fn stated<'a, const COUNT: usize>(
    parameters: [(&'a str, Option<&'a str>); COUNT],
) -> Vec<(&'a str, &'a str)> {
    let stated = parameters.into_iter();
    let stated = stated.filter_map(|(name, value)| Some((name, value?)));
    stated.collect()
}

impl Source {
    fn of_database(url: &DatabaseUrl) -> Result<Self, Failure> {
        let runtime = Runtime::new().context("cannot start the runtime")?;
        let opened = Store::open_to_read(url, StoreLimits::without_timeouts());
        let store = runtime
            .block_on(opened)
            .map_err(|error| not_opened(url, error))?;
        let limits = Limits {
            computing: 1,
            answer_time: LONGEST_WAIT,
            // A person who waits knows that it is slow.
            slow_answer: Duration::ZERO,
            ..Limits::default()
        };
        let app = App::new(store, Clock::system(), limits);
        Ok(Self::Database(Box::new(Local { runtime, app })))
    }

    /// The answer of a route; none where it says that there is no such thing.
    ///
    /// # Errors
    /// The service or the database does not answer, or refuses the question.
    pub(crate) fn find(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<Option<Document>, Failure> {
        match self {
            Self::Service(remote) => remote.find(path, query),
            Self::Database(local) => local.find(path, query),
        }
    }

    /// The answer of a route that always has one.
    ///
    /// # Errors
    /// The same, or it has none.
    pub(crate) fn get(&self, path: &[&str], query: &[(&str, &str)]) -> Result<Document, Failure> {
        let found = self.find(path, query)?;
        let missing = || anyhow!("`/{}` is not a route of this service", path.join("/"));
        Ok(found.ok_or_else(missing)?)
    }
}

fn address(base: &Url, path: &[&str], query: &[(&str, &str)]) -> Url {
    let mut url = route(base, path);
    if !query.is_empty() {
        url.query_pairs_mut().extend_pairs(query);
    }
    url
}

impl Local {
    fn find(&self, path: &[&str], query: &[(&str, &str)]) -> Result<Option<Document>, Failure> {
        let base = Url::parse(THIS_PROCESS).context("the address of this process is wrong")?;
        let url = address(&base, path, query);
        let asked = match url.query() {
            Some(query) => format!("{}?{query}", url.path()),
            None => url.path().to_owned(),
        };
        let answer = self.runtime.block_on(ask(self.app.clone(), &asked))?;
        let (head, body) = answer.into_parts();
        let text = String::from_utf8(body.into()).context("the answer is not UTF-8")?;
        let link = link_of(&head.headers);
        let document = Document { text, link };
        match head.status.as_u16() {
            200 => Ok(Some(document)),
            404 => Ok(None),
            status => {
                let problem = serde_json::from_str(&document.text).unwrap_or_default();
                Err(refused(&problem, "the database", status))
            }
        }
    }
}

impl Remote {
    fn at(address: &str) -> Result<Self, Failure> {
        Ok(Self {
            service: ServiceUrl::read(address)?,
            client: client(ureq::Agent::config_builder(), LONGEST_WAIT),
        })
    }

    fn find(&self, path: &[&str], query: &[(&str, &str)]) -> Result<Option<Document>, Failure> {
        let name = self.service.name();
        let url = address(&self.service.url, path, query);
        let request = self.service.authorized(self.client.get(url.as_str()));
        let request = request.header("accept", "application/json, application/problem+json");
        let answer = request.call().map_err(|error| {
            let error = anyhow!(client_error(&error)).context(format!("{name} does not answer"));
            Failure::Other(error).with_hint(
                "start it with `unroof serve`, or leave --server out to read the database of this machine",
            )
        })?;
        let status = answer.status().as_u16();
        let link = link_of(answer.headers());
        if status == 200 {
            let mut body = answer.into_body();
            let text = body.with_config().limit(MOST_ANSWER).read_to_string();
            let text = text.with_context(|| format!("the answer of {name} broke off"))?;
            return Ok(Some(Document { text, link }));
        }
        let problem = problem_of(answer);
        match problem["type"].as_str() {
            Some("/problems/not-found") => Ok(None),
            _ => Err(refused(&problem, &name, status)),
        }
    }
}

/// Value of the header `Link`.
fn link_of(headers: &HeaderMap) -> Option<String> {
    Some(headers.get("link")?.to_str().ok()?.to_owned())
}

/// The refusal of a question.
fn refused(problem: &Value, name: &str, status: u16) -> Failure {
    let Some(detail) = problem["detail"].as_str() else {
        let error = anyhow!("{name} answered {status}, and not as unroof does");
        return Failure::Other(error).with_hint("is this the address of `unroof serve`?");
    };
    let error = anyhow!(detail.to_owned());
    let failure = match status {
        400 | 422 => Failure::Usage(error),
        _ => Failure::Other(error),
    };
    match problem["hint"].as_str() {
        Some(hint) => failure.with_hint(hint),
        None => failure,
    }
}

/// The reason that a database cannot be read, and what to do about it.
fn not_opened(url: &DatabaseUrl, error: StoreError) -> Failure {
    let hint = match &error {
        StoreError::NoDatabase(_) => {
            "import a catalog first, such as `unroof import https://models.dev/api.json`; or name a database with \
             --database-url, or a running service with --server"
        }
        StoreError::OlderTables => "bring them up to date with `unroof migrate`",
        StoreError::OtherTables(_) => "use the program that wrote them",
        _ => "name another database with --database-url, or a running service with --server",
    };
    let failure = match error {
        error @ StoreError::NoDatabase(_) => Failure::Other(error.into()),
        error => Failure::Other(
            anyhow::Error::new(error).context(format!("cannot read the database {url}")),
        ),
    };
    failure.with_hint(hint)
}
