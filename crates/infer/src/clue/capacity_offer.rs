//! Capacity offers: units sold by the hour, as cost at full load and against the price of tokens.

use super::{Clue, Readings, or_lacking};
use crate::evidence::builder::{Drawn, ReadingBuilder};
use crate::evidence::clue_table::ReadingId;
use crate::evidence::quantity::Quantity as Q;
use crate::evidence::reading::{Kind, NotDefined, Reading, Specification};
use crate::evidence::sheet::{Cell, Evidence, Price};
use unroof_price_sheet::sheet::CapacityOffer;

/// No term of the joint estimate: a unit is a number of chips that no offer states, and its price has a markup of its own.
pub(super) static CLUE: Clue = Clue::new(&[&FULL_LOAD_COST, &BREAK_EVEN], read);

static FULL_LOAD_COST: Specification = Specification {
    quantity: "capacity_cost_at_full_load",
    equation: "c = 1e6·fx·f/(3600·v_unit)",
    unit: "USD/Mtok",
    needs: "a capacity offer with promised tokens per second; US dollars or an exchange rate",
    not_defined_when: "the offer promises no tokens per second, or its price is 0",
    assumes: &[
        "the unit serves what it is promised to serve, all day, and no more: v_unit prompt and generated tokens per second",
    ],
    source: "D",
    ..Specification::of(ReadingId::CapacityFullLoadCost)
};

static BREAK_EVEN: Specification = Specification {
    quantity: "break_even_utilisation_of_capacity",
    equation: "U = 1e6·f/(3600·v_unit·p_mix)",
    needs: "a capacity offer with promised tokens per second, and the token prices of what it serves",
    not_defined_when: "the offer promises no tokens per second, or a price is 0",
    assumes: &[
        "the unit serves prompt and generated tokens in the promised proportion; p_mix is the token price of that mix",
    ],
    source: "D",
    ..Specification::of(ReadingId::CapacityBreakEvenUtilisation)
};

/// Tokens per second of an offer with their total.
#[derive(Debug, Clone, Copy)]
struct Promise {
    input: f64,
    output: f64,
}

impl Promise {
    fn of(offer: &CapacityOffer) -> Result<Self, NotDefined> {
        if offer.price_per_hour.is_zero() {
            return Err(NotDefined::no_solution(
                "the price of the unit is 0: free or unknown, so nothing is computed from it",
            ));
        }
        let promised = Self {
            input: offer.input_tokens_per_second.unwrap_or(0.0),
            output: offer.output_tokens_per_second.unwrap_or(0.0),
        };
        let lacks = || {
            NotDefined::sheet_lacks(
                "the offer promises no tokens per second (input_tokens_per_second, output_tokens_per_second)",
            )
        };
        (promised.total() > 0.0)
            .then_some(promised)
            .ok_or_else(lacks)
    }

    fn total(self) -> f64 {
        self.input + self.output
    }

    /// Token prices of the base cell, each 0 where no such token is promised.
    fn prices(self, base: &Cell<'_>) -> Result<[f64; 2], NotDefined> {
        let input = (self.input > 0.0).then(|| base.input());
        let output = (self.output > 0.0).then(|| base.output());
        let number = |price: Option<Price<'_>>| price.map_or(Ok(0.0), |price| Ok(price?.to_f64()));
        Ok([number(input)?, number(output)?])
    }
}

fn read(evidence: &Evidence<'_>) -> Readings {
    let offers = &evidence.sheet.capacity_offers;
    let costs = offers.iter().map(|offer| full_load_cost(evidence, offer));
    let ratios = offers.iter().map(|offer| break_even(evidence, offer));
    or_lacking(
        costs.chain(ratios),
        "the sheet states no capacity sold by the hour (capacity_offers)",
    )
}

/// Begins a reading of an offer with its price and promise, or ends it with the reason for none.
fn builder<'a>(
    specification: &'static Specification,
    evidence: &Evidence<'a>,
    offer: &CapacityOffer,
) -> Result<(ReadingBuilder<'a>, Promise), Box<Reading>> {
    let builder = ReadingBuilder::new(specification, evidence).label("capacity_offer", &offer.name);
    let promise = builder.given(Promise::of(offer))?;
    let unit = format!("{}/h", evidence.sheet.currency);
    let builder = builder
        .sheet("price_per_hour", "f", offer.price_per_hour.to_f64(), unit)
        .sheet(
            "promised_tokens_per_second",
            "v_unit",
            promise.total(),
            "tokens/s",
        );
    Ok((builder, promise))
}

fn full_load_cost(evidence: &Evidence<'_>, offer: &CapacityOffer) -> Drawn {
    let (builder, promise) = builder(&FULL_LOAD_COST, evidence, offer)?;
    let price = offer.price_per_hour.to_f64();
    Ok(builder
        .solve(&[Q::UsdPerCurrencyUnit], |values| {
            Ok(1e6 * values[Q::UsdPerCurrencyUnit] * price / (3600.0 * promise.total()))
        })
        .build())
}

fn break_even(evidence: &Evidence<'_>, offer: &CapacityOffer) -> Drawn {
    let (builder, promise) = builder(&BREAK_EVEN, evidence, offer)?;
    let no_base = || NotDefined::sheet_lacks("the sheet states no standard price of a token");
    let base = builder.given(evidence.base_cell().ok_or_else(no_base))?;
    let [input, output] = builder.given(promise.prices(&base))?;
    let per_second = promise.input * input + promise.output * output;
    let share = 1e6 * offer.price_per_hour.to_f64() / (3600.0 * per_second);
    let mut builder = builder
        .price(
            "token_price_of_the_mix",
            "p_mix",
            per_second / promise.total(),
        )
        .solve(&[], |_| Ok(share));
    let in_dollars = [
        ("input_cost_at_full_load", input),
        ("output_cost_at_full_load", output),
    ];
    for (name, price) in in_dollars.into_iter().filter(|(_, price)| *price > 0.0) {
        builder = builder.detail(
            (name, "USD/Mtok", Kind::Equal),
            &[Q::UsdPerCurrencyUnit],
            |values| Ok(values[Q::UsdPerCurrencyUnit] * share * price),
        );
    }
    if share > 1.0 {
        builder = builder.caveat(
            "above 1: tokens cost less by the token even at full load, so the unit is bought for something else than its tokens",
        );
    }
    Ok(builder.build())
}
