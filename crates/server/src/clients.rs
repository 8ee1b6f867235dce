//! The state of handlers that ask who a client is, and how much it may still ask.

use std::sync::Arc;

use unroof_edge::{Access, ClientLimits, Keys, Limits, Places, Quotas, Refusals};
use unroof_jobs::Jobs;
use unroof_store::Store;
use unroof_store::access::{Client, Visits};
use unroof_store::clock::Clock;

/// The part of all change streams that one client may have: a quarter.
const STREAM_SHARES: usize = 4;

/// State of handlers that know their clients.
#[derive(Debug, Clone)]
pub(super) struct Clients {
    /// The store, which has the keys.
    pub(super) store: Store,
    /// The clock of the service.
    pub(super) clock: Clock,
    /// Access that the settings allow.
    pub(super) access: Arc<Access>,
    /// Keys in memory.
    pub(super) keys: Arc<Keys>,
    /// Budgets of clients; none where clients are not limited.
    pub(super) quotas: Option<Arc<Quotas>>,
    /// Bytes that clients without a key may store; none where they are not limited.
    pub(super) anonymous_bytes: Option<Arc<Quotas>>,
    /// Refusals of clients beyond their budgets.
    pub(super) limited: Arc<Refusals>,
    /// Uses of keys, and refused requests.
    pub(super) visits: Arc<Visits>,
    /// Streams of each client; none where clients are not limited.
    pub(super) stream_places: Option<Places<Client>>,
}

impl Clients {
    /// Clients that are known by the keys in the store of the jobs.
    pub(super) fn new(jobs: &Jobs, limits: &Limits) -> Self {
        Self {
            store: jobs.store.clone(),
            clock: jobs.clock.clone(),
            access: Arc::default(),
            keys: Arc::default(),
            quotas: limits.client.map(|limits| Arc::new(Quotas::new(limits))),
            anonymous_bytes: limits
                .anonymous_bytes
                .map(|bytes| Arc::new(Quotas::new(ClientLimits::of_a_day(bytes)))),
            limited: Arc::new(Refusals::counting("refusing clients beyond their limits")),
            visits: Arc::clone(&jobs.visits),
            stream_places: limits
                .client
                .map(|_| Places::new((limits.streams / STREAM_SHARES).max(1))),
        }
    }
}
