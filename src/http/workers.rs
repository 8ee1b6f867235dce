//! Threads for work that would hold up the async ones, a few tasks at a time.

use std::sync::Arc;

use tokio::runtime::{Builder, Runtime};

use super::problem::{INTERNAL, Problem};
use super::queue::{Queue, Refused, Turn, hold_hasty, is_hasty};
use crate::import::Priority;

/// Work of one kind. Its threads are its own: what blocks others, such as a slow name server, does not delay it.
#[derive(Debug)]
pub(super) struct Workers {
    /// Only its blocking threads are used; none while the process ends.
    runtime: Option<Runtime>,
    /// The same for hasty connections; the system prefers all other threads.
    giving_way: Option<Runtime>,
    queue: Arc<Queue>,
}

impl Workers {
    /// So many threads, for so many tasks at once, while so many others wait; and as many for hasty connections.
    pub(super) fn new(
        name: &str,
        priority: Priority,
        threads: usize,
        at_once: usize,
        waiting: usize,
    ) -> Self {
        Self {
            runtime: Some(threads_of(name, threads, priority)),
            giving_way: Some(threads_of(name, threads, Priority::Last)),
            queue: Queue::new(at_once, waiting),
        }
    }

    /// Whether another task may wait.
    ///
    /// # Errors
    /// As many wait as may.
    pub(super) async fn has_room(&self) -> Result<(), Problem> {
        hold_hasty().await;
        self.queue.has_room().map_err(full)
    }

    /// Tasks under way.
    pub(super) fn running(&self) -> usize {
        self.queue.lengths().0
    }

    /// Tasks that wait.
    pub(super) fn queued(&self) -> usize {
        self.queue.lengths().1
    }

    /// Waits for a turn.
    ///
    /// # Errors
    /// As many wait as may.
    pub(super) async fn admit(&self) -> Result<Turn, Problem> {
        hold_hasty().await;
        self.queue.enter().await.map_err(full)
    }

    /// Does a piece of work on one of the threads. Once begun it is done to its end, also for a client that leaves.
    ///
    /// # Errors
    /// It panicked.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let runtime = if is_hasty() {
            &self.giving_way
        } else {
            &self.runtime
        };
        let runtime = runtime.as_ref().ok_or_else(ending)?;
        let span = tracing::Span::current();
        let done = runtime.spawn_blocking(move || span.in_scope(work)).await;
        done.map_err(|error| {
            tracing::error!(%error, "working out an answer failed");
            Problem::new(INTERNAL, "the request could not be worked out")
        })
    }
}

/// Only the blocking threads of the runtime are used; they end while there is nothing to do.
fn threads_of(name: &str, threads: usize, priority: Priority) -> Runtime {
    Builder::new_current_thread()
        .thread_name(name)
        .max_blocking_threads(threads)
        .on_thread_start(move || priority.take())
        .build()
        .expect("a runtime without a reactor asks nothing of the system")
}

fn full(_: Refused) -> Problem {
    Problem::busy("the request queue is full")
}

fn ending() -> Problem {
    Problem::new(INTERNAL, "the service is shutting down")
}

/// What is under way goes on by itself: a runtime that waits for its threads must not be dropped among async tasks.
impl Drop for Workers {
    fn drop(&mut self) {
        for runtime in [self.runtime.take(), self.giving_way.take()]
            .into_iter()
            .flatten()
        {
            runtime.shutdown_background();
        }
    }
}
