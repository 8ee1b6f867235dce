//! Price history of an offer, derived from what its sources stated: sightings and withdrawals in, periods and news out.
//!
//! The history is a function of a set of facts. The order in which facts arrive has no part in it, and no clock has.
//!
//! At every time each source has at most one statement, and the best of them is the price:
//!
//! 1. A price that is under quarantine gives way to any other.
//! 2. A better standing is preferred.
//! 3. A statement that was last seen [`FRESH_FOR`] later than another is preferred. Between two sightings that are closer
//!    a statement counts as seen. One that was preferred so stays it where the other is seen again unchanged.
//! 4. A stated start is preferred to one that was merely seen, then the later start. A source's first statement of an offer
//!    is no news; among such statements the earliest is preferred.
//!
//! Of sources that agree on the price, the sheet of the one that was shown before stays: until it says otherwise, or is
//! staler than another one by [`FRESH_FOR`] and not alone in stating limits.

mod looks;
mod news;
mod quarantine;
mod sighting;
mod timeline;

pub use looks::{Look, Stretch};
pub use news::{Event, News, news};
pub use sighting::{Sighting, Standing, Withdrawal};
pub use timeline::{
    Ending, FRESH_FOR, Period, StartBasis, Stated, UNKNOWN_START, price_at, stated_at, timeline,
};

#[cfg(test)]
mod tests;
