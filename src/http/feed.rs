//! Changes as they happen: the newest version known without asking, and what is new told to every stream.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, broadcast};

use super::app::App;
use super::problem::Problem;
use crate::storage::{ChangeKind, ChangeRow, Filter, StoreError};

/// Changes read at once.
pub(super) const PAGE: u32 = 200;
/// Changes kept for streams that do not keep up at once; those that fall further behind read the database.
const KEPT: usize = 1024;
/// Rest before a database that failed is asked again.
pub(super) const PAUSE: Duration = Duration::from_millis(250);

/// What the process knows of changes as they happen.
#[derive(Debug)]
pub(super) struct Feed {
    /// Whether a newer version would have been heard of.
    is_current: AtomicBool,
    news: broadcast::Sender<Arc<News>>,
    places: Arc<Semaphore>,
}

/// A change as streams send it.
#[derive(Debug)]
pub(super) struct News {
    pub(super) sequence: i64,
    pub(super) kind: ChangeKind,
    /// The row as JSON.
    pub(super) data: String,
}

impl From<ChangeRow> for News {
    fn from(row: ChangeRow) -> Self {
        let data = serde_json::to_string(&row);
        Self {
            sequence: row.sequence,
            kind: row.kind,
            data: data.expect("a row of texts and numbers serialises"),
        }
    }
}

impl Feed {
    pub(super) fn new(streams: usize) -> Self {
        Self {
            is_current: AtomicBool::new(false),
            news: broadcast::Sender::new(KEPT),
            places: Arc::new(Semaphore::new(streams)),
        }
    }

    /// Whether the newest version that is known is the newest there is.
    pub(super) fn is_current(&self) -> bool {
        self.is_current.load(Ordering::Relaxed)
    }

    /// The database failed somebody: it is not believed to be heard until it is heard again.
    pub(super) fn doubt(&self) {
        self.is_current.store(false, Ordering::Relaxed);
    }

    /// A place for a stream, and what is told from now on.
    pub(super) fn join(
        &self,
    ) -> Result<(OwnedSemaphorePermit, broadcast::Receiver<Arc<News>>), Problem> {
        let place = Arc::clone(&self.places)
            .try_acquire_owned()
            .map_err(|_| Problem::busy("there are as many streams as there may be"))?;
        Ok((place, self.news.subscribe()))
    }
}

impl App {
    /// Follows the store for as long as it is polled; without it, everything works and asks more.
    pub async fn follow(self) {
        tokio::join!(
            self.listen(),
            self.tell(),
            self.deliver(),
            self.watch_outage()
        );
    }

    /// Keeps the newest version known.
    async fn listen(&self) {
        let mut was_heard = true;
        loop {
            let Err(error) = self.listen_once(&mut was_heard).await;
            self.feed.doubt();
            if was_heard {
                let error = error.with_causes();
                tracing::warn!(error, "changes are not heard of; asking for them instead");
                was_heard = false;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn listen_once(&self, was_heard: &mut bool) -> Result<Infallible, StoreError> {
        let mut listener = self.store.listener().await?;
        if !*was_heard {
            tracing::info!("changes are heard of again");
            *was_heard = true;
        }
        loop {
            self.feed.is_current.store(true, Ordering::Relaxed);
            listener.next().await?;
        }
    }

    /// Reads every change once and tells it to all streams. While there is none, nothing is read: a stream that begins
    /// later has what was committed before from the database.
    async fn tell(&self) {
        let mut newest = self.store.watch_newest();
        let mut position = 0;
        loop {
            let known = *newest.borrow_and_update();
            if self.feed.news.receiver_count() == 0 {
                position = known;
            }
            if position >= known {
                // The store that holds the other end lives as long as this does.
                let _ = newest.changed().await;
                continue;
            }
            let filter = Filter::default();
            let Ok(rows) = self.store.changes(&filter, position, PAGE).await else {
                self.feed.doubt();
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            let are_all = rows.len() < PAGE as usize;
            for row in rows {
                position = row.sequence;
                // Whoever listened may have left.
                let _ = self.feed.news.send(Arc::new(row.into()));
            }
            if are_all {
                // A version may come without a change.
                position = position.max(known);
            }
        }
    }
}
