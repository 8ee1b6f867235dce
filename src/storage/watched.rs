//! The latest estimates of named models.

use std::collections::BTreeMap;

use sqlx::encode::IsNull;
use sqlx::error::BoxDynError;
use sqlx::postgres::PgTypeInfo;
use sqlx::postgres::types::Oid;
use sqlx::{Database, Encode, FromRow, Postgres, Sqlite, Type};

use super::database::on_connection;
use super::{AsOf, DbTime, Store, StoreError};

/// The latest estimate of an offer, with its values alone.
#[derive(Debug, Clone, FromRow)]
pub struct WatchedRow {
    /// Provider that bills.
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

/// Both databases have a `json_each`, which takes an object apart into key and value. The region is compared as a range
/// of one value, so that SQLite does not choose it as the key.
const WATCHED: &str = "
    WITH in_force AS (
        SELECT listing.* FROM estimate_listings AS listing
        WHERE (provider, model) IN (
              SELECT providers.key, models.key
              FROM json_each($1) AS providers CROSS JOIN json_each(providers.value) AS models)
          AND stated_assumptions = $2
          AND (sheet_id IS NULL OR EXISTS (
              SELECT 1 FROM price_intervals AS period
              WHERE period.sheet_id = listing.sheet_id
                AND (starts_at <= $3 OR ($5 AND starts_at <= recorded_at))
                AND until > $3 AND (NOT $5 OR until > recorded_at))))
    SELECT provider, model, region, observed_at, row_values
    FROM in_force AS latest JOIN estimates ON estimates.id = latest.estimate_id
    WHERE NOT EXISTS (
        SELECT 1 FROM in_force AS newer
        WHERE newer.provider = latest.provider AND newer.model = latest.model
          AND newer.region BETWEEN latest.region AND latest.region AND newer.sequence > latest.sequence)
    ORDER BY provider, model, region
    LIMIT $4";

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
        let models = ModelNames::of(models);
        let is_any_ahead = self.is_any_ahead(AsOf::Now(now)).await?;
        on_connection!(self, connection => {
            Ok(sqlx::query_as(WATCHED)
                .bind(&models)
                .bind(false)
                .bind(now)
                .bind(i64::from(limit))
                .bind(is_any_ahead)
                .fetch_all(connection)
                .await?)
        })
    }
}

/// An object of objects: the models by provider. SQLite takes JSON as text, PostgreSQL has a type for it.
struct ModelNames(String);

impl ModelNames {
    fn of(models: &[(&str, &str)]) -> Self {
        let mut providers: BTreeMap<&str, BTreeMap<&str, u8>> = BTreeMap::new();
        for (provider, model) in models {
            providers.entry(provider).or_default().insert(model, 1);
        }
        Self(serde_json::to_string(&providers).unwrap_or_default())
    }
}

/// `json` in the catalog of PostgreSQL.
const JSON: Oid = Oid(114);

impl Type<Postgres> for ModelNames {
    fn type_info() -> PgTypeInfo {
        PgTypeInfo::with_oid(JSON)
    }
}

impl Encode<'_, Postgres> for ModelNames {
    fn encode_by_ref(
        &self,
        buffer: &mut <Postgres as Database>::ArgumentBuffer,
    ) -> Result<IsNull, BoxDynError> {
        Encode::<Postgres>::encode_by_ref(&self.0, buffer)
    }
}

impl Type<Sqlite> for ModelNames {
    fn type_info() -> <Sqlite as Database>::TypeInfo {
        <String as Type<Sqlite>>::type_info()
    }
}

impl Encode<'_, Sqlite> for ModelNames {
    fn encode_by_ref(
        &self,
        buffer: &mut <Sqlite as Database>::ArgumentBuffer,
    ) -> Result<IsNull, BoxDynError> {
        Encode::<Sqlite>::encode(self.0.clone(), buffer)
    }
}
