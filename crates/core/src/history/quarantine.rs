//! Quarantine of prices that are probably mistakes.

use super::sighting::Sighting;

/// Factor from what other sources state beyond which a price is under quarantine: larger than real price changes, and
/// smaller than the mistakes of units that catalogs make (per thousand, per token).
const LARGEST_FACTOR: f64 = 30.0;
/// Relative difference up to which two sources confirm each other.
const SAME_PRICE: f64 = 0.05;

/// Whether a statement is under quarantine, among the statements of all sources at one time. A second source with the same
/// prices lifts it, and so does the seller's own list.
#[must_use]
pub(super) fn is_flagged(of: &Sighting, among: &[&Sighting]) -> bool {
    let others = || {
        let others = among.iter().copied();
        others.filter(|other| other.source != of.source)
    };
    if of.is_sellers_own || others().any(|other| confirms(of, other)) {
        return false;
    }
    let earlier =
        others().filter(|other| (other.first_at, &other.source) < (of.first_at, &of.source));
    of.is_misfit || earlier.into_iter().any(|other| is_far(of, other))
}

fn prices(left: &Sighting, right: &Sighting) -> impl Iterator<Item = (f64, f64)> {
    let pairs = [
        (left.input_price, right.input_price),
        (left.output_price, right.output_price),
    ];
    let pairs = pairs
        .into_iter()
        .filter_map(|(left, right)| Some((left?, right?)));
    pairs.filter(|(left, right)| *left > 0.0 && *right > 0.0)
}

fn confirms(left: &Sighting, right: &Sighting) -> bool {
    let mut prices = prices(left, right).peekable();
    prices.peek().is_some() && prices.all(|(left, right)| (left / right - 1.0).abs() <= SAME_PRICE)
}

fn is_far(left: &Sighting, right: &Sighting) -> bool {
    prices(left, right).any(|(left, right)| (left / right).max(right / left) > LARGEST_FACTOR)
}
