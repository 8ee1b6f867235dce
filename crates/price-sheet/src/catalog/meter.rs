//! Kinds of token rates, to which every catalog has names of its own, and a price as an entry states it.

use std::collections::BTreeMap;

use super::entry::Entry;
use crate::sheet::{CacheWrite, CacheWriteBilling, ContextTier, OtherMeter, RateCell};
use unroof_base::input::json::Json;
use unroof_base::units::Decimal;

/// Kind of token rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Meter {
    Input,
    Output,
    Reasoning,
    CacheRead,
    CacheReadExplicit,
    /// Cache write, with its time to live in seconds where the name states it.
    CacheWrite(Option<u32>),
    Storage,
}

impl Meter {
    pub(super) fn is_write(self) -> bool {
        matches!(self, Self::CacheWrite(_))
    }

    /// Sets the price in a cell. Writes without a time to live get `lifetime_s`.
    pub(super) fn set(self, cell: &mut RateCell, price: Decimal, lifetime_s: Option<u32>) {
        let place = match self {
            Self::Input => &mut cell.input,
            Self::Output => &mut cell.output,
            Self::Reasoning => &mut cell.reasoning,
            Self::CacheRead => &mut cell.cache_read,
            Self::CacheReadExplicit => &mut cell.cache_read_explicit,
            Self::Storage => &mut cell.cache_storage_per_hour,
            Self::CacheWrite(stated_s) => {
                let ttl_seconds = stated_s.or(lifetime_s);
                cell.cache_write.push(CacheWrite { ttl_seconds, price });
                return;
            }
        };
        *place = Some(price);
    }
}

/// The cell of these prices.
pub(super) fn cell(
    service_tier: &str,
    tier: ContextTier,
    schedule: Option<&str>,
    prices: impl IntoIterator<Item = (Meter, Decimal)>,
    lifetime_s: Option<u32>,
) -> RateCell {
    let mut cell = RateCell::new(service_tier, tier, schedule);
    cell.source = Some(0);
    for (meter, price) in prices {
        meter.set(&mut cell, price, lifetime_s);
    }
    cell
}

/// Billing of cache writes from the priced meters.
pub(super) fn write_billing<'m>(
    mut meters: impl Iterator<Item = &'m Meter>,
    costs_input: bool,
) -> CacheWriteBilling {
    if meters.any(|meter| meter.is_write()) {
        CacheWriteBilling::Priced
    } else if costs_input {
        CacheWriteBilling::AsInput
    } else {
        CacheWriteBilling::NotPublished
    }
}

/// One price as the entry states it.
pub(super) struct Quote<'a> {
    pub(super) path: String,
    pub(super) json: &'a Json,
    pub(super) price: Decimal,
}

impl Quote<'_> {
    /// Adds the price unless the place has one; a different second price is kept under `unmapped`.
    pub(super) fn add<P: Ord>(
        self,
        quotes: &mut BTreeMap<P, Self>,
        place: P,
        entry: &mut Entry<'_>,
    ) {
        match quotes.get(&place) {
            Some(known) if known.price != self.price => self.keep(entry),
            Some(_) => {}
            None => {
                quotes.insert(place, self);
            }
        }
    }

    /// Keeps what is stated under `unmapped`.
    pub(super) fn keep(&self, entry: &mut Entry<'_>) {
        entry.keep(&self.path, self.json);
    }
}

/// The price of something other than text tokens.
pub(super) fn other_meter(meter: &str, unit: &str, price: Decimal) -> OtherMeter {
    OtherMeter {
        meter: meter.to_owned(),
        unit: unit.to_owned(),
        price,
        note: None,
    }
}
