//! The feed of changes, in the order in which they were committed.

use serde::Serialize;
use sqlx::FromRow;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::connect::query::Query;
use crate::record::names::ChangeKind;
use crate::{ChangeFilter, DbTime, Store, StoreError};

/// A change of a price or an estimate, as a row of the feed.
#[derive(Debug, Clone, PartialEq, FromRow, Serialize, ToSchema)]
pub struct ChangeRow {
    /// Sequence number: a client that has seen this change has seen all earlier ones.
    #[schema(example = 17)]
    pub sequence: i64,
    /// Kind of the change.
    #[sqlx(try_from = "String")]
    #[schema(inline, example = "price.changed")]
    pub kind: ChangeKind,
    /// Time at which the change was seen.
    #[schema(value_type = String, format = DateTime, example = "2026-11-21T06:00:00Z")]
    pub observed_at: DbTime,
    /// Provider that bills for the offer.
    #[schema(example = "openai")]
    pub provider: String,
    /// Model name as the provider spells it.
    #[schema(example = "gpt-5.4")]
    pub model: String,
    /// Name of the model at any provider, `author/model`; null where it is not known.
    #[schema(example = "openai/gpt-5.4")]
    pub canonical_model: Option<String>,
    /// Region in which the model is served.
    #[schema(example = "global")]
    pub region: String,
    /// Id of the sheet that the change is about.
    #[schema(example = "5d0c1f0e-8a55-8c3b-9d6e-0f4b6f1c2a10")]
    pub sheet_id: Option<Uuid>,
    /// Id of the estimate that is listed for the sheet.
    #[schema(example = "b7f6a1c2-31d4-8b9e-a2f0-6c5d4e3f2a1b")]
    pub estimate_id: Option<Uuid>,
    /// The change in words.
    #[schema(example = "output 15 → 12 $/Mtok, input and cache read unchanged")]
    pub summary: String,
    /// The price that changed, by the name of its cell, or `retires_at`; null where the change is not that of one price.
    #[schema(example = "output")]
    pub cell: Option<String>,
    /// The price before, in the sheet's currency per million tokens or per unit; null where there was none. Of a retirement
    /// its date, in seconds since 1970.
    #[schema(example = 15.0)]
    pub old_value: Option<f64>,
    /// The price after, in the same unit; null where there is none.
    #[schema(example = 12.0)]
    pub new_value: Option<f64>,
    /// The larger of the two over the smaller; null where one of them is 0 or missing. A price that becomes free, or stops
    /// being free, passes every `min_factor`.
    #[schema(example = 1.25)]
    pub factor: Option<f64>,
    /// Whether the sheet is in force after the change.
    #[schema(example = true)]
    pub in_force: bool,
    /// Start of the price; null where it is not known.
    #[schema(value_type = Option<String>, format = DateTime, example = "2026-11-21T00:00:00Z")]
    pub valid_from: Option<DbTime>,
    /// Id of the sheet that was in force before; null where there was none.
    #[schema(example = "0e9b2d7c-44aa-8f10-b3c5-7d8e9f0a1b2c")]
    pub previous_sheet_id: Option<Uuid>,
    /// Field of the rate cell whose price changed; null where the change is not that of one
    /// price. With the four members below it names the price as a sheet, `POST /cost` and the view `rates` do.
    #[schema(example = "output")]
    pub meter: Option<String>,
    /// Service tier of the rate cell.
    #[schema(example = "standard")]
    pub service_tier: Option<String>,
    /// Prompt length in tokens from which the rate cell applies.
    #[schema(minimum = 0, example = 0)]
    pub min_prompt_tokens: Option<i64>,
    /// Time to live of a cache write in seconds; null where none is stated, and for every other price.
    #[schema(minimum = 1, example = 300)]
    pub ttl_seconds: Option<i64>,
    /// Schedule of the rate cell; null where it has none.
    #[schema(example = "off-peak")]
    pub schedule: Option<String>,
}

impl ChangeFilter {
    /// Whether a change passes, for changes that are in memory already. The same as the conditions of a query.
    #[must_use]
    pub fn has(&self, change: &ChangeRow) -> bool {
        let is_one_of = |values: &[String], value: Option<&String>| {
            values.is_empty() || value.is_some_and(|value| values.contains(value))
        };
        (self.kind.is_empty() || self.kind.contains(&change.kind))
            && is_one_of(&self.provider, Some(&change.provider))
            && is_one_of(&self.model, Some(&change.model))
            && is_one_of(&self.canonical_model, change.canonical_model.as_ref())
            && self.in_force.is_none_or(|wanted| change.in_force == wanted)
            && self.min_factor.is_none_or(|least| {
                change.factor.is_some_and(|factor| factor >= least) || change.is_of_free()
            })
    }
}

impl ChangeRow {
    /// Whether a price becomes free, or stops being free: a change by more than any factor.
    fn is_of_free(&self) -> bool {
        let values = self.old_value.zip(self.new_value);
        values.is_some_and(|(before, after)| (before == 0.0) != (after == 0.0))
    }
}

/// Begin and direction of a page of the feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangesFrom {
    /// Changes after a sequence number, the first committed first.
    After(i64),
    /// Changes before a sequence number, the last committed first.
    Before(i64),
}

// Numbers are given out under the lock on the version, which a writer holds until it has committed: a reader of
// number n has all that come before it.
const CHANGES: &str = "
    SELECT sequence, kind, observed_at, provider, model, canonical_model, region, sheet_id, estimate_id, summary,
           cell, old_value, new_value, factor, in_force, valid_from, previous_sheet_id,
           meter, service_tier, min_prompt_tokens, ttl_seconds, schedule
    FROM changes
    WHERE sequence";

const NEWEST: &str = "SELECT coalesce(max(sequence), 0) FROM changes";

impl Store {
    /// Changes after a sequence number, in order, that pass a filter.
    ///
    /// # Errors
    /// The query fails.
    pub async fn changes(
        &self,
        filter: &ChangeFilter,
        since: i64,
        limit: u32,
    ) -> Result<Vec<ChangeRow>, StoreError> {
        let from = ChangesFrom::After(since);
        self.changes_from(filter, from, limit).await
    }

    /// Changes that pass a filter, in either direction.
    ///
    /// # Errors
    /// The query fails.
    pub async fn changes_from(
        &self,
        filter: &ChangeFilter,
        from: ChangesFrom,
        limit: u32,
    ) -> Result<Vec<ChangeRow>, StoreError> {
        let list = Query::new(CHANGES);
        let (list, order) = match from {
            ChangesFrom::After(since) => (list.text(" > ").value(since), " ORDER BY sequence"),
            ChangesFrom::Before(sequence) => {
                (list.text(" < ").value(sequence), " ORDER BY sequence DESC")
            }
        };
        self.listed(list.of_changes(filter).page(order, limit))
            .await
    }

    /// Sequence number of the newest change; 0 if there is none.
    ///
    /// # Errors
    /// The query fails.
    pub async fn newest_change(&self) -> Result<i64, StoreError> {
        let (newest,) = self.one(Query::new(NEWEST)).await?;
        Ok(newest)
    }
}
