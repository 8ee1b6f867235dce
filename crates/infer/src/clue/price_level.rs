//! Price level: an upper bound on the active parameters from the input price.

use super::{Clue, Readings, or_lacking};
use crate::evidence::builder::{Drawn, ReadingBuilder};
use crate::evidence::clue_table::ReadingId;
use crate::evidence::quantity::Quantity as Q;
use crate::evidence::reading::{Kind, Specification};
use crate::evidence::sheet::{Cell, Evidence};

pub(super) static CLUE: Clue = Clue::new(&[&ACTIVE_PARAMETERS], read);

static ACTIVE_PARAMETERS: Specification = Specification {
    quantity: "active_parameters",
    equation: "N_a ≤ fx·p_in·1e-6·(1 − μ_in)·η_pre·U·M·3600/R",
    unit: "parameters",
    kind: Kind::Upper,
    needs: "an input price; an accelerator and its rent; US dollars or an exchange rate",
    not_defined_when: "the input price is 0",
    assumes: &[
        "input is priced at no less than what prefill costs; a bound at η_pre = U = 1, otherwise a point",
    ],
    source: "D",
    ..Specification::of(ReadingId::PriceLevelActiveParameters)
};

fn read(evidence: &Evidence<'_>) -> Readings {
    let cells = evidence.cells().into_iter();
    let priced = cells.filter(|cell| cell.rate.input.is_some());
    let drawn = priced.map(|cell| active_parameters(evidence, &cell));
    or_lacking(drawn, "the sheet states no input price")
}

fn active_parameters(evidence: &Evidence<'_>, cell: &Cell<'_>) -> Drawn {
    let builder = ReadingBuilder::new(&ACTIVE_PARAMETERS, evidence).of_cell(cell);
    let input = builder.given(cell.input())?.to_f64();
    let at_peak = |quantity| {
        evidence
            .assumptions
            .known(quantity)
            .is_none_or(|(value, _)| value >= 1.0)
    };
    let kind = if at_peak(Q::PrefillEfficiency) && at_peak(Q::Utilisation) {
        Kind::Upper
    } else {
        Kind::Equal
    };
    let quantities = [
        Q::UsdPerCurrencyUnit,
        Q::InputMargin,
        Q::PrefillEfficiency,
        Q::Utilisation,
        Q::MultiplyRate,
        Q::RentalPerHour,
    ];
    Ok(builder
        .kind(kind)
        .price("input_price", "p_in", input)
        .solve(&quantities, |values| {
            let usd_per_mtok =
                values[Q::UsdPerCurrencyUnit] * input * (1.0 - values[Q::InputMargin]);
            let macs_per_second =
                values[Q::PrefillEfficiency] * values[Q::Utilisation] * values[Q::MultiplyRate];
            Ok(usd_per_mtok * macs_per_second * 3600.0 / (1e6 * values[Q::RentalPerHour]))
        })
        .build())
}
