//! The chips of a simulation.

use std::ops::RangeInclusive;

use super::model::{Model, Precision};
use crate::calculator::inputs::{InputOrigin as Origin, Inputs};
use crate::forward::{Machine, MultiplyRates, ServingUnit, Spread};
use crate::reference::names::AcceleratorId;
use crate::reference::{Accelerator, accelerator};
use unroof_base::input::body::body;
use unroof_base::input::body::{OneOf, Stated, count, number, value};
use unroof_base::units::{Bytes, BytesPerSecond, FlopPerSecond};

/// Most chips of a machine or of a scale-up domain.
const MOST_CHIPS: u32 = 1_000_000;
/// Figures of a chip.
const FIGURES: RangeInclusive<f64> = 1e-6..=1e24;
const SPREADS: &[(&str, Spread)] = &[("experts", Spread::Experts), ("tensor", Spread::Tensor)];

body! {
    /// The chips that serve one copy of the model. Figures other than the reference row's describe one chip.
    pub struct SimulatedMachine {
        /// Accelerator, an id of `/reference/accelerators`.
        accelerator: Stated<&'static str> = value(AcceleratorId).or("gb200-nvl72").flag("accelerator"),
        /// G: chips that serve one copy of the model; the accelerator's serving unit if left out.
        chips: Stated<u32> = count(1..=MOST_CHIPS).unit("chips").example(144).flag("chips"),
        /// Chips of the prefill instance, if prompts are computed on separate chips; G if left out.
        prefill_chips: Stated<u32> = count(1..=MOST_CHIPS).unit("chips").example(32).flag("prefill-chips"),
        /// `experts` (EP with data-parallel attention) puts each expert on one chip and all other weights on every chip,
        /// `tensor` (TP) cuts every matrix; `experts` for a mixture if left out.
        spread: Stated<Spread> = value(OneOf(SPREADS)).flag("spread"),
        /// Rental of one chip.
        rental_usd_per_hour: Stated<f64> = number(FIGURES).unit("USD/h"),
        /// F: peak dense arithmetic in the format of the weights.
        flops_per_second: Stated<f64> = number(FIGURES).unit("FLOP/s"),
        /// Peak dense arithmetic in attention's format.
        attention_flops_per_second: Stated<f64> = number(FIGURES).unit("FLOP/s"),
        /// HBM bandwidth of one chip.
        bandwidth_bytes_per_second: Stated<f64> = number(FIGURES).unit("B/s"),
        /// HBM capacity of one chip.
        capacity_bytes: Stated<f64> = number(FIGURES).unit("B"),
        /// Chips on one scale-up interconnect.
        domain_size: Stated<u32> = count(1..=MOST_CHIPS).unit("chips"),
        /// Scale-up bandwidth, one direction.
        scale_up_bytes_per_second: Stated<f64> = number(FIGURES).unit("B/s"),
        /// Scale-out bandwidth, one direction.
        scale_out_bytes_per_second: Stated<f64> = number(FIGURES).unit("B/s"),
    }
}

/// Chips that decode and chips that compute prompts.
#[derive(Debug, Clone)]
pub(super) struct Hardware {
    /// The reference row, if none of its figures is replaced.
    pub(super) accelerator: Option<&'static str>,
    /// Chips that decode.
    pub(super) machine: Machine,
    /// Chips of a prefill pass.
    pub(super) prefill_chips: f64,
    pub(super) spread: Spread,
    /// The reference row for figures that are not stated, if the request names none.
    pub(super) borrowed_from: Option<&'static str>,
    /// Rental of a chip of the unit, in USD per hour, if it is known.
    pub(super) rental_usd_per_hour: Option<f64>,
}

pub(super) fn fill_hardware(
    stated: &SimulatedMachine,
    inputs: &Inputs<'_>,
    model: Option<&Model>,
    precision: Option<Precision>,
) -> Option<Hardware> {
    let Some(row) = inputs.or_default(&stated.accelerator).and_then(accelerator) else {
        fill_spread(&stated.spread, inputs, model);
        return None;
    };
    let chip = fill_chip(stated, inputs, row, model.zip(precision));
    let domain = inputs.or(&stated.domain_size, row.scale_up_domain, Origin::Reference);
    let typical = row.rental_usd_per_hour.typical;
    let typical = typical.map(|usd| (usd.0, Origin::Reference));
    let rental = inputs.or_else(&stated.rental_usd_per_hour, typical);
    let chips = inputs.or(&stated.chips, row.serving_unit_chips, Origin::Reference);
    let prefill = inputs.or(&stated.prefill_chips, chips.unwrap_or(1), Origin::Derived);
    let spread = fill_spread(&stated.spread, inputs, model);
    let (chip, chips) = (chip?, f64::from(chips?));
    let mut machine = Machine {
        domain_chips: f64::from(domain?),
        ..chip.with_chips(chips)
    };
    machine.unit.rental_usd_per_second = rental.unwrap_or(0.0) * chips / 3_600.0;
    let has_other_figures = has_other_figures(stated);
    let is_changed = has_other_figures || multiplies_otherwise(row, chip, precision?);
    let is_named = stated.accelerator.is_stated();
    Some(Hardware {
        accelerator: (!is_changed).then_some(row.id.as_str()),
        machine,
        prefill_chips: f64::from(prefill?),
        borrowed_from: (has_other_figures && !is_named).then_some(row.id.as_str()),
        spread: spread?,
        rental_usd_per_hour: rental,
    })
}

/// A machine of one chip, without its rent.
fn fill_chip(
    stated: &SimulatedMachine,
    inputs: &Inputs<'_>,
    row: &Accelerator,
    served: Option<(&Model, Precision)>,
) -> Option<Machine> {
    let from = Origin::Reference;
    let (model, precision) = served?;
    let architecture = &model.architecture;
    let rates = multiply_rates(row, precision);
    let peak = rates.of_weights(architecture).0 * 2.0;
    let flops = inputs.or(&stated.flops_per_second, peak, from)?;
    // A chip of one's own multiplies in other formats as its peers do, against that of the weights.
    let attention = flops * (rates.attention.0 * 2.0) / peak;
    let attention = inputs.or(&stated.attention_flops_per_second, attention, from)?;
    let bandwidth = row.hbm_bytes_per_second.0;
    let bandwidth = inputs.or(&stated.bandwidth_bytes_per_second, bandwidth, from)?;
    let capacity = inputs.or(&stated.capacity_bytes, row.hbm_bytes.0, from)?;
    let link = |field, of_row: Option<BytesPerSecond>| {
        let bandwidth = inputs.or_else(field, of_row.map(|link| (link.0, from)));
        bandwidth.map(BytesPerSecond)
    };
    let (up, out) = (
        row.scale_up_bytes_per_second,
        row.scale_out_bytes_per_second,
    );
    let of_weights = rates.of_weights(architecture).0;
    Some(Machine {
        expert_rate: rates.experts.0 / of_weights,
        other_rate: rates.others.0 / of_weights,
        unit: ServingUnit {
            multiply_rate: FlopPerSecond(flops).multiply_adds(),
            attention_multiply_rate: FlopPerSecond(attention).multiply_adds(),
            bandwidth: BytesPerSecond(bandwidth),
            capacity: Bytes(capacity),
            rental_usd_per_second: 0.0,
        },
        domain_chips: 1.0,
        scale_up: link(&stated.scale_up_bytes_per_second, up),
        scale_out: link(&stated.scale_out_bytes_per_second, out),
        chips: 1.0,
    })
}

/// Rates of a chip in the formats of a precision.
fn multiply_rates(row: &Accelerator, precision: Precision) -> MultiplyRates {
    let with = |width: f64| {
        let peak = match precision.arithmetic {
            Some(arithmetic) => row.peak_for_weights(arithmetic).1,
            None => row.peak_of_multiplies(width),
        };
        peak.multiply_adds()
    };
    MultiplyRates {
        experts: with(precision.formats.experts),
        others: with(precision.formats.others),
        attention: row.peak_for_weights(precision.attention).1.multiply_adds(),
    }
}

/// Whether multiplies run at another rate than the readings take for weights of this mean width.
fn multiplies_otherwise(row: &Accelerator, chip: Machine, precision: Precision) -> bool {
    let of_readings = row.peak_for_weights(precision.weights).1.multiply_adds();
    (chip.unit.multiply_rate.0 / of_readings.0 - 1.0).abs() > 1e-12
}

/// Whether a figure of the reference row is replaced.
fn has_other_figures(stated: &SimulatedMachine) -> bool {
    let figures = [
        &stated.flops_per_second,
        &stated.attention_flops_per_second,
        &stated.bandwidth_bytes_per_second,
        &stated.capacity_bytes,
        &stated.scale_up_bytes_per_second,
        &stated.scale_out_bytes_per_second,
    ];
    stated.domain_size.is_stated() || figures.into_iter().any(Stated::is_stated)
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
