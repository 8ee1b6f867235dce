//! Single queries, each on a connection of its own.

use super::query::Query;
use super::rows::{FromEitherRow, Piece, Rows};
use super::{Store, StoreError};

impl Store {
    /// The rows that a query finds.
    pub(super) async fn rows<T: FromEitherRow>(
        &self,
        query: Query<'_>,
    ) -> Result<Vec<T>, StoreError> {
        let mut loan = self.connection().await?;
        loan.statements().await?.rows(query).await
    }

    /// The rows that a statement finds for given ones.
    pub(super) async fn read_rows<T: FromEitherRow>(
        &self,
        piece: &Piece,
        rows: &Rows<'_>,
    ) -> Result<Vec<T>, StoreError> {
        let mut loan = self.connection().await?;
        loan.statements().await?.read_rows(piece, rows).await
    }

    /// The row that a query finds, if there is one.
    pub(super) async fn row<T: FromEitherRow>(
        &self,
        query: Query<'_>,
    ) -> Result<Option<T>, StoreError> {
        let mut loan = self.connection().await?;
        loan.statements().await?.row(query).await
    }

    /// The row that a query always finds.
    pub(super) async fn one<T: FromEitherRow>(&self, query: Query<'_>) -> Result<T, StoreError> {
        let mut loan = self.connection().await?;
        loan.statements().await?.one(query).await
    }

    /// The row that a query finds, if there is one, also while the tables are not up to date.
    pub(super) async fn row_without_waiting<T: FromEitherRow>(
        &self,
        query: Query<'_>,
    ) -> Result<Option<T>, StoreError> {
        let mut loan = self.connection_without_waiting().await?;
        loan.statements().await?.row(query).await
    }

    /// Writes in its turn; the row that is returned, if there is one.
    pub(super) async fn written_row<T: FromEitherRow>(
        &self,
        query: Query<'_>,
    ) -> Result<Option<T>, StoreError> {
        let _writer = self.wait_to_write().await?;
        let mut loan = self.connection().await?;
        let mut tx = loan.writing().await?;
        let row = tx.row(query).await?;
        tx.commit().await?;
        Ok(row)
    }

    /// Writes in its turn; how many rows were written.
    pub(super) async fn write(&self, query: Query<'_>) -> Result<u64, StoreError> {
        let _writer = self.wait_to_write().await?;
        let mut loan = self.connection().await?;
        let mut tx = loan.writing().await?;
        let written = tx.execute(query).await?;
        tx.commit().await?;
        Ok(written)
    }
}
