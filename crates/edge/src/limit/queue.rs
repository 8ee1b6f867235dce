//! The request queue: so many requests run at once, so many more wait, and all others are refused.
//!
//! Clients take turns, and no client has more than its share of the queue, so that one that sends too much delays only
//! itself. Where clients are not limited, all of them count as one.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::rotation::Rotation;
use unroof_store::access::Client;

tokio::task_local! {
    /// Client of the request that this task works on, where clients are limited.
    pub static CLIENT: Client;
}

/// Waiting requests per running one above which the queue is long.
const LONG_QUEUE: usize = 2;

/// A queue with a fixed number of places for running requests, and a limit on waiting requests.
#[derive(Debug)]
pub(crate) struct Queue {
    /// Requests that run at once.
    places: usize,
    /// Requests that may wait.
    most_waiting: usize,
    /// Running and waiting requests of one client.
    most_of_client: usize,
    state: Mutex<State>,
}

/// The running and waiting requests of a queue.
#[derive(Debug, Default)]
struct State {
    /// Clients of the running requests.
    running: Vec<Option<Client>>,
    waiting: Rotation<Option<Client>, Waiter>,
}

/// Channel for the turn of a waiting request.
type Waiter = oneshot::Sender<Turn>;

/// A place in the queue, released on drop.
#[derive(Debug)]
pub struct Turn {
    queue: Option<Arc<Queue>>,
    client: Option<Client>,
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
    pub(crate) fn new(places: usize, most_waiting: usize) -> Arc<Self> {
        Arc::new(Self {
            places,
            most_waiting,
            most_of_client: (most_waiting / 2).max(1),
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
        self.lengths().1 > LONG_QUEUE * self.places
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a turn.
    ///
    /// # Errors
    /// The queue is full, or the client has its share.
    pub(crate) async fn enter(self: &Arc<Self>) -> Result<Turn, Refused> {
        match self.join()? {
            Joined::Now(turn) => Ok(turn),
            Joined::Waits(call) => call.await.map_err(|_| Refused::Full),
        }
    }

    fn join(self: &Arc<Self>) -> Result<Joined, Refused> {
        let mut state = self.state();
        let client = client();
        self.check_share(&state, client.as_ref())?;
        if state.running.len() < self.places {
            state.running.push(client.clone());
            return Ok(Joined::Now(Turn {
                queue: Some(Arc::clone(self)),
                client,
            }));
        }
        self.check_room(&mut state)?;
        let (call, called) = oneshot::channel();
        state.waiting.push(client, call);
        Ok(Joined::Waits(called))
    }

    /// Checks whether a client may have one more request in the queue.
    fn check_share(&self, state: &State, client: Option<&Client>) -> Result<(), Refused> {
        match client {
            Some(client) if state.used_by(client) >= self.most_of_client => Err(Refused::Share),
            _ => Ok(()),
        }
    }

    /// Checks whether one more request may wait; those of disconnected clients give way.
    fn check_room(&self, state: &mut State) -> Result<(), Refused> {
        if state.waiting.count() >= self.most_waiting {
            state.waiting.retain(|waiter| !waiter.is_closed());
        }
        if state.waiting.count() >= self.most_waiting {
            return Err(Refused::Full);
        }
        Ok(())
    }

    /// Checks whether a request of this task's client may wait.
    ///
    /// # Errors
    /// The queue is full, or the client has its share.
    pub(crate) fn has_room(&self) -> Result<(), Refused> {
        let mut state = self.state();
        self.check_share(&state, client().as_ref())?;
        self.check_room(&mut state)
    }

    /// Passes a turn to the next waiting request.
    fn hand_on(self: Arc<Self>, client: Option<&Client>) {
        let mut state = self.state();
        state.ended(client);
        let mut turn = Turn {
            queue: Some(Arc::clone(&self)),
            client: None,
        };
        while let Some((client, call)) = state.waiting.pop() {
            turn.client.clone_from(&client);
            match call.send(turn) {
                Ok(()) => {
                    state.running.push(client);
                    return;
                }
                // The client has disconnected.
                Err(unsent) => turn = unsent,
            }
        }
        turn.queue = None;
    }
}

impl State {
    /// Running and waiting requests of a client.
    fn used_by(&self, client: &Client) -> usize {
        let key = Some(client.clone());
        let running = self.running.iter().filter(|other| **other == key);
        let waiting = self.waiting.of(&key);
        running.count() + waiting.filter(|waiter| !waiter.is_closed()).count()
    }

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
    Waits(oneshot::Receiver<Turn>),
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(queue) = self.queue.take() {
            queue.hand_on(self.client.as_ref());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Enqueues a request; resolves to its outcome.
    fn wait(queue: &Arc<Queue>) -> tokio::task::JoinHandle<Result<Turn, Refused>> {
        let queue = Arc::clone(queue);
        tokio::spawn(async move { queue.enter().await })
    }

    async fn until_waiting(queue: &Queue, count: usize) {
        while queue.lengths().1 != count {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn requests_wait_in_their_order_and_a_turn_is_handed_on_once() {
        let queue = Queue::new(1, 2);
        let first = queue.enter().await.unwrap();
        let second = wait(&queue);
        until_waiting(&queue, 1).await;
        let third = wait(&queue);
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
