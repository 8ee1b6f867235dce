//! The latest estimates of named models.

use std::collections::BTreeMap;

use sqlx::FromRow;

use crate::connect::database::Pool;
use crate::connect::query::Query;
use crate::{AsOf, DbTime, Store, StoreError};

/// The latest estimate of an offer, with its values alone.
#[derive(Debug, Clone, FromRow)]
pub struct WatchedRow {
    /// Provider that bills for the offer.
    pub provider: String,
    /// Model name as the provider spells it.
    pub model: String,
    /// Region in which the model is served.
    pub region: String,
    /// Time at which the estimate was stored.
    pub observed_at: DbTime,
    /// JSON: a nullable value per column of the flat row.
    pub row_values: String,
}

/// SQLite and PostgreSQL have a `json_each`, which takes an object apart into key and value. The region is compared as a range of
/// one value, so that SQLite does not choose it as the key.
const OFFERS: &str = "
    WITH in_force AS (
        SELECT listing.* FROM estimate_listings AS listing
        WHERE (provider, model) IN (
              SELECT providers.key, models.key
              FROM json_each(";
const WATCHED: &str = ") AS providers CROSS JOIN json_each(providers.value) AS models)
          AND stated_assumptions = $2
          AND (sheet_id IS NULL OR EXISTS (
              SELECT 1 FROM price_intervals AS period
              WHERE period.sheet_id = listing.sheet_id AND";
const LATEST: &str = ")))
    SELECT provider, model, region, observed_at, row_values
    FROM in_force AS latest JOIN estimates ON estimates.id = latest.estimate_id
    WHERE NOT EXISTS (
        SELECT 1 FROM in_force AS newer
        WHERE newer.provider = latest.provider AND newer.model = latest.model
          AND newer.region BETWEEN latest.region AND latest.region AND newer.sequence > latest.sequence)
    ORDER BY provider, model, region
    LIMIT $3";

impl Store {
    /// The last stored estimate of these models in every region, for a sheet in force and without assumptions. Models
    /// are given as provider and model.
    ///
    /// # Errors
    /// The query fails.
    pub async fn watched_estimates(
        &self,
        models: &[(&str, &str)],
        now: DbTime,
        limit: u32,
    ) -> Result<Vec<WatchedRow>, StoreError> {
        // SQLite takes JSON as text, PostgreSQL has a type for it.
        let names = match self.pool {
            Pool::Postgres { .. } => "$1::json",
            Pool::Sqlite { .. } => "$1",
        };
        let watched = Query::new(OFFERS).text(names).text(WATCHED);
        let watched = watched
            .bind(by_provider(models))
            .bind(false)
            .bind(i64::from(limit))
            .in_force_as_of(AsOf::Now(now))
            .text(LATEST);
        self.rows(watched).await
    }
}

/// JSON: an object of objects, the models by provider.
fn by_provider(models: &[(&str, &str)]) -> String {
    let mut providers: BTreeMap<&str, BTreeMap<&str, u8>> = BTreeMap::new();
    for (provider, model) in models {
        providers.entry(provider).or_default().insert(model, 1);
    }
    serde_json::to_string(&providers).unwrap_or_default()
}
