//! What handlers share: the store, its version, a cache of answers, the clock.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::{HeaderMap, Response, Uri};
use jiff::Timestamp;
use tokio::sync::{Mutex, Semaphore, watch};

use super::Limits;
use super::feed::Feed;
use super::metrics::Metrics;
use super::outgoing;
use super::polling::{BodyCache, CachedBody, prefers_csv};
use super::problem::{INTERNAL, Problem};
use super::watchlist::Watchlist;
use crate::estimate::{Answer, Format, Request, Wanted, infer_while, read_request};
use crate::reference::calibration::Calibration;
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
    pub(super) limits: Arc<Limits>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) watchlist: Arc<Watchlist>,
    pub(super) bodies: BodyCache,
    /// Places for connections.
    pub(super) connections: Arc<Semaphore>,
    clock: Clock,
    pub(super) feed: Arc<Feed>,
    /// Sends to webhooks.
    pub(super) courier: ureq::Agent,
    asked: Arc<Mutex<Asked>>,
    /// Answers worked out at once, and those together with the requests that wait for one.
    pub(super) computing: Arc<Semaphore>,
    pub(super) accepted: Arc<Semaphore>,
    /// Catalogs imported at once.
    pub(super) importing: Arc<Semaphore>,
    is_stopping: watch::Sender<bool>,
}

/// When the store was last asked for its version.
#[derive(Debug, Default)]
struct Asked {
    checked_at: Option<Instant>,
    failed_at: Option<Instant>,
}

/// A version that was asked for is believed for this long: four queries a second, however many clients poll.
const VERSION_BELIEVED_FOR: Duration = Duration::from_millis(250);

/// An answer, and the text that is sent for it.
pub(crate) struct Answered {
    pub(crate) answer: Answer,
    pub(crate) document: String,
    request: Request,
}

impl App {
    /// An application on a store. While its tables are not up to date, what needs them is unavailable.
    #[must_use]
    pub fn new(store: Store, clock: Clock, limits: Limits) -> Self {
        Self {
            store,
            metrics: Arc::new(Metrics::new()),
            watchlist: Arc::default(),
            bodies: BodyCache::new(limits.cache_bytes),
            connections: Arc::new(Semaphore::new(limits.connections)),
            clock,
            feed: Arc::new(Feed::new(limits.streams)),
            courier: outgoing::client(limits.webhook_allow_private),
            asked: Arc::default(),
            computing: Arc::new(Semaphore::new(limits.computing)),
            accepted: Arc::new(Semaphore::new(limits.computing + limits.waiting)),
            importing: Arc::new(Semaphore::new(1)),
            is_stopping: watch::Sender::default(),
            limits: Arc::new(limits),
        }
    }

    /// The same with models whose estimates `/metrics` shows.
    #[must_use]
    pub fn watching(self, watchlist: Watchlist) -> Self {
        Self {
            watchlist: Arc::new(watchlist),
            ..self
        }
    }

    /// The time.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The store's version: known without asking while changes are heard of, else at most a quarter of a second old; and
    /// never older than this process's own last write.
    pub(super) async fn version(&self) -> Result<i64, StoreError> {
        if !self.feed.is_current() {
            self.ask_for_version().await?;
        }
        Ok(self.store.newest())
    }

    /// Makes sure that the database answered within the last quarter of a second.
    async fn ask_for_version(&self) -> Result<(), StoreError> {
        // Holding the lock across the query makes everyone who asks meanwhile share its result.
        let came_at = Instant::now();
        let mut asked = self.asked.lock().await;
        // However slow the database is: what was asked after one came is recent enough.
        let is_recent = |at: Option<Instant>| {
            at.is_some_and(|at| at >= came_at || at.elapsed() < VERSION_BELIEVED_FOR)
        };
        if is_recent(asked.failed_at) {
            return Err(StoreError::Away);
        }
        if !is_recent(asked.checked_at) {
            let asked_at = Instant::now();
            if let Err(error) = self.store.version().await {
                self.feed.doubt();
                // Those who waited for the lock must not each wait for the database in turn.
                asked.failed_at = Some(Instant::now());
                return Err(error);
            }
            asked.checked_at = Some(asked_at);
        }
        Ok(())
    }

    /// Computes off the async threads, a few tasks at a time; a few more wait, and beyond those the service is busy. Whoever
    /// leaves is forgotten while it waits, and what is worked out for it ends unfinished.
    pub(super) async fn compute<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Wanted) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let crashed = |error: tokio::task::JoinError| {
            tracing::error!(%error, "working out an answer failed");
            Problem::new(INTERNAL, "the request could not be worked out")
        };
        let place = Arc::clone(&self.accepted)
            .try_acquire_owned()
            .map_err(|_| Problem::busy("as many requests wait for their answer as may wait"))?;
        let turn = Arc::clone(&self.computing)
            .acquire_owned()
            .await
            .map_err(|_| Problem::new(INTERNAL, "the service is shutting down"))?;
        let span = tracing::Span::current();
        let (wanted, _waiting) = Wanted::while_waiting();
        let work = move || {
            let _until_done = (place, turn);
            span.in_scope(|| work(&wanted))
        };
        tokio::task::spawn_blocking(work).await.map_err(crashed)?
    }

    /// Reads and answers a price sheet.
    pub(crate) async fn answer(
        &self,
        body: axum::body::Bytes,
        format: Format,
    ) -> Result<Answered, Problem> {
        self.compute(move |wanted| {
            let request = read_request(&body, &format)?;
            let answer = infer_while(&request, Calibration::shipped(), wanted)
                .map_err(|unwanted| Problem::new(INTERNAL, unwanted.to_string()))?;
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

    /// Stores an answer, with when its prices were seen if that is stated; when this returns, it is committed.
    pub(crate) async fn save(
        &self,
        answered: &Answered,
        seen_at: Option<Timestamp>,
    ) -> Result<Saved, Problem> {
        let new = NewEstimate {
            answer: &answered.answer,
            document: &answered.document,
            sheets: &answered.request.sheets,
            observed_at: self.store.not_ahead(seen_at.unwrap_or_else(|| self.now())),
            counts_again: seen_at.is_some(),
        };
        Ok(self.store.save(new).await?)
    }

    /// A list for those who poll: while nothing is written, no query is made but for the version. While the database is
    /// away, what was known last.
    pub(super) async fn polled(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        body: impl Future<Output = Result<CachedBody, Problem>>,
    ) -> Result<Response<Body>, Problem> {
        let form = if prefers_csv(headers) { "csv" } else { "json" };
        let question = format!("{form} {uri}");
        let answer = async {
            // Asked before the list is read: a body is then never older than the version it is kept under.
            let version = self.version().await?;
            self.bodies.get(version, &question, Box::pin(body)).await
        };
        match answer.await {
            Ok(body) => Ok(body.respond(headers)),
            Err(problem) if problem.is_unavailable() => {
                self.feed.doubt();
                let last = self.bodies.last(&question).await.ok_or(problem)?;
                Ok(last.respond_stale(headers))
            }
            Err(problem) => Err(problem),
        }
    }

    /// A single document for those who poll.
    pub(super) async fn polled_document(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        what: &str,
        document: impl Future<Output = Result<Option<String>, StoreError>>,
    ) -> Result<Response<Body>, Problem> {
        let body = Box::pin(async {
            let document = document.await?.ok_or_else(|| Problem::not_found(what))?;
            Ok(CachedBody::new(document, "application/json", None))
        });
        self.polled(uri, headers, body).await
    }

    /// Whether requests should be sent here: the database answers, and the process has not been asked to stop.
    pub(super) async fn is_ready(&self) -> Result<(), Problem> {
        self.is_going_on()?;
        Ok(self.ask_for_version().await?)
    }

    /// Whether the process has not been asked to stop.
    pub(super) fn is_going_on(&self) -> Result<(), Problem> {
        if *self.is_stopping.borrow() {
            return Err(Problem::busy("the service is stopping"));
        }
        Ok(())
    }

    /// Not ready from now on.
    pub(super) fn stop(&self) {
        self.is_stopping.send_replace(true);
    }

    /// Waits until the process is asked to stop.
    pub(super) async fn stopped(&self) {
        // It cannot end before: the sender is here.
        let _ = self
            .is_stopping
            .subscribe()
            .wait_for(|stopping| *stopping)
            .await;
    }
}
