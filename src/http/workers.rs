//! Threads for work that would hold up the async ones, a few tasks at a time.

use std::sync::Arc;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::problem::{INTERNAL, Problem};

/// Work of one kind. Its threads are its own: what blocks others, such as a slow name server, does not delay it.
#[derive(Debug)]
pub(super) struct Workers {
    /// Only its blocking threads are used; none while the process ends.
    runtime: Option<Runtime>,
    /// Tasks that are under way, and those together with the ones that wait.
    turns: Arc<Semaphore>,
    admitted: Arc<Semaphore>,
    at_once: usize,
    waiting: usize,
}

/// The right to have work done; others wait for it.
#[derive(Debug)]
pub(super) struct Place {
    _admitted: OwnedSemaphorePermit,
    _turn: OwnedSemaphorePermit,
}

impl Workers {
    /// So many threads, for so many tasks at once, while so many others wait.
    pub(super) fn new(name: &str, threads: usize, at_once: usize, waiting: usize) -> Self {
        let runtime = Builder::new_current_thread()
            .thread_name(name)
            .max_blocking_threads(threads)
            .build()
            .expect("a runtime without a reactor asks nothing of the system");
        Self {
            runtime: Some(runtime),
            turns: Arc::new(Semaphore::new(at_once)),
            admitted: Arc::new(Semaphore::new(at_once + waiting)),
            at_once,
            waiting,
        }
    }

    /// Whether another task may wait.
    ///
    /// # Errors
    /// As many wait as may.
    pub(super) fn has_room(&self) -> Result<(), Problem> {
        if self.admitted.available_permits() == 0 {
            return Err(full());
        }
        Ok(())
    }

    /// Tasks under way.
    pub(super) fn running(&self) -> usize {
        self.at_once.saturating_sub(self.turns.available_permits())
    }

    /// Tasks that wait.
    pub(super) fn queued(&self) -> usize {
        let all = self.at_once + self.waiting;
        all.saturating_sub(self.admitted.available_permits() + self.running())
    }

    /// Waits for a turn.
    ///
    /// # Errors
    /// As many wait as may.
    pub(super) async fn admit(&self) -> Result<Place, Problem> {
        let admitted = Arc::clone(&self.admitted)
            .try_acquire_owned()
            .map_err(|_| full())?;
        let turn = Arc::clone(&self.turns).acquire_owned().await;
        Ok(Place {
            _admitted: admitted,
            _turn: turn.map_err(|_| ending())?,
        })
    }

    /// Does a piece of work on one of the threads. Once begun it is done to its end, also for a client that leaves.
    ///
    /// # Errors
    /// It panicked.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let runtime = self.runtime.as_ref().ok_or_else(ending)?;
        let span = tracing::Span::current();
        let done = runtime.spawn_blocking(move || span.in_scope(work)).await;
        done.map_err(|error| {
            tracing::error!(%error, "working out an answer failed");
            Problem::new(INTERNAL, "the request could not be worked out")
        })
    }
}

fn full() -> Problem {
    Problem::busy("as many requests wait for their answer as may wait")
}

fn ending() -> Problem {
    Problem::new(INTERNAL, "the service is shutting down")
}

/// What is under way goes on by itself: a runtime that waits for its threads must not be dropped among async tasks.
impl Drop for Workers {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
