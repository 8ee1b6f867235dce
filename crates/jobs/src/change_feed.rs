//! The change feed: keeps the newest version known without a query, and broadcasts every change to the streams.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, broadcast};

use super::Jobs;
use unroof_store::{ChangeFilter, ChangeRow, StoreError};

/// Changes read at once.
pub const PAGE: u32 = 200;
/// Changes kept for streams that do not keep up at once; those that fall further behind read the database.
const KEPT: usize = 1024;
/// Pause before a failed database is queried again.
pub const PAUSE: Duration = Duration::from_millis(250);

/// The changes that this process has received.
#[derive(Debug)]
pub struct ChangeFeed {
    /// True while the listener is connected.
    is_current: AtomicBool,
    news: broadcast::Sender<Arc<News>>,
    /// Permits for streams, and their number.
    places: Arc<Semaphore>,
    limit: usize,
}

/// A change as streams send it.
#[derive(Debug)]
pub struct News {
    /// Row of the change.
    pub row: ChangeRow,
    /// The row as JSON.
    pub data: String,
}

impl From<ChangeRow> for News {
    fn from(row: ChangeRow) -> Self {
        let data = serde_json::to_string(&row);
        Self {
            row,
            data: data.expect("a row of texts and numbers serialises"),
        }
    }
}

impl ChangeFeed {
    /// A feed for at most so many streams.
    #[must_use]
    pub fn new(streams: usize) -> Self {
        Self {
            is_current: AtomicBool::new(false),
            news: broadcast::Sender::new(KEPT),
            places: Arc::new(Semaphore::new(streams)),
            limit: streams,
        }
    }

    /// True if the newest known version is the newest in the database.
    pub fn is_current(&self) -> bool {
        self.is_current.load(Ordering::Relaxed)
    }

    /// Marks the feed stale after a database error, until the listener reconnects.
    pub fn mark_stale(&self) {
        self.is_current.store(false, Ordering::Relaxed);
    }

    /// The number of open streams, and their limit.
    pub fn streams(&self) -> (usize, usize) {
        let open = self.limit.saturating_sub(self.places.available_permits());
        (open, self.limit)
    }

    /// A permit for a stream with its receiver; none if the limit of streams is reached.
    pub fn join(&self) -> Option<(OwnedSemaphorePermit, broadcast::Receiver<Arc<News>>)> {
        let place = Arc::clone(&self.places).try_acquire_owned().ok()?;
        Some((place, self.news.subscribe()))
    }
}

impl Jobs {
    /// Keeps the newest version known.
    pub(super) async fn listen(&self) {
        let mut was_connected = true;
        loop {
            let Err(error) = self.listen_once(&mut was_connected).await;
            self.feed.mark_stale();
            // That the database cannot be polled is in the log of outages.
            if was_connected && self.store.listens() {
                let error = error.with_causes();
                tracing::warn!(error, "LISTEN connection lost; polling instead");
                was_connected = false;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn listen_once(&self, was_connected: &mut bool) -> Result<Infallible, StoreError> {
        let mut listener = self.store.listener().await?;
        if !*was_connected {
            tracing::info!("LISTEN connection restored");
            *was_connected = true;
        }
        loop {
            self.feed.is_current.store(true, Ordering::Relaxed);
            listener.next().await?;
        }
    }

    /// Reads every change once and broadcasts it to all streams. Without a stream nothing is read: a stream that begins
    /// later reads earlier changes from the database.
    pub(super) async fn broadcast(&self) {
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
            let filter = ChangeFilter::default();
            let Ok(rows) = self.store.changes(&filter, position, PAGE).await else {
                self.feed.mark_stale();
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            let are_all = rows.len() < PAGE as usize;
            for row in rows {
                position = row.sequence;
                // Streams may have ended meanwhile.
                let _ = self.feed.news.send(Arc::new(row.into()));
            }
            if are_all {
                // A version may come without a change.
                position = position.max(known);
            }
        }
    }
}
