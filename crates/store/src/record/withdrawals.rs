//! Prices that are withdrawn, and withdrawals that are undone.

use jiff::Timestamp;
use uuid::Uuid;

use super::plan::Acted;
use super::work::{Act, Work};
use crate::access::Actor;
use crate::connect::query::Query;
use crate::{DbTime, Store, StoreError};

const OFFER: &str = "SELECT offer_id FROM price_sheets WHERE id = $1";
const PROVIDER: &str = "SELECT provider FROM price_sheets WHERE id = $1";

impl Store {
    /// The provider of a sheet; none if the sheet is unknown.
    ///
    /// # Errors
    /// The query fails.
    pub async fn provider_of(&self, sheet_id: Uuid) -> Result<Option<String>, StoreError> {
        let row: Option<(String,)> = self.row(Query::new(PROVIDER).bind(sheet_id)).await?;
        Ok(row.map(|(provider,)| provider))
    }

    /// Withdraws a price for a reason: what held before holds again, until the price is seen again. Without a reason, undoes
    /// the last withdrawal of the sheet: its former periods are restored, unless another price is in force there. None if
    /// the sheet is unknown.
    ///
    /// # Errors
    /// The query fails.
    pub async fn withdraw(
        &self,
        sheet_id: Uuid,
        because: Option<String>,
        now: Timestamp,
        actor: Actor,
    ) -> Result<Option<Acted>, StoreError> {
        let row: Option<(Uuid,)> = self.row(Query::new(OFFER).bind(sheet_id)).await?;
        let Some((offer_id,)) = row else {
            return Ok(None);
        };
        let work = Work {
            now: DbTime::from(now).into(),
            act: Some(Act {
                offer_id,
                sheet_id,
                because,
                actor,
            }),
            ..Work::default()
        };
        let _writer = self.wait_to_write().await?;
        Ok(self.record_at_once(&work, None).await?.plan.acted)
    }
}
