//! The controls of the assumptions: a field and a slider for each, from the table that declares them.

use std::collections::BTreeSet;

use maud::{Markup, html};

use super::form::Filled;
use super::stated::{ACCELERATOR, ARCHITECTURE, OF_ACCELERATOR, RELEASE_DATE, SPEED};
use crate::pages::slider::slider;
use unroof_base::units::readable;
use unroof_infer::evidence::quantity::{Bounds, Quantity};
use unroof_price_sheet::sheet::{PriceSheet, RateCell};
use unroof_roofline::reference::accelerators;

/// Usual speeds of a service tier over that of the standard one.
const USUAL_SPEED: Bounds = Bounds {
    least: 0.2,
    most: 10.0,
};

/// The id of the control of an assumption.
pub(super) fn id(name: &str) -> String {
    format!("stated-{}", name.replace('.', "-"))
}

/// All controls, with what is stated.
pub(super) fn all(filled: &Filled, sheets: &[PriceSheet]) -> Markup {
    let is_open = !filled.stated.is_empty();
    html! {
        details.assumptions open[is_open] {
            summary { "Assumptions about the machine" }
            p.note {
                "An empty field is not stated: the estimate then has its prior. Write a number, such as 70B or 30%, or an interval that \
                 holds the value with 90 %, such as 50B to 200B."
            }
            div.controls-grid {
                (accelerator(filled))
                (architecture(filled))
                (release_date(filled))
                @for quantity in Quantity::top_level() { (of_quantity(filled, quantity, quantity.name())) }
            }
            (speeds(filled, sheets))
            details open[filled.stated.keys().any(|name| name.starts_with(OF_ACCELERATOR))] {
                summary { "Figures of an accelerator that is not in the list" }
                div.controls-grid {
                    @for quantity in Quantity::in_accelerator() {
                        (of_quantity(filled, quantity, &format!("{OF_ACCELERATOR}{}", quantity.name())))
                    }
                }
            }
        }
    }
}

/// Speeds of the service tiers of the sheet.
pub(super) fn speeds(filled: &Filled, sheets: &[PriceSheet]) -> Markup {
    let rates = sheets.iter().flat_map(|sheet| &sheet.rates);
    let mut tiers: BTreeSet<&str> = rates.map(|rate| rate.service_tier.as_str()).collect();
    let stated = filled
        .stated
        .keys()
        .filter_map(|name| name.strip_prefix(SPEED));
    tiers.extend(stated);
    tiers.remove(RateCell::STANDARD);
    html! {
        div.controls-grid id="speeds" {
            @for tier in tiers {
                @let label = format!("output speed of {tier}");
                @let allowed = Bounds::SPEED;
                (control(filled, &format!("{SPEED}{tier}"), &label, "× standard", (allowed, USUAL_SPEED)))
            }
        }
    }
}

fn of_quantity(filled: &Filled, quantity: Quantity, name: &str) -> Markup {
    let label = quantity.name().replace('_', " ");
    let row = quantity.row();
    let unit = match (row.symbol, row.unit) {
        (symbol, "") => symbol.to_owned(),
        (symbol, unit) => format!("{symbol}, {unit}"),
    };
    control(filled, name, &label, &unit, (row.bounds, row.usual))
}

/// A field, with a slider over the usual values that a script shows.
fn control(
    filled: &Filled,
    name: &str,
    label: &str,
    unit: &str,
    (allowed, usual): (Bounds, Bounds),
) -> Markup {
    let id = id(name);
    let range = format!("{} to {}", readable(allowed.least), readable(allowed.most));
    html! {
        div.control {
            label for=(id) { (label) " " small { (unit) } }
            input id=(id) name=(name) type="text" autocomplete="off" placeholder="not stated" value=(filled.stated(name))
                title={ "From " (range) } spellcheck="false";
            (slider(&id, label, (usual.least, usual.most), false))
        }
    }
}

fn choice(filled: &Filled, name: &str, label: &str, choices: &[(&str, String)]) -> Markup {
    let id = id(name);
    let stated = filled.stated(name);
    html! {
        div.control {
            label for=(id) { (label) }
            select id=(id) name=(name) {
                option value="" { "not stated" }
                @for (value, words) in choices { option value=(value) selected[stated == *value] { (words) } }
            }
        }
    }
}

fn accelerator(filled: &Filled) -> Markup {
    let rows = accelerators().iter();
    let choices: Vec<(&str, String)> = rows.map(|row| (row.id.as_str(), row.id.clone())).collect();
    choice(filled, ACCELERATOR, "accelerator", &choices)
}

fn architecture(filled: &Filled) -> Markup {
    let choices = [
        ("dense", "dense".to_owned()),
        ("mixture", "mixture of experts".to_owned()),
    ];
    choice(filled, ARCHITECTURE, "architecture", &choices)
}

fn release_date(filled: &Filled) -> Markup {
    let id = id(RELEASE_DATE);
    html! {
        div.control {
            label for=(id) { "release date" }
            input id=(id) name=(RELEASE_DATE) type="date" value=(filled.stated(RELEASE_DATE));
        }
    }
}
