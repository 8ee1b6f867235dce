//! The feed of changes, in the order in which they were committed.

use serde::Serialize;
use sqlx::FromRow;
use utoipa::ToSchema;
use uuid::Uuid;

use super::database::on_connection;
use super::list::List;
use super::names::stored_names;
use super::rows::Connected;
use super::{DbTime, Filter, Store, StoreError};

stored_names! {
    /// Kind of a change.
    ChangeKind {
        /// An offer has its first price.
        SheetAdded = "sheet.added",
        /// An offer has another price.
        SheetChanged = "sheet.changed",
        /// An offer will have another price.
        SheetAnnounced = "sheet.announced",
        /// An announced price is in force from now on.
        SheetInForce = "sheet.in_force",
        /// A price was withdrawn.
        SheetWithdrawn = "sheet.withdrawn",
        /// A withdrawn price is in force again.
        SheetReinstated = "sheet.reinstated",
        /// A price has expired without a known successor.
        SheetExpired = "sheet.expired",
        /// The same price has a new estimate.
        EstimateUpdated = "estimate.updated",
    }
}

/// A change.
#[derive(Debug, Clone, PartialEq, Eq, FromRow, Serialize, ToSchema)]
pub struct ChangeRow {
    /// Sequence number: a client that has seen this change has seen all earlier ones.
    pub sequence: i64,
    /// Kind of the change.
    #[sqlx(try_from = "String")]
    #[schema(inline)]
    pub kind: ChangeKind,
    /// Time at which the change was seen.
    #[schema(value_type = String, format = DateTime)]
    pub observed_at: DbTime,
    /// Provider that bills.
    pub provider: String,
    /// Model name as the provider spells it.
    pub model: String,
    /// author/model
    pub canonical_model: Option<String>,
    /// Region in which the model is served.
    pub region: String,
    /// The sheet.
    pub sheet_id: Option<Uuid>,
    /// The listed estimate.
    pub estimate_id: Option<Uuid>,
    /// In words.
    pub summary: String,
}

// Numbers are given out under the lock on the version, which a writer holds until it has committed: a reader of number n
// has all that come before it.
const CHANGES: &str = "
    SELECT sequence, kind, observed_at, provider, model, canonical_model, region, sheet_id, estimate_id, summary
    FROM changes
    WHERE sequence > ";

impl Store {
    /// Changes after a sequence number, in order, filtered by provider and model.
    ///
    /// # Errors
    /// The query fails.
    pub async fn changes(
        &self,
        filter: &Filter,
        since: i64,
        limit: u32,
    ) -> Result<Vec<ChangeRow>, StoreError> {
        let list = List::new(CHANGES)
            .value(since)
            .and("provider = ", filter.provider.as_deref())
            .and("model = ", filter.model.as_deref())
            .page(" ORDER BY sequence", limit);
        on_connection!(self, connection => connection.list(list).await)
    }
}
