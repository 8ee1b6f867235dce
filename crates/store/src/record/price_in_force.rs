//! The price of an offer at a time: its sheet, its period, and the sheets of other sources.

use std::collections::VecDeque;
use std::sync::Arc;

use jiff::Timestamp;
use uuid::Uuid;

use sqlx::FromRow;

use super::checksum::{StoredDocument, read_sheet};
use crate::connect::query::Query;
use crate::list::query::AsOf;
use crate::{DbTime, Store, StoreError};
use unroof_base::input::cursor::{Fault, FaultKind};
use unroof_price_sheet::cost::{OfferName, OtherSheet, SheetInForce};
use unroof_price_sheet::history::UNKNOWN_START;
use unroof_price_sheet::sheet::PriceSheet;

/// Most regions of an offer.
const MOST_REGIONS: u32 = 256;
/// Greatest number of other sources that are read.
const MOST_OTHERS: u32 = 64;

const IN_FORCE: &str = "
    SELECT sheet.region, period.sheet_id, period.catalog, starts_at, ends_at
    FROM price_sheets AS sheet JOIN price_intervals AS period ON period.sheet_id = sheet.id
    WHERE";

const OTHERS: &str = "
    SELECT disagreement.other_catalog AS source, sheet.id, sheet.document, sheet.checksum
    FROM disagreements AS disagreement JOIN price_sheets AS sheet ON sheet.id = other_sheet_id
    WHERE disagreement.sheet_id = $1 AND disagreement.provider = $2 AND disagreement.model = $3
      AND (ended_at IS NULL OR ended_at > $4) AND (disagreement.observed_at <= $4 OR $4 IS NULL)";

/// Catalogs that list the offer of a sheet by another one at a time.
const CONFIRMING: &str = "
    SELECT seen.source, sheet.id, sheet.document, sheet.checksum
    FROM price_sheets AS own JOIN observations AS seen ON seen.offer_id = own.offer_id
    JOIN price_sheets AS sheet ON sheet.id = seen.sheet_id
    WHERE own.id = $1 AND seen.sheet_id <> $1 AND seen.source_rank = 1 AND seen.first_at <= $2
      AND (seen.last_at IS NULL OR NOT EXISTS (
          SELECT 1 FROM snapshots
          WHERE snapshots.source = seen.source AND (snapshots.scope = '' OR snapshots.scope = own.provider)
            AND snapshots.at > seen.last_at AND snapshots.at <= $2))
      AND (sheet.valid_from IS NULL OR sheet.valid_from <= $2)
      AND (sheet.valid_to IS NULL OR sheet.valid_to > $2)";

/// A price in force, with its period.
#[derive(Debug, FromRow)]
struct InForceRow {
    region: String,
    sheet_id: Uuid,
    catalog: String,
    starts_at: DbTime,
    ends_at: Option<DbTime>,
}

/// The sheet of another source.
#[derive(Debug, FromRow)]
struct OtherRow {
    source: String,
    id: Uuid,
    #[sqlx(flatten)]
    document: StoredDocument,
}

/// The price of an offer at a time.
#[derive(Debug)]
pub enum PriceInForce {
    /// The sheet with its period.
    Sheet(Arc<SheetInForce>),
    /// No price is in force.
    None,
    /// The offer names no region, and has prices in several.
    Regions(Vec<String>),
}

impl PriceInForce {
    /// The fault of a request that names an offer without a price, or with several.
    #[must_use]
    pub fn fault(&self, offer: &OfferName, at: Timestamp) -> Fault {
        let name = format!("`{}` of `{}`", offer.model, offer.provider);
        let (detail, hint) = match self {
            Self::Regions(regions) => (
                format!("{name} has prices in several regions and none for `global`"),
                format!("state `region`: {}", regions.join(", ")),
            ),
            _ => (
                format!("{name} has no price in force at {at}"),
                "GET /price-sheets lists the names, and the history of a model its periods"
                    .to_owned(),
            ),
        };
        Fault {
            pointer: "/offer".to_owned(),
            detail,
            hint,
            kind: FaultKind::Wrong,
        }
    }
}

/// Most prices that a list keeps.
const MOST_KEPT: usize = 64;

/// Prices that were read for earlier usages of a list.
#[derive(Debug, Default)]
pub struct KeptPrices(VecDeque<Kept>);

/// A price that was read for an earlier usage.
#[derive(Debug)]
struct Kept {
    offer: OfferName,
    /// Whether it was the price of now: then it may have been recorded ahead of the clock.
    is_of_now: bool,
    priced_by: Arc<SheetInForce>,
}

impl Kept {
    fn is_of(&self, offer: &OfferName, as_of: AsOf) -> bool {
        let (sheet, at) = (&self.priced_by.sheet, Timestamp::from(as_of.time()));
        let is_now = as_of.given().is_none();
        let has_begun = is_now || sheet.valid_from.is_none_or(|from| from <= at);
        (&self.offer, self.is_of_now) == (offer, is_now)
            && has_begun
            && sheet.valid_to.is_none_or(|to| at < to)
    }
}

impl KeptPrices {
    /// The price of an offer at a time, from the kept ones if its period is among them.
    ///
    /// # Errors
    /// A query fails, or a document is damaged.
    pub async fn price_in_force(
        &mut self,
        store: &Store,
        offer: &OfferName,
        as_of: AsOf,
    ) -> Result<PriceInForce, StoreError> {
        if let Some(kept) = self.0.iter().find(|kept| kept.is_of(offer, as_of)) {
            return Ok(PriceInForce::Sheet(Arc::clone(&kept.priced_by)));
        }
        let found = store.price_in_force(offer, as_of).await?;
        if let PriceInForce::Sheet(priced_by) = &found {
            if self.0.len() >= MOST_KEPT {
                self.0.pop_front();
            }
            self.0.push_back(Kept {
                offer: offer.clone(),
                is_of_now: as_of.given().is_none(),
                priced_by: Arc::clone(priced_by),
            });
        }
        Ok(found)
    }
}

impl Store {
    /// The price of an offer at a time. Without a region, that of the only region, or of `global`.
    ///
    /// # Errors
    /// A query fails, or a document is damaged.
    pub async fn price_in_force(
        &self,
        offer: &OfferName,
        as_of: AsOf,
    ) -> Result<PriceInForce, StoreError> {
        let list = Query::new(IN_FORCE)
            .in_force(as_of)
            .and("sheet.provider = ", Some(offer.provider.as_str()))
            .and("sheet.model = ", Some(offer.model.as_str()))
            .and("sheet.region = ", offer.region.as_deref());
        let mut rows: Vec<InForceRow> = self
            .rows(list.page(" ORDER BY sheet.region", MOST_REGIONS))
            .await?;
        let default = rows
            .iter()
            .position(|row| row.region == PriceSheet::DEFAULT_REGION);
        let row = match (default, rows.len()) {
            (_, 0) => return Ok(PriceInForce::None),
            (Some(place), _) => rows.swap_remove(place),
            (None, 1) => rows.swap_remove(0),
            (None, _) => {
                let regions = rows.into_iter().map(|row| row.region).collect();
                return Ok(PriceInForce::Regions(regions));
            }
        };
        let document = self.price_sheet(row.sheet_id, None).await?;
        let document = document.ok_or(StoreError::Damaged(row.sheet_id))?;
        let starts_at = Timestamp::from(row.starts_at);
        Ok(PriceInForce::Sheet(Arc::new(SheetInForce {
            id: row.sheet_id.to_string(),
            sheet: PriceSheet {
                valid_from: Some(starts_at).filter(|start| *start != UNKNOWN_START),
                valid_to: row.ends_at.map(Timestamp::from),
                ..read_sheet(row.sheet_id, &document)?
            },
            others: self.others(offer, &row, as_of.time()).await?,
            source: Some(row.catalog),
        })))
    }

    /// The sheets of other sources than that of the price in force: those that state another price, and those that agree.
    async fn others(
        &self,
        offer: &OfferName,
        in_force: &InForceRow,
        at: DbTime,
    ) -> Result<Vec<OtherSheet>, StoreError> {
        let as_of = in_force.ends_at.map(|_| at);
        let list = Query::new(OTHERS)
            .bind(in_force.sheet_id)
            .bind(&offer.provider)
            .bind(&offer.model)
            .bind(as_of);
        let mut rows: Vec<OtherRow> = self
            .rows(list.page(" ORDER BY source", MOST_OTHERS))
            .await?;
        let list = Query::new(CONFIRMING).bind(in_force.sheet_id).bind(at);
        let listing: Vec<OtherRow> = self
            .rows(list.page(" ORDER BY seen.source, seen.first_at DESC", MOST_OTHERS))
            .await?;
        for row in listing {
            let is_known = rows.iter().any(|known| known.source == row.source);
            if !is_known && row.source != in_force.catalog {
                rows.push(row);
            }
        }
        rows.into_iter().map(OtherRow::sheet).collect()
    }
}

impl OtherRow {
    fn sheet(self) -> Result<OtherSheet, StoreError> {
        Ok(OtherSheet {
            source: self.source,
            id: self.id.to_string(),
            sheet: self.document.sheet(self.id)?,
        })
    }
}
