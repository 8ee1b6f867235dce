//! Lists are read from a standby while it has all that this process knows of, and from the primary otherwise.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use sqlx::PgPool;

use super::connection::Lease;
use super::database::within;
use super::known::VERSION;
use super::query::Query;
use super::rows::{Connected, FromEitherRow};
use super::{Store, StoreError, locked};

/// Longest wait for a connection to the standby, and for its version.
const SOON: Duration = Duration::from_millis(250);
/// Time for which a standby that failed is not asked.
const REST: Duration = Duration::from_secs(2);

/// A standby.
#[derive(Debug)]
pub(super) struct Standby {
    pub(super) pool: PgPool,
    /// Time before which it is not asked again.
    rests_until: Mutex<Option<Instant>>,
    is_unreachable: AtomicBool,
    reads: AtomicU64,
    passed: AtomicU64,
}

/// Lists that were read from the standby, and from the primary in its place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StandbyReads {
    /// Read from the standby.
    pub standby: u64,
    /// Read from the primary, because the standby was behind or away.
    pub primary: u64,
}

impl Standby {
    /// Longest wait for a connection.
    pub(super) const WAIT: Duration = SOON;

    pub(super) fn new(pool: PgPool) -> Self {
        Self {
            pool,
            rests_until: Mutex::default(),
            is_unreachable: AtomicBool::new(false),
            reads: AtomicU64::new(0),
            passed: AtomicU64::new(0),
        }
    }

    /// Whether it is to be asked. After a failure, one request at a time finds out whether it is back.
    fn may_be_asked(&self) -> bool {
        let mut rests_until = locked(&self.rests_until);
        let now = Instant::now();
        match *rests_until {
            Some(until) if now < until => false,
            Some(_) => {
                *rests_until = Some(now + REST);
                true
            }
            None => true,
        }
    }

    fn note(&self, failure: Option<&StoreError>) {
        let is_unreachable = failure.is_some();
        *locked(&self.rests_until) = is_unreachable.then(|| Instant::now() + REST);
        if self.is_unreachable.swap(is_unreachable, Ordering::Relaxed) == is_unreachable {
            return;
        }
        if let Some(error) = failure {
            let error = error.with_causes();
            tracing::warn!(
                error,
                "the standby does not answer; lists are read from the primary"
            );
        } else {
            tracing::info!("the standby answers again");
        }
    }
}

impl Store {
    /// The rows of a list, which only a new version of the store changes.
    pub(super) async fn listed<T: FromEitherRow>(
        &self,
        query: Query<'_>,
    ) -> Result<Vec<T>, StoreError> {
        let Some(standby) = &self.standby else {
            return self.rows(query).await;
        };
        if standby.may_be_asked() {
            let rows = self.rows_of_standby(standby, query.clone()).await;
            standby.note(rows.as_ref().err());
            if let Ok(Some(rows)) = rows {
                standby.reads.fetch_add(1, Ordering::Relaxed);
                return Ok(rows);
            }
        }
        standby.passed.fetch_add(1, Ordering::Relaxed);
        self.rows(query).await
    }

    /// The rows as the standby has them; none if it is behind the newest version that this process knows of, which an answer
    /// may be labelled with. Version and rows are read on one connection: another may lead to another standby.
    async fn rows_of_standby<T: FromEitherRow>(
        &self,
        standby: &Standby,
        query: Query<'_>,
    ) -> Result<Option<Vec<T>>, StoreError> {
        self.wait_for_tables().await?;
        let newest = self.newest();
        let mut lease = within(SOON, Lease::take(&standby.pool, self)).await?;
        let reading = async {
            let mut session = lease.session();
            let asking = async {
                let mut statements = session.statements().await?;
                let version = statements.read_number(VERSION).await?;
                Ok((statements, version))
            };
            let (mut statements, version) = within(SOON, asking).await?;
            let rows = if version < newest {
                None
            } else {
                Some(statements.rows(query).await?)
            };
            statements.commit().await?;
            Ok(rows)
        };
        let rows = self.in_time(Box::pin(reading)).await;
        lease.spoil_after(&rows);
        rows
    }

    /// Lists that were read from the standby, and from the primary in its place; none without a standby.
    #[must_use]
    pub fn standby_reads(&self) -> Option<StandbyReads> {
        self.standby.as_ref().map(|standby| StandbyReads {
            standby: standby.reads.load(Ordering::Relaxed),
            primary: standby.passed.load(Ordering::Relaxed),
        })
    }
}
