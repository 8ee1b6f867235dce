//! `/ui/truth`: how often estimates are right, and what no record says.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Response};
use maud::{Markup, html};

use super::answer;
use super::figure::figure;
use super::layout::{Page, Tab};
use crate::answers::Answers;
use crate::api::answers::track_record::{TrackedQuantity, TrackedReading, Verdict, track_record};
use crate::charts::record::{asked, calibration_of, setting_name, truth_of};
use crate::pages::words::sheets_of;
use crate::question::Question;
use unroof_base::units::compact;
use unroof_infer::estimate::judgement::headline::{errors_in_words, listed};
use unroof_infer::estimate::quantities::JointQuantity;
use unroof_report::tables::Head::{Number, Text};
use unroof_report::tables::{scrolling, table_of};
use unroof_report::words::{percent, spaced};
use unroof_roofline::reference::{BandKind, OTHERS, RecordBand};

/// Shows the page of estimates against true values.
pub(super) async fn show(
    State(answers): State<Arc<Answers>>,
    question: Question,
    headers: HeaderMap,
) -> Response<Body> {
    let key = format!("truth {question:?}");
    let page = async || asked(&question).map(page);
    answer::page(&answers, &key, &headers, page).await
}

fn page(tracked: &'static TrackedQuantity) -> Page {
    let query = format!(
        "quantity={}&setting={}",
        tracked.quantity,
        setting_name(tracked.record.setting)
    );
    let content = html! {
        h1 { "How often are these estimates right?" }
        (form(tracked))
        p.hidden id="said" aria-live="polite" {}
        section id="answer" aria-label="The record" {
            p.lead data-finding { (finding(tracked)) }
            p {
                "This is the record of estimates from " strong { (sheets_of(tracked.record.setting)) } ". The intervals of a model rest on it \
                 where that model’s estimate is from such sheets; the page of the model says which of the four records counts."
            }
            div.columns {
                (figure(&truth_of(tracked), "truth", &query))
                (figure(&calibration_of(tracked), "calibration", &query))
            }
            (all_bands(tracked))
        }
        (all_quantities())
        (all_readings())
        (unknowable())
    };
    Page {
        title: "Truth".to_owned(),
        tab: Some(Tab::Truth),
        content,
    }
}

/// The answer in words.
fn finding(tracked: &TrackedQuantity) -> Markup {
    let record = &tracked.record;
    html! {
        "An estimate of " strong { (tracked.label) } " from " (tracked.sheets) " is "
        strong { (errors_in_words(record.median_fold_error, record.fold_error_90)) } ". "
        "Of " (record.models) " open-weight models with public values, " strong { (percent(record.coverage_90)) }
        " lie inside the 90 % interval. Such estimates are " (verdict(tracked.verdict)) "."
    }
}

fn factor(error: f64) -> String {
    format!("{error:.1}")
}

fn verdict(verdict: Verdict) -> Markup {
    match verdict {
        Verdict::BetterThanThePrior => html! { span.good { "better than the prior" } },
        Verdict::NotClearlyBetterThanThePrior => {
            html! { span { "not clearly better than the prior" } }
        }
        Verdict::WorseThanThePrior => html! { span.bad { "worse than the prior" } },
    }
}

/// Records with models of their own, one per quantity and setting.
fn records() -> impl Iterator<Item = &'static TrackedQuantity> {
    let all = track_record().quantities.iter();
    all.filter(|tracked| tracked.record.decisions.is_none())
}

/// The choice of a quantity and a setting.
fn form(chosen: &TrackedQuantity) -> Markup {
    let mut quantities: Vec<(&str, &str)> = records()
        .map(|tracked| (tracked.quantity, tracked.label))
        .collect();
    quantities.dedup();
    let own = records().filter(|tracked| tracked.quantity == chosen.quantity);
    let settings = own.map(|tracked| {
        (
            setting_name(tracked.record.setting),
            tracked.sheets.as_str(),
        )
    });
    let current = setting_name(chosen.record.setting);
    html! {
        form.controls method="get" action="/ui/truth" data-asks {
            label for="quantity" {
                "Quantity"
                select id="quantity" name="quantity" {
                    @for (name, label) in quantities { option value=(name) selected[name == chosen.quantity] { (label) } }
                }
            }
            label for="setting" {
                "From"
                select id="setting" name="setting" {
                    @for (name, label) in settings { option value=(name) selected[name == current] { (label) } }
                }
            }
            button type="submit" { "Show" }
        }
    }
}

/// Errors by size, year and family, and on later models.
fn all_bands(tracked: &TrackedQuantity) -> Markup {
    let later = &tracked.record.rolling;
    html! {
        h2 { "By size, year and family" }
        (scrolling("Record by bands of models", &table_of(Some("record"), &[
            Text("Models"), Number("Number"), Number("Estimate ÷ truth, median"), Number("Off by, median"), Number("One in ten"),
            Number("In the 90 % interval"),
        ], &html! {
            @for band in &tracked.bands {
                tr {
                    th scope="row" { (band_name(band)) }
                    td.number { (band.models) }
                    td.number { "× " (format!("{:.2}", band.median_ratio)) }
                    td.number { "× " (factor(band.median_fold_error)) }
                    td.number { "× " (factor(band.fold_error_90)) }
                    td.number { (percent(band.coverage_90)) }
                }
            }
            tr {
                th scope="row" { "later than the calibration" }
                td.number { (later.models) }
                td.number { "–" }
                td.number { "× " (factor(later.median_fold_error)) }
                td.number { "× " (factor(later.fold_error_90)) }
                td.number { (percent(later.coverage_90)) }
            }
        })))
        p.note {
            "All models, also those that the record above does not count. In the last row each calibration has seen only models that were \
             released before the half-year of the model, and none of its author."
        }
    }
}

fn band_name(band: &RecordBand) -> String {
    match band.by {
        BandKind::Size => format!("{} parameters", band.band),
        BandKind::Released => format!("released in {}", band.band),
        BandKind::Family if band.band == OTHERS => "other families".to_owned(),
        BandKind::Family => format!("family: {}", band.band),
    }
}

fn all_quantities() -> Markup {
    html! {
        h2 { "Every quantity, by what it is estimated from" }
        (scrolling("Record of every quantity", &table_of(Some("record"), &[
            Text("Quantity"), Text("From"), Number("Models"), Number("Off by, median"), Number("One in ten"), Number("In the 90 % interval"),
            Text("Verdict"),
        ], &html! { @for tracked in records() { (quantity_row(tracked)) } })))
        p.note {
            "Each model is estimated by a calibration that has not seen its family or author. Better than the prior: the log score gains more \
             than a threshold, also on models that were released later than those of the calibration, and its 80 % interval is above 0. Only such estimates are called identified."
        }
    }
}

fn quantity_row(tracked: &TrackedQuantity) -> Markup {
    let record = &tracked.record;
    let address = format!(
        "/ui/truth?quantity={}&setting={}",
        tracked.quantity,
        setting_name(record.setting)
    );
    html! {
        tr {
            th scope="row" { a href=(address) { (tracked.label) } }
            td { (tracked.sheets) }
            td.number { (record.models) }
            td.number { "× " (factor(record.median_fold_error)) }
            td.number { "× " (factor(record.fold_error_90)) }
            td.number { (percent(record.coverage_90)) }
            td { (verdict(tracked.verdict)) }
        }
    }
}

fn all_readings() -> Markup {
    let readings = &track_record().readings;
    let is_worse = |reading: &&TrackedReading| reading.verdict == Verdict::WorseThanThePrior;
    let worse = readings.iter().filter(is_worse).count();
    html! {
        h2 { "Every reading alone: " (worse) " of " (readings.len()) " are worse than the prior" }
        p {
            "A reading is a textbook formula applied to a price. It is shown next to the estimate with this record, and never averaged into it."
        }
        (scrolling("Record of every reading", &table_of(Some("record"), &[
            Text("Reading"), Text("Quantity"), Number("Models"), Number("Off by, median"), Number("One in ten"), Text("Verdict"),
        ], &html! {
            @for reading in readings {
                tr {
                    th scope="row" { (spaced(reading.reading)) }
                    td { (spaced(reading.quantity)) }
                    td.number { (reading.record.models) }
                    td.number { "× " (compact(reading.record.median_fold_error)) }
                    td.number { "× " (compact(reading.record.fold_error_90)) }
                    td { (verdict(reading.verdict)) }
                }
            }
        })))
    }
}

/// The limits of every record.
fn unknowable() -> Markup {
    let labels = JointQuantity::ALL
        .into_iter()
        .filter(|quantity| track_record().without_truth.contains(&quantity.name()));
    // A label may have its unit behind a comma.
    let labels: Vec<&str> = labels
        .filter_map(|quantity| quantity.definition().label.split(',').next())
        .collect();
    html! {
        h2 { "What unroof cannot know" }
        ul.prose {
            li { "No value is public of " (listed(&labels)) ". Their estimates follow from the model and are never called identified." }
            li { "Margins: costs are not published. The one exception is a day for which DeepSeek published both." }
            li {
                "Closed models may differ from open ones: the record above is that of open-weight models, since only their sizes are public. \
                 What no open model does, such as a new kind of attention, no record covers."
            }
            li { "A price may be set for other reasons than cost: to win customers, to clear old machines, or by agreement." }
            li { "How a provider runs its machines (batch, load, caches, other chips) is seen only through its prices." }
        }
    }
}
