//! Price history of an offer, derived from what its sources stated: observations and withdrawals in, periods and news out.
//!
//! The history is a function of a set of facts. The order in which facts arrive has no part in it, and no clock has.
//!
//! At every time each source has at most one statement, and the best of them is the price:
//!
//! 1. A price that is under quarantine gives way to any other.
//! 2. A better source rank is preferred.
//! 3. A statement that was last seen [`FRESH_FOR`] later than another is preferred. Between two observations that are closer
//!    a statement counts as seen, and what it states of the time before its first observation is as fresh as that. One that was
//!    preferred so stays it where the other is seen again unchanged.
//! 4. A stated start is preferred to one that was merely seen, then the later start. Only cells count that the statements
//!    price differently: one that states more or less than before has not changed its price. A source's first statement of an
//!    offer is not news; among such statements the earliest is preferred.
//!
//! A statement that agrees on every cell that both state is a confirmation, also where it is old. Of the best statement and
//! those that confirm it and each other, the better first, the one with the most cells is the sheet in force: a catalog that
//! is silent about a price takes it from no other, and begins no period. Of several such sheets the one that was shown
//! before stays: until its source says otherwise, or is staler than another one with the same prices by [`FRESH_FOR`] and not
//! alone in stating limits.
//!
//! A source that states an offer for the first time may be preferred at once, by its cells or by a stated start. That another
//! sheet is in force then is not a change of the price: where the other sources alone would have kept the price, the period
//! begins with [`StartBasis::SourceAdded`], and the news are [`Event::SourceAdded`].
//!
//! ```
//! use unroof_price_sheet::history::{price_at, timeline};
//! # use unroof_price_sheet::history::{Observation, SourceRank};
//! # use unroof_price_sheet::sheet::{ContextTier, PriceSheet, RateCell, compare::Cells};
//! # fn day(day: i64) -> jiff::Timestamp { jiff::Timestamp::from_second(day * 86_400).unwrap() }
//! # fn listed(source: &str, input: &str, first: i64, last: i64) -> Observation {
//! #     let mut cell = RateCell::new(RateCell::STANDARD, ContextTier::default(), None);
//! #     cell.input = input.parse().ok();
//! #     let sheet = PriceSheet::new("acme", "m-1", vec![cell]);
//! #     Observation {
//! #         sheet_id: sheet.id().0, price_id: sheet.price_id(), source: source.to_owned(), source_rank: SourceRank::Catalog,
//! #         valid_from: None, valid_to: None, first_at: day(first), last_at: day(last), next_at: None, is_sellers_own: false,
//! #         is_misfit: false, states_limits: false, cells: Cells::of(&sheet).into(), input_price: None, output_price: None,
//! #     }
//! # }
//!
//! // Source, input price, and the days on which it was first and last seen: the first catalog is stale on day 30.
//! let facts = [listed("litellm", "3", 0, 10), listed("models_dev", "2", 30, 30)];
//! let periods = timeline(&facts, &[]);
//! assert_eq!(price_at(&periods, day(29)).unwrap().source, "litellm");
//! assert_eq!(price_at(&periods, day(31)).unwrap().source, "models_dev");
//! ```

mod choice;
mod claims;
mod news;
mod observation;
mod period;
mod quarantine;
mod snapshots;
mod timeline;

pub use news::{Event, News, name_new_sources, news};
pub use observation::{Observation, SourceRank, Withdrawal};
pub use period::{Ending, FRESH_FOR, Period, StartBasis, UNKNOWN_START, price_at};
pub use snapshots::{Snapshot, Stretch};
pub use timeline::{Stated, stated_at, timeline};

#[cfg(test)]
mod tests;
