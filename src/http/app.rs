//! Shared state of the handlers: the store, its version, a cache of answers, the clock.

use std::ops::Deref;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Response};
use jiff::Timestamp;
use moka::future::Cache;
use tokio::sync::{Mutex, Semaphore};
use uuid::Uuid;

use super::Limits;
use super::budget::{Budget, Text};
use super::density::document::EstimateDensity;
use super::known_answers::KnownAnswers;
use super::known_keys::Keys;
use super::market::Markets;
use super::meters::Meters;
use super::metrics::Metrics;
use super::model_link::ModelLink;
use super::observation::Observation;
use super::places::Places;
use super::problem::{INTERNAL, Problem};
use super::queue::Turn;
use super::quota::Quotas;
use super::refusals::Refusals;
use super::response_cache::{BodyCache, CachedBody, prefers_csv};
use super::workers::Workers;
use crate::access::{Access, Client};
use crate::clock::Clock;
use crate::import::Priority::{Long, Normal};
use crate::jobs::egress::Names;
use crate::jobs::{JobSettings, Jobs};
use crate::storage::{DbTime, Document, NewEstimate, Saved, SightedBy, Store, StoreError};
use crate::telemetry::{Telemetry, compute_span};
use unroof_core::estimate::{Answer, CancelToken, Estimator, Format, Request, read_request};
use unroof_core::sheet::PriceSheet;

/// Shared state of the handlers. A request passes several layers that each hold it, so that copying it is one count.
#[derive(Debug, Clone)]
pub struct App(Arc<Shared>);

/// State of all handlers.
#[derive(Debug, Clone)]
pub struct Shared {
    /// Random id of this process, by which a client recognises it.
    pub(super) instance: Uuid,
    pub(super) store: Store,
    pub(super) limits: Arc<Limits>,
    /// Access that the settings allow.
    pub(super) access: Arc<Access>,
    pub(super) keys: Arc<Keys>,
    pub(super) metrics: Arc<Metrics>,
    /// Receiver of traces.
    pub(super) telemetry: Option<Telemetry>,
    /// Start of the process.
    pub(super) started_at: Timestamp,
    pub(super) meters: Arc<Meters>,
    pub(super) bodies: BodyCache,
    pub(super) known_answers: KnownAnswers,
    /// All models at once, for the pages.
    pub(super) markets: Markets,
    /// Densities of estimates by their ids; they never change.
    pub(super) densities: Cache<Uuid, Arc<EstimateDensity>>,
    /// Permits for connections.
    pub(super) connections: Arc<Semaphore>,
    /// The state that requests share with the jobs.
    pub(super) jobs: Jobs,
    /// Looks up the names of new webhooks.
    pub(super) names: Names,
    asked: Arc<Mutex<VersionProbe>>,
    /// Time of the last check that the store takes writes.
    wrote_at: Arc<Mutex<Option<Instant>>>,
    /// Memory budget of bodies and responses.
    pub(super) budget: Budget,
    /// Computes answers.
    pub(super) computing: Arc<Workers>,
    /// Workers that serialise lists and documents.
    pub(super) writing: Arc<Workers>,
    /// Workers that serialise long pages.
    pub(super) long_pages: Arc<Workers>,
    pub(super) refusals: Arc<Refusals>,
    /// Budgets of clients; none where clients are not limited.
    pub(super) quotas: Option<Arc<Quotas>>,
    /// Refusals of clients beyond their budgets.
    pub(super) limited: Arc<Refusals>,
    /// Permits for clients that read the lines of an import.
    pub(super) line_readers: Arc<Semaphore>,
    /// Streams of each client; none where clients are not limited.
    pub(super) stream_places: Option<Places<Client>>,
}

impl Deref for App {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

/// Times of the last queries for the store's version: the last that succeeded, and the last if it failed.
#[derive(Debug, Default)]
struct VersionProbe {
    checked_at: Option<Instant>,
    failed_at: Option<Instant>,
}

impl VersionProbe {
    async fn ask(&mut self, app: &App) -> Result<(), StoreError> {
        let asked_at = Instant::now();
        if let Err(error) = app.store.version().await {
            app.jobs.feed.mark_stale();
            // The requests that waited for the lock must not each wait for the database in turn.
            self.failed_at = Some(Instant::now());
            return Err(error);
        }
        self.checked_at = Some(asked_at);
        self.failed_at = None;
        Ok(())
    }
}

/// Time for which a queried version counts as current: at most four queries a second for any number of clients.
const VERSION_FRESH_FOR: Duration = Duration::from_millis(250);
/// Time for which a write made for `/readyz` shows that the store takes writes.
const WRITE_FRESH_FOR: Duration = Duration::from_secs(1);
/// Longest duration of a failed query after which `/readyz` asks the database a second time.
const SHORT_FAILURE: Duration = Duration::from_secs(2);

/// Lists and documents that are written at the same time.
const WRITTEN_AT_ONCE: usize = 8;
/// Pages of many rows that are written at the same time. Each keeps a process of the database busy until it is done.
const LONG_AT_ONCE: usize = 1;
/// Clients that read the lines of an import at the same time: the one whose import runs, and those that read slowly.
const MAX_LINE_READERS: usize = 4;
/// The part of all change streams that one client may have: a quarter.
const STREAM_SHARES: usize = 4;
/// Densities in memory, of about 100 kB each.
const DENSITIES_KEPT: u64 = 64;
/// Part of the response cache that is for answers to sheets that are sent again.
const KNOWN_SHARE: u64 = 8;
/// Limit of concurrent DNS lookups for new webhooks.
const NAMES_AT_ONCE: usize = 8;

/// An answer, and the text that is sent for it.
pub(crate) struct Answered {
    pub(crate) answer: Answer,
    document: Text,
    request: Request,
}

impl Answered {
    /// Whether anything was stated about the machine, so that the request is a question.
    pub(super) fn has_assumptions(&self) -> bool {
        !self.answer.assumptions.is_empty()
    }

    /// The sheets of the request.
    pub(super) fn sheets(&self) -> &[PriceSheet] {
        &self.request.sheets
    }

    /// The response body, with the effect of a request that is stored, counted in the memory budget until it is sent.
    /// So is the link to the estimate of the model.
    pub(super) fn into_document(
        mut self,
        observe: Option<&Observation>,
        model: Option<&ModelLink>,
    ) -> Result<Bytes, Problem> {
        if let Some(observe) = observe {
            self.document.add_member("observe", observe)?;
        }
        if let Some(model) = model {
            self.document.add_member("model_estimate", model)?;
        }
        self.document.finish()
    }
}

impl App {
    /// An application on a store. While its tables are not up to date, what needs them is unavailable.
    #[must_use]
    pub fn new(store: Store, clock: Clock, limits: Limits) -> Self {
        let limits = limits.within_budget();
        let (threads, waiting) = (limits.computing, limits.waiting);
        let half = threads.div_ceil(2);
        let settings = JobSettings {
            streams: limits.streams,
            webhook_allow_private: limits.webhook_allow_private,
            skip_models: limits.skip_models,
            webhook_rest: limits.webhook_rest,
            webhook_gathering: limits.webhook_gathering,
            threads,
            check_every: limits.check_every,
        };
        let started_at = clock.now();
        let jobs = Jobs::new(store.clone(), clock, settings);
        let workers = |name, priority, threads, at_once| {
            Arc::new(Workers::new(name, priority, threads, at_once, waiting))
        };
        Self(Arc::new(Shared {
            instance: Uuid::new_v4(),
            store,
            access: Arc::default(),
            keys: Arc::default(),
            metrics: Arc::new(Metrics::new()),
            telemetry: None,
            started_at,
            meters: Arc::default(),
            bodies: BodyCache::new(limits.cache_bytes - limits.cache_bytes / KNOWN_SHARE),
            known_answers: KnownAnswers::new(limits.cache_bytes / KNOWN_SHARE),
            markets: Markets::default(),
            densities: Cache::new(DENSITIES_KEPT),
            connections: Arc::new(Semaphore::new(limits.connections)),
            jobs,
            names: Names::new(NAMES_AT_ONCE),
            asked: Arc::default(),
            wrote_at: Arc::default(),
            budget: Budget::new(limits.bytes_in_flight, limits.cache_bytes),
            // What answers at once goes before what computes.
            computing: workers("computing", Long, threads, threads),
            writing: workers("writing", Normal, half, WRITTEN_AT_ONCE),
            long_pages: workers("pages", Long, half, LONG_AT_ONCE),
            refusals: Arc::new(Refusals::counting("busy: refusing requests")),
            quotas: limits.client.map(|limits| Arc::new(Quotas::new(limits))),
            limited: Arc::new(Refusals::counting("refusing clients beyond their limits")),
            line_readers: Arc::new(Semaphore::new(MAX_LINE_READERS)),
            stream_places: limits
                .client
                .map(|_| Places::new((limits.streams / STREAM_SHARES).max(1))),
            limits: Arc::new(limits),
        }))
    }

    /// The same with something else, before requests share it.
    fn with(mut self, change: impl FnOnce(&mut Shared)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }

    /// The same with another calibration.
    #[must_use]
    pub fn estimating_with(self, estimator: Estimator) -> Self {
        self.with(|shared| shared.jobs.estimator = estimator)
    }

    /// The same with another rule for access; every caller may do everything without one.
    #[must_use]
    pub fn allowing(self, access: Access) -> Self {
        self.with(|shared| shared.access = Arc::new(access))
    }

    /// The same with a receiver of traces, which know the process by this id.
    #[must_use]
    pub fn reporting_to(self, telemetry: Option<Telemetry>, instance: Uuid) -> Self {
        self.with(|shared| {
            shared.instance = instance;
            shared.telemetry = telemetry;
        })
    }

    /// Random id of this process, which `/healthz` states.
    #[must_use]
    pub fn instance(&self) -> Uuid {
        self.instance
    }

    /// The state that requests share with the jobs.
    #[must_use]
    pub fn jobs(&self) -> &Jobs {
        &self.jobs
    }

    /// The time.
    pub(crate) fn now(&self) -> Timestamp {
        self.jobs.clock.now()
    }

    /// The store's version: known without a query while change notifications arrive, else at most a quarter of a second
    /// old. Never older than this process's own last write.
    pub(super) async fn version(&self) -> Result<i64, StoreError> {
        if !self.jobs.feed.is_current() {
            self.ask_for_version(VERSION_FRESH_FOR).await?;
        }
        Ok(self.store.newest())
    }

    /// The store's version by a query that begins after this call; calls at the same time share one.
    pub(super) async fn version_from_now(&self) -> Result<i64, StoreError> {
        self.ask_for_version(Duration::ZERO).await?;
        Ok(self.store.newest())
    }

    /// Checks that the database answered within this time, else queries it.
    async fn ask_for_version(&self, fresh_for: Duration) -> Result<(), StoreError> {
        // The lock is held across the query, so that the requests that wait for it share the result.
        let came_at = Instant::now();
        let mut asked = self.asked.lock().await;
        // However slow the database is: a query that began after this request arrived is recent enough.
        let is_recent =
            |at: Option<Instant>| at.is_some_and(|at| at >= came_at || at.elapsed() < fresh_for);
        if is_recent(asked.failed_at) {
            return Err(StoreError::Away);
        }
        if is_recent(asked.checked_at) {
            return Ok(());
        }
        asked.ask(self).await
    }

    /// Computes off the async threads, a few tasks at a time; a few more wait, and beyond those the service is busy. A client
    /// that disconnects while it waits loses its place, and a computation for it stops unfinished.
    pub(super) async fn compute<T: Send + 'static>(
        &self,
        work: impl FnOnce(&CancelToken) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let place = self.computing.admit().await?;
        let (wanted, _waiting) = CancelToken::while_waiting();
        let span = compute_span();
        let work = move || {
            let _until_done = place;
            span.in_scope(|| work(&wanted))
        };
        self.computing.run(work).await?
    }

    /// Reads and answers a price sheet.
    pub(crate) async fn answer(&self, body: Bytes, format: Format) -> Result<Answered, Problem> {
        let (budget, estimator) = (self.budget.clone(), self.jobs.estimator.clone());
        self.compute(move |wanted| {
            let request = read_request(&body, &format)?;
            drop(body);
            let answer = estimator
                .infer(&request, wanted)
                .map_err(|unwanted| Problem::new(INTERNAL, unwanted.to_string()))?;
            let mut document = Text::new(&budget)?;
            document.write_with(|text| serde_json::to_writer(text, &answer))?;
            Ok(Answered {
                answer,
                document,
                request,
            })
        })
        .await
    }

    /// Stores an answer, with the time at which its prices were seen if that is stated, and returns that time too. It is
    /// committed on return.
    pub(crate) async fn save(
        &self,
        answered: &Answered,
        seen_at: Option<Timestamp>,
        sighted_by: Option<SightedBy>,
    ) -> Result<(Saved, Timestamp), Problem> {
        let document =
            std::str::from_utf8(answered.document.bytes()).map_err(Problem::not_serialised)?;
        // Asked once: both times are those of one moment.
        let asked_at = self.now();
        let now = self.store.not_ahead(asked_at);
        let new = NewEstimate {
            answer: &answered.answer,
            document,
            sheets: &answered.request.sheets,
            observed_at: seen_at.map_or(now, |seen_at| self.store.not_ahead(seen_at)),
            recorded_at: now,
            sighted_by,
            waits_for_others: self.computing.has_long_queue(),
        };
        Ok((self.store.save(new).await?, seen_at.unwrap_or(asked_at)))
    }

    /// Waits for a turn to read from the database and to write the answer.
    ///
    /// # Errors
    /// The queue is full, or another request has meanwhile waited for a connection in vain.
    pub(super) async fn turn_to_write(&self) -> Result<Turn, Problem> {
        self.turn_of(&self.writing).await
    }

    /// The same on other workers. The requests that wait here fail together, where each would wait for a connection in turn.
    ///
    /// # Errors
    /// As for [`Self::turn_to_write`].
    pub(super) async fn turn_of(&self, workers: &Workers) -> Result<Turn, Problem> {
        let came_at = Instant::now();
        let turn = workers.admit().await?;
        if self.store.has_lacked_connection_since(came_at) {
            return Err(StoreError::Away.into());
        }
        Ok(turn)
    }

    /// A list or document for clients that poll: while nothing is written, the only query is for the version. While the
    /// database is unreachable, the last known body. The question is the cache key: equal requests have the same one.
    pub(super) async fn polled(
        &self,
        question: String,
        headers: &HeaderMap,
        body: impl AsyncFnOnce() -> Result<CachedBody, Problem>,
    ) -> Result<Response<Body>, Problem> {
        let form = if prefers_csv(headers) { "csv" } else { "json" };
        let mut key = (0, format!("{form} {question}"));
        let answer = async {
            // Queried before the list is read: a body is then never older than the version that it is cached under.
            key.0 = self.version().await?;
            self.bodies
                .get(&key, async { Box::pin(body()).await })
                .await
        };
        match answer.await {
            Ok(body) => Ok(body.respond(headers)),
            Err(problem) if problem.is_unavailable() => {
                self.jobs.feed.mark_stale();
                let last = self.bodies.last(&key.1).await.ok_or(problem)?;
                Ok(last.respond_stale(headers))
            }
            Err(problem) => Err(problem),
        }
    }

    /// A single document for clients that poll.
    pub(super) async fn polled_document(
        &self,
        what: &str,
        id: Uuid,
        as_of: Option<DbTime>,
        headers: &HeaderMap,
        document: impl AsyncFnOnce() -> Result<Option<Document>, StoreError>,
    ) -> Result<Response<Body>, Problem> {
        let body = async || {
            let _place = self.turn_to_write().await?;
            let document = document().await?.ok_or_else(|| Problem::not_found(what))?;
            let held = self.budget.take(document.text.len())?;
            let text = held.keep(document.text);
            Ok(CachedBody::of_stored(text, &document.checksum))
        };
        let question = format!("{what} {id} {as_of:?}");
        self.polled(question, headers, body).await
    }

    /// Readiness: the database answers and takes writes, and no stop was requested. A single failure may be that of one
    /// connection: only a second consecutive one counts.
    pub(super) async fn is_ready(&self) -> Result<(), Problem> {
        self.check_running()?;
        let came_at = Instant::now();
        if let Err(error) = self.ask_for_version(VERSION_FRESH_FOR).await {
            // A service that was not ready yet has nothing to lose by one failure.
            let was_ready = self.asked.lock().await.checked_at.is_some();
            if !was_ready || came_at.elapsed() > SHORT_FAILURE {
                return Err(error.into());
            }
            self.ask_again(came_at).await?;
        }
        self.check_running()?;
        Ok(self.ask_to_write().await?)
    }

    /// Queries the version a second time, in one query for all requests whose first query failed.
    async fn ask_again(&self, came_at: Instant) -> Result<(), StoreError> {
        let asked_again_at = Instant::now();
        let mut asked = self.asked.lock().await;
        if asked.checked_at.is_some_and(|at| at >= came_at) {
            return Ok(());
        }
        if asked.failed_at.is_some_and(|at| at >= asked_again_at) {
            return Err(StoreError::Away);
        }
        asked.ask(self).await
    }

    /// Makes sure that the store took a write within the last second, and that none failed since.
    async fn ask_to_write(&self) -> Result<(), StoreError> {
        // Not the lock of the version: this may wait for another writer.
        let mut wrote_at = self.wrote_at.lock().await;
        if wrote_at.is_some_and(|at| at.elapsed() < WRITE_FRESH_FOR) {
            return self.store.require_writable();
        }
        let asked_at = Instant::now();
        match self.store.probe_writing().await {
            Err(error) if error.refusal().is_some() => Err(error),
            // A lock that was not free in time says nothing of the writes that follow.
            _ => {
                *wrote_at = Some(asked_at);
                Ok(())
            }
        }
    }

    /// Whether no stop was requested.
    pub(super) fn check_running(&self) -> Result<(), Problem> {
        if self.jobs.stopping.is_cancelled() {
            return Err(Problem::busy("the service is stopping"));
        }
        Ok(())
    }
}
