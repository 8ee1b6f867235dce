//! The quantities of an answer, each as a strip over its prior.

use maud::{Markup, html};

use unroof_base::units::compact;
use unroof_infer::estimate::StoredEstimate;
use unroof_infer::estimate::quantities::JointQuantity;
use unroof_infer::estimate::record::stored_estimate::EstimatedQuantity;
use unroof_report::chart::kinds::strip::Strip;
use unroof_report::tables::Head::Text;
use unroof_report::tables::table_of;
use unroof_report::words::ends;

/// All quantities, those that are identified first.
pub(super) fn all(estimate: &StoredEstimate) -> Markup {
    let all = estimate.in_order();
    let (known, others): (Vec<_>, Vec<_>) = all.partition(|(_, own)| own.identified);
    html! {
        (table_of(Some("quantities"), &[Text("Quantity"), Text("Median"), Text("90 %"), Text("Estimate over the prior")], &html! { @for (quantity, estimate) in known.into_iter().chain(others) { (row(quantity, estimate)) } }))
    }
}

fn row(quantity: JointQuantity, estimate: &EstimatedQuantity) -> Markup {
    let definition = quantity.definition();
    html! {
        tr.faint[!estimate.identified] data-quantity=(definition.name) {
            th scope="row" title=(definition.description) {
                (definition.label)
                @if estimate.identified { " " span.tag.good { "identified" } }
            }
            td.number { (compact(estimate.median)) }
            td.number.span { (ends(estimate.interval_90)) }
            td.strip { (Strip::of(estimate, None).alone()) (reason(estimate)) }
        }
    }
}

/// The reason that a quantity is not identified.
fn reason(estimate: &EstimatedQuantity) -> Markup {
    html! {
        @if let Some(reason) = &estimate.not_identified_because {
            details { summary { "why not identified" } p.note { (reason) "." } }
        }
    }
}
