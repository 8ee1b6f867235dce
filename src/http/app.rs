//! What handlers share: the store, its version, a cache of answers, the clock.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::{HeaderMap, Response, Uri};
use jiff::Timestamp;
use tokio::sync::{Mutex, Semaphore};

use super::polling::{BodyCache, CachedBody, prefers_csv};
use super::problem::{INTERNAL, Problem};
use crate::estimate::{Answer, Format, Request, infer, read_request};
use crate::storage::{NewEstimate, Saved, Store, StoreError};

/// Tells the time; an argument, so that tests can fix it.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// A clock of one's own.
    #[must_use]
    pub fn new(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// The system's clock.
    #[must_use]
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the clock that everything else asks"
    )]
    pub fn system() -> Self {
        Self::new(Timestamp::now)
    }

    /// The time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Clock")
    }
}

/// What handlers share.
#[derive(Debug, Clone)]
pub struct App {
    pub(super) store: Store,
    pub(super) bodies: BodyCache,
    clock: Clock,
    version: Arc<Mutex<KnownVersion>>,
    cores: Arc<Semaphore>,
}

/// The store's version as last seen.
#[derive(Debug, Default)]
struct KnownVersion {
    version: i64,
    checked_at: Option<Instant>,
    failed_at: Option<Instant>,
}

/// A version is believed for this long: four queries a second, however many clients poll.
const VERSION_BELIEVED_FOR: Duration = Duration::from_millis(250);

/// An answer, and the text that is sent for it.
pub(crate) struct Answered {
    pub(crate) answer: Answer,
    pub(crate) document: String,
    request: Request,
}

impl App {
    /// An application on a store whose tables are up to date.
    #[must_use]
    pub fn new(store: Store, clock: Clock) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            store,
            bodies: BodyCache::new(),
            clock,
            version: Arc::default(),
            cores: Arc::new(Semaphore::new(cores)),
        }
    }

    /// The store's version, at most a quarter of a second old and never older than this process's own last write.
    pub(super) async fn version(&self) -> Result<i64, StoreError> {
        // Holding the lock across the query makes everyone who asks meanwhile share its result.
        let mut known = self.version.lock().await;
        let is_recent =
            |at: Option<Instant>| at.is_some_and(|at| at.elapsed() < VERSION_BELIEVED_FOR);
        if is_recent(known.failed_at) {
            return Err(StoreError::Away);
        }
        if !is_recent(known.checked_at) {
            let asked_at = Instant::now();
            match self.store.version().await {
                Ok(version) => known.version = version,
                Err(error) => {
                    // Those who waited for the lock must not each wait for the database in turn.
                    known.failed_at = Some(Instant::now());
                    return Err(error);
                }
            }
            known.checked_at = Some(asked_at);
        }
        Ok(known.version)
    }

    /// Computes off the async threads, at most one task per core at a time.
    pub(super) async fn compute<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let crashed = |error: tokio::task::JoinError| {
            tracing::error!(%error, "working out an answer failed");
            Problem::new(INTERNAL, "the request could not be worked out")
        };
        let permit = Arc::clone(&self.cores)
            .acquire_owned()
            .await
            .map_err(|_| Problem::new(INTERNAL, "the service is shutting down"))?;
        let span = tracing::Span::current();
        let work = move || {
            let _permit = permit;
            span.in_scope(work)
        };
        tokio::task::spawn_blocking(work).await.map_err(crashed)?
    }

    /// Reads and answers a price sheet.
    pub(crate) async fn answer(
        &self,
        body: axum::body::Bytes,
        format: Format,
    ) -> Result<Answered, Problem> {
        self.compute(move || {
            let request = read_request(&body, &format)?;
            let answer = infer(&request);
            let document = serde_json::to_string(&answer)
                .map_err(|_| Problem::new(INTERNAL, "the answer has no text"))?;
            Ok(Answered {
                answer,
                document,
                request,
            })
        })
        .await
    }

    /// Stores an answer; when this returns, it is committed.
    pub(crate) async fn save(&self, answered: &Answered) -> Result<Saved, Problem> {
        let new = NewEstimate {
            answer: &answered.answer,
            document: &answered.document,
            sheets: &answered.request.sheets,
            observed_at: self.clock.now(),
        };
        let saved = self.store.save(new).await?;
        if let Some(version) = saved.version {
            let mut known = self.version.lock().await;
            known.version = known.version.max(version);
        }
        Ok(saved)
    }

    /// A list for those who poll: while nothing is written, no query is made but for the version.
    pub(super) async fn polled(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        body: impl Future<Output = Result<CachedBody, Problem>>,
    ) -> Result<Response<Body>, Problem> {
        // Asked before the list is read: a body is then never older than the version it is kept under.
        let version = self.version().await?;
        let form = if prefers_csv(headers) { "csv" } else { "json" };
        let body = self
            .bodies
            .get(version, format!("{form} {uri}"), body)
            .await?;
        Ok(body.respond(headers))
    }

    /// A single document for those who poll.
    pub(super) async fn polled_document(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        what: &str,
        document: impl Future<Output = Result<Option<String>, StoreError>>,
    ) -> Result<Response<Body>, Problem> {
        let body = async {
            let document = document.await?.ok_or_else(|| Problem::not_found(what))?;
            Ok(CachedBody::new(document, "application/json", None))
        };
        self.polled(uri, headers, body).await
    }

    /// Whether the database answers.
    pub(super) async fn is_ready(&self) -> Result<(), StoreError> {
        self.version().await.map(drop)
    }
}
