//! The state of handlers that read: the store, its version, the bodies that were sent before, the workers that write them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::http::HeaderMap;
use jiff::Timestamp;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::api::answers::known_answers::{KNOWN_FOR, KnownAnswer, KnownAnswers, Question};
use unroof_edge::{
    BodyCache, Budget, CachedBody, Estimate, Limits, Permit, Problem, Reply, Room, Workers,
    prefers_csv,
};
use unroof_import::Priority::{Long, Normal};
use unroof_jobs::{ChangeFeed, Jobs};
use unroof_store::access::Scope;
use unroof_store::clock::Clock;
use unroof_store::{AsOf, Document, Store, StoreError};

/// State of handlers that read.
#[derive(Debug, Clone)]
pub(super) struct Answers {
    /// The store.
    pub(super) store: Store,
    /// The clock of the service.
    clock: Clock,
    /// Feed of committed changes, by which the version is known without a query.
    pub(super) feed: Arc<ChangeFeed>,
    /// Cancelled when a stop is requested.
    pub(super) stopping: CancellationToken,
    /// Last queries for the store's version.
    asked: Arc<Mutex<VersionProbe>>,
    /// Time of the last check that the store takes writes.
    wrote_at: Arc<Mutex<Option<Instant>>>,
    /// Bodies of lists and documents that were sent before.
    pub(super) bodies: BodyCache,
    /// Answers to sheets that were sent before.
    pub(super) known: KnownAnswers,
    /// Memory budget of bodies and responses.
    pub(super) budget: Budget,
    /// Workers that serialise lists and documents.
    pub(super) writing: Arc<Workers>,
    /// Workers that serialise long pages.
    pub(super) long_pages: Arc<Workers>,
}

/// Times of the last queries for the store's version: the last that succeeded, and the last if it failed.
#[derive(Debug, Default)]
struct VersionProbe {
    /// Time of the last query that succeeded.
    checked_at: Option<Instant>,
    /// Time of the last query, if it failed.
    failed_at: Option<Instant>,
}

impl VersionProbe {
    /// Queries the version of the store.
    ///
    /// # Errors
    /// The query fails: then changes are no longer known to be complete.
    async fn ask(&mut self, answers: &Answers) -> Result<(), StoreError> {
        let asked_at = Instant::now();
        if let Err(error) = answers.store.version().await {
            answers.feed.mark_stale();
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

/// Estimate of the CPU time and memory of a list or a document; its text is counted in the memory budget of answers.
const WRITING: Estimate = Estimate {
    cpu: Duration::from_millis(2),
    bytes: 1024 * 1024,
};
/// Lists and documents that are written at the same time.
const WRITTEN_AT_ONCE: usize = 8;
/// Pages of many rows that are written at the same time. Each keeps a process of the database busy until it is done.
const LONG_AT_ONCE: usize = 1;
/// Part of the response cache that is for answers to sheets that are sent again.
const KNOWN_SHARE: u64 = 8;
impl Answers {
    /// Answers from the store and the feed of the jobs, in a memory budget.
    pub(super) fn new(jobs: &Jobs, budget: Budget, limits: &Limits) -> Self {
        let half = limits.computing.div_ceil(2);
        let workers = |name, priority, at_once| {
            let room = Room {
                places: at_once,
                bytes: at_once * WRITING.bytes,
                waiting: limits.waiting,
            };
            Arc::new(Workers::new(name, priority, half, room))
        };
        Self {
            store: jobs.store.clone(),
            clock: jobs.clock.clone(),
            feed: Arc::clone(&jobs.feed),
            stopping: jobs.stopping.clone(),
            asked: Arc::default(),
            wrote_at: Arc::default(),
            bodies: BodyCache::new(limits.cache_bytes - limits.cache_bytes / KNOWN_SHARE),
            known: KnownAnswers::new(limits.cache_bytes / KNOWN_SHARE),
            budget,
            // What answers at once goes before what computes.
            writing: workers("writing", Normal, WRITTEN_AT_ONCE),
            long_pages: workers("pages", Long, LONG_AT_ONCE),
        }
    }

    /// The time.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The store's version: known without a query while change notifications arrive, else at most a quarter of a second
    /// old. Never older than this process's own last write.
    pub(super) async fn version(&self) -> Result<i64, StoreError> {
        if !self.feed.is_current() {
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

    /// Waits for a permit to read from the database and to write the answer.
    ///
    /// # Errors
    /// The queue is full, or another request has meanwhile waited for a connection in vain.
    pub(super) async fn permit_to_write(&self) -> Result<Permit, Problem> {
        self.permit_of(&self.writing).await
    }

    /// Waits for a permit of other workers. The requests that wait here fail together, where each would wait for a connection in turn.
    ///
    /// # Errors
    /// As for [`Self::permit_to_write`].
    pub(super) async fn permit_of(&self, workers: &Arc<Workers>) -> Result<Permit, Problem> {
        let came_at = Instant::now();
        let permit = workers.permit(Scope::Read, WRITING).await?;
        if self.store.has_lacked_connection_since(came_at) {
            return Err(StoreError::Away.into());
        }
        Ok(permit)
    }

    /// A list or document for clients that poll: while nothing is written, the only query is for the version. While the
    /// database is unreachable, the last known body. The question is the cache key: equal requests have the same one.
    pub(super) async fn polled(
        &self,
        question: String,
        headers: &HeaderMap,
        body: impl AsyncFnOnce() -> Result<CachedBody, Problem>,
    ) -> Reply {
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
                self.feed.mark_stale();
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
        as_of: Option<AsOf>,
        headers: &HeaderMap,
        document: impl AsyncFnOnce() -> Result<Option<Document>, StoreError>,
    ) -> Reply {
        let body = async || {
            let _permit = self.permit_to_write().await?;
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

    /// Makes sure that the store took a write within the last second and had all tables, and that no write failed since.
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
                if let Err(missing @ StoreError::Missing(_)) =
                    self.store.require_whole_tables().await
                {
                    return Err(missing);
                }
                *wrote_at = Some(asked_at);
                Ok(())
            }
        }
    }

    /// The answer to a request that was answered before, if it still holds. The database is asked for its version by a query that
    /// begins after the request came, so that what was stored by any replica before is seen.
    ///
    /// # Errors
    /// The database is unreachable: then the request could not be recorded either.
    pub(crate) async fn known_answer(
        &self,
        question: &Question,
    ) -> Result<Option<Arc<KnownAnswer>>, StoreError> {
        let Some(known) = self.known.0.get(question).await else {
            return Ok(None);
        };
        let version = self.version_from_now().await?;
        let age = self.now().duration_since(known.made_at).abs();
        let holds = known.version == version && age < KNOWN_FOR;
        Ok(holds.then_some(known))
    }

    /// Keeps the answer to a request that has recorded nothing since the store had a version, if it still has it.
    pub(crate) async fn keep_answer(
        &self,
        question: Question,
        version: i64,
        id: Uuid,
        (headers, document): (&HeaderMap, &Bytes),
    ) {
        let made_at = self.now();
        if self
            .version_from_now()
            .await
            .is_ok_and(|now| now == version)
        {
            let answer = KnownAnswer {
                version,
                made_at,
                id,
                headers: headers.clone(),
                document: document.clone(),
            };
            let answers = &self.known.0;
            answers.insert(question, Arc::new(answer)).await;
        }
    }

    /// Whether no stop was requested.
    pub(super) fn check_running(&self) -> Result<(), Problem> {
        if self.stopping.is_cancelled() {
            return Err(Problem::busy("the service is stopping"));
        }
        Ok(())
    }
}
