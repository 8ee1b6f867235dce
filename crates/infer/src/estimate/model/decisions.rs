//! The sheets of a model that are read: one per pricing decision of a seller, and not too many.

use unroof_price_sheet::closed_weights::runs_the_weights;
use unroof_price_sheet::sheet::PriceSheet;
use unroof_price_sheet::sheet::compare::decision::{Likeness, Prices};

/// Most sheets that are answered together, as for a pool that is sent.
pub(super) const MOST_SHEETS: usize = 64;

/// The first sheet of every decision of every seller.
pub(super) fn own_decisions(contents: &[PriceSheet], prices: &[Prices]) -> Vec<usize> {
    let mut own: Vec<usize> = Vec::new();
    for (place, sheet) in contents.iter().enumerate() {
        let repeats = |known: &usize| {
            contents[*known].provider == sheet.provider
                && prices[*known].is_one_decision(&prices[place])
        };
        if !own.iter().any(repeats) {
            own.push(place);
        }
    }
    own
}

/// The sheets of sellers that run the weights. Where these are closed, the prices of a reseller say what it adds to the
/// author's, and nothing about the machine; where only resellers are known, theirs are read.
pub(super) fn of_hosts(own: Vec<usize>, model: &str, contents: &[PriceSheet]) -> Vec<usize> {
    let runs = |place: &usize| runs_the_weights(model, &contents[*place].provider) != Some(false);
    let hosts: Vec<usize> = own.iter().copied().filter(runs).collect();
    if hosts.is_empty() { own } else { hosts }
}

/// The first sheet of every decision; its copies are left out.
pub(super) fn distinct_decisions(own: &[usize], prices: &[Prices]) -> Vec<usize> {
    let mut distinct: Vec<usize> = Vec::new();
    for place in own {
        let is_known =
            |known: &usize| prices[*known].likeness(&prices[*place]) == Some(Likeness::OneDecision);
        if !distinct.iter().any(is_known) {
            distinct.push(*place);
        }
    }
    distinct
}

/// Up to [`MOST_SHEETS`] decisions: the newest of every seller, then the one before that, and so on.
pub(super) fn spread_over_sellers(distinct: &[usize], contents: &[PriceSheet]) -> Vec<usize> {
    let mut ranked: Vec<(usize, usize)> = Vec::new();
    for place in distinct {
        let sheet = &contents[*place];
        let is_newer = |other: &&usize| {
            let other = &contents[**other];
            other.provider == sheet.provider
                && (other.valid_from, other.id().0) > (sheet.valid_from, sheet.id().0)
        };
        ranked.push((distinct.iter().filter(is_newer).count(), *place));
    }
    ranked.sort_unstable();
    ranked.truncate(MOST_SHEETS);
    let mut used: Vec<usize> = ranked.into_iter().map(|(_, place)| place).collect();
    used.sort_unstable();
    used
}
