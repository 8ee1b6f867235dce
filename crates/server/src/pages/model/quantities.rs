//! The quantities of the estimate, each as a strip over its prior.

use maud::{Markup, html};

use super::{Shown, section};
use crate::charts::record::setting_name;
use crate::pages::words::sheets_of;
use unroof_base::units::compact;
use unroof_infer::estimate::judgement::headline::errors_in_words;
use unroof_infer::estimate::quantities::JointQuantity;
use unroof_infer::estimate::record::stored_estimate::EstimatedQuantity;
use unroof_report::chart::kinds::strip::Strip;
use unroof_report::tables::Head::{Number, Text};
use unroof_report::tables::{scrolling, table_of};
use unroof_report::words::{capital, ends, percent};

/// All quantities, those that are identified first.
pub(super) fn table(shown: &Shown) -> Markup {
    let all = shown.subject.estimate.in_order();
    let (known, others): (Vec<_>, Vec<_>) = all.partition(|(_, own)| own.identified);
    let all = known.len() + others.len();
    let finding = match known.len() {
        0 => "No quantity is identified: what is shown is mostly the prior".to_owned(),
        1 => format!("One of {all} quantities is identified"),
        number => format!("{number} of {all} quantities are identified"),
    };
    let content = html! {
        p.note {
            "Median and 90\u{a0}% interval. Strip: grey is the prior, the wide bar 50\u{a0}%, the thin bar 90\u{a0}%, the dot the median, an \
             upright line the public value. Bits are the information that the sheets add to the prior: halving the spread of a \
             quantity adds about one. Identified means that they add 0.3 or more, that the interval \
             spans a factor of 30 at most, and that such estimates are better than the prior on open-weight models."
        }
        (rests_on(shown))
        (scrolling("Quantities", &table_of(Some("quantities"), &[
            Text("Quantity"), Number("Median"), Number("90\u{a0}%"), Text("Over the prior"), Number("Bits"), Text("On open models"),
        ], &html! { @for (quantity, own) in known.into_iter().chain(others) { (row(shown, quantity, own)) } })))
    };
    section("quantities", &finding, &content)
}

fn row(shown: &Shown, quantity: JointQuantity, own: &EstimatedQuantity) -> Markup {
    let definition = quantity.definition();
    let truth = shown.subject.truth(quantity);
    html! {
        tr.faint[!own.identified] {
            th scope="row" {
                (capital(definition.label))
                @if own.identified { " " span.tag.good { "identified" } }
                details { summary { "definition" } p.note {
                    (definition.description) ". " code { (definition.equation) } "."
                    @if let Some(reason) = &own.not_identified_because { " Not identified: " (reason) "." }
                } }
            }
            td.number { (compact(own.median)) @if let Some(truth) = truth { br; small { "public " (compact(truth)) } } }
            td.number { (ends(own.interval_90)) }
            td { (Strip::of(own, truth).alone()) }
            td.number { (format!("{:.1}", own.information_gained_bits)) }
            td { (record(own)) }
        }
    }
}

/// The record on which the claim of the intervals rests. All quantities of an estimate are from the same sheets.
fn rests_on(shown: &Shown) -> Markup {
    let mut all = shown.subject.estimate.in_order();
    let found = all.find_map(|(quantity, own)| {
        let record = own.track_record.as_ref()?;
        Some((quantity, record, record.setting?))
    });
    html! {
        @if let Some((quantity, record, setting)) = found {
            @let address = format!("/ui/truth?quantity={}&setting={}", quantity.name(), setting_name(setting));
            p data-rests-on {
                "That 90\u{a0}% hold rests on the " a href=(address) { "record of estimates from " (sheets_of(setting)) }
                @match record.decisions {
                    Some(1) => ", with one independent price",
                    Some(number) => { ", with " (number) " independent prices" }
                    None => {}
                }
                ": " (record.models) " open-weight models whose values are public, each estimated without having seen its family"
                @if let Some(coverage) = record.coverage_90 {
                    "; of their " (quantity.definition().label) ", " (percent(coverage)) " lie inside"
                }
                @if let Some(later) = record.rolling {
                    ", and " (percent(later.coverage_90)) " of " (later.models) " that were released after those of the calibration"
                }
                "."
            }
        }
    }
}

/// Errors of such estimates.
fn record(own: &EstimatedQuantity) -> Markup {
    html! {
        @if let Some(record) = &own.track_record {
            small {
                (capital(&errors_in_words(record.median_fold_error, record.fold_error_90))) "; "
                @if let Some(coverage) = record.coverage_90 { (format!("{:.0}", 100.0 * coverage)) " % inside 90\u{a0}%; " }
                (record.models) " models, "
                @if let Some(setting) = record.setting { (setting.label()) }
                @match record.decisions { Some(1) => ", one price", Some(number) => { ", " (number) " prices" } None => {} }
            }
        } @else {
            small { "no public truth" }
        }
    }
}
