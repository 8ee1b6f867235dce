//! Stores an estimate with its sheets, whole or not at all.

use jiff::Timestamp;
use serde_json::Value;
use sqlx::Connection;
use uuid::Uuid;

use super::database::on_connection;
use super::{DbTime, Store, StoreError};
use crate::estimate::{Answer, ListRow};
use crate::sheet::{PriceSheet, RateCell};
use crate::units::Decimal;

/// An estimate to be stored.
#[derive(Debug, Clone, Copy)]
pub struct NewEstimate<'a> {
    /// The answer.
    pub answer: &'a Answer,
    /// The answer as it is sent.
    pub document: &'a str,
    /// The sheets it was drawn from, with sources and remarks.
    pub sheets: &'a [PriceSheet],
    /// When it was asked for.
    pub observed_at: Timestamp,
}

/// What storing an estimate did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Saved {
    /// Whether the estimate was not there before.
    pub is_new: bool,
    /// The version of the store that this write made, if it wrote.
    pub version: Option<i64>,
}

impl Saved {
    /// What was sent is stored already.
    const KNOWN: Self = Self {
        is_new: false,
        version: None,
    };
}

const BUMP_VERSION: &str =
    "UPDATE store_version SET version = version + 1 WHERE id = 1 RETURNING version";

const INSERT_SHEET: &str = "
    INSERT INTO price_sheets (id, sequence, provider, model, canonical_model, region, currency, valid_from, valid_to,
                              observed_at, input_price, output_price, cache_read_price, document)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
    ON CONFLICT (id) DO NOTHING";

const SHEET_DOCUMENT: &str = "SELECT document FROM price_sheets WHERE id = $1";

const UPDATE_SHEET_DOCUMENT: &str = "UPDATE price_sheets SET document = $2 WHERE id = $1";

const INSERT_ESTIMATE: &str = "
    INSERT INTO estimates (id, sequence, engine_version, provider, model, canonical_model, region, currency, valid_from,
                           valid_to, observed_at, stated_assumptions, readings_defined, conflicts, reading_numbers,
                           document)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
    ON CONFLICT (id) DO NOTHING";

const INSERT_ESTIMATE_SHEET: &str =
    "INSERT INTO estimate_sheets (estimate_id, sheet_id) VALUES ($1, $2)";

const STORED_SHEETS_OF_ESTIMATE: &str = "
    SELECT price_sheets.id, price_sheets.document
    FROM estimate_sheets JOIN price_sheets ON price_sheets.id = estimate_sheets.sheet_id
    WHERE estimate_sheets.estimate_id = $1";

impl Store {
    /// Stores an estimate and its sheets in one transaction. What is stored already stays as it is, but a source that a
    /// known sheet does not have yet is added to it.
    ///
    /// # Errors
    /// The database refuses; then nothing is stored.
    pub async fn save(&self, new: NewEstimate<'_>) -> Result<Saved, StoreError> {
        let offer = Offer::of(new.sheets);
        let numbers =
            serde_json::to_string(&ListRow::new(new.answer)).expect("a row of numbers serialises");
        let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        let observed_at = DbTime::from(new.observed_at);
        let _writer = self.wait_to_write().await?;
        on_connection!(self, connection => {
            let stored: Vec<(Uuid, String)> = sqlx::query_as(STORED_SHEETS_OF_ESTIMATE)
                .bind(new.answer.id)
                .fetch_all(&mut *connection)
                .await?;
            if knows(&stored, &new)? {
                return Ok(Saved::KNOWN);
            }
            let mut transaction = connection.begin_with(self.begin()).await?;
            // Sheets are listed in the order of their own versions.
            let mut version: i64 = 0;
            let mut wrote = false;
            for sheet in new.sheets {
                version = sqlx::query_scalar(BUMP_VERSION).fetch_one(&mut *transaction).await?;
                let sheet_id = sheet.id().0;
                let base = sheet.base_rate();
                let price = |of: fn(&RateCell) -> Option<&Decimal>| base.and_then(of).map(Decimal::to_f64);
                let sheet_document =
                    serde_json::to_string(sheet).expect("a sheet of texts and numbers serialises");
                let inserted_sheet = sqlx::query(INSERT_SHEET)
                    .bind(sheet_id)
                    .bind(version)
                    .bind(&sheet.provider)
                    .bind(&sheet.model)
                    .bind(&sheet.canonical_model)
                    .bind(&sheet.region)
                    .bind(&sheet.currency)
                    .bind(sheet.valid_from.map(DbTime::from))
                    .bind(sheet.valid_to.map(DbTime::from))
                    .bind(observed_at)
                    .bind(price(|rate| rate.input.as_ref()))
                    .bind(price(|rate| rate.output.as_ref()))
                    .bind(price(|rate| rate.cache_read.as_ref()))
                    .bind(&sheet_document)
                    .execute(&mut *transaction)
                    .await?;
                if inserted_sheet.rows_affected() == 1 {
                    wrote = true;
                    continue;
                }
                let stored: String =
                    sqlx::query_scalar(SHEET_DOCUMENT).bind(sheet_id).fetch_one(&mut *transaction).await?;
                if let Some(document) = with_new_sources(&stored, sheet, sheet_id)? {
                    sqlx::query(UPDATE_SHEET_DOCUMENT).bind(sheet_id).bind(document).execute(&mut *transaction).await?;
                    wrote = true;
                }
            }
            let inserted_estimate = sqlx::query(INSERT_ESTIMATE)
                .bind(new.answer.id)
                .bind(version)
                .bind(new.answer.engine_version)
                .bind(offer.provider)
                .bind(offer.model)
                .bind(offer.canonical_model)
                .bind(offer.region)
                .bind(offer.currency)
                .bind(offer.valid_from)
                .bind(offer.valid_to)
                .bind(observed_at)
                .bind(!new.answer.assumptions.is_empty())
                .bind(count(new.answer.textbook.readings_defined))
                .bind(count(new.answer.textbook.conflicts.len()))
                .bind(&numbers)
                .bind(new.document)
                .execute(&mut *transaction)
                .await?;
            let is_new = inserted_estimate.rows_affected() == 1;
            if is_new {
                for sheet in new.sheets {
                    sqlx::query(INSERT_ESTIMATE_SHEET)
                        .bind(new.answer.id)
                        .bind(sheet.id().0)
                        .execute(&mut *transaction)
                        .await?;
                }
            }
            if !is_new && !wrote {
                transaction.rollback().await?;
                return Ok(Saved::KNOWN);
            }
            transaction.commit().await?;
            Ok(Saved { is_new, version: Some(version) })
        })
    }
}

/// Whether the estimate, its sheets and all the sheets' sources are among the stored sheets of the estimate.
fn knows(stored: &[(Uuid, String)], new: &NewEstimate<'_>) -> Result<bool, StoreError> {
    for sheet in new.sheets {
        let id = sheet.id().0;
        let Some((_, document)) = stored.iter().find(|(stored, _)| *stored == id) else {
            return Ok(false);
        };
        if with_new_sources(document, sheet, id)?.is_some() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// What an estimate is listed under.
struct Offer<'a> {
    provider: &'a str,
    model: &'a str,
    canonical_model: Option<&'a str>,
    region: &'a str,
    currency: &'a str,
    valid_from: Option<DbTime>,
    valid_to: Option<DbTime>,
}

impl<'a> Offer<'a> {
    /// Of one sheet, its own; several are listed as `pooled` under the name that joins them.
    fn of(sheets: &'a [PriceSheet]) -> Self {
        let sheet = &sheets[0];
        let own = Self {
            provider: &sheet.provider,
            model: &sheet.model,
            canonical_model: sheet.canonical_model.as_deref(),
            region: &sheet.region,
            currency: &sheet.currency,
            valid_from: sheet.valid_from.map(DbTime::from),
            valid_to: sheet.valid_to.map(DbTime::from),
        };
        if sheets.len() == 1 {
            return own;
        }
        Self {
            provider: POOLED,
            model: own.canonical_model.unwrap_or(own.model),
            region: PriceSheet::DEFAULT_REGION,
            valid_from: None,
            valid_to: None,
            ..own
        }
    }
}

/// The provider that estimates from several hosts' sheets are listed under.
const POOLED: &str = "pooled";

/// The stored document with the sources of a sheet of the same content; none if it has them all. The time at which a
/// place was read does not make it another source.
fn with_new_sources(
    document: &str,
    sheet: &PriceSheet,
    id: Uuid,
) -> Result<Option<String>, StoreError> {
    let damaged = || StoreError::Damaged(id);
    let mut stored: Value = serde_json::from_str(document).map_err(|_| damaged())?;
    let known = stored["sources"].as_array_mut().ok_or_else(damaged)?;
    let before = known.len();
    for source in &sheet.sources {
        let source = serde_json::to_value(source).map_err(|_| damaged())?;
        let is_same_place = |other: &Value| {
            ["url", "format", "locator"]
                .iter()
                .all(|part| other.get(part) == source.get(part))
        };
        if known.len() < PriceSheet::MOST_SOURCES && !known.iter().any(is_same_place) {
            known.push(source);
        }
    }
    if known.len() == before {
        return Ok(None);
    }
    Ok(Some(stored.to_string()))
}
