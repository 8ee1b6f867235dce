//! Figures of imports and deliveries that `/metrics` shows.

use sqlx::FromRow;

use crate::connect::query::Query;
use crate::connect::rows::Piece;
use crate::connect::value::Kind;
use crate::{DbTime, Store, StoreError};

/// The last successful imports of a catalog.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct CatalogImports {
    /// Format of the catalog.
    pub catalog: String,
    /// End of the last import that succeeded, also of one that found the catalog unchanged.
    pub succeeded_at: DbTime,
    /// Entries of the last import that read the catalog; none where every import found it unchanged.
    pub entries: Option<i64>,
    /// Entries that have no usable sheet.
    pub refused: Option<i64>,
}

/// Imports of a catalog that are held.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct HeldImports {
    /// Format of the catalog.
    pub catalog: String,
    /// Number of imports that wait until they are accepted or discarded.
    pub held: i64,
}

/// The last successful import from a source.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct SourceImports {
    /// An address without secrets, as in the list of imports.
    pub source: String,
    /// End of the last import that succeeded, also of one that found the catalog unchanged.
    pub succeeded_at: DbTime,
}

/// Webhooks and their unfinished deliveries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, FromRow)]
pub struct WebhookCounts {
    /// Webhooks that are sent changes.
    pub enabled: i64,
    /// Webhooks whose receiver answered 410, so that it is sent nothing further.
    pub disabled: i64,
    /// Deliveries of which an attempt failed, and which are sent again.
    pub retrying: i64,
    /// Changes after the last one that the webhook furthest behind was sent, of those that are sent changes.
    pub waiting: i64,
}

const OF_CATALOGS: Piece = Piece {
    sql: "
        SELECT good.catalog, good.ended_at AS succeeded_at, whole.entries, whole.refused
        FROM given JOIN imports AS good ON good.id = (
            SELECT id FROM imports
            WHERE catalog = given.column1 AND outcome IN ('done', 'not_modified')
            ORDER BY started_at DESC, id DESC LIMIT 1)
        LEFT JOIN imports AS whole ON whole.id = (
            SELECT id FROM imports
            WHERE catalog = given.column1 AND outcome = 'done'
            ORDER BY started_at DESC, id DESC LIMIT 1)
        ORDER BY good.catalog",
    columns: &[Kind::Text],
};

const HELD: Piece = Piece {
    sql: "
        SELECT given.column1 AS catalog,
               (SELECT count(*) FROM imports WHERE outcome = 'held' AND catalog = given.column1) AS held
        FROM given ORDER BY given.column1",
    columns: &[Kind::Text],
};

const OF_SOURCES: Piece = Piece {
    sql: "
        SELECT good.source, good.ended_at AS succeeded_at
        FROM given JOIN imports AS good ON good.id = (
            SELECT id FROM imports
            WHERE source = given.column1 AND outcome IN ('done', 'not_modified')
            ORDER BY started_at DESC, id DESC LIMIT 1)
        ORDER BY good.source",
    columns: &[Kind::Text],
};

/// A webhook has at most one delivery that is not finished: that of the changes after the last delivered one.
const WEBHOOK_COUNTS: &str = "
    SELECT count(*) - count(webhooks.disabled_at) AS enabled, count(webhooks.disabled_at) AS disabled,
           count(unfinished.id) AS retrying,
           coalesce((SELECT max(sequence) FROM changes)
                    - min(CASE WHEN webhooks.disabled_at IS NULL THEN webhooks.since END), 0) AS waiting
    FROM webhooks LEFT JOIN webhook_deliveries AS unfinished
      ON unfinished.webhook_id = webhooks.id AND unfinished.since = webhooks.since
     AND unfinished.state = 'pending'
     AND (unfinished.attempts > 1 OR unfinished.next_attempt_at IS NOT NULL)";

impl Store {
    /// The last successful imports of those of some catalogs that have one.
    ///
    /// # Errors
    /// The query fails.
    pub async fn imports_of_catalogs(
        &self,
        catalogs: impl Iterator<Item = &str>,
    ) -> Result<Vec<CatalogImports>, StoreError> {
        let names = catalogs.map(|name| vec![name.into()]).collect();
        self.read_rows(&OF_CATALOGS, &names).await
    }

    /// The number of imports of each of some catalogs that are held.
    ///
    /// # Errors
    /// The query fails.
    pub async fn held_imports(
        &self,
        catalogs: impl Iterator<Item = &str>,
    ) -> Result<Vec<HeldImports>, StoreError> {
        let names = catalogs.map(|name| vec![name.into()]).collect();
        self.read_rows(&HELD, &names).await
    }

    /// The last successful imports from those of some sources that have one.
    ///
    /// # Errors
    /// The query fails.
    pub async fn imports_of_sources(
        &self,
        sources: impl Iterator<Item = &str>,
    ) -> Result<Vec<SourceImports>, StoreError> {
        let names = sources.map(|name| vec![name.into()]).collect();
        self.read_rows(&OF_SOURCES, &names).await
    }

    /// The number of webhooks and of their deliveries that are sent again.
    ///
    /// # Errors
    /// The query fails.
    pub async fn webhook_counts(&self) -> Result<WebhookCounts, StoreError> {
        self.one(Query::new(WEBHOOK_COUNTS)).await
    }
}
