//! The price of an offer at a time: its sheet, its period, and the sheets of sources that state another price.

use std::collections::VecDeque;
use std::sync::Arc;

use jiff::Timestamp;
use uuid::Uuid;

use super::history::{HistoryKey, HistoryRow, PricesOf};
use super::plan::read_sheet;
use super::{DbTime, Filter, Store, StoreError, Times};
use unroof_core::cost::{OfferName, OtherSheet, SheetInForce};
use unroof_core::input::cursor::Fault;
use unroof_core::sheet::PriceSheet;
use unroof_core::sheet::compare::timeline::UNKNOWN_START;

/// Most regions of an offer.
const MOST_REGIONS: u32 = 256;
/// Prices of a history that are read at once: each has a document.
const PRICES_AT_A_TIME: u32 = 16;
/// Most sources that state another price.
const MOST_OTHERS: u32 = 64;

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
        }
    }
}

/// Most prices that a list keeps.
const MOST_KEPT: usize = 64;

/// Prices that were read for earlier usages of a list.
#[derive(Debug, Default)]
pub struct KeptPrices(VecDeque<(OfferName, Arc<SheetInForce>)>);

impl KeptPrices {
    /// The price of an offer at a time, from the kept ones if its period is among them.
    ///
    /// # Errors
    /// A query fails, or a document is damaged.
    pub async fn price_in_force(
        &mut self,
        store: &Store,
        offer: &OfferName,
        at: Timestamp,
    ) -> Result<PriceInForce, StoreError> {
        let is_it = |(name, priced_by): &&(OfferName, Arc<SheetInForce>)| {
            let sheet = &priced_by.sheet;
            name == offer
                && sheet.valid_from.is_none_or(|from| from <= at)
                && sheet.valid_to.is_none_or(|to| at < to)
        };
        if let Some((_, priced_by)) = self.0.iter().find(is_it) {
            return Ok(PriceInForce::Sheet(Arc::clone(priced_by)));
        }
        let found = store.price_in_force(offer, at).await?;
        if let PriceInForce::Sheet(priced_by) = &found {
            if self.0.len() >= MOST_KEPT {
                self.0.pop_front();
            }
            self.0.push_back((offer.clone(), Arc::clone(priced_by)));
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
        at: Timestamp,
    ) -> Result<PriceInForce, StoreError> {
        let at = DbTime::from(at);
        let filter = Filter {
            provider: Some(offer.provider.clone()),
            model: Some(offer.model.clone()),
            region: offer.region.clone(),
            ..Filter::default()
        };
        let times = Times {
            as_of: Some(at),
            ..Times::default()
        };
        let rows = self
            .price_sheets(&filter, &times, None, MOST_REGIONS)
            .await?;
        let default = rows
            .iter()
            .find(|row| row.region == PriceSheet::DEFAULT_REGION);
        let row = match (default, rows.as_slice()) {
            (_, []) => return Ok(PriceInForce::None),
            (Some(row), _) | (None, [row]) => row,
            (None, several) => {
                let mut regions: Vec<String> =
                    several.iter().map(|row| row.region.clone()).collect();
                regions.sort_unstable();
                return Ok(PriceInForce::Regions(regions));
            }
        };
        let prices = PricesOf {
            provider: &row.provider,
            model: &row.model,
            region: Some(&row.region),
            as_of: Some(at),
        };
        let Some(period) = self.period_of(prices, row.id, at).await? else {
            return Ok(PriceInForce::None);
        };
        let starts_at = Timestamp::from(period.starts_at);
        let filter = Filter {
            region: Some(row.region.clone()),
            ..filter
        };
        let others = self
            .others(&filter, row.id, period.ends_at.map(|_| at))
            .await?;
        Ok(PriceInForce::Sheet(Arc::new(SheetInForce {
            id: row.id.to_string(),
            sheet: PriceSheet {
                valid_from: Some(starts_at).filter(|start| *start != UNKNOWN_START),
                valid_to: period.ends_at.map(Timestamp::from),
                ..self.stored_sheet(row.id).await?
            },
            source: Some(period.catalog),
            others,
        })))
    }

    /// The period of a sheet at a time.
    async fn period_of(
        &self,
        prices: PricesOf<'_>,
        sheet_id: Uuid,
        at: DbTime,
    ) -> Result<Option<HistoryRow>, StoreError> {
        let mut from: Option<HistoryKey> = None;
        let mut found = None;
        loop {
            let rows = self
                .history(prices, from.as_ref(), PRICES_AT_A_TIME)
                .await?;
            let is_end = rows.len() < PRICES_AT_A_TIME as usize;
            from = rows.last().map(|row| HistoryKey {
                region: row.region.clone(),
                starts_at: row.starts_at,
                sequence: row.sequence,
                part: row.part,
            });
            let is_meant = |row: &HistoryRow| {
                row.sheet_id == sheet_id && row.ends_at.is_none_or(|end| end > at)
            };
            found = rows.into_iter().rfind(is_meant).or(found);
            if is_end {
                return Ok(found);
            }
        }
    }

    /// The sheets of sources that state another price than a sheet, now or at a time.
    async fn others(
        &self,
        filter: &Filter,
        sheet_id: Uuid,
        as_of: Option<DbTime>,
    ) -> Result<Vec<OtherSheet>, StoreError> {
        let rows = self.disagreements(filter, as_of, None, MOST_OTHERS).await?;
        let mut others = Vec::new();
        for row in rows.into_iter().filter(|row| row.sheet_id == sheet_id) {
            others.push(OtherSheet {
                source: row.other_catalog,
                id: row.other_sheet_id.to_string(),
                sheet: self.stored_sheet(row.other_sheet_id).await?,
            });
        }
        others.sort_by(|one, other| one.source.cmp(&other.source));
        Ok(others)
    }

    async fn stored_sheet(&self, id: Uuid) -> Result<PriceSheet, StoreError> {
        let document = self.price_sheet(id, None).await?;
        read_sheet(id, document.as_ref())
    }
}
