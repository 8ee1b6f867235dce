//! Single queries, each on a connection of its own.

use crate::connect::query::Query;
use crate::connect::rows::{FromEitherRow, Piece, Rows};
use crate::{Store, StoreError};

impl Store {
    /// The rows that a query finds.
    pub(crate) async fn rows<T: FromEitherRow>(
        &self,
        query: Query<'_>,
    ) -> Result<Vec<T>, StoreError> {
        let mut loan = self.connection().await?;
        loan.statements().await?.rows(query).await
    }

    /// The rows that a statement finds for given ones.
    pub(crate) async fn read_rows<T: FromEitherRow>(
        &self,
        piece: &Piece,
        rows: &Rows<'_>,
    ) -> Result<Vec<T>, StoreError> {
        let mut loan = self.connection().await?;
        loan.statements().await?.read_rows(piece, rows).await
    }

    /// The row that a query finds, if there is one.
    pub(crate) async fn row<T: FromEitherRow>(
        &self,
        query: Query<'_>,
    ) -> Result<Option<T>, StoreError> {
        let mut loan = self.connection().await?;
        loan.statements().await?.row(query).await
    }

    /// The row that a query always finds.
    pub(crate) async fn one<T: FromEitherRow>(&self, query: Query<'_>) -> Result<T, StoreError> {
        let mut loan = self.connection().await?;
        loan.statements().await?.one(query).await
    }

    /// The row that a query finds, if there is one, also while the tables are not up to date.
    pub(crate) async fn row_without_waiting<T: FromEitherRow>(
        &self,
        query: Query<'_>,
    ) -> Result<Option<T>, StoreError> {
        let mut loan = self.connection_without_waiting().await?;
        loan.statements().await?.row(query).await
    }

    /// Writes in its turn; the row that is returned, if there is one.
    pub(crate) async fn written_row<T: FromEitherRow>(
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
    pub(crate) async fn write(&self, query: Query<'_>) -> Result<u64, StoreError> {
        let _writer = self.wait_to_write().await?;
        let mut loan = self.connection().await?;
        let mut tx = loan.writing().await?;
        let written = tx.execute(query).await?;
        tx.commit().await?;
        Ok(written)
    }
}
