//! A fee per hour for keeping tokens in the cache.

use super::{Clue, Readings, or_lacking};
use crate::evidence::builder::{Drawn, ReadingBuilder};
use crate::evidence::cache_offers::HeldFor;
use crate::evidence::cache_placement::observe_hold_price;
use crate::evidence::clue_table::ReadingId;
use crate::evidence::hold_cost::{HbmHolding, with_bounds_per_tier};
use crate::evidence::quantity::Quantity as Q;
use crate::evidence::reading::{Kind, NotDefined, Specification};
use crate::evidence::sheet::{Cell, Evidence};
use unroof_base::units::Decimal;

pub(super) static CLUE: Clue = Clue::new(&[&KV_BYTES], read)
    .observed_by(|sheets, _| observe_hold_price(sheets, KV_BYTES.clue, fee));

/// The fee of the base cell.
fn fee(evidence: &Evidence<'_>) -> Option<HeldFor> {
    let fee = evidence.base_cell()?.rate.cache_storage_per_hour.as_ref();
    let price_per_hour = Cell::price(fee, "storage").ok()?.to_f64();
    Some(HeldFor {
        price_per_hour,
        ttl_s: None,
    })
}

static KV_BYTES: Specification = Specification {
    quantity: "kv_bytes_per_token_stored",
    equation: "k_st ≤ fx·fee/(1e6·hold)",
    unit: "bytes/token",
    kind: Kind::Upper,
    needs: "a storage fee per hour; US dollars or an exchange rate",
    not_defined_when: "there is no fee",
    assumes: &[
        "the fee covers what holding the token costs; the value is for HBM, other storage tiers beside it",
    ],
    source: "D",
    ..Specification::of(ReadingId::CacheStorageKvBytes)
};

fn read(evidence: &Evidence<'_>) -> Readings {
    let of_cell = |cell: Cell<'_>| {
        let fee = cell.rate.cache_storage_per_hour.as_ref()?;
        Some(kv_bytes(evidence, &cell, fee))
    };
    let drawn = evidence.cells().into_iter().filter_map(of_cell);
    or_lacking(drawn, "the sheet states no storage fee")
}

fn kv_bytes(evidence: &Evidence<'_>, cell: &Cell<'_>, fee: &Decimal) -> Drawn {
    let hbm = HbmHolding::new(evidence);
    let builder = hbm.show(
        ReadingBuilder::new(&KV_BYTES, evidence).of_cell(cell),
        evidence,
    );
    let fee = builder.given(Cell::price(Some(fee), "storage"))?.to_f64();
    let mut quantities = vec![Q::UsdPerCurrencyUnit];
    quantities.extend(hbm.quantities());
    let builder = builder
        .sheet(
            "storage_fee",
            "fee",
            fee,
            format!("{}/Mtok-hour", evidence.sheet.currency),
        )
        .solve(&quantities, |values| {
            Ok(values[Q::UsdPerCurrencyUnit] * fee / (1e6 * hbm.usd_per_byte_hour(values)))
        });
    let builder = with_bounds_per_tier(builder, hbm, &[Q::UsdPerCurrencyUnit], |values| {
        Ok(values[Q::UsdPerCurrencyUnit] * fee)
    });
    // What is held for a fee is an explicit cache.
    let hit = cell
        .rate
        .cache_read_explicit
        .as_ref()
        .or(cell.rate.cache_read.as_ref());
    let hit = Cell::price(hit, "cache-read");
    let saved = cell.input().and_then(|input| Ok(input.minus(hit?)));
    Ok(builder
        .detail(
            ("break_even_hold", "h", Kind::Equal),
            &[],
            |_| match saved {
                Ok(saved) if saved > 0.0 => Ok(saved / fee),
                _ => Err(NotDefined::no_solution("a hit saves nothing")),
            },
        )
        .build())
}
