//! The feed of changes, in the order in which they were committed.

use serde::Serialize;
use sqlx::FromRow;
use utoipa::ToSchema;
use uuid::Uuid;

use super::names::ChangeKind;
use super::query::Query;
use super::{DbTime, Filter, Store, StoreError};

/// A change.
#[derive(Debug, Clone, PartialEq, FromRow, Serialize, ToSchema)]
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
    /// Id of the sheet.
    pub sheet_id: Option<Uuid>,
    /// The listed estimate.
    pub estimate_id: Option<Uuid>,
    /// In words.
    pub summary: String,
    /// The price that changed, by the name of its cell; null where the change is not that of one price.
    #[schema(example = "output")]
    pub cell: Option<String>,
    /// The price before, in the sheet's currency per million tokens or per unit.
    pub old_value: Option<f64>,
    /// The price after.
    pub new_value: Option<f64>,
    /// The larger of the two over the smaller.
    pub factor: Option<f64>,
    /// Whether the sheet is in force after the change.
    pub in_force: bool,
    /// Start of the price; null where it is not known.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub valid_from: Option<DbTime>,
    /// The sheet that was in force before.
    pub previous_sheet_id: Option<Uuid>,
}

// Numbers are given out under the lock on the version, which a writer holds until it has committed: a reader of
// number n has all that come before it.
const CHANGES: &str = "
    SELECT sequence, kind, observed_at, provider, model, canonical_model, region, sheet_id, estimate_id, summary,
           cell, old_value, new_value, factor, in_force, valid_from, previous_sheet_id
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
        let list = Query::new(CHANGES)
            .value(since)
            .and("provider = ", filter.provider.as_deref())
            .and("model = ", filter.model.as_deref())
            .page(" ORDER BY sequence", limit);
        self.rows(list).await
    }
}
