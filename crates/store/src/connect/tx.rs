//! Statements of one operation, on either database: the only place that executes queries of lists, records and commands.

use std::ops::{Deref, DerefMut};
use std::slice;

use sqlx::{AssertSqlSafe, Database, Executor, Postgres, SqlSafeStr, Sqlite, Transaction};

use super::query::Query;
use super::rows::{FromEitherRow, Piece, Rows, arrays, text};
use crate::StoreError;
use crate::connect::operation::Operation;

/// Statements on a connection to PostgreSQL or to SQLite. What is not committed is rolled back.
pub(crate) enum Tx<'c> {
    Postgres(On<'c, Postgres>, &'c mut Operation),
    Sqlite(On<'c, Sqlite>, &'c mut Operation),
}

/// A connection with a transaction, or without one.
pub(crate) enum On<'c, D: Database> {
    /// Each statement is a transaction.
    Connection(&'c mut D::Connection),
    /// All statements are one transaction.
    Transaction(Transaction<'c, D>),
}

impl<D: Database> Deref for On<'_, D> {
    type Target = D::Connection;

    fn deref(&self) -> &D::Connection {
        match self {
            Self::Connection(connection) => connection,
            Self::Transaction(transaction) => transaction,
        }
    }
}

impl<D: Database> DerefMut for On<'_, D> {
    fn deref_mut(&mut self) -> &mut D::Connection {
        match self {
            Self::Connection(connection) => connection,
            Self::Transaction(transaction) => transaction,
        }
    }
}

impl Tx<'_> {
    /// The rows that a query finds.
    pub(crate) async fn rows<T: FromEitherRow>(
        &mut self,
        query: Query<'_>,
    ) -> Result<Vec<T>, StoreError> {
        self.operation().note(&query);
        match self {
            Self::Postgres(on, operation) => {
                let (sql, arguments) = query.parts::<Postgres>()?;
                let query = sqlx::query_as_with(sql, arguments).persistent(operation.has_names);
                operation.run(query.fetch_all(&mut **on)).await
            }
            Self::Sqlite(on, operation) => {
                let (sql, arguments) = query.parts::<Sqlite>()?;
                let query = sqlx::query_as_with(sql, arguments);
                operation.run(query.fetch_all(&mut **on)).await
            }
        }
    }

    /// The row that a query finds, if there is one.
    pub(crate) async fn row<T: FromEitherRow>(
        &mut self,
        query: Query<'_>,
    ) -> Result<Option<T>, StoreError> {
        Ok(self.rows(query).await?.into_iter().next())
    }

    /// The row that a query always finds.
    pub(crate) async fn one<T: FromEitherRow>(
        &mut self,
        query: Query<'_>,
    ) -> Result<T, StoreError> {
        let row = self.row(query).await?;
        row.ok_or(StoreError::Query(sqlx::Error::RowNotFound))
    }

    /// Executes a query; how many rows were written.
    pub(crate) async fn execute(&mut self, query: Query<'_>) -> Result<u64, StoreError> {
        self.operation().note(&query);
        match self {
            Self::Postgres(on, operation) => {
                let (sql, arguments) = query.parts::<Postgres>()?;
                let query = sqlx::query_with(sql, arguments).persistent(operation.has_names);
                let done = operation.run(query.execute(&mut **on)).await?;
                Ok(done.rows_affected())
            }
            Self::Sqlite(on, operation) => {
                let (sql, arguments) = query.parts::<Sqlite>()?;
                let query = sqlx::query_with(sql, arguments);
                let done = operation.run(query.execute(&mut **on)).await?;
                Ok(done.rows_affected())
            }
        }
    }

    /// The rows that a statement finds for given ones. Without any, the database is not asked.
    pub(crate) async fn read_rows<T: FromEitherRow>(
        &mut self,
        piece: &Piece,
        rows: &Rows<'_>,
    ) -> Result<Vec<T>, StoreError> {
        let mut found = Vec::new();
        match self {
            _ if rows.is_empty() => {}
            Self::Postgres(on, operation) => {
                let piece = slice::from_ref(piece);
                let arrays = arrays(piece, slice::from_ref(rows))?;
                let query = sqlx::query_as_with(AssertSqlSafe(text(piece)), arrays);
                let query = query.persistent(operation.has_names);
                found = operation.run(query.fetch_all(&mut **on)).await?;
            }
            Self::Sqlite(on, operation) => {
                for (mut query, is_kept) in piece.with_lists(rows) {
                    let query = query.build_query_as().persistent(is_kept);
                    found.extend(operation.run(query.fetch_all(&mut **on)).await?);
                }
            }
        }
        Ok(found)
    }

    /// Executes statements that write, with rows for each: PostgreSQL gets them as one.
    pub(crate) async fn write_rows(
        &mut self,
        pieces: &[Piece],
        rows: &[Rows<'_>],
    ) -> Result<(), StoreError> {
        match self {
            Self::Postgres(on, operation) => {
                let query = sqlx::query_with(AssertSqlSafe(text(pieces)), arrays(pieces, rows)?);
                let query = query.persistent(operation.has_names);
                operation.run(query.execute(&mut **on)).await?;
            }
            Self::Sqlite(on, operation) => {
                for (piece, rows) in pieces.iter().zip(rows) {
                    for (mut query, is_kept) in piece.with_lists(rows) {
                        let query = query.build().persistent(is_kept);
                        operation.run(query.execute(&mut **on)).await?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Prepares a statement for a later transaction, so that using it takes one round trip. SQLite has none.
    pub(crate) async fn prepare(&mut self, sql: String) -> Result<(), StoreError> {
        match self {
            Self::Postgres(on, operation) if operation.has_names => {
                let prepared = on.prepare(AssertSqlSafe(sql).into_sql_str());
                operation.run(prepared).await.map(drop)
            }
            _ => Ok(()),
        }
    }

    /// The end of an operation that writes.
    pub(crate) async fn commit(self) -> Result<(), StoreError> {
        match self {
            Self::Postgres(On::Transaction(transaction), operation) => {
                operation.run(transaction.commit()).await
            }
            Self::Sqlite(On::Transaction(transaction), operation) => {
                operation.run(transaction.commit()).await
            }
            _ => Ok(()),
        }
    }

    /// The operation that the statements belong to.
    pub(crate) fn operation(&mut self) -> &mut Operation {
        match self {
            Self::Postgres(_, operation) | Self::Sqlite(_, operation) => operation,
        }
    }
}
