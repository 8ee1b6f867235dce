//! Prices that are withdrawn, and withdrawals that are undone.

use jiff::Timestamp;
use sqlx::FromRow;
use uuid::Uuid;

use super::plan::Acted;
use super::work::{Act, Work};
use crate::access::Actor;
use crate::connect::query::Query;
use crate::{DbTime, Store, StoreError};

/// A price that was withdrawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Withdrawal {
    /// Time of the withdrawal.
    pub withdrawn_at: DbTime,
    /// Reason for the withdrawal.
    pub withdrawn_because: String,
}

/// Outcome of a withdrawal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Withdrawn {
    /// There is no such sheet.
    Unknown,
    /// The price is neither in force nor announced.
    Over,
    /// The sheet is withdrawn, now or by an earlier request.
    Done(Withdrawal),
}

/// Outcome of undoing a withdrawal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reinstated {
    /// There is no such sheet.
    Unknown,
    /// The sheet is not withdrawn, or no longer.
    Done,
}

const OFFER: &str = "SELECT offer_id FROM price_sheets WHERE id = $1";

#[derive(FromRow)]
struct OfferRow {
    offer_id: Uuid,
}

impl Store {
    /// Withdraws a price: what held before holds again, until the price is seen again.
    ///
    /// # Errors
    /// The query fails.
    pub async fn withdraw(
        &self,
        sheet_id: Uuid,
        reason: &str,
        now: Timestamp,
        actor: Actor,
    ) -> Result<Withdrawn, StoreError> {
        let because = Some(reason.to_owned());
        Ok(match self.act(sheet_id, because, now, actor).await? {
            None => Withdrawn::Unknown,
            Some(Acted::Over | Acted::Done(None)) => Withdrawn::Over,
            Some(Acted::Done(Some((at, because)))) => Withdrawn::Done(Withdrawal {
                withdrawn_at: at.into(),
                withdrawn_because: because,
            }),
        })
    }

    /// Undoes the last withdrawal of a sheet: its former periods are restored, unless another price is in force there.
    ///
    /// # Errors
    /// The query fails.
    pub async fn reinstate(
        &self,
        sheet_id: Uuid,
        now: Timestamp,
        actor: Actor,
    ) -> Result<Reinstated, StoreError> {
        let acted = self.act(sheet_id, None, now, actor).await?;
        Ok(acted.map_or(Reinstated::Unknown, |_| Reinstated::Done))
    }

    async fn act(
        &self,
        sheet_id: Uuid,
        because: Option<String>,
        now: Timestamp,
        actor: Actor,
    ) -> Result<Option<Acted>, StoreError> {
        let row: Option<OfferRow> = self.row(Query::new(OFFER).bind(sheet_id)).await?;
        let Some(OfferRow { offer_id }) = row else {
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
        Ok(self.record_at_once(&work, None).await?.acted)
    }
}
