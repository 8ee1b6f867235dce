//! The request queue: so many requests run at once in so much memory, so many more wait, and all others are refused.
//!
//! Clients share the CPU time, and no client has more than its share of the queue, so that one that sends too much, or asks for
//! what takes long, delays only itself. Where clients are not limited, all of them count as one.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use super::bill::Bill;
use super::rotation::Rotation;
use unroof_store::access::Client;

/// CPU time above which a request counts as long. Long ones leave a place, so that a short one never waits for their end.
const LONG: Duration = Duration::from_millis(100);

/// Waiting requests per running one above which the queue is long.
const LONG_QUEUE: usize = 2;

/// CPU time and memory that a request is expected to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Estimate {
    /// CPU time.
    pub cpu: Duration,
    /// Memory at the peak, in bytes.
    pub bytes: usize,
}

/// Limits of a queue.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    /// Requests that run at once.
    pub places: usize,
    /// Memory of the requests that run, in bytes.
    pub bytes: usize,
    /// Requests that may wait.
    pub waiting: usize,
}

/// A queue with places and memory for running requests, and a limit on waiting requests.
#[derive(Debug)]
pub(crate) struct Queue {
    room: Room,
    state: Mutex<State>,
}

/// The running and waiting requests of a queue.
#[derive(Debug, Default)]
struct State {
    /// Clients of the running requests, and whether each is long.
    running: Vec<(Option<Client>, bool)>,
    /// Memory of the running requests, in bytes.
    bytes: usize,
    waiting: Rotation<Option<Client>, Waiter>,
}

/// A waiting request.
#[derive(Debug)]
struct Waiter {
    bytes: usize,
    /// Channel for its turn.
    call: oneshot::Sender<Turn>,
}

/// A place in the queue, released on drop.
#[derive(Debug)]
pub(crate) struct Turn {
    /// The queue; none in a turn that did not reach its request.
    queue: Option<Arc<Queue>>,
    client: Option<Client>,
    expected: Duration,
    bytes: AtomicUsize,
    /// CPU time used, in nanoseconds.
    used: AtomicU64,
}

/// Reason why a request may not wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The queue is full.
    Full,
    /// The client has its share of the queue.
    Share,
}

impl Queue {
    /// An empty queue.
    #[must_use]
    pub(crate) fn new(room: Room) -> Arc<Self> {
        Arc::new(Self {
            room,
            state: Mutex::default(),
        })
    }

    /// Numbers of running and of waiting requests.
    pub(crate) fn lengths(&self) -> (usize, usize) {
        let state = self.state();
        (state.running.len(), state.waiting.count())
    }

    /// Whether many requests wait.
    pub(crate) fn is_long(&self) -> bool {
        self.lengths().1 > LONG_QUEUE * self.room.places
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a turn.
    ///
    /// # Errors
    /// The queue is full, or the client has its share.
    pub(crate) async fn enter(self: &Arc<Self>, estimate: Estimate) -> Result<Turn, Refused> {
        self.join(estimate)?.await.map_err(|_| Refused::Full)
    }

    fn join(self: &Arc<Self>, estimate: Estimate) -> Result<oneshot::Receiver<Turn>, Refused> {
        let mut state = self.state();
        let client = Bill::client();
        self.check_share(&state, client.as_ref())?;
        self.check_room(&mut state)?;
        let (call, called) = oneshot::channel();
        // A request that takes more than there is runs alone.
        let bytes = estimate.bytes.min(self.room.bytes);
        state
            .waiting
            .push(client, estimate.cpu, Waiter { bytes, call });
        self.call_next(&mut state);
        Ok(called)
    }

    /// Checks whether a client may have one more request in the queue.
    fn check_share(&self, state: &State, client: Option<&Client>) -> Result<(), Refused> {
        let most_of_client = (self.room.waiting / 2).max(1);
        match client {
            Some(client) if state.used_by(client) >= most_of_client => Err(Refused::Share),
            _ => Ok(()),
        }
    }

    /// Checks whether one more request may come; those of disconnected clients give way.
    fn check_room(&self, state: &mut State) -> Result<(), Refused> {
        let is_free = |state: &State| {
            let waiting = state.waiting.count();
            waiting < self.room.waiting || waiting == 0 && state.running.len() < self.room.places
        };
        if !is_free(state) {
            state.waiting.retain(|waiter| !waiter.call.is_closed());
        }
        is_free(state).then_some(()).ok_or(Refused::Full)
    }

    /// Checks whether a request of this task's client may wait.
    ///
    /// # Errors
    /// The queue is full, or the client has its share.
    pub(crate) fn has_room(&self) -> Result<(), Refused> {
        let mut state = self.state();
        self.check_share(&state, Bill::client().as_ref())?;
        self.check_room(&mut state)
    }

    /// Gives turns to the next waiting requests, while there are places and memory.
    fn call_next(self: &Arc<Self>, state: &mut State) {
        while state.running.len() < self.room.places {
            let State {
                running,
                bytes,
                waiting,
            } = &mut *state;
            let may = |client: &Option<Client>, expected| {
                self.may_run(running, client.as_ref(), expected > LONG)
            };
            let fits = |waiter: &Waiter| *bytes + waiter.bytes <= self.room.bytes;
            let Some((client, expected, waiter)) = waiting.pop(may, fits) else {
                return;
            };
            let turn = Turn {
                queue: Some(Arc::clone(self)),
                client: client.clone(),
                expected,
                bytes: waiter.bytes.into(),
                used: AtomicU64::default(),
            };
            match waiter.call.send(turn) {
                Ok(()) => {
                    running.push((client, expected > LONG));
                    *bytes += waiter.bytes;
                }
                // The client has disconnected.
                Err(mut unsent) => {
                    unsent.queue = None;
                    waiting.settle(&client, expected, Duration::ZERO);
                }
            }
        }
    }

    /// Whether a client may have one more running request: all places but one, so that others find one, and likewise all long ones.
    fn may_run(
        &self,
        running: &[(Option<Client>, bool)],
        client: Option<&Client>,
        is_long: bool,
    ) -> bool {
        let most = (self.room.places - 1).max(1);
        let own = running.iter().filter(|(other, _)| other.as_ref() == client);
        let long = running.iter().filter(|(_, is_long)| *is_long);
        client.is_none() || own.count() < most && (!is_long || long.count() < most)
    }

    /// Ends a turn.
    fn end(self: &Arc<Self>, turn: &Turn) {
        let mut state = self.state();
        let mut running = state.running.iter();
        let is_long = turn.expected > LONG;
        if let Some(place) =
            running.position(|(client, long)| *client == turn.client && *long == is_long)
        {
            state.running.swap_remove(place);
        }
        state.bytes -= turn.bytes.load(Ordering::Relaxed);
        let used = Duration::from_nanos(turn.used.load(Ordering::Relaxed));
        state.waiting.settle(&turn.client, turn.expected, used);
        self.call_next(&mut state);
        if state.running.is_empty() {
            state.waiting.rest();
        }
    }
}

impl State {
    /// Running and waiting requests of a client.
    fn used_by(&self, client: &Client) -> usize {
        let key = Some(client.clone());
        let running = self.running.iter().filter(|(other, _)| *other == key);
        let waiting = self.waiting.of(&key);
        running.count() + waiting.filter(|waiter| !waiter.call.is_closed()).count()
    }
}

impl Turn {
    /// Adds CPU time that the request used.
    pub(super) fn used(&self, cpu: Duration) {
        let nanos = u64::try_from(cpu.as_nanos()).unwrap_or(u64::MAX);
        self.used.fetch_add(nanos, Ordering::Relaxed);
    }

    /// Reserves memory up to this many bytes; false if there is less.
    pub(super) fn reserve(&self, bytes: usize) -> bool {
        let Some(queue) = &self.queue else {
            return false;
        };
        let mut state = queue.state();
        let own = self.bytes.load(Ordering::Relaxed);
        let more = bytes.min(queue.room.bytes).saturating_sub(own);
        if state.bytes + more > queue.room.bytes {
            return false;
        }
        state.bytes += more;
        self.bytes.store(own + more, Ordering::Relaxed);
        true
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(queue) = self.queue.take() {
            queue.end(self);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;
    use crate::limit::bill::Account;
    use crate::limit::limits::ClientLimits;
    use crate::limit::quota::Quotas;

    const SHORT: Estimate = Estimate {
        cpu: Duration::from_millis(50),
        bytes: 10,
    };

    /// Ends a turn that took as long as expected.
    fn end(turn: Turn) {
        turn.used(SHORT.cpu);
        drop(turn);
    }

    fn queue(places: usize, waiting: usize) -> Arc<Queue> {
        Queue::new(Room {
            places,
            bytes: 10 * places,
            waiting,
        })
    }

    /// Enqueues a request; resolves to its outcome.
    fn wait(queue: &Arc<Queue>) -> tokio::task::JoinHandle<Result<Turn, Refused>> {
        let queue = Arc::clone(queue);
        tokio::spawn(async move { queue.enter(SHORT).await })
    }

    async fn until_waiting(queue: &Queue, count: usize) {
        while queue.lengths().1 != count {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn requests_wait_in_their_order_and_a_turn_is_handed_on_once() {
        let queue = queue(1, 2);
        let first = queue.enter(SHORT).await.unwrap();
        let second = wait(&queue);
        until_waiting(&queue, 1).await;
        let third = wait(&queue);
        until_waiting(&queue, 2).await;
        assert_eq!(queue.enter(SHORT).await.unwrap_err(), Refused::Full);
        end(first);
        let second = second.await.unwrap().unwrap();
        assert!(!third.is_finished());
        drop(second);
        drop(third.await.unwrap().unwrap());
        assert_eq!(queue.lengths(), (0, 0));
    }

    #[tokio::test]
    async fn a_client_that_disconnects_while_waiting_frees_its_place() {
        let queue = queue(1, 1);
        let first = queue.enter(SHORT).await.unwrap();
        let left = wait(&queue);
        until_waiting(&queue, 1).await;
        left.abort();
        assert!(left.await.is_err());
        let next = wait(&queue);
        tokio::task::yield_now().await;
        drop(first);
        drop(next.await.unwrap().unwrap());
        assert_eq!(queue.lengths(), (0, 0));
    }

    /// Enqueues a request of a client; resolves to its outcome.
    fn wait_as(
        queue: &Arc<Queue>,
        client: &Client,
    ) -> tokio::task::JoinHandle<Result<Turn, Refused>> {
        wait_for(queue, client, SHORT)
    }

    fn wait_for(
        queue: &Arc<Queue>,
        client: &Client,
        estimate: Estimate,
    ) -> tokio::task::JoinHandle<Result<Turn, Refused>> {
        let (queue, client) = (Arc::clone(queue), client.clone());
        tokio::spawn(async move { bill_of(client).scope(queue.enter(estimate)).await })
    }

    fn bill_of(client: Client) -> Arc<Bill> {
        let [rate, burst] = [NonZeroU32::MIN, NonZeroU32::MAX];
        let quotas = Arc::new(Quotas::new(ClientLimits { rate, burst }));
        Bill::open(Some(Account { quotas, client }), None, 1).unwrap()
    }

    fn clients() -> [Client; 2] {
        [1, 2].map(|number| Client::User(number.to_string().into()))
    }

    #[tokio::test]
    async fn clients_take_turns_so_that_one_with_many_requests_delays_only_itself() {
        let queue = queue(1, 8);
        let [greedy, modest] = clients();
        let mut turn = wait_as(&queue, &greedy).await.unwrap().unwrap();
        let mut waiting = Vec::new();
        for client in [&greedy, &greedy, &greedy, &modest] {
            waiting.push(wait_as(&queue, client));
            until_waiting(&queue, waiting.len()).await;
        }
        // Of the four, the last comes second.
        for next in [0, 2, 0, 0] {
            end(turn);
            let next = waiting.remove(next);
            turn = next.await.unwrap().unwrap();
            assert!(waiting.iter().all(|other| !other.is_finished()));
        }
        drop(turn);
        assert_eq!(queue.lengths(), (0, 0));
    }

    #[tokio::test]
    async fn a_client_has_half_of_the_queue_and_others_the_rest() {
        let queue = queue(3, 8);
        let [greedy, modest] = clients();
        let running = [(); 2].map(|()| wait_as(&queue, &greedy));
        let [first, second] = running.map(async |turn| turn.await.unwrap().unwrap());
        let (first, second) = (first.await, second.await);
        let mut waiting: Vec<_> = (0..2).map(|_| wait_as(&queue, &greedy)).collect();
        until_waiting(&queue, 2).await;
        let share = Err(Refused::Share);
        assert_eq!(
            wait_as(&queue, &greedy).await.unwrap().map(drop),
            share.clone()
        );
        let has_room = async |client: &Client| {
            let room = async { queue.has_room() };
            bill_of(client.clone()).scope(room).await
        };
        assert_eq!(has_room(&greedy).await, share);
        assert_eq!(has_room(&modest).await, Ok(()));
        // A request whose client has left is none.
        let left = waiting.remove(0);
        left.abort();
        assert!(left.await.is_err());
        assert_eq!(has_room(&greedy).await, Ok(()));
        waiting.extend((0..4).map(|_| wait_as(&queue, &modest)));
        until_waiting(&queue, 5).await;
        drop((first, second));
        for turn in waiting {
            drop(turn.await.unwrap().unwrap());
        }
        assert_eq!(queue.lengths(), (0, 0));
        assert_eq!(has_room(&greedy).await, Ok(()));
    }

    #[tokio::test]
    async fn a_client_leaves_one_place_to_the_others() {
        let queue = queue(2, 8);
        let [greedy, modest] = clients();
        let first = wait_as(&queue, &greedy).await.unwrap().unwrap();
        let second = wait_as(&queue, &greedy);
        until_waiting(&queue, 1).await;
        let other = wait_as(&queue, &modest).await.unwrap().unwrap();
        assert!(!second.is_finished());
        drop((first, other));
        drop(second.await.unwrap().unwrap());
    }

    #[tokio::test]
    async fn long_requests_leave_one_place_to_short_ones() {
        let queue = queue(2, 8);
        let [greedy, modest] = clients();
        let long = Estimate {
            cpu: Duration::from_secs(1),
            ..SHORT
        };
        let first = wait_for(&queue, &greedy, long).await.unwrap().unwrap();
        let second = wait_for(&queue, &modest, long);
        until_waiting(&queue, 1).await;
        let third = Client::User("3".into());
        let short = wait_as(&queue, &third).await.unwrap().unwrap();
        assert!(!second.is_finished());
        drop((first, short));
        drop(second.await.unwrap().unwrap());
        assert_eq!(queue.lengths(), (0, 0));
    }

    #[tokio::test]
    async fn a_request_waits_for_the_memory_that_it_takes() {
        let queue = Queue::new(Room {
            places: 4,
            bytes: 100,
            waiting: 8,
        });
        let large = Estimate { bytes: 80, ..SHORT };
        let first = queue.enter(large).await.unwrap();
        assert!(first.reserve(85) && first.reserve(20));
        let small = queue.enter(SHORT).await.unwrap();
        assert!(!first.reserve(95));
        let waits = {
            let queue = Arc::clone(&queue);
            tokio::spawn(async move { queue.enter(large).await })
        };
        until_waiting(&queue, 1).await;
        // A small request does not overtake the large one.
        let later = wait(&queue);
        until_waiting(&queue, 2).await;
        drop(first);
        let second = waits.await.unwrap().unwrap();
        drop(later.await.unwrap().unwrap());
        drop((small, second));
        assert_eq!((queue.lengths(), queue.state().bytes), ((0, 0), 0));
    }
}
