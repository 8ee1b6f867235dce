//! The request queue: which request is worked for next, and which is told to come back later.
//!
//! A refused client is told to wait a second (`Retry-After: 1`). A connection that asks again sooner is *hasty*: its request is held
//! until the second is over, and for a minute its requests have places of their own, with threads that give way to all others,
//! and are the first to be refused. So clients that wait as they are told are served beside any number of clients that do not. While requests are refused all
//! the time, every connection that has not shown its kind is refused once, since nothing else shows it.

use std::collections::VecDeque;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

/// What `Retry-After` says.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// How long a connection is taken for hasty, and how long for patient once that was seen.
const REMEMBERED: Duration = Duration::from_mins(1);
/// Connections are tested while more patient requests than this many wait for each that is worked for,
const LONG_QUEUE: usize = 2;
/// and some have been refused for this time
const OVERLOAD: Duration = if cfg!(test) {
    Duration::from_millis(200)
} else {
    Duration::from_secs(5)
};
/// without a longer pause than this.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// How a connection behaved when it was refused.
#[derive(Debug, Default)]
pub(super) struct Manners(Mutex<Seen>);

#[derive(Debug, Default, Clone, Copy)]
struct Seen {
    /// When it was refused last,
    refused: Option<Instant>,
    /// asked again too soon,
    hasty: Option<Instant>,
    /// and was refused to see what it does.
    tested: Option<Instant>,
}

tokio::task_local! {
    /// The manners of the connection that is served by this task.
    pub(super) static MANNERS: Arc<Manners>;
}

fn is_recent(at: Option<Instant>, time: Duration) -> bool {
    at.is_some_and(|at| at.elapsed() < time)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Notes that the connection of this task is told to come back.
pub(super) fn note_refusal() {
    // Without a connection there is nobody to be told.
    let _ = MANNERS.try_with(|manners| locked(&manners.0).refused = Some(Instant::now()));
}

impl Manners {
    /// Notes that the connection asks again. How long it was told to wait yet.
    fn note_request(&self) -> Duration {
        let mut seen = locked(&self.0);
        let waited = seen.refused.map_or(RETRY_AFTER, |at| at.elapsed());
        let left = RETRY_AFTER.saturating_sub(waited);
        // Clocks and networks are not exact.
        if left > RETRY_AFTER / 10 {
            seen.hasty = Some(Instant::now());
        }
        left
    }

    fn is_hasty(&self) -> bool {
        is_recent(locked(&self.0).hasty, REMEMBERED)
    }

    /// Whether the connection has yet to show how it takes a refusal; from now on it has.
    fn begin_test(&self) -> bool {
        let mut seen = locked(&self.0);
        let is_new = !is_recent(seen.tested, REMEMBERED) && !is_recent(seen.refused, REMEMBERED);
        seen.tested = Some(Instant::now());
        is_new
    }
}

/// Holds a request until the time is over that its connection was told to wait.
pub(super) async fn hold_hasty() {
    let left = MANNERS.try_with(|manners| manners.note_request());
    tokio::time::sleep(left.unwrap_or_default()).await;
}

/// Estimates of hasty connections are stored together, this often, so that others wait for few transactions.
const GATHERED: Duration = Duration::from_millis(100);

/// Holds an estimate of a hasty connection until those of others are stored too.
pub(super) async fn gather_hasty() {
    static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
    if is_hasty() {
        let periods = BEGAN.elapsed().as_millis() / GATHERED.as_millis();
        let next = GATHERED * u32::try_from(periods + 1).unwrap_or(u32::MAX);
        tokio::time::sleep_until(*BEGAN + next).await;
    }
}

/// Whether the connection of this task is hasty.
pub(super) fn is_hasty() -> bool {
    MANNERS
        .try_with(|manners| manners.is_hasty())
        .unwrap_or_default()
}

/// As many requests are worked for as there are places, and as many of hasty connections; a few more wait.
#[derive(Debug)]
pub(super) struct Queue {
    places: usize,
    most_waiting: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    patient: Lane,
    hasty: Lane,
    refusals: Option<Refusals>,
}

/// Requests of one kind.
#[derive(Debug, Default)]
struct Lane {
    taken: usize,
    waiting: VecDeque<Waiter>,
}

/// Refusals that followed each other.
#[derive(Debug, Clone, Copy)]
struct Refusals {
    since: Instant,
    last: Instant,
}

#[derive(Debug)]
struct Waiter {
    call: oneshot::Sender<Result<Turn, Refused>>,
    manners: Option<Arc<Manners>>,
}

/// The right to be worked for, until it is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    queue: Option<Arc<Queue>>,
    is_hasty: bool,
}

/// The queue is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Refused;

impl Queue {
    pub(super) fn new(places: usize, most_waiting: usize) -> Arc<Self> {
        Arc::new(Self {
            places,
            most_waiting,
            state: Mutex::default(),
        })
    }

    /// Requests that are worked for, and those that wait.
    pub(super) fn lengths(&self) -> (usize, usize) {
        let state = locked(&self.state);
        (state.patient.taken + state.hasty.taken, state.waiting())
    }

    /// Waits for a turn.
    ///
    /// # Errors
    /// The queue is full, or needs the place for another one.
    pub(super) async fn enter(self: &Arc<Self>) -> Result<Turn, Refused> {
        let manners = MANNERS.try_with(Arc::clone).ok();
        match self.join(manners)? {
            Joined::Now(turn) => Ok(turn),
            Joined::Waits(call) => call.await.unwrap_or(Err(Refused)),
        }
    }

    fn join(self: &Arc<Self>, manners: Option<Arc<Manners>>) -> Result<Joined, Refused> {
        let mut state = locked(&self.state);
        let is_hasty = manners.as_deref().is_some_and(Manners::is_hasty);
        let lane = state.lane(is_hasty);
        if lane.taken < self.places {
            lane.taken += 1;
            return Ok(Joined::Now(Turn {
                queue: Some(Arc::clone(self)),
                is_hasty,
            }));
        }
        self.make_room(&mut state, is_hasty)?;
        let (call, called) = oneshot::channel();
        let waiter = Waiter { call, manners };
        state.lane(is_hasty).waiting.push_back(waiter);
        Ok(Joined::Waits(called))
    }

    /// Makes sure that one more may wait: clients that have left go, and a patient request takes the place of a hasty one.
    fn make_room(&self, state: &mut State, is_hasty: bool) -> Result<(), Refused> {
        if state.waiting() < self.most_waiting {
            return Ok(());
        }
        for lane in [&mut state.patient, &mut state.hasty] {
            lane.waiting.retain(|waiter| !waiter.call.is_closed());
        }
        if state.waiting() < self.most_waiting {
            return Ok(());
        }
        state.note_refusal();
        let last = if is_hasty {
            None
        } else {
            state.hasty.waiting.pop_back()
        };
        let last = last.ok_or(Refused)?;
        // It may have left by now.
        let _ = last.call.send(Err(Refused));
        Ok(())
    }

    /// Whether a request of this connection may wait.
    ///
    /// # Errors
    /// The queue is full.
    pub(super) fn has_room(&self) -> Result<(), Refused> {
        let mut state = locked(&self.state);
        let is_full = state.waiting() >= self.most_waiting;
        if is_full && (is_hasty() || state.hasty.waiting.is_empty()) {
            state.note_refusal();
            return Err(Refused);
        }
        Ok(())
    }

    /// Hands a turn to the next in the queue.
    fn hand_on(self: Arc<Self>, is_hasty: bool) {
        let mut state = locked(&self.state);
        let mut turn = Turn {
            queue: Some(Arc::clone(&self)),
            is_hasty,
        };
        loop {
            let is_test = !is_hasty
                && state.patient.waiting.len() > LONG_QUEUE * self.places
                && state.is_overloaded();
            let next = state.lane(is_hasty).waiting.pop_front();
            let Some(next) = next else {
                turn.queue = None;
                state.lane(is_hasty).taken -= 1;
                return;
            };
            if is_test
                && next
                    .manners
                    .as_ref()
                    .is_some_and(|manners| manners.begin_test())
            {
                let _ = next.call.send(Err(Refused));
                continue;
            }
            match next.call.send(Ok(turn)) {
                Ok(()) | Err(Err(Refused)) => return,
                // It has left.
                Err(Ok(unsent)) => turn = unsent,
            }
        }
    }
}

impl State {
    fn lane(&mut self, is_hasty: bool) -> &mut Lane {
        if is_hasty {
            &mut self.hasty
        } else {
            &mut self.patient
        }
    }

    fn waiting(&self) -> usize {
        self.patient.waiting.len() + self.hasty.waiting.len()
    }

    fn note_refusal(&mut self) {
        let now = Instant::now();
        let follows = self
            .refusals
            .filter(|refusals| now - refusals.last < LONGEST_PAUSE);
        let since = follows.map_or(now, |refusals| refusals.since);
        self.refusals = Some(Refusals { since, last: now });
    }

    fn is_overloaded(&self) -> bool {
        self.refusals.is_some_and(|refusals| {
            refusals.last.elapsed() < LONGEST_PAUSE && refusals.since.elapsed() > OVERLOAD
        })
    }
}

enum Joined {
    Now(Turn),
    Waits(oneshot::Receiver<Result<Turn, Refused>>),
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(queue) = self.queue.take() {
            queue.hand_on(self.is_hasty);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn as_client<T>(manners: &Arc<Manners>, work: impl Future<Output = T>) -> T {
        MANNERS.scope(Arc::clone(manners), work).await
    }

    /// Lets a request wait; what becomes of it.
    fn wait(
        queue: &Arc<Queue>,
        manners: &Arc<Manners>,
    ) -> tokio::task::JoinHandle<Result<Turn, Refused>> {
        let (queue, manners) = (Arc::clone(queue), Arc::clone(manners));
        tokio::spawn(async move { as_client(&manners, queue.enter()).await })
    }

    async fn until_waiting(queue: &Queue, count: usize) {
        while queue.lengths().1 != count {
            tokio::task::yield_now().await;
        }
    }

    /// A connection that was refused and asked again at once.
    async fn hasty() -> Arc<Manners> {
        let manners = Arc::new(Manners::default());
        as_client(&manners, async {
            note_refusal();
            hold_hasty().await;
        })
        .await;
        manners
    }

    #[tokio::test]
    async fn requests_wait_in_their_order_and_a_turn_is_handed_on_once() {
        let queue = Queue::new(1, 2);
        let patient = Arc::new(Manners::default());
        let first = queue.enter().await.unwrap();
        let second = wait(&queue, &patient);
        until_waiting(&queue, 1).await;
        let third = wait(&queue, &patient);
        until_waiting(&queue, 2).await;
        assert_eq!(queue.enter().await.unwrap_err(), Refused);
        drop(first);
        let second = second.await.unwrap().unwrap();
        assert!(!third.is_finished());
        drop(second);
        drop(third.await.unwrap().unwrap());
        assert_eq!(queue.lengths(), (0, 0));
    }

    #[tokio::test]
    async fn a_client_that_leaves_while_it_waits_gives_its_place_back() {
        let queue = Queue::new(1, 1);
        let first = queue.enter().await.unwrap();
        let left = wait(&queue, &Arc::default());
        until_waiting(&queue, 1).await;
        left.abort();
        assert!(left.await.is_err());
        let next = wait(&queue, &Arc::default());
        tokio::task::yield_now().await;
        drop(first);
        drop(next.await.unwrap().unwrap());
        assert_eq!(queue.lengths(), (0, 0));
    }

    #[tokio::test]
    async fn a_connection_that_asks_again_too_soon_is_held_and_leaves_others_their_places() {
        let began = Instant::now();
        let hasty = hasty().await;
        assert!(began.elapsed() >= RETRY_AFTER);
        let patient = Arc::new(Manners::default());
        let queue = Queue::new(1, 2);
        let early = as_client(&hasty, queue.enter()).await.unwrap();
        let [next, evicted] = [wait(&queue, &hasty), wait(&queue, &hasty)];
        until_waiting(&queue, 2).await;
        assert_eq!(as_client(&hasty, queue.enter()).await.unwrap_err(), Refused);
        let has_room = async || queue.has_room();
        assert_eq!(as_client(&hasty, has_room()).await, Err(Refused));
        assert_eq!(as_client(&patient, has_room()).await, Ok(()));
        // Others are worked for at once, and wait before the last of the hasty ones.
        let first = as_client(&patient, queue.enter()).await.unwrap();
        let late = wait(&queue, &patient);
        assert_eq!(evicted.await.unwrap().unwrap_err(), Refused);
        drop(early);
        drop(next.await.unwrap().unwrap());
        assert!(!late.is_finished());
        drop(first);
        drop(late.await.unwrap().unwrap());
        assert_eq!(queue.lengths(), (0, 0));
    }

    #[tokio::test]
    async fn a_connection_that_waits_as_told_stays_patient() {
        let manners = Arc::new(Manners::default());
        as_client(&manners, async {
            note_refusal();
            tokio::time::sleep(RETRY_AFTER).await;
            hold_hasty().await;
        })
        .await;
        assert!(!manners.is_hasty());
    }

    #[tokio::test]
    async fn while_requests_are_refused_all_the_time_each_connection_is_refused_once() {
        let queue = Queue::new(1, 4);
        let clients: Vec<Arc<Manners>> = (0..4).map(|_| Arc::default()).collect();
        let overloaded = async || {
            let began = Instant::now();
            while began.elapsed() < 2 * OVERLOAD {
                assert!(queue.enter().await.is_err());
                tokio::time::sleep(OVERLOAD / 10).await;
            }
        };
        let first = queue.enter().await.unwrap();
        let waiting: Vec<_> = clients.iter().map(|client| wait(&queue, client)).collect();
        until_waiting(&queue, 4).await;
        overloaded().await;
        drop(first);
        let mut refused = 0;
        for waiting in waiting {
            refused += usize::from(waiting.await.unwrap().is_err());
        }
        // The last ones wait no longer than they should.
        assert_eq!(refused, 2);
    }
}
