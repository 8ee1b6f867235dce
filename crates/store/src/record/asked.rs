//! Queries on a connection of the store's own.

use crate::connect::connected::Connected;
use crate::connect::newer_tables::require_own_tables;
use crate::connect::query::Query;
use crate::connect::rows::FromEitherRow;
use crate::connect::session::{in_transaction, on_connection, on_session};
use crate::{Store, StoreError};
use unroof_telemetry::note_query;

impl Store {
    /// The rows that a query finds.
    pub(crate) async fn rows<T: FromEitherRow>(
        &self,
        query: Query<'_>,
    ) -> Result<Vec<T>, StoreError> {
        on_connection!(self, connection => {
            note_query(&query.sql);
            connection.rows(query).await
        })
    }

    /// The row that a query finds, if there is one.
    pub(crate) async fn row<T: FromEitherRow>(
        &self,
        query: Query<'_>,
    ) -> Result<Option<T>, StoreError> {
        on_connection!(self, connection => {
            note_query(&query.sql);
            connection.row(query).await
        })
    }

    /// The row that a query always finds.
    pub(crate) async fn one<T: FromEitherRow>(&self, query: Query<'_>) -> Result<T, StoreError> {
        let row = self.row(query).await?;
        row.ok_or(StoreError::Query(sqlx::Error::RowNotFound))
    }

    /// The row that a query finds, if there is one, also while the tables are not up to date.
    pub(crate) async fn row_without_waiting<T: FromEitherRow>(
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
    pub(crate) async fn written_row<T: FromEitherRow>(
        &self,
        query: Query<'_>,
    ) -> Result<Option<T>, StoreError> {
        let _writer = self.wait_to_write().await?;
        in_transaction!(self, in_time, connection => {
            note_query(&query.sql);
            require_own_tables(connection).await?;
            connection.row(query).await
        })
    }

    /// Writes in its turn; how many rows were written.
    pub(crate) async fn write(&self, query: Query<'_>) -> Result<u64, StoreError> {
        let _writer = self.wait_to_write().await?;
        in_transaction!(self, in_time, connection => {
            note_query(&query.sql);
            require_own_tables(connection).await?;
            connection.execute(query).await
        })
    }

    /// Executes a statement; how many rows were written.
    pub(crate) async fn execute(&self, query: Query<'_>) -> Result<u64, StoreError> {
        on_connection!(self, connection => {
            note_query(&query.sql);
            connection.execute(query).await
        })
    }
}
