//! Connections on loan from their pools, each for one operation. A connection goes back only while it is sound.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::pool::PoolConnection;
use sqlx::{AssertSqlSafe, Connection as _, Database, Postgres, SqlSafeStr, SqlStr, Sqlite};
use tokio::runtime::Handle;
use tracing::Span;

use crate::connect::database::Pool;
use crate::connect::meter::{self, Meter};
use crate::connect::operation::Operation;
use crate::connect::standby::Standby;
use crate::connect::tx::{On, Tx};
use crate::{Refusal, Store, StoreError, locked};
use unroof_telemetry::database_span;

/// A pooled connection whose return to the pool has a timeout: the pool pings it first, and a server that has stopped
/// answering would otherwise keep its slot.
pub(crate) struct Loan {
    store: Store,
    connection: Connection,
    operation: Operation,
    /// Generation of the connection: see `writing`.
    generation: u64,
    /// Takes the time of SQLite while the loan lasts.
    meter: Option<Arc<Meter>>,
}

/// A connection to one database or the other.
enum Connection {
    Postgres(PoolConnection<Postgres>),
    Sqlite(PoolConnection<Sqlite>),
}

impl Loan {
    /// Statements that need no transaction: each is one, or behind a pooler all are.
    pub(crate) async fn statements(&mut self) -> Result<Tx<'_>, StoreError> {
        if !self.prepares() {
            return self.transaction("BEGIN").await;
        }
        let operation = &mut self.operation;
        Ok(match &mut self.connection {
            Connection::Postgres(connection) => {
                Tx::Postgres(On::Connection(&mut **connection), operation)
            }
            Connection::Sqlite(connection) => {
                Tx::Sqlite(On::Connection(&mut **connection), operation)
            }
        })
    }

    /// Statements that read what a write needs: a transaction on PostgreSQL, so that it keeps their plans.
    pub(crate) async fn reading(&mut self) -> Result<Tx<'_>, StoreError> {
        match self.connection {
            Connection::Postgres(_) => self.writing().await,
            Connection::Sqlite(_) => self.statements().await,
        }
    }

    /// Statements that write, of which all take effect or none. SQLite takes its write lock at the start: a transaction that
    /// begins with a read cannot acquire it while another process writes.
    pub(crate) async fn writing(&mut self) -> Result<Tx<'_>, StoreError> {
        let begin = match self.connection {
            Connection::Postgres(_) => BEGIN_WITH_KEPT_PLANS,
            Connection::Sqlite(_) => "BEGIN IMMEDIATE",
        };
        self.transaction(begin).await
    }

    /// Statements that read all as of one moment.
    pub(crate) async fn snapshot(&mut self) -> Result<Tx<'_>, StoreError> {
        let begin = match self.connection {
            Connection::Postgres(_) => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
            Connection::Sqlite(_) => "BEGIN",
        };
        self.transaction(begin).await
    }

    /// A transaction. A pooler in transaction mode gives the server's connection to another client after it: behind one, it
    /// has settings of its own, which need no round trip, and no statement has a name.
    async fn transaction(&mut self, begin: &'static str) -> Result<Tx<'_>, StoreError> {
        let operation = &mut self.operation;
        let begin: SqlStr = match &self.store.pooled_settings {
            Some(settings) => AssertSqlSafe(format!("{begin}; {settings}")).into_sql_str(),
            None => begin.into_sql_str(),
        };
        Ok(match &mut self.connection {
            Connection::Postgres(connection) => {
                let transaction = operation.begin(connection.begin_with(begin)).await?;
                Tx::Postgres(On::Transaction(transaction), operation)
            }
            Connection::Sqlite(connection) => {
                let transaction = operation.begin(connection.begin_with(begin)).await?;
                Tx::Sqlite(On::Transaction(transaction), operation)
            }
        })
    }

    /// Whether a statement can be prepared for a later transaction.
    pub(crate) fn prepares(&self) -> bool {
        self.operation.has_names
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        self.meter = None;
        if let Some(refusal) = self.operation.refusal {
            self.store.refuse(refusal);
        }
        let is_sound =
            !self.operation.is_spoiled && self.generation == self.store.writing.generation();
        let limit = self.store.limits.statement;
        match &mut self.connection {
            Connection::Postgres(connection) => give_back(connection, is_sound, limit),
            Connection::Sqlite(connection) => give_back(connection, is_sound, limit),
        }
    }
}

fn give_back<D: Database>(connection: &mut PoolConnection<D>, is_sound: bool, limit: Duration) {
    // Outside a runtime nothing can wait for the connection: it is closed as it is.
    let Ok(runtime) = Handle::try_current() else {
        return drop(connection.return_to_pool());
    };
    // Also where a client left in the middle of a transaction, and the rollback has not succeeded yet.
    if !is_sound || connection.is_in_transaction() {
        return connection.close_on_drop();
    }
    let back = connection.return_to_pool();
    runtime.spawn(async move { tokio::time::timeout(limit, back).await });
}

impl Store {
    /// A connection for one operation, once the tables are up to date.
    pub(crate) async fn connection(&self) -> Result<Loan, StoreError> {
        self.wait_for_tables().await?;
        self.connection_without_waiting().await
    }

    /// A connection for one operation of a dozen statements, which has three times as long.
    pub(crate) async fn connection_for_many(&self) -> Result<Loan, StoreError> {
        let mut loan = self.connection().await?;
        loan.operation.allow(3 * self.limits.operation());
        Ok(loan)
    }

    /// A connection for one operation, also while the tables are not up to date.
    pub(crate) async fn connection_without_waiting(&self) -> Result<Loan, StoreError> {
        // Begins before a connection is free, so that it shows the wait for one.
        let span = database_span(self.system());
        let generation = self.writing.generation();
        let taking = async {
            Ok(match &self.pool {
                Pool::Postgres { pool, .. } => Connection::Postgres(self.take(pool).await?),
                Pool::Sqlite { pool, .. } => Connection::Sqlite(self.take(pool).await?),
            })
        };
        let connection = taking.await.inspect_err(|error| self.note_lack(error))?;
        let mut loan = self.lend(connection, generation, span);
        if let Connection::Sqlite(connection) = &mut loan.connection {
            loan.meter = loan.operation.run(meter::attach(connection)).await?;
        }
        Ok(loan)
    }

    /// A connection to a standby. Asking for one, and beginning, take no longer than the wait for a standby.
    pub(crate) async fn connection_to(&self, standby: &Standby) -> Result<Loan, StoreError> {
        self.wait_for_tables().await?;
        let generation = self.writing.generation();
        let taking = crate::connect::database::within(Standby::WAIT, self.take(&standby.pool));
        let connection = Connection::Postgres(taking.await?);
        let mut loan = self.lend(connection, generation, Span::none());
        loan.operation.is_on_standby = true;
        loan.operation.allow(Standby::WAIT);
        Ok(loan)
    }

    fn lend(&self, connection: Connection, generation: u64, span: Span) -> Loan {
        let operation = Operation {
            has_names: self.pooled_settings.is_none(),
            deadline: tokio::time::Instant::now() + self.limits.operation(),
            span,
            is_on_standby: false,
            is_spoiled: false,
            refusal: None,
        };
        Loan {
            store: self.clone(),
            connection,
            operation,
            generation,
            meter: None,
        }
    }

    async fn take<D: Database>(
        &self,
        pool: &sqlx::Pool<D>,
    ) -> Result<PoolConnection<D>, StoreError> {
        if self.is_file_gone() {
            return self.open_connection(pool).await;
        }
        // What opens a connection is large, and every caller up to the request's would hold room for it.
        Ok(Box::pin(pool.acquire()).await?)
    }

    /// An open connection from the pool. A new one would open another file.
    async fn open_connection<D: Database>(
        &self,
        pool: &sqlx::Pool<D>,
    ) -> Result<PoolConnection<D>, StoreError> {
        const PAUSE: Duration = Duration::from_millis(5);
        let waiting = async {
            loop {
                match pool.try_acquire() {
                    Some(connection) => return connection,
                    None => tokio::time::sleep(PAUSE).await,
                }
            }
        };
        tokio::time::timeout(self.limits.connection_wait, waiting)
            .await
            .map_err(|_| StoreError::Refused(Refusal::Replaced))
    }

    /// Records that no connection was free in time, if that is the error.
    fn note_lack(&self, error: &StoreError) {
        if matches!(error, StoreError::Query(sqlx::Error::PoolTimedOut)) {
            *locked(&self.lacked_connection_at) = Some(Instant::now());
        }
    }

    /// Whether no connection is free, and a request has waited for one in vain since then.
    #[must_use]
    pub fn has_lacked_connection_since(&self, came_at: Instant) -> bool {
        locked(&self.lacked_connection_at).is_some_and(|at| at >= came_at)
            && self.connections().idle == 0
    }
}

/// Begins a transaction that writes, or reads what a write needs. Its statements work on given rows and are planned once for a
/// connection: to plan them takes as long as to execute them. The tables may be small when the plan is made. Without either
/// switch it then reads whole tables, and `every_list_uses_an_index_whatever_its_filters_are` fails.
const BEGIN_WITH_KEPT_PLANS: &str = "BEGIN; SET LOCAL plan_cache_mode = force_generic_plan; \
                                     SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off";
