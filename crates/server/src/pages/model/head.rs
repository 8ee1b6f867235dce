//! The head of the page: the estimate in one sentence, reasons to doubt it, and links.

use maud::{Markup, html};

use super::Shown;
use crate::pages::words::doubts;
use crate::question::Question;
use unroof_infer::estimate::judgement::headline::finding;
use unroof_infer::estimate::judgement::published::Published;
use unroof_report::names::{model_address, segment};
use unroof_report::words::capital;

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
/// Sections that only a model has.
const OF_MODELS: [&str; 2] = ["offers", "events"];

/// Head of the page of a model or offer.
pub(super) fn head(shown: &Shown) -> Markup {
    let subject = &shown.subject;
    let estimate = &subject.estimate;
    let currency = shown.sheet.as_ref().map(|sheet| sheet.currency.as_str());
    let is_model = shown.series.is_some();
    let parts = PARTS
        .into_iter()
        .filter(|(id, _)| is_model || !OF_MODELS.contains(id));
    let model = subject.canonical_model.as_deref().filter(|_| !is_model);
    html! {
        h1 { (subject.name) }
        p.lead { (capital(&finding(estimate))) "." }
        @if let Some(published) = &estimate.published { (public(published)) }
        @if let Some(model) = model {
            p { "An offer of " a href=(model_address(model)) { (model) } ", which has an estimate from all its sheets." }
        }
        (doubts(estimate, currency))
        p.note { (sources(shown)) " " (links(shown)) }
        nav.parts aria-label="Parts of this page" {
            ul { @for (id, name) in parts { li { a href=(format!("#{id}")) { (name) } } } }
        }
    }
}

/// Origin of the public values, from which costs and margins in words are made, and no other estimate.
fn public(published: &Published) -> Markup {
    html! {
        p {
            span.tag.good { (published.by.label()) } " Every estimate below is from prices alone" @if published.serving.is_some() { ", but costs and margins in words are of the published architecture" }
            ". The law of prices has seen open models, so a value inside proves little: " a href="/ui/truth" { "the record" } " is of models whose family it had not seen."
            @if !published.sources.is_empty() {
                details { summary { "sources" } ul { @for source in &published.sources { li { (source) } } } }
            }
        }
    }
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

/// Links to the data behind the page.
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
