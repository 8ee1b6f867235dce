//! Queries and statements on a connection to either database.

use std::slice;

use sqlx::{Executor, PgConnection, SqlSafeStr, SqliteConnection};

use crate::StoreError;
use super::query::{Query, bound};
use super::rows::{FromEitherRow, Rows, Statement};

/// A connection to one database or the other.
pub(crate) enum Either<'c> {
    Postgres(&'c mut PgConnection),
    Sqlite(&'c mut SqliteConnection),
}

/// A connection that works on given rows, and executes queries.
pub(crate) trait Connected {
    /// The connection, and whether the server keeps its statements under a name for later ones.
    fn either(&mut self) -> (Either<'_>, bool);

    /// Prepares a statement, so that using it takes one round trip. SQLite has none.
    async fn prepare_rows(&mut self, statement: &'static Statement) -> Result<(), StoreError> {
        if let (Either::Postgres(connection), true) = self.either() {
            connection.prepare(statement.text().into_sql_str()).await?;
        }
        Ok(())
    }

    /// Prepares a query, so that using it takes one round trip. SQLite has none.
    async fn prepare(&mut self, sql: &'static str) -> Result<(), StoreError> {
        match self.either() {
            (Either::Postgres(connection), true) => {
                connection.prepare(sql.into_sql_str()).await?;
            }
            (Either::Sqlite(connection), true) => {
                connection.prepare(sql.into_sql_str()).await?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Executes a statement that writes, with rows for each of its pieces.
    async fn write_rows(
        &mut self,
        statement: &'static Statement,
        rows: &[Rows<'_>],
    ) -> Result<(), StoreError> {
        match self.either() {
            (Either::Postgres(connection), are_named) => {
                let query = sqlx::query_with(statement.text(), statement.arrays(rows)?);
                query.persistent(are_named).execute(connection).await?;
            }
            (Either::Sqlite(connection), _) => {
                for (mut query, is_kept) in statement.with_lists(rows) {
                    let query = query.build().persistent(is_kept);
                    query.execute(&mut *connection).await?;
                }
            }
        }
        Ok(())
    }

    /// The number that a query without parameters finds.
    async fn read_number(&mut self, sql: &'static str) -> Result<i64, StoreError> {
        let (number,) = self.one(Query::new(sql)).await?;
        Ok(number)
    }

    /// Executes a query; how many rows were written.
    async fn execute(&mut self, query: Query<'_>) -> Result<u64, StoreError> {
        Ok(match self.either() {
            (Either::Postgres(connection), are_named) => {
                let query = bound!(query, query).persistent(are_named);
                query.execute(connection).await?.rows_affected()
            }
            (Either::Sqlite(connection), _) => {
                let query = bound!(query, query);
                query.execute(connection).await?.rows_affected()
            }
        })
    }

    /// The rows that a query finds.
    async fn rows<T: FromEitherRow>(&mut self, query: Query<'_>) -> Result<Vec<T>, StoreError> {
        Ok(match self.either() {
            (Either::Postgres(connection), are_named) => {
                let query = bound!(query_as, query).persistent(are_named);
                query.fetch_all(connection).await?
            }
            (Either::Sqlite(connection), _) => {
                bound!(query_as, query).fetch_all(connection).await?
            }
        })
    }

    /// The row that a query finds, if there is one.
    async fn row<T: FromEitherRow>(&mut self, query: Query<'_>) -> Result<Option<T>, StoreError> {
        Ok(match self.either() {
            (Either::Postgres(connection), are_named) => {
                let query = bound!(query_as, query).persistent(are_named);
                query.fetch_optional(connection).await?
            }
            (Either::Sqlite(connection), _) => {
                bound!(query_as, query).fetch_optional(connection).await?
            }
        })
    }

    /// The row that a query always finds.
    async fn one<T: FromEitherRow>(&mut self, query: Query<'_>) -> Result<T, StoreError> {
        let row = self.row(query).await?;
        row.ok_or(StoreError::Query(sqlx::Error::RowNotFound))
    }

    /// The rows that a statement of one piece finds for given ones. Without any, the database is not asked.
    async fn read_rows<T: FromEitherRow>(
        &mut self,
        statement: &'static Statement,
        rows: &Rows<'_>,
    ) -> Result<Vec<T>, StoreError> {
        let mut found = Vec::new();
        match self.either() {
            _ if rows.is_empty() => {}
            (Either::Postgres(connection), are_named) => {
                let arrays = statement.arrays(slice::from_ref(rows))?;
                let query = sqlx::query_as_with(statement.text(), arrays);
                found = query.persistent(are_named).fetch_all(connection).await?;
            }
            (Either::Sqlite(connection), _) => {
                for (mut query, is_kept) in statement.with_lists(slice::from_ref(rows)) {
                    let query = query.build_query_as().persistent(is_kept);
                    found.extend(query.fetch_all(&mut *connection).await?);
                }
            }
        }
        Ok(found)
    }
}
