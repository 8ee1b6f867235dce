//! The periods of an offer, each with the price in force.

use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

/// Placeholder of an unknown start: the start of the year 1. Stated times are from 1970 on.
pub const UNKNOWN_START: Timestamp = Timestamp::constant(-62_135_596_800, 0);
/// Age difference of two last observations from which on the later one counts. Below it both are equally fresh: catalogs that
/// are read once a week do not displace each other's prices.
pub const FRESH_FOR: SignedDuration = SignedDuration::from_hours(14 * 24);

/// Source of the start of a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartBasis {
    /// A source states it.
    Stated,
    /// The price was first seen then.
    Observed,
    /// A source stated the offer for the first time then: its price is not known to have changed.
    SourceAdded,
}

/// Reason for which a period ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Another price is in force.
    Replaced,
    /// The stated end of the price came.
    Expired,
    /// The offer is no longer listed by any catalog.
    Delisted,
    /// The price was withdrawn.
    Withdrawn,
}

/// A price in force from its start to before its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Period {
    /// The sheet that stands for the price: of those that agree with it, one with the most cells.
    pub sheet_id: Uuid,
    /// Identity of its prices and limits, without dates and names.
    pub price_id: Uuid,
    /// The source of the sheet.
    pub source: String,
    /// Inclusive start; [`UNKNOWN_START`] where it is not known.
    pub starts_at: Timestamp,
    /// Source of the start.
    pub start_basis: StartBasis,
    /// Time at which the price before was last seen.
    pub not_before: Option<Timestamp>,
    /// Time at which a source last stated the price.
    pub last_seen_at: Timestamp,
    /// Exclusive end, with its reason; none until further notice.
    pub end: Option<(Timestamp, Ending)>,
    /// Whether the price is under quarantine, and in force only because no other source states one.
    pub is_flagged: bool,
}

impl Period {
    /// End of the period, exclusive.
    #[must_use]
    pub fn ends_at(&self) -> Option<Timestamp> {
        self.end.map(|(at, _)| at)
    }

    /// Whether it is in force at a time.
    #[must_use]
    pub fn covers(&self, at: Timestamp) -> bool {
        self.starts_at <= at && self.ends_at().is_none_or(|end| at < end)
    }
}

/// The price in force at a time.
#[must_use]
pub fn price_at(periods: &[Period], at: Timestamp) -> Option<&Period> {
    let after = periods.partition_point(|period| period.starts_at <= at);
    periods[..after].last().filter(|period| period.covers(at))
}
