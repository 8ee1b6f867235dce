//! The effect of a seen sheet on the price of its offer.

use jiff::Timestamp;
use uuid::Uuid;

use super::offers::{Offer, SheetFacts};
use unroof_price_sheet::history::{Period, Withdrawal, price_at, stated_at};

/// Effect of a seen sheet on the price of its offer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// The sheet is the price in force.
    InForce,
    /// The price in force is the same, by the sheet of another source.
    Confirms(Other),
    /// The price begins later.
    Scheduled(Timestamp),
    /// Another source states another price, and counts more.
    Outranked(Other),
    /// The sheet is under quarantine while another source disagrees.
    Quarantined(Other),
    /// The sheet was withdrawn.
    Withdrawn,
    /// The source has replaced the sheet since, or the price has expired.
    Past,
}

/// The sheet in force, and its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Other {
    /// Id of the sheet.
    pub sheet_id: Uuid,
    /// Catalog, or way in which it arrived.
    pub source: String,
}

impl Effect {
    /// Effect at a time of a sheet on an offer with these facts and periods.
    pub(crate) fn of(
        sheet: &SheetFacts,
        offer: &Offer,
        periods: &[Period],
        now: Timestamp,
    ) -> Self {
        let price = price_at(periods, now);
        let other = |price: &Period| Other {
            sheet_id: price.sheet_id,
            source: price.source.clone(),
        };
        let is_same = |period: &&Period| period.price_id == sheet.price_id;
        match price.filter(is_same) {
            Some(price) if price.sheet_id == sheet.sheet_id => return Self::InForce,
            Some(price) => return Self::Confirms(other(price)),
            None => {}
        }
        let to_come = periods.iter().filter(is_same);
        let to_come = to_come.map(|period| period.starts_at).find(|at| *at > now);
        if let Some(starts_at) = to_come {
            return Self::Scheduled(starts_at);
        }
        let (observations, withdrawals) = (offer.observations(), offer.withdrawals());
        let is_withdrawn = |one: &Withdrawal| one.sheet_id == sheet.sheet_id && one.covers(now);
        if withdrawals.iter().any(is_withdrawn) {
            return Self::Withdrawn;
        }
        let stated = stated_at(&observations, &withdrawals, now);
        let own = stated
            .iter()
            .find(|one| one.observation.sheet_id == sheet.sheet_id);
        match own.zip(price) {
            Some((own, price)) if own.is_flagged => Self::Quarantined(other(price)),
            Some((_, price)) => Self::Outranked(other(price)),
            None => Self::Past,
        }
    }
}
