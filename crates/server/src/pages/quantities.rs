//! The quantities of an answer, each as a strip over its prior.

use maud::{Markup, html};

use unroof_base::units::compact;
use unroof_infer::estimate::Joint;
use unroof_infer::estimate::quantities::{JointQuantity, Quantities};
use unroof_infer::joint::QuantityEstimate;
use unroof_report::chart::kinds::strip::Strip;

/// All quantities, those that are identified first.
pub(super) fn all(joint: &Joint) -> Markup {
    let quantities: &Quantities = &joint.quantities;
    let (known, others): (Vec<_>, Vec<_>) = quantities
        .in_order()
        .into_iter()
        .partition(|(_, estimate)| estimate.identified);
    html! {
        table.quantities {
            thead { tr {
                th scope="col" { "Quantity" }
                th scope="col" { "Median" }
                th scope="col" { "90 %" }
                th scope="col" { "Estimate over the prior" }
            } }
            tbody {
                @for (quantity, estimate) in known.into_iter().chain(others) { (row(quantity, estimate)) }
            }
        }
    }
}

fn row(quantity: JointQuantity, estimate: &QuantityEstimate) -> Markup {
    let definition = quantity.definition();
    let (low, high) = (estimate.interval_90.low, estimate.interval_90.high);
    html! {
        tr.faint[!estimate.identified] data-quantity=(definition.name) {
            th scope="row" title=(definition.description) {
                (definition.label)
                @if estimate.identified { " " span.tag.good { "identified" } }
            }
            td.number { (compact(estimate.median)) }
            td.number.span { (compact(low)) " to " (compact(high)) }
            td.strip { (strip(estimate)) (reason(estimate)) }
        }
    }
}

/// The reason that a quantity is not identified.
fn reason(estimate: &QuantityEstimate) -> Markup {
    html! {
        @if let Some(reason) = &estimate.not_identified_because {
            details { summary { "why not identified" } p.note { (reason.to_string()) "." } }
        }
    }
}

/// The strip over its prior.
fn strip(estimate: &QuantityEstimate) -> Markup {
    let (prior, own, half) = (
        estimate.prior.interval_90,
        estimate.interval_90,
        estimate.interval_50,
    );
    let strip = Strip {
        prior_90: Some((prior.low, prior.high)),
        interval_90: (own.low, own.high),
        interval_50: Some((half.low, half.high)),
        median: estimate.median,
        identified: estimate.identified,
        truth: None,
    };
    strip
        .alone()
        .unwrap_or_else(|| html! { span.note { "stated" } })
}
