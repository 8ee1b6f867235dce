//! Facts: what a source stated about an offer, and what was withdrawn.

use std::sync::Arc;

use jiff::Timestamp;
use uuid::Uuid;

use crate::sheet::compare::Cells;

/// Way in which a statement arrived; the first is the most trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SourceRank {
    /// Listed by a whole catalog, so that it ends where the catalog no longer lists the offer.
    Catalog,
    /// A single entry of a catalog.
    Entry,
    /// A sheet that was posted.
    Sheet,
}

/// A sheet that a source stated at one or more times, and did not replace or drop between them.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// Id of the sheet that the source states.
    pub sheet_id: Uuid,
    /// Identity of its prices and limits, without dates and names.
    pub price_id: Uuid,
    /// Source: a catalog, or a way in which sheets arrive.
    pub source: String,
    /// Way in which it arrived.
    pub source_rank: SourceRank,
    /// Inclusive start of validity, if stated.
    pub valid_from: Option<Timestamp>,
    /// Exclusive end of validity, if stated.
    pub valid_to: Option<Timestamp>,
    /// Time of the first observation.
    pub first_at: Timestamp,
    /// Time of the last observation.
    pub last_at: Timestamp,
    /// Next time at which the whole catalog was read after the last observation.
    pub next_at: Option<Timestamp>,
    /// Whether the seller itself lists the price.
    pub is_sellers_own: bool,
    /// Whether the estimate of the sheet fits no machine.
    pub is_misfit: bool,
    /// Whether the sheet states limits.
    pub states_limits: bool,
    /// Priced cells of the sheet.
    pub cells: Arc<Cells>,
    /// Input price in USD per million tokens.
    pub input_price: Option<f64>,
    /// Output price in USD per million tokens.
    pub output_price: Option<f64>,
}

/// A sheet that was withdrawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Withdrawal {
    /// Id of the withdrawn sheet.
    pub sheet_id: Uuid,
    /// Time of the withdrawal.
    pub at: Timestamp,
    /// First observation after it, which revives the price.
    pub seen_again_at: Option<Timestamp>,
}

impl Withdrawal {
    /// Whether the withdrawal holds at a time.
    #[must_use]
    pub fn covers(&self, at: Timestamp) -> bool {
        self.at <= at && self.seen_again_at.is_none_or(|seen| at < seen)
    }
}
