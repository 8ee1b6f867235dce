//! Queries on a connection of the store's own.

use super::connected::Connected;
use super::query::Query;
use super::rows::FromEitherRow;
use super::session::{in_transaction, on_connection, on_session};
use super::{Store, StoreError};
use crate::telemetry::note_query;

impl Store {
    /// The rows that a query finds.
    pub(super) async fn rows<T: FromEitherRow>(
        &self,
        query: Query<'_>,
    ) -> Result<Vec<T>, StoreError> {
        on_connection!(self, connection => {
            note_query(&query.sql);
            connection.rows(query).await
        })
    }

    /// The row that a query finds, if there is one.
    pub(super) async fn row<T: FromEitherRow>(
        &self,
        query: Query<'_>,
    ) -> Result<Option<T>, StoreError> {
        on_connection!(self, connection => {
            note_query(&query.sql);
            connection.row(query).await
        })
    }

    /// The row that a query always finds.
    pub(super) async fn one<T: FromEitherRow>(&self, query: Query<'_>) -> Result<T, StoreError> {
        let row = self.row(query).await?;
        row.ok_or(StoreError::Query(sqlx::Error::RowNotFound))
    }

    /// The row that a query finds, if there is one, also while the tables are not up to date.
    pub(super) async fn row_without_waiting<T: FromEitherRow>(
        &self,
        query: Query<'_>,
    ) -> Result<Option<T>, StoreError> {
        on_session!(self, in_time, session => {
            let mut statements = session.statements().await?;
            let row = statements.row(query).await?;
            statements.commit().await?;
            Ok(row)
        })
    }

    /// Writes in its turn; the row that is returned, if there is one.
    pub(super) async fn written_row<T: FromEitherRow>(
        &self,
        query: Query<'_>,
    ) -> Result<Option<T>, StoreError> {
        let _writer = self.wait_to_write().await?;
        in_transaction!(self, in_time, connection => {
            note_query(&query.sql);
            connection.row(query).await
        })
    }

    /// Writes in its turn; how many rows were written.
    pub(super) async fn write(&self, query: Query<'_>) -> Result<u64, StoreError> {
        let _writer = self.wait_to_write().await?;
        in_transaction!(self, in_time, connection => {
            note_query(&query.sql);
            connection.execute(query).await
        })
    }

    /// Executes a statement; how many rows were written.
    pub(super) async fn execute(&self, query: Query<'_>) -> Result<u64, StoreError> {
        on_connection!(self, connection => {
            note_query(&query.sql);
            connection.execute(query).await
        })
    }
}
