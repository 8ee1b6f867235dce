//! The price of a meter in a cell.

use super::tariff::Missing;
use super::usage::{Meter, Metered};
use crate::sheet::{CacheWrite, CacheWriteBilling, PriceSheet, RateCell};
use unroof_base::units::Decimal;

/// The price of a meter.
pub(super) struct Found<'s> {
    pub(super) price: &'s Decimal,
    /// The meter whose price it is, if the sheet has none for this one.
    pub(super) priced_as: Option<Meter>,
    /// Time to live of the price of a cache write.
    pub(super) ttl_seconds: Option<u32>,
    /// An assumption of the choice.
    pub(super) note: Option<String>,
}

impl<'s> Found<'s> {
    fn own(price: &'s Decimal) -> Self {
        Self {
            price,
            priced_as: None,
            ttl_seconds: None,
            note: None,
        }
    }

    fn of(price: &'s Decimal, meter: Meter) -> Self {
        Self {
            priced_as: Some(meter),
            ..Self::own(price)
        }
    }
}

/// Finds the price of a meter in a cell.
pub(super) fn find<'s>(
    sheet: &PriceSheet,
    cell: &'s RateCell,
    metered: &Metered,
) -> Result<Found<'s>, Missing> {
    let own = |price: &'s Option<Decimal>| price.as_ref().map(Found::own);
    let or = |price: &'s Option<Decimal>, meter: Meter| {
        price.as_ref().map(|price| Found::of(price, meter))
    };
    let found = match metered.meter {
        Meter::Input => own(&cell.input),
        Meter::Output => own(&cell.output),
        Meter::Reasoning => own(&cell.reasoning).or_else(|| or(&cell.output, Meter::Output)),
        Meter::CacheRead => own(&cell.cache_read),
        Meter::CacheReadExplicit => {
            own(&cell.cache_read_explicit).or_else(|| or(&cell.cache_read, Meter::CacheRead))
        }
        Meter::CacheStorage => own(&cell.cache_storage_per_hour),
        Meter::CacheWrite => return find_write(sheet, cell, metered.seconds),
    };
    found.ok_or_else(|| unpriced(cell, metered.meter))
}

fn unpriced(cell: &RateCell, meter: Meter) -> Missing {
    let hint = match meter {
        Meter::CacheRead | Meter::CacheReadExplicit => {
            "if the provider bills cached tokens as input, leave them out of `cached_input_tokens`"
        }
        Meter::CacheWrite => {
            "if the provider bills written tokens as input, leave them out of `cache_writes`, or state `cache_write_billing` in the sheet"
        }
        _ => "add the price to the sheet, or use a source that states it",
    };
    Missing::new(
        format!("{} states no price of `{}`", name_of(cell), meter.name()),
        hint,
    )
}

/// The cell in words.
fn name_of(cell: &RateCell) -> String {
    let tier = &cell.service_tier;
    let context = match cell.context_tier.min_prompt_tokens {
        0 => String::new(),
        tokens => format!(", from {tokens} tokens"),
    };
    let schedule = cell.schedule.iter().map(|name| format!(", {name}"));
    let schedule: String = schedule.collect();
    format!("the cell of the tier `{tier}`{context}{schedule}")
}

/// The price of a cache write: that of its time to live, or of the shortest one where none is stated.
fn find_write<'s>(
    sheet: &PriceSheet,
    cell: &'s RateCell,
    ttl_seconds: Option<u32>,
) -> Result<Found<'s>, Missing> {
    if cell.cache_write.is_empty() {
        let as_input = cell.input.as_ref();
        let is_billed = sheet.cache_write_billing == CacheWriteBilling::AsInput;
        return as_input
            .filter(|_| is_billed)
            .map(|price| Found::of(price, Meter::Input))
            .ok_or_else(|| unpriced(cell, Meter::CacheWrite));
    }
    let of = |ttl: Option<u32>| {
        cell.cache_write
            .iter()
            .find(|write| write.ttl_seconds == ttl)
    };
    let unknown = of(None);
    let found = |write: &'s CacheWrite, note: Option<String>| Found {
        ttl_seconds: write.ttl_seconds,
        note,
        ..Found::own(&write.price)
    };
    let Some(wanted) = ttl_seconds else {
        let shortest = cell
            .cache_write
            .iter()
            .min_by_key(|write| write.ttl_seconds);
        let note = (cell.cache_write.len() > 1).then(|| {
            "A cache write without `ttl_seconds` has the price of the shortest time to live."
                .to_owned()
        });
        let write = unknown.or(shortest);
        return write
            .map(|write| found(write, note))
            .ok_or_else(|| unpriced(cell, Meter::CacheWrite));
    };
    if let Some(write) = of(Some(wanted)) {
        return Ok(found(write, None));
    }
    let note = format!(
        "The sheet states no time to live for its cache-write price, which is used for {wanted} s."
    );
    unknown
        .map(|write| found(write, Some(note)))
        .ok_or_else(|| {
            let known: Vec<String> = cell
                .cache_write
                .iter()
                .filter_map(|write| write.ttl_seconds)
                .map(|seconds| format!("{seconds} s"))
                .collect();
            Missing::new(
                format!(
                    "{} states no price of `cache_write` for {wanted} s",
                    name_of(cell)
                ),
                format!("it states prices for {}", known.join(", ")),
            )
        })
}
