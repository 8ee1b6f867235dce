//! Batch discount: the utilisation of batch processing against that of the standard tier.

use super::{Clue, Readings, or_lacking};
use crate::evidence::builder::ReadingBuilder;
use crate::evidence::clue_table::ReadingId;
use crate::evidence::reading::{Kind, NotDefined, Reading, Specification};
use crate::evidence::sheet::{Evidence, ModePrices};

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
    let mut readings = Vec::new();
    for mode in evidence.modes() {
        let waits = evidence
            .sheet
            .service_tiers
            .get(mode)
            .is_some_and(|tier| tier.completion_window_seconds.is_some());
        if waits || mode == "batch" || mode == "flex" {
            readings.extend(
                evidence
                    .mode_prices(mode)
                    .iter()
                    .map(|prices| utilisation(evidence, mode, prices)),
            );
        }
    }
    or_lacking(readings, "the sheet states no batch or flex tier")
        .map_err(|lack| evidence.no_standard_cell().unwrap_or(lack))
}

fn utilisation(evidence: &Evidence<'_>, mode: &str, prices: &ModePrices<'_>) -> Reading {
    let builder = ReadingBuilder::new(&UTILISATION, evidence).of_mode(mode, &prices.cell);
    let (input, output) = match (&prices.input_ratio, &prices.output_ratio) {
        (Ok(input), Ok(output)) => (*input, *output),
        (Err(reason), _) | (_, Err(reason)) => return builder.not_defined(reason.clone()),
    };
    let amortisation = input / output;
    builder
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
        .build()
}
