//! Lists of price sheets, and single ones.

use serde::Serialize;
use sqlx::FromRow;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::connect::query::Query;
use crate::list::query::{AsOf, Order, Place, Selection, SortKey};
use crate::record::checksum::{Document, StoredDocument};
use crate::{DbTime, Store, StoreError, Times};

/// A price sheet as a flat row. Prices are those of the base cell, in `currency` per million tokens, as the nearest
/// floating-point number; the sheet itself has the exact decimals.
#[derive(Debug, Clone, FromRow, Serialize, ToSchema)]
pub struct PriceSheetRow {
    /// Id of the pricing content.
    pub id: Uuid,
    /// Sequence number in the order of storing.
    #[serde(skip)]
    pub sequence: i64,
    /// Provider that bills for the offer.
    pub provider: String,
    /// Model name as the provider spells it.
    pub model: String,
    /// Canonical name, `author/model`; null where it is not known.
    pub canonical_model: Option<String>,
    /// Region in which the model is served.
    pub region: String,
    /// Currency, an ISO 4217 code.
    pub currency: String,
    /// Inclusive start of validity.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub valid_from: Option<DbTime>,
    /// Exclusive end of validity.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub valid_to: Option<DbTime>,
    /// Time at which the content was first stored.
    #[schema(value_type = String, format = DateTime)]
    pub observed_at: DbTime,
    /// Price of fresh prompt tokens, in `currency` per million.
    #[sqlx(rename = "input_price")]
    pub input_per_mtok: Option<f64>,
    /// Price of generated tokens, in `currency` per million.
    #[sqlx(rename = "output_price")]
    pub output_per_mtok: Option<f64>,
    /// Price of prompt tokens found in the cache, in `currency` per million.
    #[sqlx(rename = "cache_read_price")]
    pub cache_read_per_mtok: Option<f64>,
    /// Time from which the offer is no longer sold, as announced.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub retires_at: Option<DbTime>,
    /// `deprecated` where the offer is to be retired, at `retires_at` or at a time that is not stated.
    pub status: Option<String>,
    /// Whether the price is under quarantine: it is far from that of other sources, or fits no machine. It is not in force
    /// while another source disagrees.
    pub flagged: bool,
}

const PRICE_SHEET: &str = "SELECT document, checksum FROM price_sheets WHERE id = $1";
const WAS_IN_FORCE: &str = "
    AND EXISTS (SELECT 1 FROM price_intervals AS period WHERE period.sheet_id = price_sheets.id AND";

// Values with a limit: PostgreSQL would look up EXISTS in all rows of the other table, which it reads first.
const PRICE_SHEETS: &str = "
    SELECT id, sequence, provider, model, canonical_model, region, currency, valid_from, valid_to, observed_at,
           input_price, output_price, cache_read_price, retires_at, status,
           coalesce((SELECT TRUE FROM disagreements
                     WHERE other_sheet_id = price_sheets.id AND is_flagged AND ended_at IS NULL LIMIT 1),
                    (SELECT TRUE FROM price_periods AS period
                     WHERE period.sheet_id = price_sheets.id AND is_flagged AND ends_at IS NULL LIMIT 1), FALSE) AS flagged
    FROM price_sheets
    WHERE observed = TRUE AND ";
const SEQUENCE: &str = "sequence";
// As a value: PostgreSQL would take a condition for a join, and walk through all sheets newer than an old time.
const IS_IN_FORCE: &str = "
    AND TRUE = (SELECT TRUE FROM price_intervals AS period WHERE period.sheet_id = price_sheets.id AND";
const IS_ONE: &str = " LIMIT 1)";

impl PriceSheetRow {
    /// Place of the sheet in a list.
    #[must_use]
    pub fn place(&self, order: Order) -> Place {
        let priced = |price: Option<f64>| Place::Priced(price.unwrap_or_default(), self.sequence);
        match order.by {
            SortKey::Stored => Place::Stored(self.sequence),
            SortKey::Provider => Place::Named(self.provider.clone(), self.sequence),
            SortKey::Model => Place::Named(self.model.clone(), self.sequence),
            SortKey::InputPrice => priced(self.input_per_mtok),
            SortKey::OutputPrice => priced(self.output_per_mtok),
        }
    }
}

impl Store {
    /// The document of a price sheet, with its sources and remarks, if it was in force at a time, where one is given.
    ///
    /// # Errors
    /// The query fails, or the document is damaged.
    pub async fn price_sheet(
        &self,
        id: Uuid,
        as_of: Option<AsOf>,
    ) -> Result<Option<String>, StoreError> {
        let document = self.price_sheet_document(id, as_of).await?;
        Ok(document.map(|document| document.text))
    }

    /// The document of a sheet, with its checksum.
    ///
    /// # Errors
    /// The query fails, or the document is damaged.
    pub async fn price_sheet_document(
        &self,
        id: Uuid,
        as_of: Option<AsOf>,
    ) -> Result<Option<Document>, StoreError> {
        let query = Query::new(PRICE_SHEET)
            .bind(id)
            .was_in_force(WAS_IN_FORCE, as_of);
        let stored: Option<StoredDocument> = self.row(query).await?;
        stored.map(|stored| stored.with_checksum(id)).transpose()
    }

    /// Price sheets in an order by name, price or time, after a place.
    ///
    /// # Errors
    /// The query fails.
    pub async fn price_sheets(
        &self,
        selection: &Selection,
        times: &Times,
        order: Order,
        after: Option<&Place>,
        limit: u32,
    ) -> Result<Vec<PriceSheetRow>, StoreError> {
        let stretch = self.stretch("price_sheets", times, order).await?;
        let list = Query::new(PRICE_SHEETS)
            .sorted(order, SEQUENCE, after, stretch)
            .names(selection, order)
            .stored(times);
        let list = match times.as_of {
            Some(at) => list.text(IS_IN_FORCE).in_force(at).text(IS_ONE),
            None => list,
        };
        self.listed(list.sorted_page(order, SEQUENCE, limit)).await
    }
}
