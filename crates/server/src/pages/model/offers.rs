//! The offers of the model with their margins, and what happened to it.

use jiff::Timestamp;
use maud::{Markup, html};

use super::{Shown, empty, section};
use crate::api::answers::models::ModelOffer;
use crate::pages::changes::folded;
use crate::question::Question;
use unroof_base::units::readable;
use unroof_infer::estimate::judgement::headline::margin_in_words;
use unroof_infer::estimate::margins::ImpliedMargin;
use unroof_report::names::segment;
use unroof_report::tables::Head::{Number, Text};
use unroof_report::tables::{self, scrolling};
use unroof_store::{ChangeKind, ChangeRow, ModelOfferRow};

/// Offers that are shown before the rest is folded.
const FIRST: usize = 12;

/// The offers in force.
pub(super) fn offers(shown: &Shown) -> Markup {
    let offers = &shown.subject.offers;
    let mut sorted: Vec<&ModelOffer> = offers.iter().collect();
    sorted.sort_by(|one, other| price(one).total_cmp(&price(other)));
    let Some(cheapest) = sorted.first() else {
        let words = html! {
            p { "No price of this model is in force under a canonical name. " a href="/ui/" { "All models" } " · import a catalog with "
                code { "unroof import" } "." }
        };
        return section("offers", "No offer is in force", &empty(&words));
    };
    let finding = match sorted.len() {
        1 => format!("One offer is in force, of {}", cheapest.offer.provider),
        number => format!(
            "{number} offers are in force; the cheapest output is that of {}",
            cheapest.offer.provider
        ),
    };
    let rest = sorted.split_off(FIRST.min(sorted.len()));
    let content = html! {
        p.note { "By price of output. Prices are per million tokens; a margin is implied by the model's pooled cost, without public truth." }
        (table(&sorted))
        @if !rest.is_empty() { details { summary { "The other " (rest.len()) " offers" } (table(&rest)) } }
    };
    section("offers", &finding, &content)
}

/// The price by which offers are sorted: those without one, or in another currency, come last.
fn price(offer: &ModelOffer) -> f64 {
    let offer = &offer.offer;
    let price = offer.output_per_mtok.or(offer.input_per_mtok);
    price
        .filter(|_| offer.currency == "USD")
        .unwrap_or(f64::INFINITY)
}

fn table(offers: &[&ModelOffer]) -> Markup {
    html! {
        (scrolling("Offers", &tables::table(&[
            Text("Provider"), Text("Model, region"), Number("Input"), Number("Output"), Number("Margin of input"), Number("Margin of output"),
        ], &html! { @for offer in offers { (row(offer)) } })))
    }
}

fn row(offer: &ModelOffer) -> Markup {
    let (row, currency) = (&offer.offer, &offer.offer.currency);
    let history = format!(
        "/offers/{}/{}/history",
        segment(&row.provider),
        segment(&row.model)
    );
    let price = |price: Option<f64>| match price {
        Some(price) if currency == "USD" => format!("${}", readable(price)),
        Some(price) => format!("{} {currency}", readable(price)),
        None => "–".to_owned(),
    };
    let margin = |margin: &Option<ImpliedMargin>| {
        let words = margin.map(|margin| margin_in_words(margin.median, margin.interval_90));
        words.unwrap_or_else(|| "–".to_owned())
    };
    html! {
        tr {
            th scope="row" { (row.provider) }
            td { a href=(history) { (row.model) } " " small { (row.region) ", " a href=(cost_of(row)) { "price a request" } } }
            td.number { (price(row.input_per_mtok)) }
            td.number { (price(row.output_per_mtok)) }
            td.number { (margin(&offer.input_margin)) }
            td.number { (margin(&offer.output_margin)) }
        }
    }
}

/// The calculator of costs at the prices of an offer.
fn cost_of(offer: &ModelOfferRow) -> String {
    let question = Question::default()
        .with("view", "cost")
        .with("provider", &offer.provider)
        .with("offer", &offer.model)
        .with("region", &offer.region);
    format!("/ui/plan?{}", question.query())
}

/// Changes of the model, newest first.
pub(super) fn events(shown: &Shown) -> Markup {
    if shown.events.is_empty() {
        let words = html! {
            p { "Nothing has changed since the first observation. This page shows a change as soon as it is stored. Follow the model by the "
                a href="/changes.atom" { "Atom feed" } ", or by a webhook as the page " a href="/ui/changes" { "Changes" } " says." }
        };
        return section("events", "Nothing has happened yet", &empty(&words));
    }
    let mut changes = shown.events.iter();
    let newest = changes.find(|event| event.kind != ChangeKind::SourceAdded);
    let finding = newest.map_or_else(
        || "Nothing has changed since the first observation".to_owned(),
        |newest| format!("Last change on {}: {}", day(newest), newest.kind.name()),
    );
    let content = html! {
        (scrolling("Changes", &tables::table(&[Text("Day"), Text("Kind"), Text("Provider"), Text("What")], &html! { @for event in folded(&shown.events) { (event_row(event)) } })))
    };
    section("events", &finding, &content)
}

fn event_row(event: &ChangeRow) -> Markup {
    let day = day(event);
    html! {
        tr {
            td { time datetime=(day) { (day) } }
            td { span.tag { (event.kind.name()) } }
            td { (event.provider) }
            td { (event.summary) }
        }
    }
}

/// The day of a change.
fn day(event: &ChangeRow) -> String {
    Timestamp::from(event.observed_at)
        .strftime("%Y-%m-%d")
        .to_string()
}
