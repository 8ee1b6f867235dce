//! Peak schedules: the utilisation at peak against that of the other hours.

use super::{Clue, Readings, or_lacking};
use crate::evidence::builder::{Drawn, ReadingBuilder};
use crate::evidence::clue_table::ReadingId;
use crate::evidence::reading::{Kind, NotDefined, Specification};
use crate::evidence::sheet::{Cell, Evidence, both};

/// No term of the joint estimate: the utilisation there is that of the whole day, which the ratio of two parts of the
/// day leaves open.
pub(super) static CLUE: Clue = Clue::new(&[&UTILISATION], read).about_modes();

static UTILISATION: Specification = Specification {
    quantity: "peak_utilisation_over_off_peak_utilisation",
    equation: "U_peak/U_off = p_off/p_peak",
    needs: "input prices for a schedule and for the other hours",
    not_defined_when: "there is no schedule with an input price, or no price of other hours beside it",
    assumes: &[
        "input is priced so that a machine earns the same in an hour off-peak as in one at peak",
        "the hours named peak are the peak; without such a name the dearer ones are",
    ],
    source: "D",
    ..Specification::of(ReadingId::PeakScheduleUtilisation)
};

fn read(evidence: &Evidence<'_>) -> Readings {
    let cells = evidence.cells();
    let offers = cells.chunk_by(|left, right| left.rate.service_tier == right.rate.service_tier);
    let drawn = offers.flat_map(|offer| of_offer(evidence, offer));
    or_lacking(drawn, "the sheet states no prices for other hours")
}

/// Each scheduled cell of a service tier with the cell for the same prompts at the other hours: the one without a
/// schedule, else the first.
fn of_offer(evidence: &Evidence<'_>, offer: &[Cell<'_>]) -> Vec<Drawn> {
    let tokens = |cell: &Cell<'_>| cell.rate.context_tier.min_prompt_tokens;
    // Cells without a schedule come first.
    let of_cell = |(index, cell): (usize, &Cell<'_>)| {
        let mut before = offer[..index].iter();
        let other = before.find(|other| tokens(other) == tokens(cell))?;
        Some(utilisation(evidence, cell, other))
    };
    offer.iter().enumerate().filter_map(of_cell).collect()
}

/// Whether a schedule is named as the peak; none where its name does not say.
fn is_named_peak(cell: &Cell<'_>) -> Option<bool> {
    let name = cell.rate.schedule.as_ref()?.to_lowercase();
    name.contains("peak").then(|| !name.contains("off"))
}

fn utilisation(evidence: &Evidence<'_>, cell: &Cell<'_>, other: &Cell<'_>) -> Drawn {
    let builder = ReadingBuilder::new(&UTILISATION, evidence).of_cell(cell);
    let (scheduled, rest) = builder.given(both(cell.input(), other.input()))?;
    let named = is_named_peak(cell).or(is_named_peak(other).map(|peak| !peak));
    let is_peak = named.unwrap_or(scheduled.over(rest) > 1.0);
    let ((peak, peak_price), (off, off_price)) = if is_peak {
        ((cell, scheduled), (other, rest))
    } else {
        ((other, rest), (cell, scheduled))
    };
    let discount = off_price.over(peak_price);
    let outputs = || -> Result<f64, NotDefined> { Ok(off.output()?.over(peak.output()?)) };
    Ok(builder
        .price("peak_input_price", "p_peak", peak_price.to_f64())
        .price("off_peak_input_price", "p_off", off_price.to_f64())
        .solve(&[], |_| Ok(discount))
        .detail(("output_price_ratio", "", Kind::Equal), &[], |_| outputs())
        // No machine is more than full off-peak.
        .detail(("peak_utilisation", "", Kind::Upper), &[], |_| {
            let bound = (discount < 1.0).then_some(discount);
            bound.ok_or_else(|| NotDefined::no_solution("off-peak costs no less"))
        })
        .caveat("a discount off-peak also moves demand there, so it may lie below what an hour has to earn")
        .build())
}
