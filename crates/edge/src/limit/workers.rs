//! Worker threads for computing, so that the async threads never block, and the permits without which nothing runs on them.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

use super::bill::Bill;
use super::queue::{Estimate, Queue, Refused, Room, Turn};
use crate::answer::problem::{INTERNAL, INVALID, LIMITED, Problem};
use unroof_base::input::cancel::{CancelGuard, CancelToken};
use unroof_import::Priority;
use unroof_store::access::{Refused as RefusedCaller, Scope};
use unroof_telemetry::ThreadTime;

/// CPU time that one request may be expected to take; 422 beyond it.
pub const MOST_CPU: Duration = Duration::from_secs(2);

/// A pool for one kind of work, with its own threads: blocked threads of other pools do not delay it.
#[derive(Debug)]
pub struct Workers {
    /// Runtime of which only the blocking threads are used; none during shutdown.
    runtime: Option<Runtime>,
    queue: Arc<Queue>,
}

/// Permission to compute: a place, memory, and the scope for it. Dropping it, as when the client leaves, cancels what runs; the
/// place and the memory are free when that has ended.
#[derive(Debug)]
pub struct Permit {
    workers: Arc<Workers>,
    turn: Arc<Turn>,
    bill: Option<Arc<Bill>>,
    wanted: CancelToken,
    _guard: CancelGuard,
}

/// A computation that runs by a permit.
#[derive(Debug)]
pub struct Running {
    turn: Arc<Turn>,
    wanted: CancelToken,
}

impl Workers {
    /// A pool of `threads` threads, with limits on running and waiting tasks.
    #[must_use]
    pub fn new(name: &str, priority: Priority, threads: usize, room: Room) -> Self {
        Self {
            runtime: Some(threads_of(name, threads, priority)),
            queue: Queue::new(room),
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

    /// Waits for a permit for work that needs a scope, and that is expected to take so much.
    ///
    /// # Errors
    /// The caller lacks the scope, the queue is full, or the client has its share of it.
    pub async fn permit(
        self: &Arc<Self>,
        needed: Scope,
        estimate: Estimate,
    ) -> Result<Permit, Problem> {
        require_scope(needed)?;
        let turn = self.queue.enter(estimate).await.map_err(no_turn)?;
        let (wanted, guard) = CancelToken::while_waiting();
        Ok(Permit {
            workers: Arc::clone(self),
            turn: Arc::new(turn),
            bill: Bill::current(),
            wanted,
            _guard: guard,
        })
    }
}

impl Permit {
    /// Runs a task on one of the threads, and charges the CPU time that it uses.
    ///
    /// # Errors
    /// The task panicked.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Running) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let runtime = self.workers.runtime.as_ref().ok_or_else(ending)?;
        let running = Running {
            turn: Arc::clone(&self.turn),
            wanted: self.wanted.clone(),
        };
        let bill = self.bill.clone();
        let span = tracing::Span::current();
        let work = move || {
            let time = ThreadTime::start();
            let done = span.in_scope(|| work(&running));
            let used = time.used();
            running.turn.used(used);
            if let Some(bill) = bill {
                bill.spend(used);
            }
            done
        };
        runtime.spawn_blocking(work).await.map_err(|error| {
            tracing::error!(%error, "computing an answer failed");
            Problem::new(INTERNAL, "computing the answer failed")
        })
    }
}

impl Running {
    /// Token that is cancelled when the client has left.
    #[must_use]
    pub fn wanted(&self) -> &CancelToken {
        &self.wanted
    }

    /// Reserves what the request is now expected to take, once it is read. `hint` says how to ask for less.
    ///
    /// # Errors
    /// It would take more CPU time than one request may, or more memory than is free.
    pub fn expects(&self, estimate: Estimate, hint: &'static str) -> Result<(), Problem> {
        if estimate.cpu > MOST_CPU {
            let detail = format!(
                "this request would take about {:.1} s of computing, and one request may take {} s",
                estimate.cpu.as_secs_f64(),
                MOST_CPU.as_secs(),
            );
            return Err(Problem::new(INVALID, detail).hint(hint));
        }
        let has_memory = self.turn.reserve(estimate.bytes);
        has_memory
            .then_some(())
            .ok_or_else(|| Problem::busy("the memory for computing is used up"))
    }
}

/// Checks the scope of the request that this task works on. Without a request, the service works for itself.
///
/// # Errors
/// The caller lacks the scope.
pub fn require_scope(needed: Scope) -> Result<(), Problem> {
    match Bill::current().map(|bill| bill.caller_scope()) {
        Some(own) if own < Some(needed) => Err(missing_scope(own, needed)),
        _ => Ok(()),
    }
}

/// The refusal of a caller without the scope for a route, or for what it computes.
#[must_use]
pub fn missing_scope(own: Option<Scope>, needed: Scope) -> Problem {
    let own = own.map_or("none", Scope::name);
    let detail = format!("this needs the scope `{needed}`, and the caller has `{own}`");
    Problem::refusing(RefusedCaller::Scope, detail).hint(format!(
        "use a key with the scope `{needed}`; `unroof keys create NAME --scope {needed}` makes one"
    ))
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
