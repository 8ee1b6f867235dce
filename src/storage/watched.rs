//! The latest estimates of models that somebody named.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use sqlx::encode::IsNull;
use sqlx::error::BoxDynError;
use sqlx::postgres::PgTypeInfo;
use sqlx::postgres::types::Oid;
use sqlx::{Database, Encode, FromRow, Postgres, Sqlite, Type};

use super::database::on_connection;
use super::estimates::by_offer;
use super::{AsOf, DbTime, Store, StoreError};

/// The latest estimate of an offer, with its values alone.
#[derive(Debug, Clone, FromRow)]
pub struct WatchedRow {
    /// Who bills.
    pub provider: String,
    /// The model as the provider spells it.
    pub model: String,
    /// Where it is served.
    pub region: String,
    /// When it was stored.
    pub observed_at: DbTime,
    /// JSON: a nullable value per column of the flat row.
    pub reading_numbers: String,
}

/// Both databases have a `json_each`, which takes an object apart into key and value.
const WATCHED: &str = "
    WITH in_force AS (
        SELECT listing.* FROM estimate_listings AS listing
        WHERE (provider, model) IN (
              SELECT providers.key, models.key
              FROM json_each($1) AS providers CROSS JOIN json_each(providers.value) AS models)
          AND stated_assumptions = $2
          AND (sheet_id IS NULL OR EXISTS (
              SELECT 1 FROM price_periods AS period
              WHERE period.sheet_id = listing.sheet_id
                AND starts_at <= $3 AND (ends_at IS NULL OR ends_at > $3))))
    SELECT provider, model, region, observed_at, reading_numbers
    FROM in_force AS latest JOIN estimates ON estimates.id = latest.estimate_id
    WHERE NOT EXISTS (
        SELECT 1 FROM in_force AS newer
        WHERE newer.provider = latest.provider AND newer.model = latest.model AND newer.region = latest.region
          AND newer.sequence > latest.sequence)
    ORDER BY provider, model, region
    LIMIT $4";

static WATCHED_BY_OFFER: LazyLock<String> = LazyLock::new(|| by_offer(WATCHED, "$3"));

impl Store {
    /// The last stored estimate of every region of these models, given as provider and model, for a sheet in force and
    /// with nothing stated.
    ///
    /// # Errors
    /// The database refuses.
    pub async fn watched_estimates(
        &self,
        models: &[(&str, &str)],
        now: DbTime,
        limit: u32,
    ) -> Result<Vec<WatchedRow>, StoreError> {
        let models = ModelNames::of(models);
        let sql: &'static str = if self.is_any_ahead(AsOf::Now(now)).await? {
            &WATCHED_BY_OFFER
        } else {
            WATCHED
        };
        on_connection!(self, connection => {
            Ok(sqlx::query_as(sql)
                .bind(&models)
                .bind(false)
                .bind(now)
                .bind(i64::from(limit))
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
