//! The readings of the sheet by which the model is shown, as cards.

use maud::{Markup, html};
use serde_json::Value;

use super::{Shown, empty, section};
use unroof_base::units::compact;
use unroof_infer::estimate::judgement::headline::errors_in_words;
use unroof_infer::estimate::record::stored_estimate::{StoredReading, StoredRecord};
use unroof_price_sheet::sheet::RateCell;
use unroof_report::tables::Head::{Number, Text};
use unroof_report::tables::{self, scrolling};
use unroof_report::words::{capital, spaced};

/// Section with every reading.
pub(super) fn readings(shown: &Shown) -> Markup {
    let all: Vec<&StoredReading> = shown
        .answer
        .iter()
        .flat_map(|answer| &answer.readings)
        .collect();
    let (valued, without): (Vec<_>, Vec<_>) = all
        .into_iter()
        .partition(|reading| !reading.value.is_null());
    if valued.is_empty() && without.is_empty() {
        let words = html! {
            p { "Readings are those of one sheet, and the sheet of the author has none stored. Send it to " a href="/docs/" { "/infer" }
                ", or " a href="/ui/try" { "try it" } "." }
        };
        return section("readings", "No readings are stored", &empty(&words));
    }
    let (standard, others): (Vec<_>, Vec<_>) =
        valued.into_iter().partition(|reading| is_standard(reading));
    let finding = format!(
        "{} readings of one sheet: each a closed form, and none of them is averaged",
        standard.len()
    );
    let content = html! {
        p.note { "Of the standard tier" @if let Some(sheet) = &shown.sheet { " of " (sheet.provider) ", " (sheet.model) }
            ". A track record is measured on open-weight models, whose values are public." }
        details open[standard.len() <= 6] {
            summary { "The " (standard.len()) " readings" }
            div.cards { @for reading in &standard { (card(reading)) } }
        }
        @if !others.is_empty() {
            details { summary { "Other service tiers: " (others.len()) " readings" } (table(&others)) }
        }
        @if !without.is_empty() {
            details { summary { "Without a value: " (without.len()) " readings" } (table(&without)) }
        }
    };
    section("readings", &finding, &content)
}

/// Whether it is about no tier, or the standard one.
fn is_standard(reading: &StoredReading) -> bool {
    let tier = reading
        .inputs
        .iter()
        .find(|input| input.name == "service_tier");
    tier.is_none_or(|tier| tier.value.as_str() == Some(RateCell::STANDARD))
}

fn card(reading: &StoredReading) -> Markup {
    html! {
        div.card {
            h3 { (capital(&spaced(&reading.id))) }
            p.figure { (bound(reading)) (value(reading)) " " small { (reading.unit) } }
            p.note { (spaced(&reading.quantity)) ", from the " (reading.clue) }
            p { code { (reading.equation) } }
            @if let Some(working) = &reading.working { p { code { (working) } } }
            (record(reading.track_record.as_ref()))
        }
    }
}

fn bound(reading: &StoredReading) -> &'static str {
    match reading.kind.as_str() {
        "upper" => "≤ ",
        "lower" => "≥ ",
        _ => "",
    }
}

fn value(reading: &StoredReading) -> String {
    match &reading.value {
        Value::Number(number) => number.as_f64().map_or_else(String::new, compact),
        Value::String(name) => name.clone(),
        _ => "–".to_owned(),
    }
}

/// Errors of the reading.
fn record(record: Option<&StoredRecord>) -> Markup {
    html! {
        @match record {
            None => p.note { "No public truth to score it." },
            Some(record) => p.note {
                @match record.beats_prior {
                    Some(true) => span.tag.good { "better than the prior" },
                    Some(false) => span.tag.bad { "worse than the prior" },
                    None => {}
                }
                " On " (record.models) " models, " (errors_in_words(record.median_fold_error, record.fold_error_90)) "."
            },
        }
    }
}

fn table(readings: &[&StoredReading]) -> Markup {
    html! {
        (scrolling("Readings", &tables::table(&[Text("Reading"), Text("Of"), Number("Value"), Text("Equation")], &html! {
            @for reading in readings {
                tr {
                    th scope="row" { (spaced(&reading.id)) }
                    td { (qualifiers(reading)) }
                    td.number { (bound(reading)) (value(reading)) " " small { (reading.unit) } }
                    td { code { (reading.equation) } }
                }
            }
        })))
    }
}

/// Names that distinguish it from other readings of its id.
fn qualifiers(reading: &StoredReading) -> String {
    let names = reading
        .inputs
        .iter()
        .filter_map(|input| input.value.as_str());
    let names: Vec<&str> = names.collect();
    names.join(", ")
}
