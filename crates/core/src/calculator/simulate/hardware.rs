//! The chips that a question is about.

use std::cell::RefCell;

use super::request::{Model, Precision};
use crate::calculator::inputs::{Count, InputOrigin as Origin, Inputs, Number};
use crate::input::cursor::{Cursor, one_of_hint};
use crate::reference::{Accelerator, accelerator, accelerators};
use crate::roofline::{Machine, ServingUnit, Spread};
use crate::units::{Bytes, BytesPerSecond, FlopPerSecond};

const DEFAULT_ACCELERATOR: &str = "gb200-nvl72";
const MOST_CHIPS: u32 = 1_000_000;

/// The chips.
#[derive(Debug, Clone)]
pub(super) struct Hardware {
    /// The reference row, if it is one as it stands.
    pub(super) accelerator: Option<&'static str>,
    /// Those that decode.
    pub(super) machine: Machine,
    /// Those that a pass of prompts runs on.
    pub(super) prefill_chips: f64,
    pub(super) spread: Spread,
    /// The reference row that figures which are not stated are from, where none was named.
    pub(super) borrowed_from: Option<&'static str>,
    /// What a chip of the unit rents for, if it is known.
    pub(super) rental_usd_per_hour: Option<f64>,
}

fn read_accelerator(field: &Cursor<'_>) -> Option<&'static Accelerator> {
    let id = field.name()?;
    let found = accelerator(&id);
    if found.is_none() {
        let known: Vec<&str> = accelerators().iter().map(|row| row.id.as_str()).collect();
        field.fault(
            format!("`{id}` is not a known accelerator"),
            one_of_hint(&id, &known),
        );
    }
    found
}

/// A figure of a chip: its field, its unit, and the reference row's value.
struct Figure {
    name: &'static str,
    unit: &'static str,
    of_row: Option<f64>,
}

pub(super) fn read_hardware(
    inputs: &Inputs<'_>,
    model: Option<&Model>,
    precision: Option<Precision>,
) -> Option<Hardware> {
    let row = match inputs.stated("accelerator") {
        Some(field) => read_accelerator(&field).map(|row| (row, Origin::Stated)),
        None => accelerator(DEFAULT_ACCELERATOR).map(|row| (row, Origin::Default)),
    };
    if let Some((row, from)) = row {
        inputs.name("accelerator", &row.id, from);
    }
    let is_named = row.is_some_and(|(_, from)| from == Origin::Stated);
    let row = row.map(|(row, _)| row);
    let has_changes = RefCell::new(false);
    let figure = |figure: Figure| {
        let stated = inputs.stated(figure.name).is_some();
        *has_changes.borrow_mut() |= stated;
        let number = Number {
            name: figure.name,
            unit: figure.unit,
            range: 1e-6..=1e24,
        };
        let of_row = figure.of_row.map(|value| (value, Origin::Reference));
        inputs.number_or_none(&number, of_row)
    };
    let peak = |bytes: fn(Precision) -> f64| Some(row?.peak_for_weights(bytes(precision?)).1.0);
    let flops = figure(Figure {
        name: "flops_per_second",
        unit: "FLOP/s",
        of_row: peak(|precision| precision.weights),
    });
    // A chip of one's own multiplies in attention's format as its peers do, against that of the weights.
    let ratio = peak(|precision| precision.attention).zip(peak(|precision| precision.weights));
    let attention_flops = figure(Figure {
        name: "attention_flops_per_second",
        unit: "FLOP/s",
        of_row: flops
            .zip(ratio)
            .map(|(flops, (attention, weights))| flops * attention / weights),
    });
    let bandwidth = figure(Figure {
        name: "bandwidth_bytes_per_second",
        unit: "B/s",
        of_row: row.map(|row| row.hbm_bytes_per_second.0),
    });
    let capacity = figure(Figure {
        name: "capacity_bytes",
        unit: "B",
        of_row: row.map(|row| row.hbm_bytes.0),
    });
    let link = |read: fn(&Accelerator) -> Option<BytesPerSecond>| Some(read(row?)?.0);
    let scale_up = figure(Figure {
        name: "scale_up_bytes_per_second",
        unit: "B/s",
        of_row: link(|row| row.scale_up_bytes_per_second),
    });
    let scale_out = figure(Figure {
        name: "scale_out_bytes_per_second",
        unit: "B/s",
        of_row: link(|row| row.scale_out_bytes_per_second),
    });
    let count = |name, of_row: fn(&Accelerator) -> u32| {
        let count = Count {
            name,
            unit: "chips",
            most: MOST_CHIPS,
        };
        inputs.count(&count, (row.map_or(1, of_row), Origin::Reference))
    };
    let domain = count("domain_size", |row| row.scale_up_domain);
    let states_domain = inputs.stated("domain_size").is_some();
    let has_other_figures = has_changes.take() || states_domain;
    let rental = figure(Figure {
        name: "rental_usd_per_hour",
        unit: "USD/h",
        of_row: row.and_then(|row| Some(row.rental_usd_per_hour.typical?.0)),
    });
    let chips = count("chips", |row| row.serving_unit_chips);
    let prefill_chips = inputs.count(
        &Count {
            name: "prefill_chips",
            unit: "chips",
            most: MOST_CHIPS,
        },
        (chips.unwrap_or(1), Origin::Derived),
    );
    let spread = read_spread(inputs, model);
    inputs.refuse_unknown();
    let (row, chips) = (row?, f64::from(chips?));
    let machine = Machine {
        unit: ServingUnit {
            multiply_rate: FlopPerSecond(flops? * chips).multiply_adds(),
            attention_multiply_rate: FlopPerSecond(attention_flops? * chips).multiply_adds(),
            bandwidth: BytesPerSecond(bandwidth? * chips),
            capacity: Bytes(capacity? * chips),
            rental_usd_per_second: rental.unwrap_or(0.0) * chips / 3_600.0,
        },
        domain_chips: f64::from(domain?),
        scale_up: scale_up.map(BytesPerSecond),
        scale_out: scale_out.map(BytesPerSecond),
        chips,
    };
    Some(Hardware {
        accelerator: (!has_other_figures).then_some(row.id.as_str()),
        machine,
        prefill_chips: f64::from(prefill_chips?),
        borrowed_from: (has_other_figures && !is_named).then_some(row.id.as_str()),
        spread: spread?,
        rental_usd_per_hour: rental,
    })
}

fn read_spread(inputs: &Inputs<'_>, model: Option<&Model>) -> Option<Spread> {
    let has_experts = model.is_some_and(|model| model.architecture.experts.is_some());
    let choices = [("experts", Spread::Experts), ("tensor", Spread::Tensor)];
    let (spread, from) = match inputs.stated("spread") {
        Some(field) => {
            let spread = field.one_of(&choices)?;
            if spread == Spread::Experts && model.is_some() && !has_experts {
                field.fault(
                    "a dense model has no experts to deal out",
                    "write \"tensor\", or leave it out",
                );
            }
            (spread, Origin::Stated)
        }
        None if has_experts => (Spread::Experts, Origin::Default),
        None => (Spread::Tensor, Origin::Default),
    };
    let name = choices.iter().find(|(_, choice)| *choice == spread);
    inputs.name("spread", name.map_or("", |(name, _)| name), from);
    Some(spread)
}
