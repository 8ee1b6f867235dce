//! The head of the page: the estimate in one sentence, reasons to doubt it, and where to go on.

use maud::{Markup, html};

use super::Shown;
use crate::http::charts::Question;
use crate::http::charts::drawn::capital;
use crate::http::stored_estimate::StoredEstimate;
use crate::http::ui::names::{model_address, segment};
use unroof_core::estimate::headline::{Figure, finding};
use unroof_core::estimate::published::open_model_of;
use unroof_core::units::readable;

/// The parts of the page, in their order, by the ids of their sections.
const PARTS: [(&str, &str); 12] = [
    ("quantities", "Quantities"),
    ("densities", "Densities"),
    ("moves", "What moved it"),
    ("cost", "Cost and margin"),
    ("roofline", "Roofline"),
    ("caches", "Caches"),
    ("time", "Over time"),
    ("neighbours", "Open models near it"),
    ("offers", "Offers"),
    ("conflicts", "Conflicts"),
    ("readings", "Readings"),
    ("events", "Changes"),
];
/// Those that only a model has.
const OF_MODELS: [&str; 2] = ["offers", "events"];

/// The head.
pub(super) fn head(shown: &Shown) -> Markup {
    let subject = &shown.subject;
    let estimate = &subject.estimate;
    let open = subject.canonical_model.as_deref().and_then(open_model_of);
    let warnings = warnings(shown);
    let is_model = shown.series.is_some();
    let parts = PARTS
        .into_iter()
        .filter(|(id, _)| is_model || !OF_MODELS.contains(id));
    let model = subject.canonical_model.as_deref().filter(|_| !is_model);
    html! {
        h1 { (subject.name) }
        p.lead { (sentence(estimate)) }
        @if let Some(open) = open {
            p {
                span.tag.good { "open weights" } " The values of " (open.name) " are public. They are shown beside the estimate \
                 and are no part of it."
            }
        }
        @if let Some(model) = model {
            p { "An offer of " a href=(model_address(model)) { (model) } ", which has an estimate from all its sheets." }
        }
        @for warning in &warnings { p.warning { (warning) } }
        p.note { (sources(shown)) " " (links(shown)) }
        nav.parts aria-label="Parts of this page" {
            ul { @for (id, name) in parts { li { a href=(format!("#{id}")) { (name) } } } }
        }
    }
}

/// The estimate in one sentence.
fn sentence(estimate: &StoredEstimate) -> String {
    let figure = |(quantity, own): (_, &crate::http::stored_estimate::StoredQuantity)| Figure {
        quantity,
        median: own.median,
        interval_90: own.interval_90,
        identified: own.identified,
        has_record: own.track_record.is_some(),
    };
    let figures: Vec<Figure> = estimate.in_order().map(figure).collect();
    let from = match estimate.sheets_used().count() {
        1 => "this sheet".to_owned(),
        sheets => format!("these {sheets} sheets"),
    };
    let output = estimate
        .margins
        .iter()
        .find(|margin| margin.line == "output");
    let margin = output.map(|margin| (margin.median, margin.interval_90));
    format!("{}.", capital(&finding(&figures, &from, margin)))
}

/// The sheets behind the estimate.
fn sources(shown: &Shown) -> String {
    let estimate = &shown.subject.estimate;
    let used = estimate.sheets_used().count();
    let all = estimate.price_sheets.len();
    let mut words = match (used, all) {
        (1, 1) => "From one price sheet".to_owned(),
        (used, all) if used == all => format!("From {all} price sheets"),
        (used, all) => format!("From {used} of {all} price sheets, as the others repeat them"),
    };
    match estimate.decisions {
        Some(1) => words.push_str(": one pricing decision"),
        Some(decisions) => words = format!("{words}: {decisions} separate pricing decisions"),
        None => {}
    }
    format!("{words}.")
}

/// Where to go on.
fn links(shown: &Shown) -> Markup {
    let estimate = format!("/estimates/{}", shown.subject.estimate.id);
    let Some(model) = &shown.subject.canonical_model else {
        return html! { a href=(estimate) { "The estimate as JSON" } };
    };
    let (author, name) = model.split_once('/').unwrap_or((model, ""));
    let api = format!("/models/{}/{}", segment(author), segment(name));
    let compare = format!(
        "/ui/compare?{}",
        Question::default().with("model", model).query()
    );
    html! {
        a href=(api) { "The estimate as JSON" } " · "
        a href=(format!("{api}/series")) { "its history" } " · "
        a href=(compare) { "Compare it" }
    }
}

/// Reasons to doubt the estimate: prices that do not fit, or cannot be read in US dollars, and lines below cost.
fn warnings(shown: &Shown) -> Vec<String> {
    let estimate = &shown.subject.estimate;
    let misfit = &estimate.misfit;
    let sheet_currency = shown.sheet.iter().map(|sheet| sheet.currency.as_str());
    let stated = estimate
        .price_sheets
        .iter()
        .filter_map(|sheet| sheet.currency.as_deref());
    let foreign = stated
        .chain(sheet_currency)
        .find(|currency| *currency != "USD");
    let foreign = foreign.filter(|_| estimate.margins.is_empty()).map(|currency| {
        format!(
            "The prices are in {currency}, so their level says nothing about the size: send the sheet to /infer with the \
             assumption usd_per_currency_unit."
        )
    });
    let unlikely = misfit
        .checks
        .iter()
        .filter(|check| check.probability < misfit.threshold);
    let unlikely = unlikely.map(|check| {
        let cases = readable((1e6 * check.probability).round());
        format!("Misfit: the {} lies this far out in {cases} of a million cases, given the clues before it.", check.clue)
    });
    let contradictions = misfit
        .contradictions
        .iter()
        .map(|found| format!("Misfit: {found}."));
    let doubts = estimate
        .diagnostics
        .warnings
        .iter()
        .map(|doubt| format!("{}.", capital(doubt)));
    let below_cost = estimate.margins.iter().filter_map(|margin| {
        let warning = margin.warning.as_ref()?;
        Some(format!(
            "{}: {warning}.",
            capital(&margin.line.replace('_', " "))
        ))
    });
    let all = foreign.into_iter().chain(unlikely).chain(contradictions);
    all.chain(doubts).chain(below_cost).collect()
}
