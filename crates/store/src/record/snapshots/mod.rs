//! Snapshots of whole catalogs: what a catalog listed before, what it lists now, and the end of a snapshot.

pub(crate) mod among;
pub(crate) mod import_facts;
pub(crate) mod undo;

use jiff::Timestamp;
use uuid::Uuid;

use self::among::{SnapshotAmong, SnapshotAt};
use self::import_facts::ImportFacts;
use crate::connect::query::Query;
use crate::record::known::snapshot_among;
use crate::record::offers::{ListedSheet, after};
use crate::record::work::{ListedOffer, Work};
use crate::{DbTime, Store, StoreError};

/// Offers that are derived again in one transaction: few enough not to delay other writers.
const OFFERS_AT_ONCE: usize = 200;

const OPEN: &str = "
    SELECT seen.offer_id, seen.sheet_id, sheet.provider, sheet.model, seen.entry
    FROM observations AS seen JOIN price_sheets AS sheet ON sheet.id = seen.sheet_id
    WHERE seen.source = $1 AND seen.last_at IS NULL";

const COVERING: &str = "
    SELECT DISTINCT seen.offer_id, seen.sheet_id, sheet.provider, sheet.model, seen.entry
    FROM observations AS seen JOIN price_sheets AS sheet ON sheet.id = seen.sheet_id
    WHERE seen.source = $1 AND seen.first_at <= $2 AND (seen.last_at IS NULL OR seen.last_at >= $2)";

// Withdrawn since the newest snapshot of a catalog that lists them.
const WITHDRAWN: &str = "
    SELECT mine.offer_id, mine.sheet_id, sheet.provider, sheet.model, mine.entry
    FROM withdrawals AS withdrawal
    JOIN observations AS mine ON mine.sheet_id = withdrawal.sheet_id AND mine.source = $1 AND mine.last_at IS NULL
    JOIN price_sheets AS sheet ON sheet.id = mine.sheet_id
    WHERE withdrawal.undone_at IS NULL AND withdrawal.at < $2
      AND NOT EXISTS (SELECT 1 FROM snapshots WHERE source = $1 AND snapshots.at > withdrawal.at)";

// What is seen for longer may win over other catalogs, and a withdrawn price that is listed still is in force again. What
// an entry stated that could not be read has ended where that entry is missing now.
const AGAIN: &str = "
    SELECT mine.offer_id
    FROM observations AS mine JOIN observations AS other ON other.offer_id = mine.offer_id
    WHERE mine.source = $1 AND mine.last_at IS NULL AND other.sheet_id <> mine.sheet_id AND other.source_rank = 1
      AND (other.last_at IS NULL OR other.last_at >= (SELECT coalesce(max(at), $2) FROM snapshots WHERE source = $1))
    UNION
    SELECT mine.offer_id
    FROM observations AS mine JOIN withdrawals AS withdrawal ON withdrawal.sheet_id = mine.sheet_id AND withdrawal.undone_at IS NULL
    WHERE mine.source = $1 AND mine.last_at IS NULL AND withdrawal.at < $2
    UNION
    SELECT mine.offer_id
    FROM unparsed_entries AS unparsed
    JOIN observations AS mine ON mine.source = unparsed.source AND mine.entry = unparsed.entry AND mine.last_at < unparsed.at
    WHERE unparsed.source = $1 AND EXISTS (
        SELECT 1 FROM price_periods AS period WHERE period.offer_id = mine.offer_id AND has_ended = FALSE)";

const ALL_OFFERS: &str = "SELECT DISTINCT offer_id FROM observations WHERE source = $1";

const NEWEST: &str = "
    SELECT max(at) AS at FROM (
        SELECT max(at) AS at FROM snapshots WHERE source = $1
        UNION ALL
        SELECT max(first_at) FROM observations WHERE source = $1
        UNION ALL
        SELECT max(at) FROM withdrawals WHERE at >= $2) AS newest";

impl Store {
    /// Listings of a catalog as of its newest snapshot, or at the time of one that is not later than all others.
    ///
    /// # Errors
    /// The query fails.
    pub async fn listed_by(
        &self,
        snapshot: &SnapshotAt,
        is_between: bool,
    ) -> Result<Vec<ListedSheet>, StoreError> {
        let query = if is_between {
            Query::new(COVERING)
                .bind(&snapshot.source)
                .bind(snapshot.at)
        } else {
            Query::new(OPEN).bind(&snapshot.source)
        };
        self.rows(query).await
    }

    /// The sheets that a catalog lists and that were withdrawn after its newest snapshot, before this one.
    ///
    /// # Errors
    /// The query fails.
    pub async fn withdrawn_before(
        &self,
        snapshot: &SnapshotAt,
    ) -> Result<Vec<ListedSheet>, StoreError> {
        let query = Query::new(WITHDRAWN)
            .bind(&snapshot.source)
            .bind(snapshot.at);
        self.rows(query).await
    }

    /// Time of a snapshot that happens now: after all snapshots and parts of the catalog, and after all withdrawals.
    ///
    /// # Errors
    /// The query fails.
    pub async fn time_of_snapshot(
        &self,
        source: &str,
        now: Timestamp,
    ) -> Result<Timestamp, StoreError> {
        let now = DbTime::from(now);
        let newest = Query::new(NEWEST).bind(source).bind(now);
        let (newest,): (Option<DbTime>,) = self.one(newest).await?;
        Ok(after(newest.map(Timestamp::from), now.into()))
    }

    /// A snapshot with the snapshots around it.
    ///
    /// # Errors
    /// The query fails.
    pub async fn among_snapshots(
        &self,
        snapshot: &SnapshotAt,
    ) -> Result<SnapshotAmong, StoreError> {
        let mut loan = self.connection().await?;
        let mut tx = loan.reading().await?;
        snapshot_among(&mut tx, snapshot).await
    }

    /// Records what a snapshot found of some offers. The snapshot is not complete with it.
    ///
    /// # Errors
    /// The query fails; then nothing is stored.
    pub async fn record_snapshot(
        &self,
        snapshot: &SnapshotAt,
        listed: Vec<ListedOffer>,
        now: Timestamp,
        import: Option<&ImportFacts>,
    ) -> Result<(), StoreError> {
        let work = Work {
            now: DbTime::from(now).into(),
            snapshot: Some(snapshot.clone()),
            listed,
            import: import.cloned(),
            ..Work::default()
        };
        let _writer = self.wait_to_write().await?;
        self.record_at_once(&work, None).await.map(drop)
    }

    /// Completes a snapshot: what the catalog no longer lists has ended.
    ///
    /// # Errors
    /// The query fails; then nothing is stored.
    pub async fn complete_snapshot(
        &self,
        snapshot: &SnapshotAt,
        ended: Vec<ListedOffer>,
        now: Timestamp,
        import: Option<&ImportFacts>,
    ) -> Result<(), StoreError> {
        let is_between = self.among_snapshots(snapshot).await?.is_between();
        let again = if is_between {
            Query::new(ALL_OFFERS).bind(&snapshot.source)
        } else {
            Query::new(AGAIN).bind(&snapshot.source).bind(snapshot.at)
        };
        let again: Vec<(Uuid,)> = self.rows(again).await?;
        let work = Work {
            now: DbTime::from(now).into(),
            snapshot: Some(snapshot.clone()),
            listed: ended,
            completes: true,
            import: import.cloned(),
            ..Work::default()
        };
        let writer = self.wait_to_write().await?;
        self.record_at_once(&work, None).await?;
        drop(writer);
        // What a process that ends here leaves is done by the next snapshot: it finds the same offers.
        for offers in again.chunks(OFFERS_AT_ONCE) {
            let work = Work {
                now: work.now,
                snapshot: work.snapshot.clone(),
                again: offers.iter().map(|(id,)| *id).collect(),
                ..Work::default()
            };
            let _writer = self.wait_to_write().await?;
            self.record_at_once(&work, None).await?;
        }
        Ok(())
    }
}
