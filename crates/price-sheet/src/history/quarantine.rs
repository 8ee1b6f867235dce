//! Quarantine of prices that are probably mistakes.

use jiff::Timestamp;

use super::observation::Observation;

/// Factor from what other sources state beyond which a price is under quarantine: larger than real price changes, and
/// smaller than the mistakes of units that catalogs make (per thousand, per token).
const LARGEST_FACTOR: f64 = 30.0;
/// Relative difference up to which two sources confirm each other.
const SAME_PRICE: f64 = 0.05;

/// Statement of a source at a time.
#[derive(Clone, Copy)]
pub(super) struct Statement<'a> {
    pub(super) observation: &'a Observation,
    /// Time since which the source states these prices.
    pub(super) since: Timestamp,
}

impl Statement<'_> {
    fn is_earlier_than(&self, other: &Self) -> bool {
        (self.since, &self.observation.source) < (other.since, &other.observation.source)
    }
}

/// Whether a statement is under quarantine, among the statements of all sources at one time. A second source with the same
/// prices lifts it, and so does the seller's own list.
#[must_use]
pub(super) fn is_flagged(of: Statement<'_>, among: &[Statement<'_>]) -> bool {
    let own = of.observation;
    let others = || {
        let others = among.iter();
        others.filter(|other| other.observation.source != own.source)
    };
    if own.is_sellers_own || others().any(|other| confirms(own, other.observation)) {
        return false;
    }
    let mut earlier = others().filter(|other| other.is_earlier_than(&of));
    own.is_misfit || earlier.any(|other| is_far(own, other.observation))
}

fn prices(left: &Observation, right: &Observation) -> impl Iterator<Item = (f64, f64)> {
    let pairs = [
        (left.input_price, right.input_price),
        (left.output_price, right.output_price),
    ];
    let pairs = pairs
        .into_iter()
        .filter_map(|(left, right)| Some((left?, right?)));
    pairs.filter(|(left, right)| *left > 0.0 && *right > 0.0)
}

fn confirms(left: &Observation, right: &Observation) -> bool {
    let mut prices = prices(left, right).peekable();
    prices.peek().is_some() && prices.all(|(left, right)| (left / right - 1.0).abs() <= SAME_PRICE)
}

fn is_far(left: &Observation, right: &Observation) -> bool {
    prices(left, right).any(|(left, right)| (left / right).max(right / left) > LARGEST_FACTOR)
}
