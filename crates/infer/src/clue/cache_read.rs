//! Cache-read discount: the cost of loading a token against that of computing it.

use super::{Clue, Readings, or_lacking};
use crate::evidence::assumptions::Origin;
use crate::evidence::builder::{Drawn, ReadingBuilder};
use crate::evidence::clue_table::ReadingId;
use crate::evidence::quantity::Quantity as Q;
use crate::evidence::reading::{Input, Kind, NotDefined, Specification, Value};
use crate::evidence::sheet::{Cell, Evidence, both};
use unroof_base::units::Decimal;

pub(super) static CLUE: Clue = Clue::new(&[&LOAD_PATH], read);

static LOAD_PATH: Specification = Specification {
    quantity: "kv_bytes_per_token_stored",
    equation: "k_st ≤ (p_hit/p_in − h_0)·N_a·BW_path/(η_pre·M)",
    unit: "bytes/token",
    kind: Kind::Upper,
    needs: "an input and a cache-read price; an accelerator and the bandwidth of the path that loads the cache",
    not_defined_when: "there is no cache-read price, or p_hit/p_in ≤ h_0",
    assumes: &[
        "a cache hit costs at least the time its bytes take on the load path, charged at the chip's rent",
        "per chip: each chip loads its share over its own path",
    ],
    source: "MK, D",
    ..Specification::of(ReadingId::CacheReadLoadPath)
};

/// h0: share of the input price that a hit costs before any byte is loaded; 0 in the textbook.
const FIXED_SHARE: f64 = 0.0;

fn read(evidence: &Evidence<'_>) -> Readings {
    let of_cell = |cell: Cell<'_>| {
        let offers = [
            ("implicit", &cell.rate.cache_read),
            ("explicit", &cell.rate.cache_read_explicit),
        ];
        offers.map(|(offer, price)| Some(load_path(evidence, &cell, offer, price.as_ref()?)))
    };
    let drawn = evidence.cells().into_iter().flat_map(of_cell).flatten();
    or_lacking(drawn, "the sheet states no cache-read price")
}

fn load_path(evidence: &Evidence<'_>, cell: &Cell<'_>, offer: &str, price: &Decimal) -> Drawn {
    let builder = ReadingBuilder::new(&LOAD_PATH, evidence)
        .of_cell(cell)
        .label("cache", offer);
    let prices = both(cell.input(), Cell::price(Some(price), "cache-read"));
    let (input, hit) = builder.given(prices)?;
    let quantities = [
        Q::ActiveParameters,
        Q::LoadPathBandwidth,
        Q::PrefillEfficiency,
        Q::MultiplyRate,
    ];
    Ok(builder
        .price("input_price", "p_in", input.to_f64())
        .price("cache_read_price", "p_hit", hit.to_f64())
        .input(Input::new(
            "fixed_share_of_a_hit",
            "h_0",
            Value::Number(FIXED_SHARE),
            "",
            Origin::Textbook,
        ))
        .solve(&quantities, |values| {
            let share = hit.over(input) - FIXED_SHARE;
            if share <= 0.0 {
                return Err(NotDefined::no_solution("p_hit/p_in ≤ h_0"));
            }
            let compute = values[Q::PrefillEfficiency] * values[Q::MultiplyRate];
            Ok(share * values[Q::ActiveParameters] * values[Q::LoadPathBandwidth] / compute)
        })
        .caveat("discounts are mostly one of a few round numbers (0.5, 0.25, 0.2, 0.1, 0.05), so a discount is also a convention")
        .build())
}
