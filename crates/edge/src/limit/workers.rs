//! Worker threads for computing, so that the async threads never block.

use std::sync::Arc;

use tokio::runtime::{Builder, Runtime};

use super::queue::{Queue, Refused, Turn};
use crate::answer::problem::{INTERNAL, LIMITED, Problem};
use unroof_store::import::Priority;

/// A pool for one kind of work, with its own threads: blocked threads of other pools do not delay it.
#[derive(Debug)]
pub struct Workers {
    /// Runtime of which only the blocking threads are used; none during shutdown.
    runtime: Option<Runtime>,
    queue: Arc<Queue>,
}

impl Workers {
    /// A pool of `threads` threads, with a limit on waiting tasks.
    #[must_use]
    pub fn new(
        name: &str,
        priority: Priority,
        threads: usize,
        at_once: usize,
        waiting: usize,
    ) -> Self {
        Self {
            runtime: Some(threads_of(name, threads, priority)),
            queue: Queue::new(at_once, waiting),
        }
    }

    /// Checks whether another task may wait.
    ///
    /// # Errors
    /// The queue is full, or the client has its share of it.
    pub fn has_room(&self) -> Result<(), Problem> {
        self.queue.has_room().map_err(no_turn)
    }

    /// Number of running tasks.
    pub fn running(&self) -> usize {
        self.queue.lengths().0
    }

    /// Number of waiting tasks.
    pub fn queued(&self) -> usize {
        self.queue.lengths().1
    }

    /// Whether the queue is long.
    pub fn has_long_queue(&self) -> bool {
        self.queue.is_long()
    }

    /// Waits for a turn.
    ///
    /// # Errors
    /// The queue is full, or the client has its share of it.
    pub async fn admit(&self) -> Result<Turn, Problem> {
        self.queue.enter().await.map_err(no_turn)
    }

    /// Runs a task on one of the threads. A started task runs to its end, also if the client disconnects.
    ///
    /// # Errors
    /// The task panicked.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let runtime = self.runtime.as_ref().ok_or_else(ending)?;
        let span = tracing::Span::current();
        let done = runtime.spawn_blocking(move || span.in_scope(work)).await;
        done.map_err(|error| {
            tracing::error!(%error, "computing an answer failed");
            Problem::new(INTERNAL, "computing the answer failed")
        })
    }
}

/// A runtime of which only the blocking threads are used; idle threads end.
fn threads_of(name: &str, threads: usize, priority: Priority) -> Runtime {
    Builder::new_current_thread()
        .thread_name(name)
        .max_blocking_threads(threads)
        .on_thread_start(move || priority.take())
        .build()
        .expect("a runtime without a reactor needs no system resources")
}

fn no_turn(refused: Refused) -> Problem {
    match refused {
        Refused::Full => Problem::busy("the request queue is full"),
        Refused::Share => Problem::new(
            LIMITED,
            "this client's other requests fill its share of the request queue",
        )
        .hint("wait for the answers to some of them first"),
    }
}

fn ending() -> Problem {
    Problem::new(INTERNAL, "the service is shutting down")
}

/// Shuts the runtime down in the background: dropping it in an async task would panic, since it waits for its threads.
impl Drop for Workers {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
