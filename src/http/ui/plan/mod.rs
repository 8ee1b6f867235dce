//! `/ui/plan`: the forward calculators. The address holds the whole question.

mod fleet;
mod form;
mod machine;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Response};
use maud::{Markup, html};

use super::answer;
use super::figure::figure;
use super::layout::{Page, Tab};
use crate::http::app::App;
use crate::http::calculated::{Calculated, Calculator, body, calculate, calculator};
use crate::http::charts::Question;
use crate::http::charts::frontier::frontier_of;
use crate::http::problem::Problem;
use unroof_core::calculator::inputs::InputUsed;

/// The page.
pub(super) async fn show(
    State(app): State<App>,
    question: Result<Question, Problem>,
    headers: HeaderMap,
) -> Response<Body> {
    let question = match question {
        Ok(question) => question,
        Err(problem) => return answer::of(&app, &problem),
    };
    let asked = format!("plan {question:?}");
    let page = async {
        let calculator = calculator(&question)?;
        match calculate(&app, &question).await {
            Ok(calculated) => {
                let answer = answered(&question, calculator, &calculated);
                Ok(page(&question, calculator, calculated.inputs(), &answer))
            }
            Err(problem) if matches!(problem.status, 400 | 422) => Ok(page(
                &question,
                calculator,
                &[],
                &form::refused(calculator, &problem),
            )),
            Err(problem) => Err(problem),
        }
    };
    answer::page(&app, &asked, &headers, page).await
}

fn page(question: &Question, calculator: Calculator, used: &[InputUsed], answer: &Markup) -> Page {
    let content = html! {
        h1 { "What would it cost to serve?" }
        p { "The forward model: from a model and a machine to time, memory, cost and the prices that follow. The address holds the question." }
        (form::views(calculator))
        p.hidden id="said" aria-live="polite" {}
        div.trial {
            (form::form(question, calculator, used))
            section id="answer" aria-label="Answer" { (answer) }
        }
    };
    Page {
        title: "Plan".to_owned(),
        tab: Some(Tab::Plan),
        content,
    }
}

fn answered(question: &Question, calculator: Calculator, calculated: &Calculated) -> Markup {
    let chart = figure(&frontier_of(calculated), "frontier", &question.query());
    let request = request(&body(question, calculator).to_string(), calculator);
    html! {
        @match calculated {
            Calculated::Machine(answer) => {
                (machine::summary(answer)) (chart) (machine::details(answer)) (notes(&answer.caveats)) (inputs(&answer.inputs))
            }
            Calculated::Fleet(answer) => {
                (fleet::summary(answer)) (chart) (fleet::details(answer)) (notes(&answer.caveats)) (inputs(&answer.inputs))
            }
        }
        (request)
    }
}

fn notes(caveats: &[String]) -> Markup {
    html! {
        @for caveat in caveats { p.warning { (caveat) "." } }
    }
}

/// Every value used, and where it comes from.
fn inputs(inputs: &[InputUsed]) -> Markup {
    html! {
        details {
            summary { "All values used, and where they come from" }
            div.scroll tabindex="0" role="region" aria-label="Values used" {
                table {
                    thead { tr { th scope="col" { "Value" } th scope="col" { "" } th scope="col" { "Unit" } th scope="col" { "From" } } }
                    tbody {
                        @for input in inputs {
                            tr {
                                th scope="row" { (input.name.replace(['.', '_'], " ")) }
                                td.number { (form::written(&input.value)) }
                                td { (input.unit) }
                                td { (form::written(&input.from)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn request(body: &str, calculator: Calculator) -> Markup {
    html! {
        details {
            summary { "The request" }
            pre.question tabindex="0" { code { "curl \"$UNROOF" (calculator.path()) "\" --json '" (body) "'" } }
        }
    }
}
