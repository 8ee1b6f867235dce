//! The feed of changes, in the order in which they were committed.

use sqlx::FromRow;
use uuid::Uuid;

use super::database::on_connection;
use super::{DbTime, Filter, Store, StoreError};

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// An offer has its first price.
    SheetAdded,
    /// An offer has another price.
    SheetChanged,
    /// An offer will have another price.
    SheetAnnounced,
    /// A price that was announced holds from now on.
    SheetInForce,
    /// A price was withdrawn.
    SheetWithdrawn,
    /// A price that was withdrawn holds again.
    SheetReinstated,
    /// A price has run out, and nothing is known of the one after it.
    SheetExpired,
    /// There is another estimate for the same price.
    EstimateUpdated,
}

impl ChangeKind {
    /// Every kind.
    pub const ALL: [Self; 8] = [
        Self::SheetAdded,
        Self::SheetChanged,
        Self::SheetAnnounced,
        Self::SheetInForce,
        Self::SheetWithdrawn,
        Self::SheetReinstated,
        Self::SheetExpired,
        Self::EstimateUpdated,
    ];

    /// Its name, as the feed has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::SheetAdded => "sheet.added",
            Self::SheetChanged => "sheet.changed",
            Self::SheetAnnounced => "sheet.announced",
            Self::SheetInForce => "sheet.in_force",
            Self::SheetWithdrawn => "sheet.withdrawn",
            Self::SheetReinstated => "sheet.reinstated",
            Self::SheetExpired => "sheet.expired",
            Self::EstimateUpdated => "estimate.updated",
        }
    }
}

/// A line of the feed.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct ChangeRow {
    /// Place in the feed.
    pub sequence: i64,
    /// What happened.
    pub kind: String,
    /// When it was seen.
    pub observed_at: DbTime,
    /// Who bills.
    pub provider: String,
    /// The model as the provider spells it.
    pub model: String,
    /// author/model
    pub canonical_model: Option<String>,
    /// Where it is served.
    pub region: String,
    /// The sheet.
    pub sheet_id: Option<Uuid>,
    /// The estimate that is listed for it.
    pub estimate_id: Option<Uuid>,
    /// In words.
    pub summary: String,
}

// Numbers are given out under the lock on the version, which a writer holds until it has committed: whoever reads number
// n has all that come before it.
const CHANGES: &str = "
    SELECT sequence, kind, observed_at, provider, model, canonical_model, region, sheet_id, estimate_id, summary
    FROM changes
    WHERE sequence > $1 AND ($2 IS NULL OR provider = $2) AND ($3 IS NULL OR model = $3)
    ORDER BY sequence
    LIMIT $4";

impl Store {
    /// Changes after a sequence number, in order; of the filter, provider and model count.
    ///
    /// # Errors
    /// The database refuses.
    pub async fn changes(
        &self,
        filter: &Filter,
        since: i64,
        limit: u32,
    ) -> Result<Vec<ChangeRow>, StoreError> {
        on_connection!(self, connection => {
            Ok(sqlx::query_as(CHANGES)
                .bind(since)
                .bind(&filter.provider)
                .bind(&filter.model)
                .bind(i64::from(limit))
                .fetch_all(connection)
                .await?)
        })
    }
}
