//! Cache-write prices for two times to live: the price of holding a token.

use super::{Clue, Readings, or_lacking};
use crate::evidence::builder::{Drawn, ReadingBuilder, Values};
use crate::evidence::cache_offers::held_for_longer;
use crate::evidence::cache_placement::observe_hold_price;
use crate::evidence::clue_table::ReadingId;
use crate::evidence::hold_cost::{HbmHolding, with_bounds_per_tier};
use crate::evidence::quantity::Quantity as Q;
use crate::evidence::reading::{NotDefined, Specification};
use crate::evidence::sheet::{Cell, Evidence, both};
use unroof_base::units::Decimal;

pub(super) static CLUE: Clue = Clue::new(&[&HOLD_PRICE], read)
    .observed_by(|sheets, _| observe_hold_price(sheets, HOLD_PRICE.clue, held_for_longer));

static HOLD_PRICE: Specification = Specification {
    quantity: "cache_holding_price",
    equation: "s_1 = fx·(p_2 − p_1)·3600/(TTL_2 − TTL_1)",
    unit: "USD/Mtok-hour",
    needs: "prices for writing with two times to live; US dollars or an exchange rate",
    not_defined_when: "there are fewer than two times to live, a price is 0, or the longer one costs no more",
    assumes: &[
        "the longer time to live costs more by the price of holding the token for the difference",
    ],
    source: "D",
    ..Specification::of(ReadingId::CacheWriteHoldPrice)
};

fn read(evidence: &Evidence<'_>) -> Readings {
    let of_cell = |cell: Cell<'_>| -> Vec<Drawn> {
        let writes = cell.rate.cache_write.iter();
        let timed = writes.filter_map(|write| Some((f64::from(write.ttl_seconds?), &write.price)));
        let timed: Vec<(f64, &Decimal)> = timed.collect();
        let pairs = timed.windows(2);
        pairs
            .map(|pair| hold_price(evidence, &cell, pair[0], pair[1]))
            .collect()
    };
    let drawn = evidence.cells().into_iter().flat_map(of_cell);
    or_lacking(drawn, "no cell states write prices for two times to live")
}

fn hold_price(
    evidence: &Evidence<'_>,
    cell: &Cell<'_>,
    (short_ttl_s, short_price): (f64, &Decimal),
    (long_ttl_s, long_price): (f64, &Decimal),
) -> Drawn {
    let builder = ReadingBuilder::new(&HOLD_PRICE, evidence)
        .of_cell(cell)
        .sheet("ttl_short_seconds", "TTL_1", short_ttl_s, "s")
        .sheet("ttl_long_seconds", "TTL_2", long_ttl_s, "s");
    let price = |price| Cell::price(Some(price), "cache-write");
    let (short_price, long_price) = builder.given(both(price(short_price), price(long_price)))?;
    let slope = move |values: &Values| {
        let slope = long_price.minus(short_price) * 3600.0 / (long_ttl_s - short_ttl_s);
        let usd = values[Q::UsdPerCurrencyUnit] * slope;
        (slope > 0.0)
            .then_some(usd)
            .ok_or_else(|| NotDefined::no_solution("the longer time to live costs no more"))
    };
    let builder = builder
        .price("write_price_short", "p_1", short_price.to_f64())
        .price("write_price_long", "p_2", long_price.to_f64())
        .solve(&[Q::UsdPerCurrencyUnit], slope)
        .caveat("a free refresh on every hit, and the margin, are part of this price");
    let hbm = HbmHolding::new(evidence);
    let builder = hbm.show(builder, evidence);
    Ok(with_bounds_per_tier(builder, hbm, &[Q::UsdPerCurrencyUnit], slope).build())
}
