//! The feed of changes in numbers: how many there were by day and kind, and which prices moved most.

use serde::Serialize;
use sqlx::FromRow;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::connect::database::Pool;
use crate::connect::query::Query;
use crate::record::names::ChangeKind;
use crate::{ChangeFilter, DbTime, Store, StoreError};
use unroof_base::units::significant;

/// Changes of one kind on one day.
#[derive(Debug, Clone, PartialEq, FromRow, Serialize, ToSchema)]
pub struct ChangeCount {
    /// Day in UTC on which they were seen.
    #[schema(format = Date, example = "2026-11-21")]
    pub day: String,
    /// Kind of the changes.
    #[sqlx(try_from = "String")]
    #[schema(inline, example = "price.changed")]
    pub kind: ChangeKind,
    /// Number of changes of the kind.
    #[schema(minimum = 1, example = 12)]
    pub changes: i64,
}

/// Changes of one kind in a time.
#[derive(Debug, Clone, PartialEq, FromRow, Serialize, ToSchema)]
pub struct KindCount {
    /// Kind of the changes.
    #[sqlx(try_from = "String")]
    #[schema(inline, example = "price.changed")]
    pub kind: ChangeKind,
    /// Number of changes: of `price.changed` and `price.scheduled` that of prices, so that an offer has several.
    #[schema(minimum = 1, example = 12)]
    pub changes: i64,
    /// Number of offers that they are about.
    #[schema(minimum = 1, example = 3)]
    pub offers: i64,
}

/// A price that moved, from its first value in the window to its last.
#[derive(Debug, Clone, PartialEq, FromRow, Serialize, ToSchema)]
pub struct MoveRow {
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
    /// The price, by the name of its cell.
    #[schema(example = "output")]
    pub cell: String,
    /// The price before its first change in the window, in the sheet's currency per million tokens or per unit.
    #[schema(example = 15.0)]
    pub old_value: f64,
    /// The price after its last change, in the same unit.
    #[schema(example = 12.0)]
    pub new_value: f64,
    /// The larger of the two over the smaller; null where one of them is 0: such a price has moved most.
    #[schema(minimum = 1, example = 1.25)]
    pub factor: Option<f64>,
    /// Number of its changes in the window.
    #[schema(minimum = 1, example = 1)]
    pub changes: i64,
    /// Time at which its last change was seen.
    #[schema(value_type = String, format = DateTime, example = "2026-11-21T06:00:00Z")]
    pub observed_at: DbTime,
    /// Id of the sheet after its last change.
    #[schema(example = "5d0c1f0e-8a55-8c3b-9d6e-0f4b6f1c2a10")]
    pub sheet_id: Option<Uuid>,
    /// Whether the price rose.
    #[serde(skip)]
    pub is_rise: bool,
}

/// The feed in numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Summarised {
    /// Numbers of changes by kind.
    pub kinds: Vec<KindCount>,
    /// Changes by day and kind.
    pub counts: Vec<ChangeCount>,
    /// The prices that rose most, then those that fell most.
    pub moves: Vec<MoveRow>,
}

const COUNTS_OF_POSTGRES: &str = "
    SELECT to_char(observed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, kind, count(*) AS changes
    FROM changes
    WHERE observed_at >= ";

// SQLite keeps times as texts.
const COUNTS_OF_SQLITE: &str = "
    SELECT substr(observed_at, 1, 10) AS day, kind, count(*) AS changes
    FROM changes
    WHERE observed_at >= ";

const KINDS: &str = "
    SELECT kind, CAST(sum(changes) AS bigint) AS changes, count(*) AS offers
    FROM (
        SELECT kind, provider, model, region, count(*) AS changes
        FROM changes
        WHERE observed_at >= ";
const BY_KIND: &str =
    " GROUP BY kind, provider, model, region) AS by_offer GROUP BY kind ORDER BY kind";

// Only rows of `price.changed` have a cell and are in force.
const MOVES: &str = "
    WITH steps AS (
        SELECT provider, model, canonical_model, region, cell, new_value, observed_at, sheet_id,
               first_value(old_value) OVER (PARTITION BY provider, model, region, cell ORDER BY sequence) AS old_value,
               count(*) OVER (PARTITION BY provider, model, region, cell) AS changes,
               row_number() OVER (PARTITION BY provider, model, region, cell ORDER BY sequence DESC) AS place
        FROM changes
        WHERE in_force AND cell IS NOT NULL AND observed_at >= ";

// A price of 0 has no factor: it has moved by more than any. One that is back where it began has not moved.
const LARGEST_MOVES: &str = "
    ), moves AS (
        SELECT steps.*, new_value > old_value AS is_rise,
               CASE WHEN old_value = 0 OR new_value = 0 THEN NULL
                    WHEN new_value > old_value THEN new_value / old_value ELSE old_value / new_value END AS factor
        FROM steps WHERE place = 1 AND old_value >= 0 AND new_value >= 0 AND new_value <> old_value
    ), ranked AS (
        SELECT moves.*,
               row_number() OVER (
                   PARTITION BY is_rise
                   ORDER BY coalesce(factor, 1e300) DESC, abs(new_value - old_value) DESC, provider, model, region, cell) AS place_by_factor
        FROM moves
    )
    SELECT provider, model, canonical_model, region, cell, old_value, new_value, factor, changes, observed_at, sheet_id,
           is_rise
    FROM ranked WHERE place_by_factor <= ";

impl Store {
    /// The changes since a time of observation that pass a filter, counted by kind.
    ///
    /// # Errors
    /// The query fails.
    pub async fn changes_by_kind(
        &self,
        filter: &ChangeFilter,
        from: DbTime,
    ) -> Result<Vec<KindCount>, StoreError> {
        let kinds = Query::new(KINDS).value(from).of_changes(filter);
        self.listed(kinds.text(BY_KIND)).await
    }

    /// The feed in numbers since a time of observation, with this many rises and falls.
    ///
    /// # Errors
    /// A query fails.
    pub async fn change_summary(
        &self,
        filter: &ChangeFilter,
        from: DbTime,
        limit: u32,
    ) -> Result<Summarised, StoreError> {
        let counts = match self.pool {
            Pool::Postgres { .. } => COUNTS_OF_POSTGRES,
            Pool::Sqlite { .. } => COUNTS_OF_SQLITE,
        };
        let counts = Query::new(counts).value(from).of_changes(filter);
        let counts = counts.text(" GROUP BY 1, kind ORDER BY 1, kind");
        let moves = Query::new(MOVES).value(from).of_changes(filter);
        let moves = moves.text(LARGEST_MOVES).value(i64::from(limit));
        let moves = moves.text(" ORDER BY is_rise DESC, place_by_factor");
        let kinds = self.changes_by_kind(filter, from).await?;
        let counts = self.listed(counts).await?;
        let mut moves: Vec<MoveRow> = self.listed(moves).await?;
        for moved in &mut moves {
            // The database divides floating-point numbers: 1.9 / 1.6 is 1.1875.
            moved.factor = moved.factor.map(significant);
        }
        Ok(Summarised {
            kinds,
            counts,
            moves,
        })
    }
}
