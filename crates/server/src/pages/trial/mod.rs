//! `/ui/try`: a sheet of one's own. The form works without a script; with it, the answer follows the keys.

mod answer;
mod controls;
mod form;
mod placed;
mod question;
mod source;
mod stated;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Response, StatusCode};
use maud::{Markup, html};
use serde::Deserialize;

use self::answer::{Outcome, Shown, Stored};
use self::form::{FORMAT, Filled, MODEL, SHEET, STORE};
use self::question::Question;
use super::answer::{html, page};
use super::layout::{Page, Tab};
use crate::api::answers::infer::observed_by;
use crate::compute::{CALCULATE, Views};
use crate::service::access::Sender;
use crate::service::extract::{FormBody, Query};
use unroof_edge::{NOT_FOUND, Problem, is_from_own_page};
use unroof_infer::estimate::{Format, StoredEstimate};
use unroof_price_sheet::catalog::{CATALOGS, Catalog};
use unroof_price_sheet::sheet::PriceSheet;

/// An example to begin with.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TrialQuery {
    /// Name of its file without the ending.
    example: Option<String>,
}

/// The page, empty or with an example.
pub(super) async fn show(
    State(views): State<Views>,
    Query(TrialQuery { example }): Query<TrialQuery>,
    headers: HeaderMap,
) -> Response<Body> {
    let question = format!("try {example:?}");
    let written = async || {
        let filled = match example {
            None => Filled::default(),
            Some(name) => Filled::example(&name).ok_or_else(|| {
                Problem::new(NOT_FOUND, "There is no example of this name")
                    .hint("The page /ui/try lists all of them")
            })?,
        };
        let (filled, outcome) = answered(&views, filled, None).await;
        match outcome {
            Outcome::Failed(problem) => Err(problem),
            outcome => Ok(document(&filled, &outcome)),
        }
    };
    page(&views.answers, &question, &headers, written).await
}

/// The page for a form.
pub(super) async fn ask(
    State(views): State<Views>,
    sender: Sender,
    headers: HeaderMap,
    FormBody(body): FormBody,
) -> Response<Body> {
    let mut filled = Filled::read(&body);
    drop(body);
    filled.stores &= is_from_own_page(&headers);
    let (filled, outcome) = answered(&views, filled, Some(sender)).await;
    let status =
        StatusCode::from_u16(outcome.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let page = document(&filled, &outcome).document(views.answers.now());
    let mut response = html(status, page);
    if let Outcome::Failed(problem) = &outcome {
        problem.note_refusal(&mut response);
    }
    response
}

/// The answer of the page to a form.
async fn answered(views: &Views, filled: Filled, sender: Option<Sender>) -> (Filled, Outcome) {
    if filled.sheet.is_empty() {
        return (filled, Outcome::Empty);
    }
    let (kept, at) = (filled.clone(), views.answers.now());
    let read = views.compute.run(CALCULATE, move |_| {
        let mut filled = filled;
        let question = Question::new(&mut filled, at);
        Ok((filled, question))
    });
    let (filled, question) = match read.await {
        Ok(read) => read,
        Err(problem) => return (kept, Outcome::Failed(problem)),
    };
    let outcome = match question {
        Ok(question) => respond(views, &filled, question, sender).await,
        Err(open) => Outcome::Open(open),
    };
    (filled, outcome)
}

/// The answer to a question, stored if the form says so: as an observation where its sender may observe.
async fn respond(
    views: &Views,
    filled: &Filled,
    question: Question,
    sender: Option<Sender>,
) -> Outcome {
    let body = axum::body::Bytes::copy_from_slice(&question.body);
    let answered = match views.compute.answer(body, question.format.clone()).await {
        Ok(answered) => answered,
        Err(problem) if matches!(problem.status, 400 | 422) => {
            return Outcome::Wrong(question.placed(&filled.sheet, &problem), problem.status);
        }
        Err(problem) => return Outcome::Failed(problem),
    };
    let may_observe = sender.as_ref().is_some_and(Sender::may_observe);
    let is_question = answered.has_assumptions() || !may_observe;
    let mut stored = None;
    if let Some(sender) = sender.filter(|_| filled.stores) {
        if !is_question && let Err(problem) = sender.check_sheets(answered.sheets()) {
            return Outcome::Failed(problem);
        }
        let Sender { actor, payer, .. } = sender;
        let observed_by = observed_by(&question.format, true).sent_by(actor);
        let observed_by = Some(observed_by).filter(|_| !is_question);
        stored = match answered.save_paid(views, None, observed_by, &payer).await {
            Ok((saved, ..)) => Some(Stored {
                is_new: saved.is_new,
                is_question,
            }),
            Err(problem) => return Outcome::Failed(problem),
        };
    }
    let estimate = match StoredEstimate::of(&answered.answer) {
        Ok(estimate) => estimate,
        Err(error) => return Outcome::Failed(Problem::not_serialised(error)),
    };
    Outcome::Answered(Box::new(Shown {
        answered,
        estimate,
        read_as: question.read_as,
        question: String::from_utf8_lossy(&question.body).into_owned(),
        query: query_of(&question.format),
        stored,
    }))
}

/// The query of the same request to the API.
fn query_of(format: &Format) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    if let Format::Entry { catalog, model, .. } = format {
        query
            .append_pair("format", catalog.name())
            .append_pair("model", model);
    }
    query.append_pair("store", "false").finish()
}

fn document(filled: &Filled, outcome: &Outcome) -> Page {
    let sheets = match outcome {
        Outcome::Answered(shown) => shown.answered.sheets(),
        _ => &[],
    };
    Page {
        title: "Try a price sheet".to_owned(),
        tab: Some(Tab::Try),
        content: html! {
            h1 { "What does a price sheet say about the machine behind it?" }
            p { "Paste a sheet, or an entry of a published catalog. Nothing is stored until you say so." }
            p.hidden id="said" aria-live="polite" {}
            div.trial {
                (asking(filled, sheets))
                (outcome.section(&filled.sheet))
            }
        },
    }
}

/// Form that asks for a sheet.
fn asking(filled: &Filled, sheets: &[PriceSheet]) -> Markup {
    html! {
        form id="try" method="post" action="/ui/try" data-asks {
            label for=(SHEET) { "Price sheet or catalog entry, as JSON" }
            textarea id=(SHEET) name=(SHEET) rows=(if filled.sheet.is_empty() { 8 } else { 18 }) spellcheck="false" autocomplete="off" {
                // The parser drops one line break here, so that one of the text's own is kept.
                "\n" (filled.sheet)
            }
            div.controls-grid {
                (format_choice(filled))
                div.control {
                    label for=(MODEL) { "Key of the entry" }
                    input id=(MODEL) name=(MODEL) type="text" autocomplete="off" spellcheck="false" value=(filled.model)
                        placeholder="only for an entry without it";
                }
            }
            (controls::all(filled, sheets))
            p.buttons {
                button.primary type="submit" { "Answer" }
                " " button type="submit" name=(STORE) value="yes" { "Store" }
                " " a.button href="/ui/try" { "Clear" }
            }
        }
    }
}

fn format_choice(filled: &Filled) -> Markup {
    let catalogs = CATALOGS.map(Catalog::name);
    let names = ["pricesheet/v1"].into_iter().chain(catalogs);
    html! {
        div.control {
            label for=(FORMAT) { "Format" }
            select id=(FORMAT) name=(FORMAT) {
                option value="" { "recognise it" }
                @for name in names { option value=(name) selected[filled.format == name] { (name) } }
            }
        }
    }
}
