//! `/ui/compare`: two to six models side by side.

mod terms;

use std::sync::OnceLock;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Response, StatusCode};
use axum::response::{IntoResponse, Redirect};
use maud::{Markup, html};

use super::answer;
use super::figure::figure;
use super::hint::linked;
use super::layout::{Page, Tab};
use super::spelling::canonical;
use crate::api::answers::compare::{ComparedDraws, ComparedQuantity, Comparison, read_comparison};
use crate::charts::compare::{CLEAR, chart_of, probability, ranking};
use crate::compute::Views;
use crate::question::Question;
use unroof_base::units::compact;
use unroof_edge::Problem;
use unroof_report::names::model_address;
use unroof_report::tables::Head::{Number, Text};
use unroof_report::tables::table_of;
use unroof_report::words::{ends, or_dash, percent};

/// Most models of a comparison.
const MOST: usize = 6;
/// Quantities that are shown at once; the others are folded.
const MAIN: [&str; 3] = [
    "active_parameters",
    "total_parameters",
    "cost_output_usd_per_mtok",
];
/// Models that an empty page offers, where they are stored.
const KNOWN: [&str; 4] = [
    "openai/gpt-5.4",
    "anthropic/claude-opus-4-6",
    "google/gemini-2.5-pro",
    "deepseek/deepseek-v4-pro",
];
/// Number of pairs up to which they are shown unfolded.
const FEW_PAIRS: usize = 3;

/// Shows the page of a comparison.
pub(super) async fn show(
    State(views): State<Views>,
    question: Question,
    headers: HeaderMap,
) -> Response<Body> {
    let names = names(&question);
    let refused = OnceLock::new();
    let page = async || {
        if names.len() < 2 || names.len() > MOST {
            let known = known(&views).await?;
            return Ok(document(&names, &too_few_or_many(&names, &known)));
        }
        let comparison = read_comparison(&views, &names).await;
        let comparison = comparison.inspect_err(|problem| {
            // The first one is kept; there is no second.
            let _ = refused.set(problem.clone());
        })?;
        Ok(document(&names, &compared(&comparison)))
    };
    let response = answer::page(
        &views.answers,
        &format!("compare {names:?}"),
        &headers,
        page,
    )
    .await;
    match refused.get() {
        Some(problem)
            if problem.status == 404
                && let Some(address) = respelled(&views, &names).await =>
        {
            Redirect::temporary(&address).into_response()
        }
        Some(problem) if matches!(problem.status, 404 | 409) => {
            let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::NOT_FOUND);
            answer::html(
                status,
                document(&names, &not_compared(problem)).document(views.answers.now()),
            )
        }
        _ => response,
    }
}

/// Address of this comparison by canonical names; `None` where no name has another spelling.
async fn respelled(views: &Views, names: &[String]) -> Option<String> {
    let mut spelled = Vec::new();
    for name in names {
        let is_known = matches!(views.answers.store.model(name, None).await, Ok(Some(_)));
        let other = if is_known {
            None
        } else {
            canonical(&views.answers, name).await
        };
        spelled.push(other.unwrap_or_else(|| name.clone()));
    }
    let spelled_names: Vec<&str> = spelled.iter().map(String::as_str).collect();
    (spelled != names).then(|| address(&spelled_names))
}

/// The names of a question, each once; the parameter may be repeated, and a value may hold several.
fn names(question: &Question) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in question.all("model").flat_map(|value| value.split(',')) {
        let name = name.trim().to_owned();
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Comparisons of a few well-known models that are stored.
async fn known(views: &Views) -> Result<Vec<&'static str>, Problem> {
    let mut known = Vec::new();
    for name in KNOWN {
        if views.answers.store.model(name, None).await?.is_some() {
            known.push(name);
        }
    }
    Ok(known)
}

/// The address of a comparison.
fn address(names: &[&str]) -> String {
    let names = names.iter().map(|name| ("model", *name));
    Question::of(names).address("/ui/compare")
}

fn document(names: &[String], answer: &Markup) -> Page {
    Page {
        title: if names.is_empty() {
            "Compare".to_owned()
        } else {
            names.join(" · ")
        },
        tab: Some(Tab::Compare),
        content: html! {
            h1 { "Compare models" }
            (choice(names))
            (answer)
        },
    }
}

/// The models, each with a link to leave it out, and a field for one more.
fn choice(names: &[String]) -> Markup {
    html! {
        @if !names.is_empty() {
            ul.chosen {
                @for name in names {
                    @let others: Vec<&str> = names.iter().filter(|other| *other != name).map(String::as_str).collect();
                    li {
                        a href=(model_address(name)) { (name) } " "
                        a.remove href=(address(&others)) { "remove" span.hidden { " " (name) } }
                    }
                }
            }
        }
        @if names.len() < MOST {
            form.controls method="get" action="/ui/compare" {
                @for name in names { input type="hidden" name="model" value=(name); }
                label for="another" {
                    "Another model"
                    input id="another" name="model" type="search" placeholder="author/name" autocomplete="off" spellcheck="false" data-suggest;
                }
                button type="submit" { "Add" }
            }
        }
    }
}

fn too_few_or_many(names: &[String], known: &[&str]) -> Markup {
    let missing: Vec<&str> = known
        .iter()
        .copied()
        .filter(|name| !names.iter().any(|own| own == name))
        .collect();
    html! {
        div.empty {
            @if names.len() > MOST {
                p { "At most " (MOST) " models fit side by side: remove " (names.len() - MOST) "." }
            } @else if names.is_empty() {
                p { "Name two to six models by author and name: which is larger, which costs less to serve, and how sure that is." }
                p { a href="/ui/" { "The market" } " lists all models." }
                @if missing.len() > 1 { p { "For example: " a href=(address(&missing)) { (missing.join(", ")) } } }
            } @else {
                p { "Add a second model to compare it with." }
                @if let (Some(name), Some(other)) = (names.first(), missing.first()) {
                    p { "For example: " a href=(address(&[name, other])) { (other) } }
                }
            }
        }
    }
}

fn not_compared(problem: &Problem) -> Markup {
    html! {
        p.warning { strong { (problem.detail) "." } @if let Some(hint) = &problem.hint { " " (linked(hint)) "." } }
        p { a href="/ui/" { "The market" } " lists the models by their names." }
    }
}

fn compared(comparison: &Comparison) -> Markup {
    let (main, others): (Vec<_>, Vec<_>) = comparison
        .quantities
        .iter()
        .partition(|quantity| MAIN.contains(&quantity.quantity));
    html! {
        p.lead data-finding { (cheapest(comparison)) }
        (outside(comparison))
        (terms::table(&comparison.models))
        h2 { "Quantities" }
        p.note {
            "One axis per quantity, the same for all models. Faint: not identified, so mostly the prior. "
            "Titles and probabilities use published values where there are any; beside such a value, the dot is what prices alone say."
        }
        div.columns { @for quantity in main { (shown(comparison, quantity)) } }
        details {
            summary { "All other quantities" }
            div.columns { @for quantity in others { (shown(comparison, quantity)) } }
        }
    }
}

/// Published values that an estimate from prices misses.
fn outside(comparison: &Comparison) -> Markup {
    let of_quantity = |quantity: &ComparedQuantity| {
        let named = comparison.models.iter().zip(&quantity.values);
        let missed = named.filter_map(|(model, value)| {
            let (truth, interval) = (value.truth?, value.prices_alone().interval_90);
            let is_inside = (interval.low..=interval.high).contains(&truth);
            (!is_inside).then(|| {
                format!(
                    "{} of {}: published {}, from prices {}",
                    quantity.label,
                    model.canonical_model,
                    compact(truth),
                    ends(interval)
                )
            })
        });
        missed.collect::<Vec<_>>()
    };
    let missed: Vec<String> = comparison.quantities.iter().flat_map(of_quantity).collect();
    html! {
        @if !missed.is_empty() {
            div.warning {
                p {
                    strong { "Published values outside what prices say." }
                    " A published architecture replaces the estimate below; a size in a name does not."
                }
                ul { @for missed in missed { li { (missed) } } }
            }
        }
    }
}

/// Sentence that names the model which costs least to serve.
fn cheapest(comparison: &Comparison) -> Markup {
    const COST: &str = "cost_output_usd_per_mtok";
    let Some(cost) = comparison
        .quantities
        .iter()
        .find(|quantity| quantity.quantity == COST)
    else {
        return html! {};
    };
    let places = ranking(cost);
    let [least, others @ ..] = places.as_slice() else {
        return html! {};
    };
    let name = |place: usize| comparison.models[place].canonical_model.as_str();
    let value = &cost.values[*least];
    // The other one costs more.
    let sure = |other: usize| probability(comparison, COST, other, *least).unwrap_or(0.5);
    let least_sure = others.iter().map(|other| sure(*other)).fold(1.0, f64::min);
    html! {
        @if least_sure >= CLEAR { strong { (name(*least)) } " probably costs least to serve" }
        @else { "Which of them costs least to serve is not clear; " strong { (name(*least)) } " has the lowest median" }
        ": $" (compact(value.median)) " per million output tokens (" (ends(value.interval_90)) "). "
        @for (number, other) in others.iter().enumerate() {
            @if number > 0 { ", " } @else { "It costs less than " }
            (name(*other)) " with a probability of " (percent(sure(*other)))
        }
        ". From " (percent(CLEAR)) " on, this page calls it probable. No cost is published, so no record says how often this is right."
        (cheapest_to_buy(comparison))
    }
}

/// Sentence that names the model with the lowest price.
fn cheapest_to_buy(comparison: &Comparison) -> Markup {
    let priced = comparison
        .models
        .iter()
        .filter_map(|model| Some((model, model.terms.output.price?.lowest)));
    let lowest = priced.min_by(|one, other| one.1.total_cmp(&other.1));
    html! {
        @if let Some((model, price)) = lowest {
            " The lowest price is that of " strong { (model.canonical_model) } ": $" (compact(price)) " per million output tokens."
        }
    }
}

/// A quantity: its strips, and every pair.
fn shown(comparison: &Comparison, quantity: &ComparedQuantity) -> Markup {
    let models = comparison.models.iter();
    let models = models.map(|model| ("model", model.canonical_model.as_str()));
    let query = Question::of(models.chain([("quantity", quantity.quantity)])).query();
    html! {
        div {
            (figure(&chart_of(comparison, quantity), "compare", &query))
            (pairs(comparison, quantity))
        }
    }
}

fn pairs(comparison: &Comparison, quantity: &ComparedQuantity) -> Markup {
    let mut places = ranking(quantity);
    places.reverse();
    let pairs: Vec<(usize, usize)> = places
        .iter()
        .enumerate()
        .flat_map(|(number, one)| places[number + 1..].iter().map(|other| (*one, *other)))
        .collect();
    let name = |place: usize| comparison.models[place].canonical_model.as_str();
    html! {
        details open[pairs.len() <= FEW_PAIRS] {
            summary { "Which has more" }
            (table_of(Some("pairs"), &[Text("More"), Text("than"), Number("Ratio"), Number("P(more)")], &html! {
                @for (one, other) in pairs {
                    tr {
                        th scope="row" { (name(one)) }
                        td { (name(other)) }
                        td.number { (compact(quantity.values[one].median / quantity.values[other].median)) "×" }
                        td.number {
                            (or_dash(probability(comparison, quantity.quantity, one, other), percent))
                        }
                    }
                }
            }))
            @if is_joint(comparison, quantity) {
                p.note { "Models that one author sells itself are compared by joint draws: what is common to both cancels." }
            }
        }
    }
}

/// Whether a pair was compared by joint draws.
fn is_joint(comparison: &Comparison, quantity: &ComparedQuantity) -> bool {
    let all = comparison.pairs.iter().flat_map(|pair| &pair.quantities);
    let mut own = all.filter(|found| found.quantity == quantity.quantity);
    own.any(|found| found.draws == ComparedDraws::Vendor)
}
