//! Looks at whole catalogs: what a catalog listed before, what it lists now, and the end of a look.

use jiff::Timestamp;
use sqlx::FromRow;
use uuid::Uuid;

use super::offers::{ListedSheet, LookAt};
use super::work::{ListedOffer, Work};
use crate::connect::query::Query;
use crate::{DbTime, Store, StoreError};
use unroof_price_sheet::history::FRESH_FOR;

/// Offers that are derived again in one transaction: few enough not to delay other writers.
const OFFERS_AT_ONCE: usize = 200;

const OPEN: &str = "
    SELECT seen.offer_id, seen.sheet_id, sheet.provider
    FROM sightings AS seen JOIN price_sheets AS sheet ON sheet.id = seen.sheet_id
    WHERE seen.source = $1 AND seen.last_at IS NULL";

const COVERING: &str = "
    SELECT DISTINCT seen.offer_id, seen.sheet_id, sheet.provider
    FROM sightings AS seen JOIN price_sheets AS sheet ON sheet.id = seen.sheet_id
    WHERE seen.source = $1 AND seen.first_at <= $2 AND (seen.last_at IS NULL OR seen.last_at >= $2)";

// Withdrawn since the newest look of a catalog that lists them.
const WITHDRAWN: &str = "
    SELECT mine.offer_id, mine.sheet_id, sheet.provider
    FROM withdrawals AS cut
    JOIN sightings AS mine ON mine.sheet_id = cut.sheet_id AND mine.source = $1 AND mine.last_at IS NULL
    JOIN price_sheets AS sheet ON sheet.id = mine.sheet_id
    WHERE cut.undone_at IS NULL AND cut.at < $2
      AND NOT EXISTS (SELECT 1 FROM looks WHERE source = $1 AND looks.at > cut.at)";

const IS_BETWEEN: &str = "
    SELECT max(at) AS at FROM looks WHERE source = $1 AND at >= $2 AND (scope = '' OR $3 = '' OR scope = $3)";

const PREVIOUS: &str = "
    SELECT max(at) AS at FROM looks WHERE source = $1 AND at < $2 AND (scope = '' OR scope = $3)";

// What is seen for longer may win over other catalogs, and a withdrawn price that is listed still is in force again. What
// an entry stated that could not be read has ended where that entry is missing now.
const AGAIN: &str = "
    SELECT mine.offer_id
    FROM sightings AS mine JOIN sightings AS other ON other.offer_id = mine.offer_id
    WHERE mine.source = $1 AND mine.last_at IS NULL AND other.sheet_id <> mine.sheet_id AND other.standing = 1
      AND (other.last_at IS NULL OR other.last_at >= (SELECT coalesce(max(at), $2) FROM looks WHERE source = $1))
    UNION
    SELECT mine.offer_id
    FROM sightings AS mine JOIN withdrawals AS cut ON cut.sheet_id = mine.sheet_id AND cut.undone_at IS NULL
    WHERE mine.source = $1 AND mine.last_at IS NULL AND cut.at < $2
    UNION
    SELECT mine.offer_id
    FROM unread_entries AS unread
    JOIN sightings AS mine ON mine.source = unread.source AND mine.entry = unread.entry AND mine.last_at < unread.at
    WHERE unread.source = $1 AND EXISTS (
        SELECT 1 FROM price_periods AS period WHERE period.offer_id = mine.offer_id AND has_ended = FALSE)";

const ALL_OFFERS: &str = "SELECT DISTINCT offer_id FROM sightings WHERE source = $1";

const NEWEST: &str = "
    SELECT max(at) AS at FROM (
        SELECT max(at) AS at FROM looks WHERE source = $1
        UNION ALL
        SELECT max(at) FROM withdrawals WHERE at >= $2) AS newest";

#[derive(FromRow)]
struct OfferRow {
    offer_id: Uuid,
}

#[derive(FromRow)]
struct TimeRow {
    at: Option<DbTime>,
}

impl Store {
    /// Listings of a catalog as of its newest look, or at the time of one that is not later than all others.
    ///
    /// # Errors
    /// The query fails.
    pub async fn listed_by(
        &self,
        look: &LookAt,
        is_between: bool,
    ) -> Result<Vec<ListedSheet>, StoreError> {
        let query = Query::new(if is_between { COVERING } else { OPEN });
        let query = query.bind(&look.source);
        let query = if is_between {
            query.bind(look.at)
        } else {
            query
        };
        self.rows(query).await
    }

    /// The sheets that a catalog lists and that were withdrawn after its newest look, before this one.
    ///
    /// # Errors
    /// The query fails.
    pub async fn withdrawn_before(&self, look: &LookAt) -> Result<Vec<ListedSheet>, StoreError> {
        let query = Query::new(WITHDRAWN).bind(&look.source).bind(look.at);
        self.rows(query).await
    }

    /// Time of a look that happens now: after all looks at the catalog, and after all withdrawals.
    ///
    /// # Errors
    /// The query fails.
    pub async fn time_of_look(
        &self,
        source: &str,
        now: Timestamp,
    ) -> Result<Timestamp, StoreError> {
        let now = DbTime::from(now);
        let newest = Query::new(NEWEST).bind(source).bind(now);
        let newest: Option<TimeRow> = self.row(newest).await?;
        let newest = newest.and_then(|row| row.at).map(Timestamp::from);
        let after = newest.and_then(|newest| {
            let next = newest.checked_add(jiff::Span::new().microseconds(1));
            next.ok()
        });
        let now = Timestamp::from(now);
        Ok(after.map_or(now, |after| after.max(now)))
    }

    /// Whether a look is not later than all others of its catalog.
    ///
    /// # Errors
    /// The query fails.
    pub async fn is_between_looks(&self, look: &LookAt) -> Result<bool, StoreError> {
        let query = Query::new(IS_BETWEEN).bind(&look.source);
        let query = query.bind(look.at).bind(&look.scope);
        let row: Option<TimeRow> = self.row(query).await?;
        Ok(row.is_some_and(|row| row.at.is_some()))
    }

    /// Whether the catalog was not read for so long that what it lists was not known in between.
    ///
    /// # Errors
    /// The query fails.
    pub async fn is_after_pause(&self, look: &LookAt) -> Result<bool, StoreError> {
        let query = Query::new(PREVIOUS).bind(&look.source);
        let query = query.bind(look.at).bind(&look.scope);
        let row: Option<TimeRow> = self.row(query).await?;
        let previous = row.and_then(|row| row.at).map(Timestamp::from);
        Ok(previous.is_some_and(|previous| look.at.duration_since(previous) >= FRESH_FOR))
    }

    /// Records what a look found of some offers. The look is not complete with it.
    ///
    /// # Errors
    /// The query fails; then nothing is stored.
    pub async fn record_look(
        &self,
        look: &LookAt,
        listed: Vec<ListedOffer>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let work = Work {
            now: DbTime::from(now).into(),
            look: Some(look.clone()),
            listed,
            ..Work::default()
        };
        let _writer = self.wait_to_write().await?;
        self.record_at_once(&work, None).await.map(drop)
    }

    /// Completes a look: what the catalog no longer lists has ended.
    ///
    /// # Errors
    /// The query fails; then nothing is stored.
    pub async fn complete_look(
        &self,
        look: &LookAt,
        ended: Vec<ListedOffer>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let is_between = self.is_between_looks(look).await?;
        let again = if is_between {
            Query::new(ALL_OFFERS).bind(&look.source)
        } else {
            Query::new(AGAIN).bind(&look.source).bind(look.at)
        };
        let again: Vec<OfferRow> = self.rows(again).await?;
        let work = Work {
            now: DbTime::from(now).into(),
            look: Some(look.clone()),
            listed: ended,
            completes: true,
            ..Work::default()
        };
        let writer = self.wait_to_write().await?;
        self.record_at_once(&work, None).await?;
        drop(writer);
        // What a process that ends here leaves is done by the next look: it finds the same offers.
        for offers in again.chunks(OFFERS_AT_ONCE) {
            let work = Work {
                now: work.now,
                look: work.look.clone(),
                again: offers.iter().map(|row| row.offer_id).collect(),
                ..Work::default()
            };
            let _writer = self.wait_to_write().await?;
            self.record_at_once(&work, None).await?;
        }
        Ok(())
    }
}
