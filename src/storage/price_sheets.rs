//! Lists of price sheets, and single ones.

use sqlx::FromRow;
use uuid::Uuid;

use super::checksum::StoredDocument;
use super::database::on_connection;
use super::{DbTime, Filter, Store, StoreError, Times};

/// A price sheet as a row of a list; prices are those of its base cell, per million tokens.
#[derive(Debug, Clone, FromRow)]
pub struct PriceSheetRow {
    /// Id of the pricing content.
    pub id: Uuid,
    /// Place in the order of storing.
    pub sequence: i64,
    /// Who bills.
    pub provider: String,
    /// The model as the provider spells it.
    pub model: String,
    /// author/model
    pub canonical_model: Option<String>,
    /// Where it is served.
    pub region: String,
    /// ISO 4217 code.
    pub currency: String,
    /// Start of validity.
    pub valid_from: Option<DbTime>,
    /// End of validity.
    pub valid_to: Option<DbTime>,
    /// When it was first stored.
    pub observed_at: DbTime,
    /// Fresh prompt tokens.
    pub input_price: Option<f64>,
    /// Generated tokens.
    pub output_price: Option<f64>,
    /// Prompt tokens found in the cache.
    pub cache_read_price: Option<f64>,
}

const PRICE_SHEET: &str = "
    SELECT document, checksum FROM price_sheets
    WHERE id = $1
      AND ($2 IS NULL OR EXISTS (
          SELECT 1 FROM price_periods AS period
          WHERE period.sheet_id = price_sheets.id AND period.starts_at <= $2
            AND (period.ends_at IS NULL OR period.ends_at > $2)))";

const PRICE_SHEETS: &str = "
    SELECT id, sequence, provider, model, canonical_model, region, currency, valid_from, valid_to, observed_at,
           input_price, output_price, cache_read_price
    FROM price_sheets
    WHERE ($1 IS NULL OR provider = $1) AND ($2 IS NULL OR model = $2) AND ($3 IS NULL OR canonical_model = $3)
      AND ($4 IS NULL OR region = $4) AND ($5 IS NULL OR currency = $5)
      AND ($6 IS NULL OR observed_at >= $6) AND ($7 IS NULL OR observed_at < $7)
      AND ($8 IS NULL OR EXISTS (
          SELECT 1 FROM price_periods AS period
          WHERE period.sheet_id = price_sheets.id AND period.starts_at <= $8
            AND (period.ends_at IS NULL OR period.ends_at > $8)))
      AND ($9 IS NULL OR sequence < $9)
    ORDER BY sequence DESC
    LIMIT $10";

impl Store {
    /// The document of a price sheet, with its sources and remarks, if it was in force at a time, where one is given.
    ///
    /// # Errors
    /// The database refuses, or the document is damaged.
    pub async fn price_sheet(
        &self,
        id: Uuid,
        as_of: Option<DbTime>,
    ) -> Result<Option<String>, StoreError> {
        let stored: Option<StoredDocument> = on_connection!(self, connection => {
            Ok(sqlx::query_as(PRICE_SHEET).bind(id).bind(as_of).fetch_optional(connection).await?)
        })?;
        stored.map(|stored| stored.checked(id)).transpose()
    }

    /// Price sheets, the last stored first, beginning below a sequence number.
    ///
    /// # Errors
    /// The database refuses.
    pub async fn price_sheets(
        &self,
        filter: &Filter,
        times: &Times,
        below: Option<i64>,
        limit: u32,
    ) -> Result<Vec<PriceSheetRow>, StoreError> {
        on_connection!(self, connection => {
            Ok(sqlx::query_as(PRICE_SHEETS)
                .bind(&filter.provider)
                .bind(&filter.model)
                .bind(&filter.canonical_model)
                .bind(&filter.region)
                .bind(&filter.currency)
                .bind(times.from)
                .bind(times.to)
                .bind(times.as_of)
                .bind(below)
                .bind(i64::from(limit))
                .fetch_all(connection)
                .await?)
        })
    }
}
