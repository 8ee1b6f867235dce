//! The request queue, with separate lanes for patient and hasty connections.
//!
//! A refused client must wait a second (`Retry-After: 1`). A connection that sends another request sooner is *hasty*: the
//! request is held until the second is over, and for a minute its requests use a lane of their own, with threads
//! of the lowest priority, and are refused first. So patient clients are served despite any number of hasty ones. During overload,
//! every connection not yet classified is refused once as a test: at once, not after it has waited.
//!
//! Within a lane, clients take turns, and no client has more than its share of the queue. So one that sends too much delays
//! only itself. Where clients are not limited, all of them count as one.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::manners::{CLIENT, MANNERS, Manners, is_hasty, locked};
use super::rotation::Rotation;
use unroof_store::access::Client;

/// Waiting patient requests per running one above which the queue is long.
const LONG_QUEUE: usize = 2;
/// Duration of refusals after which the queue counts as overloaded.
const OVERLOAD: Duration = if cfg!(test) {
    Duration::from_millis(200)
} else {
    Duration::from_secs(5)
};
/// Longest gap between refusals of one overload.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// A queue with a fixed number of places for running requests in each lane, and a limit on waiting requests.
#[derive(Debug)]
pub struct Queue {
    places: usize,
    most_waiting: usize,
    /// Running and waiting requests of one client.
    most_of_client: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    patient: Lane,
    hasty: Lane,
    refusals: Option<Refusals>,
    /// Connections that were tested since the last refusal.
    tests: usize,
}

/// Running and waiting requests of one class.
#[derive(Debug, Default)]
struct Lane {
    /// Clients of the running requests.
    running: Vec<Option<Client>>,
    waiting: Rotation<Option<Client>, Waiter>,
}

/// A series of refusals.
#[derive(Debug, Clone, Copy)]
struct Refusals {
    since: Instant,
    last: Instant,
}

/// Channel for the outcome of a waiting request.
type Waiter = oneshot::Sender<Result<Turn, Refused>>;

/// A place in the queue, released on drop.
#[derive(Debug)]
pub struct Turn {
    queue: Option<Arc<Queue>>,
    client: Option<Client>,
    is_hasty: bool,
}

/// Reason why a request may not wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// The queue is full.
    Full,
    /// The client has its share of the queue.
    Share,
}

impl Queue {
    pub fn new(places: usize, most_waiting: usize) -> Arc<Self> {
        Arc::new(Self {
            places,
            most_waiting,
            most_of_client: (most_waiting / 2).max(1),
            state: Mutex::default(),
        })
    }

    /// Numbers of running and of waiting requests.
    pub fn lengths(&self) -> (usize, usize) {
        let state = locked(&self.state);
        (
            state.patient.running.len() + state.hasty.running.len(),
            state.waiting(),
        )
    }

    /// Whether many patient requests wait.
    pub fn is_long(&self) -> bool {
        self.are_many(&locked(&self.state).patient.waiting)
    }

    fn are_many(&self, waiting: &Rotation<Option<Client>, Waiter>) -> bool {
        waiting.len() > LONG_QUEUE * self.places
    }

    /// Waits for a turn.
    ///
    /// # Errors
    /// The queue is full, a patient request took the place, or the client has its share.
    pub async fn enter(self: &Arc<Self>) -> Result<Turn, Refused> {
        let manners = MANNERS.try_with(Arc::clone).ok();
        match self.join(manners.as_deref())? {
            Joined::Now(turn) => Ok(turn),
            Joined::Waits(call) => call.await.unwrap_or(Err(Refused::Full)),
        }
    }

    fn join(self: &Arc<Self>, manners: Option<&Manners>) -> Result<Joined, Refused> {
        let mut state = locked(&self.state);
        let is_hasty = manners.is_some_and(Manners::is_hasty);
        let client = client();
        self.check_share(&state, client.as_ref())?;
        let lane = state.lane(is_hasty);
        if lane.running.len() < self.places {
            lane.running.push(client.clone());
            return Ok(Joined::Now(Turn {
                queue: Some(Arc::clone(self)),
                client,
                is_hasty,
            }));
        }
        if !is_hasty {
            self.test(&mut state, manners)?;
        }
        self.make_room(&mut state, is_hasty)?;
        let (call, called) = oneshot::channel();
        state.lane(is_hasty).waiting.push(client, call);
        Ok(Joined::Waits(called))
    }

    /// Checks whether a client may have one more request in the queue.
    fn check_share(&self, state: &State, client: Option<&Client>) -> Result<(), Refused> {
        match client {
            Some(client) if state.used_by(client) >= self.most_of_client => Err(Refused::Share),
            _ => Ok(()),
        }
    }

    /// Refuses a connection that is not yet classified, during overload.
    fn test(&self, state: &mut State, manners: Option<&Manners>) -> Result<(), Refused> {
        if self.are_many(&state.patient.waiting)
            && state.is_overloaded()
            && manners.is_some_and(Manners::begin_test)
        {
            state.tests += 1;
            // The overload lasts where the queue would be full without the tests.
            if state.waiting() + state.tests >= self.most_waiting {
                state.note_refusal();
            }
            return Err(Refused::Full);
        }
        Ok(())
    }

    /// Makes room for one more waiting request: removes disconnected clients, then evicts a hasty request for a patient one.
    fn make_room(&self, state: &mut State, is_hasty: bool) -> Result<(), Refused> {
        if state.waiting() < self.most_waiting {
            return Ok(());
        }
        for lane in [&mut state.patient, &mut state.hasty] {
            lane.waiting.retain(|waiter| !waiter.is_closed());
        }
        if state.waiting() < self.most_waiting {
            return Ok(());
        }
        state.note_refusal();
        let last = if is_hasty {
            None
        } else {
            state.hasty.waiting.pop_of_longest()
        };
        let last = last.ok_or(Refused::Full)?;
        // The client may have disconnected.
        let _ = last.send(Err(Refused::Full));
        Ok(())
    }

    /// Checks whether a request of this connection may wait.
    ///
    /// # Errors
    /// The queue is full, or the client has its share.
    pub fn has_room(&self) -> Result<(), Refused> {
        let mut state = locked(&self.state);
        self.check_share(&state, client().as_ref())?;
        let is_full = state.waiting() >= self.most_waiting;
        if is_full && (is_hasty() || state.hasty.waiting.is_empty()) {
            state.note_refusal();
            return Err(Refused::Full);
        }
        Ok(())
    }

    /// Passes a turn to the next waiting request.
    fn hand_on(self: Arc<Self>, client: Option<&Client>, is_hasty: bool) {
        let mut state = locked(&self.state);
        state.lane(is_hasty).ended(client);
        let mut turn = Turn {
            queue: Some(Arc::clone(&self)),
            client: None,
            is_hasty,
        };
        loop {
            let Some((client, call)) = state.lane(is_hasty).waiting.pop() else {
                turn.queue = None;
                return;
            };
            turn.client.clone_from(&client);
            match call.send(Ok(turn)) {
                Ok(()) | Err(Err(_)) => {
                    state.lane(is_hasty).running.push(client);
                    return;
                }
                // The client has disconnected.
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

    /// Running and waiting requests of a client.
    fn used_by(&self, client: &Client) -> usize {
        let key = Some(client.clone());
        let of = |lane: &Lane| {
            let running = lane.running.iter().filter(|other| **other == key);
            let waiting = lane.waiting.of(&key);
            running.count() + waiting.filter(|waiter| !waiter.is_closed()).count()
        };
        of(&self.patient) + of(&self.hasty)
    }

    fn note_refusal(&mut self) {
        let now = Instant::now();
        let follows = self
            .refusals
            .filter(|refusals| now - refusals.last < LONGEST_PAUSE);
        let since = follows.map_or(now, |refusals| refusals.since);
        self.refusals = Some(Refusals { since, last: now });
        self.tests = 0;
    }

    fn is_overloaded(&self) -> bool {
        self.refusals.is_some_and(|refusals| {
            refusals.last.elapsed() < LONGEST_PAUSE && refusals.since.elapsed() > OVERLOAD
        })
    }
}

impl Lane {
    /// Removes a running request of a client.
    fn ended(&mut self, client: Option<&Client>) {
        let mut running = self.running.iter();
        if let Some(place) = running.position(|other| other.as_ref() == client) {
            self.running.swap_remove(place);
        }
    }
}

/// Client of the request that this task works on.
fn client() -> Option<Client> {
    CLIENT.try_with(Client::clone).ok()
}

enum Joined {
    Now(Turn),
    Waits(oneshot::Receiver<Result<Turn, Refused>>),
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(queue) = self.queue.take() {
            queue.hand_on(self.client.as_ref(), self.is_hasty);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit::manners::{RETRY_AFTER, hold_hasty, note_refusal};

    async fn as_client<T>(manners: &Arc<Manners>, work: impl Future<Output = T>) -> T {
        MANNERS.scope(Arc::clone(manners), work).await
    }

    /// Enqueues a request; resolves to its outcome.
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

    /// A connection that was refused and sent another request at once.
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
        assert_eq!(queue.enter().await.unwrap_err(), Refused::Full);
        drop(first);
        let second = second.await.unwrap().unwrap();
        assert!(!third.is_finished());
        drop(second);
        drop(third.await.unwrap().unwrap());
        assert_eq!(queue.lengths(), (0, 0));
    }

    #[tokio::test]
    async fn a_client_that_disconnects_while_waiting_frees_its_place() {
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
    async fn a_hasty_connection_is_held_and_does_not_displace_patient_ones() {
        let began = Instant::now();
        let hasty = hasty().await;
        assert!(began.elapsed() >= RETRY_AFTER);
        let patient = Arc::new(Manners::default());
        let queue = Queue::new(1, 2);
        let early = as_client(&hasty, queue.enter()).await.unwrap();
        let [next, evicted] = [wait(&queue, &hasty), wait(&queue, &hasty)];
        until_waiting(&queue, 2).await;
        assert_eq!(
            as_client(&hasty, queue.enter()).await.unwrap_err(),
            Refused::Full
        );
        let has_room = async || queue.has_room();
        assert_eq!(as_client(&hasty, has_room()).await, Err(Refused::Full));
        assert_eq!(as_client(&patient, has_room()).await, Ok(()));
        // Patient requests run at once, and evict the last waiting hasty one.
        let first = as_client(&patient, queue.enter()).await.unwrap();
        let late = wait(&queue, &patient);
        assert_eq!(evicted.await.unwrap().unwrap_err(), Refused::Full);
        drop(early);
        drop(next.await.unwrap().unwrap());
        assert!(!late.is_finished());
        drop(first);
        drop(late.await.unwrap().unwrap());
        assert_eq!(queue.lengths(), (0, 0));
    }

    #[tokio::test]
    async fn a_connection_that_respects_retry_after_stays_patient() {
        let manners = Arc::new(Manners::default());
        as_client(&manners, async {
            note_refusal();
            tokio::time::sleep(RETRY_AFTER).await;
            hold_hasty().await;
        })
        .await;
        assert!(!manners.is_hasty());
    }

    /// An overloaded queue of four in which the first has just been served: the running request, and the three that wait.
    async fn overloaded(
        queue: &Arc<Queue>,
    ) -> (Turn, Vec<tokio::task::JoinHandle<Result<Turn, Refused>>>) {
        let first = queue.enter().await.unwrap();
        let mut waiting: Vec<_> = (0..4).map(|_| wait(queue, &Arc::default())).collect();
        until_waiting(queue, 4).await;
        let began = Instant::now();
        while began.elapsed() < 2 * OVERLOAD {
            assert!(queue.enter().await.is_err());
            tokio::time::sleep(OVERLOAD / 10).await;
        }
        drop(first);
        // Those that wait already are served.
        let second = waiting.remove(0).await.unwrap().unwrap();
        (second, waiting)
    }

    #[tokio::test]
    async fn during_overload_each_connection_is_refused_once_and_at_once() {
        let queue = Queue::new(1, 4);
        let (second, mut waiting) = overloaded(&queue).await;
        // There is room, but the queue is long.
        let late = Arc::default();
        let refused = as_client(&late, queue.enter()).await;
        assert_eq!(refused.unwrap_err(), Refused::Full);
        waiting.push(wait(&queue, &late));
        until_waiting(&queue, 4).await;
        drop(second);
        drop(waiting.remove(0).await.unwrap().unwrap());
        let fourth = waiting.remove(0).await.unwrap().unwrap();
        // A short queue needs no test.
        waiting.push(wait(&queue, &Arc::default()));
        until_waiting(&queue, 3).await;
        drop(fourth);
        for waiting in waiting {
            drop(waiting.await.unwrap().unwrap());
        }
        assert_eq!(queue.lengths(), (0, 0));
    }

    #[tokio::test]
    async fn an_overload_ends_two_seconds_after_its_last_refusal() {
        let queue = Queue::new(1, 4);
        let (second, mut waiting) = overloaded(&queue).await;
        let refused = as_client(&Arc::default(), queue.enter()).await;
        assert_eq!(refused.unwrap_err(), Refused::Full);
        tokio::time::sleep(LONGEST_PAUSE).await;
        // The queue is as long as before.
        let late = wait(&queue, &Arc::default());
        while queue.lengths().1 != 4 {
            assert!(!late.is_finished(), "it was refused");
            tokio::task::yield_now().await;
        }
        waiting.push(late);
        drop(second);
        for waiting in waiting {
            drop(waiting.await.unwrap().unwrap());
        }
    }

    /// Enqueues a request of a client; resolves to its outcome.
    fn wait_as(
        queue: &Arc<Queue>,
        client: &Client,
    ) -> tokio::task::JoinHandle<Result<Turn, Refused>> {
        let (queue, client) = (Arc::clone(queue), client.clone());
        tokio::spawn(async move { CLIENT.scope(client, queue.enter()).await })
    }

    fn clients() -> [Client; 2] {
        [1, 2].map(|number| Client::User(number.to_string().into()))
    }

    #[tokio::test]
    async fn clients_take_turns_so_that_one_with_many_requests_delays_only_itself() {
        let queue = Queue::new(1, 8);
        let [greedy, modest] = clients();
        let mut turn = wait_as(&queue, &greedy).await.unwrap().unwrap();
        let mut waiting = Vec::new();
        for client in [&greedy, &greedy, &greedy, &modest] {
            waiting.push(wait_as(&queue, client));
            until_waiting(&queue, waiting.len()).await;
        }
        // Of the four, the last comes second.
        for next in [0, 2, 0, 0] {
            drop(turn);
            let next = waiting.remove(next);
            turn = next.await.unwrap().unwrap();
            assert!(waiting.iter().all(|other| !other.is_finished()));
        }
        drop(turn);
        assert_eq!(queue.lengths(), (0, 0));
    }

    #[tokio::test]
    async fn a_client_has_half_of_the_queue_and_others_the_rest() {
        let queue = Queue::new(2, 8);
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
            CLIENT.scope(client.clone(), room).await
        };
        assert_eq!(has_room(&greedy).await, share);
        assert_eq!(has_room(&modest).await, Ok(()));
        // A request whose client has left is none.
        let left = waiting.remove(0);
        left.abort();
        assert!(left.await.is_err());
        assert_eq!(has_room(&greedy).await, Ok(()));
        waiting.extend((0..4).map(|_| wait_as(&queue, &modest)));
        until_waiting(&queue, 6).await;
        drop((first, second));
        for turn in waiting {
            drop(turn.await.unwrap().unwrap());
        }
        assert_eq!(queue.lengths(), (0, 0));
        assert_eq!(has_room(&greedy).await, Ok(()));
    }
}
