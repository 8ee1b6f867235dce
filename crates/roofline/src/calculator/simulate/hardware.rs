//! The chips of a simulation.

use crate::calculator::inputs::{InputOrigin as Origin, Inputs};
use crate::calculator::scenario::{Chip, Model, Precision, StatedMachine};
use crate::forward::{Machine, Spread};
use crate::reference::Accelerator;
use unroof_base::input::body::Stated;

pub(super) const SPREADS: &[(&str, Spread)] =
    &[("experts", Spread::Experts), ("tensor", Spread::Tensor)];

/// Chips that decode and chips that compute prompts.
#[derive(Debug, Clone)]
pub(super) struct Hardware {
    /// The reference row, if none of its figures is replaced.
    pub(super) accelerator: Option<&'static str>,
    /// The row of the reference data, whatever is stated otherwise.
    pub(super) row: &'static Accelerator,
    /// Chips that decode.
    pub(super) machine: Machine,
    /// Chips of a prefill pass.
    pub(super) prefill_machine: Machine,
    pub(super) spread: Spread,
    /// Chips that share attention's matrices where experts are distributed.
    pub(super) attention_chips: f64,
    /// The reference row for figures that are not stated, if the request names none.
    pub(super) borrowed_from: Option<&'static str>,
    /// Rental of a chip of the unit, in USD per hour, if it is known.
    pub(super) rental_usd_per_hour: Option<f64>,
}

pub(super) fn fill_hardware(
    [stated, prefill]: [&StatedMachine; 2],
    (spread, tensor): (&Stated<Spread>, &Stated<u32>),
    inputs: &Inputs<'_>,
    model: Option<&Model>,
    precision: Option<Precision>,
) -> Option<Hardware> {
    let served = model.zip(precision.as_ref());
    let chip = stated.fill(inputs, None, served);
    let chips = stated.serving_chips(inputs, chip.as_ref());
    let prefill_chip = prefill.fill(inputs, chip.as_ref(), served);
    let same = chips.map(|chips| (chips, Origin::Derived));
    let prefill_chips = inputs.or_else(&prefill.chips, same);
    let spread = fill_spread(spread, inputs, model);
    let units = [chips, prefill_chips];
    let attention_chips = fill_tensor(tensor, inputs, spread, units);
    let (chip, prefill_chip, (model, precision)) = (chip?, prefill_chip?, served?);
    let machine = chip.machine(model, precision, f64::from(chips?));
    let has_other_figures = stated.has_other_figures();
    let is_changed = has_other_figures || multiplies_otherwise(&chip, model, precision);
    let is_named = stated.accelerator.is_stated();
    let id = chip.row.id.as_str();
    Some(Hardware {
        accelerator: (!is_changed).then_some(id),
        row: chip.row,
        machine,
        prefill_machine: prefill_chip.machine(model, precision, f64::from(prefill_chips?)),
        borrowed_from: (has_other_figures && !is_named).then_some(id),
        spread: spread?,
        attention_chips: attention_chips?,
        rental_usd_per_hour: chip.usd_per_hour,
    })
}

/// Whether multiplies run at another rate than the readings take for weights of this mean width.
fn multiplies_otherwise(chip: &Chip, model: &Model, precision: &Precision) -> bool {
    let of_readings = chip.row.peak_for_weights(precision.weights).1;
    (chip.flops_of(model, precision) / of_readings.0 - 1.0).abs() > 1e-12
}

fn fill_spread(
    stated: &Stated<Spread>,
    inputs: &Inputs<'_>,
    model: Option<&Model>,
) -> Option<Spread> {
    let has_experts = model.is_some_and(|model| model.architecture.experts.is_some());
    let default = if has_experts {
        Spread::Experts
    } else {
        Spread::Tensor
    };
    let spread = inputs.choice(stated, SPREADS, default)?;
    if spread == Spread::Experts && model.is_some() && !has_experts {
        inputs.fault(
            stated,
            "a dense model has no experts to distribute",
            "write \"tensor\", or leave it out",
        );
    }
    Some(spread)
}

/// Chips of a group that shares attention; units must be made of whole groups.
fn fill_tensor(
    stated: &Stated<u32>,
    inputs: &Inputs<'_>,
    spread: Option<Spread>,
    units: [Option<u32>; 2],
) -> Option<f64> {
    if !stated.is_stated() {
        return Some(1.0);
    }
    let chips = inputs.or(stated, 1, Origin::Default)?;
    if spread == Some(Spread::Tensor) {
        inputs.fault(
            stated,
            "every matrix is cut over all chips already",
            "leave it out, or write `spread`: \"experts\"",
        );
    }
    let mut units: Vec<u32> = units.into_iter().flatten().collect();
    units.dedup();
    for unit in units {
        if !unit.is_multiple_of(chips) {
            inputs.fault(
                stated,
                format!("{unit} chips are not groups of {chips}"),
                "state a divisor of the chips",
            );
        }
    }
    Some(f64::from(chips))
}
