//! Whether the database takes writes. After a refused write, all further writes are refused at once until a probe of
//! ordinary size succeeds; reads continue.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use sqlx::{ConnectOptions, Connection, Database, Executor};

use crate::connect::database::Pool;
use crate::connect::file::{FileIdentity, may_write};
use crate::connect::query::Query;
use crate::connect::schema::migrations::own_migration;
use crate::record::refusal::Refusal;
use crate::{Store, StoreError};

/// Interval between probes of a database that refuses writes.
const BETWEEN_PROBES: Duration = Duration::from_millis(500);
// Another replica may have brought the tables up to date for a newer program.
const PROBE: &str = "
    UPDATE readiness SET probes = probes + 1
    WHERE id = 1 AND NOT EXISTS (SELECT 1 FROM _sqlx_migrations WHERE version > $1)";
// A probe after a refusal writes 256 KiB: a single page may fit on a disk on which no estimate fits.
const FILL_POSTGRES: &str = "UPDATE readiness SET filler = repeat('x', 262144) WHERE id = 1";
const FILL_SQLITE: &str = "UPDATE readiness SET filler = hex(zeroblob(131072)) WHERE id = 1";
const EMPTY: &str = "UPDATE readiness SET filler = NULL WHERE id = 1";

/// Executes statements on a connection of their own, each as one message: it needs no setting, also behind a pooler.
async fn execute_apart<D: Database>(
    pool: &sqlx::Pool<D>,
    statements: [&'static str; 2],
) -> Result<(), StoreError>
where
    for<'c> &'c mut D::Connection: Executor<'c, Database = D>,
{
    let mut connection = pool.connect_options().connect().await?;
    for statement in statements {
        sqlx::raw_sql(statement).execute(&mut connection).await?;
    }
    Ok(connection.close().await?)
}

/// Closes the connections that are open and free.
fn close_idle<D: Database>(pool: &sqlx::Pool<D>) {
    while let Some(mut connection) = pool.try_acquire() {
        connection.close_on_drop();
    }
}

impl Store {
    /// Whether the path of an embedded database leads to another file than the one that was opened, or to none.
    pub(crate) fn is_file_gone(&self) -> bool {
        match &self.pool {
            Pool::Postgres { .. } => false,
            Pool::Sqlite { path, file, .. } => {
                FileIdentity::of(path).map_or(true, |found| found != *file)
            }
        }
    }

    /// Tests the file without writing to it.
    fn look_at_file(&self) -> Option<Refusal> {
        let Pool::Sqlite { path, .. } = &self.pool else {
            return None;
        };
        if self.is_file_gone() {
            return Some(Refusal::Replaced);
        }
        (!may_write(path)).then_some(Refusal::ReadOnly)
    }

    /// Refuses if the database is known to take no writes.
    ///
    /// # Errors
    /// It is.
    pub fn require_writable(&self) -> Result<(), StoreError> {
        if let Some(refusal) = self.look_at_file() {
            self.refuse(refusal);
        }
        self.writing
            .refusal()
            .map_or(Ok(()), |refusal| Err(StoreError::Refused(refusal)))
    }

    /// Notes that the database takes no writes, and probes it until it does.
    pub(crate) fn refuse(&self, refusal: Refusal) {
        if self.writing.set(Some(refusal)).is_none() {
            tokio::spawn(self.clone().await_writes());
        }
    }

    /// Probes the database until it takes writes.
    async fn await_writes(self) {
        while !self.is_closed() {
            match self.probe_on_new_connection().await {
                Ok(()) => {
                    self.renew_connections();
                    self.writing.set(None);
                    return;
                }
                Err(error) => {
                    if let Some(refusal) = error.refusal() {
                        self.writing.set(Some(refusal));
                    }
                }
            }
            tokio::time::sleep(BETWEEN_PROBES).await;
        }
    }

    /// Writes as much as a request does, on a new connection: one that was opened while the database could only be
    /// read would not learn that this is over.
    async fn probe_on_new_connection(&self) -> Result<(), StoreError> {
        if let Some(refusal) = self.look_at_file() {
            return Err(StoreError::Refused(refusal));
        }
        let _writer = self.wait_for_turn().await?;
        let probing = async {
            match &self.pool {
                Pool::Postgres { pool, .. } => execute_apart(pool, [FILL_POSTGRES, EMPTY]).await,
                Pool::Sqlite { pool, .. } => execute_apart(pool, [FILL_SQLITE, EMPTY]).await,
            }
        };
        self.in_time(Box::pin(probing)).await
    }

    /// Closes all open connections; those in use close when they are returned.
    fn renew_connections(&self) {
        self.writing.generation.fetch_add(1, Ordering::AcqRel);
        match &self.pool {
            Pool::Postgres { pool, .. } => close_idle(pool),
            Pool::Sqlite { pool, .. } => close_idle(pool),
        }
    }

    /// Checks with a small write whether the database takes writes. Does not wait for a running write, whose outcome is
    /// recorded anyway.
    ///
    /// # Errors
    /// It takes no writes, or is unreachable.
    pub async fn probe_writing(&self) -> Result<(), StoreError> {
        self.require_writable()?;
        let _writer = match &self.pool {
            Pool::Sqlite { writer, .. } => match Arc::clone(writer).try_lock_owned() {
                Ok(writer) => Some(writer),
                Err(_) => return Ok(()),
            },
            Pool::Postgres { .. } => None,
        };
        let mut loan = self.connection().await?;
        let mut tx = loan.statements().await?;
        let probed = tx.execute(Query::new(PROBE).bind(own_migration())).await?;
        tx.commit().await?;
        if probed > 0 {
            return Ok(());
        }
        let newer = self.newer_tables().await?;
        self.writing.set(newer.map(Refusal::NewerTables));
        self.require_writable()
    }
}
