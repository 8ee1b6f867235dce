//! Lists are read from a standby while it has all that this process knows of, and from the primary otherwise.

use std::sync::atomic::Ordering;

use crate::connect::query::Query;
use crate::connect::rows::FromEitherRow;
use crate::connect::standby::{Standby, StandbyReads};
use crate::record::known::VERSION;
use crate::{Store, StoreError};

impl Store {
    /// The rows of a list, which only a new version of the store changes.
    pub(crate) async fn listed<T: FromEitherRow>(
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
        let newest = self.newest();
        let mut loan = self.connection_to(standby).await?;
        let mut tx = loan.statements().await?;
        let (version,): (i64,) = tx.one(Query::new(VERSION)).await?;
        if version < newest {
            return Ok(None);
        }
        tx.operation().allow(self.limits.operation());
        tx.rows(query).await.map(Some)
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
