//! Batch discount: the utilisation of batch processing against that of the standard tier.

use super::{Clue, Readings, or_lacking_modes};
use crate::evidence::builder::{Drawn, ReadingBuilder};
use crate::evidence::clue_table::ReadingId;
use crate::evidence::reading::{Kind, NotDefined, Specification};
use crate::evidence::sheet::{Evidence, ModePrices, both};
use unroof_price_sheet::sheet::ServiceTier;

pub(super) static CLUE: Clue = Clue::new(&[&UTILISATION], read).about_modes();

static UTILISATION: Specification = Specification {
    quantity: "standard_utilisation_over_batch_utilisation",
    equation: "U_std/U_batch = d_in",
    needs: "a batch or flex tier with input and output prices",
    not_defined_when: "there is no batch tier, or the amortisation A is below 1",
    assumes: &[
        "d_in = p_in,batch/p_in,std: the input discount comes from a fuller machine alone",
        "what output is discounted beyond that comes from a larger batch: A = (p_out,std/p_out,batch)·(p_in,batch/p_in,std)",
    ],
    source: "D",
    ..Specification::of(ReadingId::BatchDiscountUtilisation)
};

/// Tolerance of an amortisation of 1, since published prices are rounded.
const ROUNDING: f64 = 1e-9;

fn read(evidence: &Evidence<'_>) -> Readings {
    let tiers = &evidence.sheet.service_tiers;
    let waits = |mode: &&str| {
        let window = |tier: &ServiceTier| tier.completion_window_seconds.is_some();
        tiers.get(*mode).is_some_and(window) || *mode == "batch" || *mode == "flex"
    };
    let of_mode = |mode| {
        let prices = evidence.mode_prices(mode).into_iter();
        prices.map(move |prices| utilisation(evidence, mode, &prices))
    };
    let drawn = evidence.modes().into_iter().filter(waits).flat_map(of_mode);
    or_lacking_modes(evidence, drawn, "the sheet states no batch or flex tier")
}

fn utilisation(evidence: &Evidence<'_>, mode: &str, prices: &ModePrices<'_>) -> Drawn {
    let builder = ReadingBuilder::new(&UTILISATION, evidence).of_mode(mode, &prices.cell);
    let ratios = both(prices.input_ratio.clone(), prices.output_ratio.clone());
    let (input, output) = builder.given(ratios)?;
    let amortisation = input / output;
    Ok(builder
        .sheet("input_price_ratio", "d_in", input, "")
        .sheet("output_price_ratio", "", output, "")
        .detail(("amortisation", "", Kind::Equal), &[], |_| Ok(amortisation))
        .solve(&[], |_| {
            if amortisation < 1.0 - ROUNDING {
                return Err(NotDefined::no_solution(
                    "A < 1: output is discounted less than input",
                ));
            }
            Ok(input)
        })
        .build())
}
