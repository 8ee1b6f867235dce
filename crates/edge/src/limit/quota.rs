//! Budgets of clients: what a request costs, how much each client has left, and the headers that say so.
//!
//! A budget is a generic cell rate algorithm (GCRA): points come back steadily, and at most the burst is there at once. A
//! client that has not come for a while has no state, so that the memory is that of the clients of the last seconds.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use governor::clock::{Clock, DefaultClock, Reference};
use governor::middleware::StateInformationMiddleware;
use governor::nanos::Nanos;
use governor::state::StateStore;
use governor::state::keyed::{HashMapStateStore, ShrinkableKeyedStateStore};
use governor::{Quota, RateLimiter};

use super::limits::ClientLimits;
use unroof_store::access::{Client, Scope};

/// The whole of a budget, and the time in which it comes back.
pub const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
/// Name of the header with the rest of a budget, and the time until it is whole again.
pub const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");

/// Points of a read.
const READ: u64 = 1;
/// Points of what is computed for one request, or written.
const COMPUTED: u64 = 20;
/// Bytes of a catalog that cost another point.
const BYTES_PER_POINT: u64 = 16 * 1024;
/// Bytes of a stored question that cost another point: a plain one costs as much again as to compute it.
const STORED_BYTES_PER_POINT: u64 = 4 * 1024;
/// Whole budgets that a client can owe.
const MOST_DEBT: u32 = 10;
/// Charges after which idle clients are forgotten, or more if more clients are remembered.
const BETWEEN_SWEEPS: usize = 1024;

/// Points of a request to a route that needs a scope; a route that needs none stores something. `length` is that of the body, none
/// if it is not stated, which costs all that there can be.
#[must_use]
pub fn cost(needed: Option<Scope>, length: Option<usize>) -> u64 {
    match needed {
        Some(Scope::Read | Scope::Admin) => READ,
        Some(Scope::Ask) | None => COMPUTED,
        Some(Scope::Observe) => length.map_or(u64::MAX, |length| {
            COMPUTED + length as u64 / BYTES_PER_POINT
        }),
    }
}

/// Points of a question that is stored with this many bytes, besides those of its request.
#[must_use]
pub(crate) fn cost_of_storing(bytes: u64) -> u64 {
    bytes.div_ceil(STORED_BYTES_PER_POINT)
}

/// The budgets of all clients.
#[derive(Debug)]
pub struct Quotas<C: Clock = DefaultClock> {
    limits: ClientLimits,
    limiter: RateLimiter<Client, States, C, StateInformationMiddleware>,
    clock: C,
    /// Start of the limiter, from which its states count.
    start: C::Instant,
    states: States,
    /// Charges until the next sweep.
    until_sweep: AtomicUsize,
}

/// Budget that a client has left, in points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Rest(u32);

/// The client has too little left, and must wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exhausted(pub Duration);

impl Quotas {
    /// Budgets of clients, all whole.
    #[must_use]
    pub fn new(limits: ClientLimits) -> Self {
        Self::at(limits, DefaultClock::default())
    }
}

impl<C: Clock + Clone> Quotas<C> {
    fn at(limits: ClientLimits, clock: C) -> Self {
        let states = States::default();
        let quota = Quota::per_second(limits.rate).allow_burst(limits.burst);
        Self {
            limits,
            limiter: RateLimiter::new(quota, states.clone(), clock.clone()),
            start: clock.now(),
            clock,
            states,
            until_sweep: AtomicUsize::new(BETWEEN_SWEEPS),
        }
    }

    /// Takes points from a client's budget, at most the whole.
    ///
    /// # Errors
    /// It has less; nothing is taken.
    pub fn charge(&self, client: &Client, points: u64) -> Result<(), Exhausted> {
        self.sweep();
        let charged = self.limiter.check_key_n(client, self.within(points));
        match charged {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(until)) => Err(Exhausted(until.wait_time_from(self.clock.now()))),
            // Not more than the whole was asked for.
            Err(_) => Err(Exhausted(self.whole_again_after(0))),
        }
    }

    /// Takes points that were used already: a client that has less is in debt, at most of ten times the whole budget.
    pub fn debit(&self, client: &Client, points: u64) {
        let time = self
            .per_point()
            .saturating_mul(u32::try_from(points).unwrap_or(u32::MAX));
        let most = self.whole_again_after(0).saturating_mul(MOST_DEBT);
        let now = self.elapsed();
        self.states.change(client, |whole_at| {
            let later = whole_at.unwrap_or_default().max(now) + nanos(time);
            later.min(now + nanos(most))
        });
    }

    /// Gives a client the points back that were charged for a request.
    pub fn give_back(&self, client: &Client, points: u64) {
        let time = nanos(self.time_of(points));
        self.states.change(client, |whole_at| {
            whole_at.unwrap_or_default().saturating_sub(time)
        });
    }

    /// Points that a client has left.
    fn rest(&self, client: &Client) -> Rest {
        let whole_at = self.states.of(client).unwrap_or_default();
        let until: Duration = whole_at.saturating_sub(self.elapsed()).into();
        let missing = until
            .as_nanos()
            .div_ceil(self.per_point().as_nanos().max(1));
        let missing = u32::try_from(missing).unwrap_or(u32::MAX);
        Rest(self.limits.burst.get().saturating_sub(missing))
    }

    /// Time since the start of the limiter.
    fn elapsed(&self) -> Nanos {
        self.clock.now().duration_since(self.start)
    }

    /// Points as the limiter takes them: at least one, at most the whole budget.
    fn within(&self, points: u64) -> NonZeroU32 {
        let points = u32::try_from(points).unwrap_or(u32::MAX);
        NonZeroU32::new(points).map_or(NonZeroU32::MIN, |points| points.min(self.limits.burst))
    }

    /// Time in which points come back, at most those of the whole budget.
    fn time_of(&self, points: u64) -> Duration {
        self.per_point() * self.within(points).get()
    }

    /// Time in which a point comes back.
    fn per_point(&self) -> Duration {
        Duration::from_secs(1) / self.limits.rate.get()
    }

    /// Time until a budget with a rest is whole again.
    fn whole_again_after(&self, rest: u32) -> Duration {
        self.per_point() * self.limits.burst.get().saturating_sub(rest)
    }

    /// Forgets the clients whose budgets are whole again, now and then.
    fn sweep(&self) {
        let left = self.until_sweep.fetch_sub(1, Ordering::Relaxed);
        if left == 1 {
            self.limiter.retain_recent();
            let next = BETWEEN_SWEEPS.max(self.limiter.len());
            self.until_sweep.store(next, Ordering::Relaxed);
        }
    }

    /// Says what a client has left.
    pub fn announce(&self, client: &Client, headers: &mut HeaderMap) {
        let rest = self.rest(client);
        self.write(rest, self.whole_again_after(rest.0), headers);
    }

    /// Says how long to wait.
    pub fn refuse(&self, Exhausted(wait): Exhausted, headers: &mut HeaderMap) {
        self.write(Rest(0), wait, headers);
        headers.insert(header::RETRY_AFTER, seconds(wait).into());
    }

    fn write(&self, Rest(rest): Rest, time: Duration, headers: &mut HeaderMap) {
        let (whole, window) = (self.limits.burst, seconds(self.whole_again_after(0)));
        let policy = format!("\"default\";q={whole};w={window}");
        let left = format!(
            "\"default\";r={rest};t={}",
            if time.is_zero() { 0 } else { seconds(time) }
        );
        for (name, value) in [(RATE_LIMIT_POLICY, policy), (RATE_LIMIT, left)] {
            if let Ok(value) = HeaderValue::try_from(value) {
                headers.insert(name, value);
            }
        }
    }
}

/// Whole seconds of a time, at least one.
pub(crate) fn seconds(time: Duration) -> u64 {
    let started = u64::from(time.subsec_nanos() > 0);
    (time.as_secs() + started).max(1)
}

/// Copies what an answer says of a budget.
pub fn hand_on(from: &HeaderMap, to: &mut HeaderMap) {
    for name in [RATE_LIMIT_POLICY, RATE_LIMIT, header::RETRY_AFTER] {
        if let Some(value) = from.get(&name) {
            to.insert(name, value.clone());
        }
    }
}

/// A time as the limiter counts it, of at most a century: it panics on what its numbers do not hold.
fn nanos(time: Duration) -> Nanos {
    const CENTURY: Duration = Duration::from_hours(100 * 365 * 24);
    time.min(CENTURY).into()
}

/// The states of all clients, which the limiter and this file share: the limiter takes points and cannot give them back.
#[derive(Debug, Clone, Default)]
struct States(Arc<HashMapStateStore<Client>>);

impl States {
    /// Time at which a client's budget is whole again; one without a state has a whole budget.
    fn of(&self, client: &Client) -> Option<Nanos> {
        let read = |whole_at: Option<Nanos>| Err::<((), Nanos), _>(whole_at);
        self.measure_and_replace(client, read).err().flatten()
    }

    /// Moves the time at which a client's budget is whole again.
    fn change(&self, client: &Client, change: impl Fn(Option<Nanos>) -> Nanos) {
        let changed = |whole_at| Ok(((), change(whole_at)));
        let _: Result<(), ()> = self.measure_and_replace(client, changed);
    }
}

impl StateStore for States {
    type Key = Client;

    fn measure_and_replace<T, F, E>(&self, client: &Client, replace: F) -> Result<T, E>
    where
        F: Fn(Option<Nanos>) -> Result<(T, Nanos), E>,
    {
        self.0.measure_and_replace(client, replace)
    }
}

impl ShrinkableKeyedStateStore<Client> for States {
    fn retain_recent(&self, drop_below: Nanos) {
        self.0.retain_recent(drop_below);
        self.0.shrink_to_fit();
    }

    fn len(&self) -> usize {
        ShrinkableKeyedStateStore::len(&*self.0)
    }

    fn is_empty(&self) -> bool {
        ShrinkableKeyedStateStore::is_empty(&*self.0)
    }
}

#[cfg(test)]
mod tests {
    use governor::clock::FakeRelativeClock;
    use uuid::Uuid;

    use super::*;

    fn quotas(rate: u32, burst: u32) -> (Quotas<FakeRelativeClock>, FakeRelativeClock) {
        let limits = ClientLimits {
            rate: NonZeroU32::new(rate).unwrap(),
            burst: NonZeroU32::new(burst).unwrap(),
        };
        let clock = FakeRelativeClock::default();
        (Quotas::at(limits, clock.clone()), clock)
    }

    fn client() -> Client {
        Client::Key(Uuid::new_v4())
    }

    /// Points left after a charge.
    fn charge(
        quotas: &Quotas<FakeRelativeClock>,
        client: &Client,
        points: u64,
    ) -> Result<Rest, Exhausted> {
        quotas.charge(client, points).map(|()| quotas.rest(client))
    }

    /// The headers as texts: policy, rest, and wait.
    fn texts(headers: &HeaderMap) -> [Option<&str>; 3] {
        [RATE_LIMIT_POLICY, RATE_LIMIT, header::RETRY_AFTER]
            .map(|name| headers.get(name).map(|value| value.to_str().unwrap()))
    }

    #[test]
    fn a_client_spends_its_budget_and_gets_it_back_with_time() {
        let (quotas, clock) = quotas(10, 50);
        let [first, second] = [client(), client()];
        assert_eq!(charge(&quotas, &first, 20), Ok(Rest(30)));
        assert_eq!(charge(&quotas, &first, 30), Ok(Rest(0)));
        let wait = Duration::from_millis(100);
        assert_eq!(quotas.charge(&first, 1), Err(Exhausted(wait)));
        assert_eq!(quotas.charge(&first, 20), Err(Exhausted(20 * wait)));
        assert_eq!(charge(&quotas, &second, 50), Ok(Rest(0)), "it has its own");
        clock.advance(10 * wait);
        assert_eq!(charge(&quotas, &first, 9), Ok(Rest(1)));
        clock.advance(100 * wait);
        assert_eq!(
            charge(&quotas, &first, 1),
            Ok(Rest(49)),
            "no more than the whole"
        );
    }

    #[test]
    fn what_costs_more_than_the_whole_costs_the_whole() {
        let (quotas, clock) = quotas(10, 50);
        let client = client();
        assert_eq!(charge(&quotas, &client, u64::MAX), Ok(Rest(0)));
        clock.advance(Duration::from_secs(4));
        let wait = Duration::from_secs(1);
        assert_eq!(quotas.charge(&client, 51), Err(Exhausted(wait)));
        clock.advance(wait);
        assert_eq!(charge(&quotas, &client, 51), Ok(Rest(0)));
    }

    #[test]
    fn what_is_given_back_can_be_spent_again_and_no_more() {
        let (quotas, _clock) = quotas(10, 50);
        let client = client();
        for _ in 0..1000 {
            quotas.charge(&client, 1).unwrap();
            quotas.give_back(&client, 1);
            assert_eq!(quotas.rest(&client), Rest(50));
        }
        assert_eq!(charge(&quotas, &client, 50), Ok(Rest(0)));
        assert!(quotas.charge(&client, 1).is_err());
        quotas.give_back(&client, 20);
        assert_eq!(quotas.rest(&client), Rest(20));
        assert_eq!(charge(&quotas, &client, 20), Ok(Rest(0)));
        assert!(quotas.charge(&client, 1).is_err());
    }

    #[test]
    fn what_was_used_beyond_the_budget_is_a_debt_of_at_most_ten_budgets() {
        let (quotas, clock) = quotas(10, 50);
        let client = client();
        quotas.charge(&client, 20).unwrap();
        quotas.debit(&client, 60);
        assert_eq!(quotas.rest(&client), Rest(0));
        let wait = Duration::from_millis(3_100);
        assert_eq!(quotas.charge(&client, 1), Err(Exhausted(wait)));
        clock.advance(wait);
        assert_eq!(charge(&quotas, &client, 1), Ok(Rest(0)));
        quotas.debit(&client, u64::MAX);
        assert_eq!(
            quotas.charge(&client, 50),
            Err(Exhausted(10 * Duration::from_secs(5)))
        );
    }

    #[test]
    fn clients_whose_budgets_are_whole_are_forgotten() {
        let (quotas, clock) = quotas(10, 50);
        for _ in 0..BETWEEN_SWEEPS - 1 {
            quotas.charge(&client(), 1).unwrap();
        }
        assert_eq!(quotas.limiter.len(), BETWEEN_SWEEPS - 1);
        clock.advance(Duration::from_secs(1));
        let busy = client();
        quotas.charge(&busy, 50).unwrap();
        assert_eq!(quotas.limiter.len(), 1);
        for _ in 0..2 * BETWEEN_SWEEPS {
            assert!(quotas.charge(&busy, 1).is_err(), "it is remembered");
        }
    }

    #[test]
    fn answers_have_the_headers_of_the_draft() {
        let (quotas, _clock) = quotas(50, 1000);
        let client = client();
        quotas.charge(&client, 75).unwrap();
        let mut headers = HeaderMap::new();
        quotas.announce(&client, &mut headers);
        let policy = Some("\"default\";q=1000;w=20");
        assert_eq!(
            texts(&headers),
            [policy, Some("\"default\";r=925;t=2"), None]
        );
        quotas.charge(&client, 925).unwrap();
        let refused = quotas.charge(&client, 120).unwrap_err();
        quotas.refuse(refused, &mut headers);
        let [whole, rest, wait] = texts(&headers);
        assert_eq!(whole, policy);
        assert_eq!(rest, Some("\"default\";r=0;t=3"));
        assert_eq!(wait, Some("3"));
    }

    #[test]
    fn a_request_costs_what_its_route_computes_and_its_catalog_holds() {
        assert_eq!(cost(Some(Scope::Read), Some(0)), 1);
        assert_eq!(cost(Some(Scope::Ask), None), 20);
        assert_eq!(cost(None, Some(60)), 20);
        assert_eq!(cost(Some(Scope::Observe), Some(0)), 20);
        assert_eq!(cost(Some(Scope::Observe), Some(1 << 20)), 84);
        assert_eq!(cost(Some(Scope::Observe), None), u64::MAX);
    }
}
