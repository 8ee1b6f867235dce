//! Sheets of one seller as one observation: a sheet that is sent twice, or in parts, counts once.

use std::collections::BTreeMap;

use crate::sheet::{PriceSheet, RateCell};
use unroof_base::units::Decimal;

/// The sheets with those of one seller joined that contradict each other in no price, in an order of their own: the order
/// in which they come changes nothing.
#[must_use]
pub fn whole_sheets(sheets: &[PriceSheet]) -> Vec<PriceSheet> {
    let mut sorted: Vec<&PriceSheet> = sheets.iter().collect();
    sorted.sort_by_cached_key(|sheet| (sheet.provider.clone(), sheet.region.clone(), sheet.id()));
    let mut whole: Vec<PriceSheet> = Vec::new();
    for sheet in sorted {
        match whole.iter_mut().find_map(|known| {
            let rates = joined(known, sheet)?;
            Some((known, rates))
        }) {
            Some((known, rates)) => take_up(known, sheet, rates),
            None => whole.push(sheet.clone()),
        }
    }
    whole
}

/// The rates of both sheets; none if they are of two sellers, or contradict each other.
fn joined(known: &PriceSheet, other: &PriceSheet) -> Option<Vec<RateCell>> {
    let is_same_seller = known.provider == other.provider
        && known.upstream_provider == other.upstream_provider
        && known.currency == other.currency;
    is_same_seller
        .then(|| joined_rates(&known.rates, &other.rates))
        .flatten()
}

/// The cells of both lists, in their order; none if they contradict each other.
pub(super) fn joined_rates(known: &[RateCell], others: &[RateCell]) -> Option<Vec<RateCell>> {
    let mut rates = known.to_vec();
    for cell in others {
        match rates.iter_mut().find(|rate| rate.key() == cell.key()) {
            Some(rate) => *rate = both(rate, cell)?,
            None => rates.push(cell.clone()),
        }
    }
    rates.sort_by(|left, right| left.key().cmp(&right.key()));
    Some(rates)
}

/// A cell with the prices of two; none if they differ in one.
fn both(left: &RateCell, right: &RateCell) -> Option<RateCell> {
    let (mut cell, mut other) = (left.clone(), right.clone());
    for (own, others) in cell.single_prices().into_iter().zip(other.single_prices()) {
        *own = agreed(own.take(), others.take())?;
    }
    for write in &right.cache_write {
        let mut own = cell.cache_write.iter();
        match own.find(|known| known.ttl_seconds == write.ttl_seconds) {
            Some(known) if known.price != write.price => return None,
            Some(_) => {}
            None => cell.cache_write.push(write.clone()),
        }
    }
    Some(cell)
}

/// The price that two cells state; none if they differ.
#[expect(
    clippy::option_option,
    reason = "a price that neither states, and prices that differ, are two things"
)]
fn agreed(own: Option<Decimal>, others: Option<Decimal>) -> Option<Option<Decimal>> {
    match (own, others) {
        (Some(own), Some(others)) => (own == others).then_some(Some(own)),
        (own, others) => Some(own.or(others)),
    }
}

/// Takes the rates, and what the sheet says beside them, where nothing is known yet.
fn take_up(known: &mut PriceSheet, other: &PriceSheet, rates: Vec<RateCell>) {
    known.rates = rates;
    known.limits.context = known.limits.context.max(other.limits.context);
    known.limits.max_input = known.limits.max_input.max(other.limits.max_input);
    add_missing(&mut known.service_tiers, &other.service_tiers);
    add_missing(&mut known.schedules, &other.schedules);
    known.evidence.extend(other.evidence.iter().cloned());
}

/// Adds what the map does not have.
pub(super) fn add_missing<T: Clone>(known: &mut BTreeMap<String, T>, other: &BTreeMap<String, T>) {
    let mut all = other.clone();
    all.append(known);
    *known = all;
}
