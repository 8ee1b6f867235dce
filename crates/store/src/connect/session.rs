//! Statements of one operation on a connection. A pooler in transaction mode gives the server's connection to another client
//! after each transaction: behind one, an operation is a transaction with settings of its own, and no statement has a name.

use sqlx::{
    AssertSqlSafe, Connection, Database, Postgres, SqlSafeStr, SqlStr, Sqlite, Transaction,
};

use super::connected::{Connected, Either};
use crate::{Store, StoreError};

/// A connection on loan.
pub(crate) struct Session<'c, D: Database> {
    connection: &'c mut D::Connection,
    /// Behind a pooler, the settings that each transaction begins with.
    settings: Option<&'c str>,
    /// Beginning of the reads that a write needs, if they are a transaction.
    begin_reading: Option<&'static str>,
    /// Whether the connection is to be closed. It is while a transaction begins: if the client leaves then, it may have begun or
    /// not.
    is_spoiled: &'c mut bool,
}

/// Statements of an operation.
pub(crate) enum Statements<'c, D: Database> {
    /// Single statements: each is a transaction.
    Single(&'c mut D::Connection),
    /// All are one transaction.
    Together {
        transaction: Transaction<'c, D>,
        /// Whether the server keeps statements under a name for later ones.
        are_named: bool,
    },
}

impl<'c, D: Database> Session<'c, D> {
    pub(crate) fn new<C>(connection: &'c mut C, store: &'c Store, is_spoiled: &'c mut bool) -> Self
    where
        C: Connection<Database = D>,
        D: Database<Connection = C>,
    {
        Self {
            connection,
            settings: store.pooled_settings.as_deref(),
            begin_reading: store.begin_reading(),
            is_spoiled,
        }
    }

    /// Statements that need no transaction.
    pub(crate) async fn statements(&mut self) -> Result<Statements<'_, D>, StoreError> {
        if self.settings.is_some() {
            return self.transaction("BEGIN").await;
        }
        Ok(Statements::Single(self.connection))
    }

    /// Statements that read what a write needs. They may be a transaction, of which nothing is to be committed.
    pub(crate) async fn reading(&mut self) -> Result<Statements<'_, D>, StoreError> {
        match self.begin_reading {
            Some(begin) => self.transaction(begin).await,
            None => self.statements().await,
        }
    }

    /// Statements of which all take effect or none. The settings behind a pooler need no round trip of their own.
    pub(crate) async fn transaction(
        &mut self,
        begin: &'static str,
    ) -> Result<Statements<'_, D>, StoreError> {
        let begin: SqlStr = match self.settings {
            Some(settings) => AssertSqlSafe(format!("{begin}; {settings}")).into_sql_str(),
            None => begin.into_sql_str(),
        };
        *self.is_spoiled = true;
        let transaction = self.connection.begin_with(begin).await?;
        *self.is_spoiled = false;
        Ok(Statements::Together {
            transaction,
            are_named: self.settings.is_none(),
        })
    }

    /// Whether a statement can be prepared for a later transaction.
    pub(crate) fn prepares(&self) -> bool {
        self.settings.is_none()
    }
}

impl<D: Database> Statements<'_, D> {
    /// The end of the operation.
    pub(crate) async fn commit(self) -> Result<(), StoreError> {
        match self {
            Self::Single(_) => Ok(()),
            Self::Together { transaction, .. } => Ok(transaction.commit().await?),
        }
    }

    /// The end of an operation that leaves no trace.
    pub(crate) async fn rollback(self) -> Result<(), StoreError> {
        match self {
            Self::Single(_) => Ok(()),
            Self::Together { transaction, .. } => Ok(transaction.rollback().await?),
        }
    }

    /// The connection, and whether statements on it are named.
    fn parts(&mut self) -> (&mut D::Connection, bool) {
        match self {
            Self::Single(connection) => (connection, true),
            Self::Together {
                transaction,
                are_named,
            } => (transaction, *are_named),
        }
    }
}

impl Connected for Statements<'_, Postgres> {
    fn either(&mut self) -> (Either<'_>, bool) {
        let (connection, are_named) = self.parts();
        (Either::Postgres(connection), are_named)
    }
}

impl Connected for Statements<'_, Sqlite> {
    fn either(&mut self) -> (Either<'_>, bool) {
        let (connection, are_named) = self.parts();
        (Either::Sqlite(connection), are_named)
    }
}

/// Runs an operation on a session of either pool, within the time that one operation has. After an error the connection is
/// closed. Nothing waits for the tables.
macro_rules! on_session {
    ($store:expr, $in_time:ident, $session:ident => $body:expr) => {{
        // Begins before a connection is free, so that it shows the wait for one.
        let span = unroof_telemetry::database_span($store.system());
        $crate::connect::database::on_pool!($store, pool => {
            let taken = $crate::connect::connection::Lease::take(pool, &$store).await;
            let mut lease = taken.inspect_err(|error| $store.note_lack(error))?;
            let outcome = {
                let mut $session = lease.session();
                let operation = tracing::Instrument::instrument(async { $body }, span);
                $store.$in_time(Box::pin(operation)).await
            };
            lease.note(&outcome);
            outcome
        })
    }};
}
pub(crate) use on_session;

/// Runs the same statements on a connection of either pool, within the time that one operation has.
macro_rules! on_connection {
    ($store:expr, $connection:ident => $body:expr) => {
        $crate::connect::session::on_connection!($store, in_time, $connection => $body)
    };
    ($store:expr, $in_time:ident, $connection:ident => $body:expr) => {{
        $store.wait_for_tables().await?;
        $crate::connect::session::on_session!($store, $in_time, session => {
            let mut statements = session.statements().await?;
            let $connection = &mut statements;
            let outcome: Result<_, $crate::StoreError> = async { $body }.await;
            let outcome = outcome?;
            statements.commit().await?;
            Ok(outcome)
        })
    }};
}
pub(crate) use on_connection;

/// Runs statements on a connection in one transaction.
macro_rules! in_transaction {
    ($store:expr, $in_time:ident, $connection:ident => $body:expr) => {{
        $store.wait_for_tables().await?;
        $crate::connect::session::on_session!($store, $in_time, session => {
            let mut statements = session.transaction($store.begin()).await?;
            let $connection = &mut statements;
            let outcome: Result<_, $crate::StoreError> = async { $body }.await;
            let outcome = outcome?;
            statements.commit().await?;
            Ok(outcome)
        })
    }};
}
pub(crate) use in_transaction;
