//! The bill of a request: the points of its route, and those of the CPU time that it used beyond them.
//!
//! Points are charged as the time is used, so that a request whose client has left pays for it too.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::http::{HeaderMap, HeaderName};

use super::quota::{Exhausted, Quotas};
use unroof_store::access::{Client, Scope};
use unroof_store::{Meter, metered};
use unroof_telemetry::ThreadTime;

/// Points that the request of an answer cost.
pub const POINTS: HeaderName = HeaderName::from_static("unroof-points");

/// CPU time of one point: a plain price sheet takes about twenty.
pub const CPU_OF_POINT: Duration = Duration::from_millis(2);

tokio::task_local! {
    /// Bill of the request that this task works on.
    static BILL: Arc<Bill>;
}

/// The budget that a request is charged to.
#[derive(Debug, Clone)]
pub struct Account {
    /// Budgets of all clients.
    pub quotas: Arc<Quotas>,
    /// Client that pays.
    pub client: Client,
}

/// Cost of a request so far.
#[derive(Debug)]
pub struct Bill {
    /// The budget that pays; none where clients are not limited.
    account: Option<Account>,
    /// Scope of the caller; nothing is allowed if none.
    scope: Option<Scope>,
    /// CPU time used, in nanoseconds.
    used: AtomicU64,
    points: AtomicU64,
}

impl Bill {
    /// A bill that begins with the points of the route.
    ///
    /// # Errors
    /// The client has less; nothing is charged.
    pub(super) fn open(
        account: Option<Account>,
        scope: Option<Scope>,
        points: u64,
    ) -> Result<Arc<Self>, Exhausted> {
        if let Some(Account { quotas, client }) = &account {
            quotas.charge(client, points)?;
        }
        Ok(Arc::new(Self {
            account,
            scope,
            used: AtomicU64::default(),
            points: points.into(),
        }))
    }

    /// The bill of the request that this task works on; none for work of the service itself.
    #[must_use]
    pub fn current() -> Option<Arc<Self>> {
        BILL.try_with(Arc::clone).ok()
    }

    /// The client of the request that this task works on, where clients are limited.
    #[must_use]
    pub fn client() -> Option<Client> {
        BILL.try_with(|bill| Some(bill.account.as_ref()?.client.clone()))
            .ok()
            .flatten()
    }

    /// Works on the request: what is computed meanwhile is charged to it, on this thread, by permits and by SQLite.
    pub async fn scope<T>(self: &Arc<Self>, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        let polling = poll_fn(|context| {
            let time = ThreadTime::start();
            let polled = work.as_mut().poll(context);
            self.spend(time.used());
            polled
        });
        let bill = Arc::clone(self);
        let meter: Meter = Arc::new(move |cpu| bill.spend(cpu));
        BILL.scope(Arc::clone(self), metered(meter, polling)).await
    }

    /// Works on a request, which is charged if it has a bill.
    pub async fn charge<T>(bill: Option<&Arc<Self>>, work: impl Future<Output = T>) -> T {
        match bill {
            Some(bill) => bill.scope(work).await,
            None => work.await,
        }
    }

    /// Scope of the caller.
    #[must_use]
    pub fn caller_scope(&self) -> Option<Scope> {
        self.scope
    }

    /// Charges further points: before more is computed for a long request, or for bytes that are stored.
    ///
    /// # Errors
    /// The client has less; nothing is charged.
    pub fn pay(&self, points: u64) -> Result<(), Exhausted> {
        if let Some(Account { quotas, client }) = &self.account {
            quotas.charge(client, points)?;
        }
        self.points.fetch_add(points, Ordering::Relaxed);
        Ok(())
    }

    /// Gives points back that were paid for what was not done.
    pub fn give_back(&self, points: u64) {
        if points == 0 {
            return;
        }
        self.points.fetch_sub(points, Ordering::Relaxed);
        if let Some(Account { quotas, client }) = &self.account {
            quotas.give_back(client, points);
        }
    }

    /// Charges CPU time that was used, to the nearest point. A client that has less than its points is in debt.
    pub fn spend(&self, cpu: Duration) {
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let used = self.used.fetch_add(nanos(cpu), Ordering::Relaxed) + nanos(cpu);
        let due = (used + nanos(CPU_OF_POINT) / 2) / nanos(CPU_OF_POINT);
        let charged = self.points.fetch_max(due, Ordering::Relaxed);
        if due > charged {
            self.debit(due - charged);
        }
    }

    fn debit(&self, points: u64) {
        if let Some(Account { quotas, client }) = &self.account {
            quotas.debit(client, points);
        }
    }

    /// Gives back the points of the route, where no more was used.
    pub(super) fn waive(&self, points: u64) {
        let waived = self
            .points
            .compare_exchange(points, 0, Ordering::Relaxed, Ordering::Relaxed);
        if let (Ok(_), Some(Account { quotas, client })) = (waived, &self.account) {
            quotas.give_back(client, points);
        }
    }

    /// Says what the request cost, and what its client has left.
    pub fn announce(&self, headers: &mut HeaderMap) {
        headers.insert(POINTS, self.points.load(Ordering::Relaxed).into());
        if let Some(Account { quotas, client }) = &self.account {
            quotas.announce(client, headers);
        }
    }
}
