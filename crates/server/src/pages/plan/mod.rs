//! `/ui/plan`: the forward calculators. The address holds the whole question.

mod form;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Response};
use maud::{Markup, html};

use self::form::Form;
use super::answer;
use super::figure::figure;
use super::layout::{Page, Tab};
use crate::api::calculators::calculated::{Calculated, Calculator, body, calculate, calculator};
use crate::compute::Views;
use crate::question::Question;
use unroof_base::shell::curl;
use unroof_report::calculators::parts::written;
use unroof_report::calculators::{cost, fleet, layout, machine, training};
use unroof_report::chart::kinds::frontier::{of_fleet, of_machine};
use unroof_report::tables::Head::Text;
use unroof_report::tables::{scrolling, table};
use unroof_roofline::calculator::inputs::{EquationUsed, InputUsed};

/// Shows the page of the calculators.
pub(super) async fn show(
    State(views): State<Views>,
    question: Question,
    headers: HeaderMap,
) -> Response<Body> {
    let asked = format!("plan {question:?}");
    let page = async || {
        let calculator = calculator(&question)?;
        let form = Form {
            question: &question,
            calculator,
            used: &[],
            faults: &[],
        };
        match calculate(&views, &question).await {
            Ok(calculated) => {
                let used = calculated.inputs();
                let answer = answered(&question, calculator, &calculated);
                Ok(page(&Form { used, ..form }, &answer))
            }
            Err(problem) if matches!(problem.status, 400 | 422) => {
                let faults = &problem.errors;
                let answer = form::refused(calculator, &problem);
                // What an empty field means is known without the wrong ones.
                let others = form::without_faults(&question, calculator, faults);
                let others = calculate(&views, &others).await.ok();
                let used = others.as_ref().map_or(&[][..], Calculated::inputs);
                let form = Form {
                    used,
                    faults,
                    ..form
                };
                Ok(page(&form, &answer))
            }
            Err(problem) => Err(problem),
        }
    };
    answer::page(&views.answers, &asked, &headers, page).await
}

fn page(form: &Form<'_>, answer: &Markup) -> Page {
    let content = html! {
        h1 { (heading(form.calculator)) }
        p { (purpose(form.calculator)) " The address holds the question." }
        (form::views(form.calculator))
        p.hidden id="said" aria-live="polite" {}
        div.trial {
            (form.markup())
            section id="answer" aria-label="Answer" { (answer) }
        }
    };
    Page {
        title: "Plan".to_owned(),
        tab: Some(Tab::Plan),
        content,
    }
}

fn heading(calculator: Calculator) -> &'static str {
    match calculator {
        Calculator::Machine | Calculator::Fleet => "What would it cost to serve?",
        Calculator::Layout => "How does a model lie on racks?",
        Calculator::Training => "What does it take to train?",
        Calculator::Cost => "What does a request cost?",
    }
}

fn purpose(calculator: Calculator) -> &'static str {
    match calculator {
        Calculator::Machine | Calculator::Fleet => {
            "The forward model: from a model and a machine to time, memory, cost and the prices that follow."
        }
        Calculator::Layout => {
            "Experts and pipeline stages on racks of chips: memory, traffic, and what stays inside a rack."
        }
        Calculator::Training => {
            "Pretraining, reinforcement learning and inference, at equal cost or with stated tokens."
        }
        Calculator::Cost => {
            "The tokens of a request by the prices of an offer, or by prices of one's own, to the last digit."
        }
    }
}

fn answered(question: &Question, calculator: Calculator, calculated: &Calculated) -> Markup {
    let query = question.query();
    let request = request(&body(question, calculator).to_string(), calculator);
    html! {
        @match calculated {
            Calculated::Machine(answer) => {
                (machine::summary(answer)) (figure(&of_machine(answer), "frontier", &query)) (machine::details(answer)) (notes(&answer.caveats))
            }
            Calculated::Fleet(answer) => {
                (fleet::summary(answer)) (figure(&of_fleet(answer), "frontier", &query)) (fleet::details(answer)) (notes(&answer.caveats))
            }
            Calculated::Layout(answer) => { (layout::summary(answer)) (layout::details(answer)) (equations(answer.equations)) }
            Calculated::Training(answer) => { (training::summary(answer)) (training::details(answer)) (equations(answer.equations)) }
            Calculated::Cost(priced) => { (cost::summary(&priced.cost)) (cost::details(&priced.cost)) }
        }
        (inputs(calculated.inputs()))
        (request)
    }
}

/// The equations behind the values.
fn equations(equations: &[EquationUsed]) -> Markup {
    html! {
        details {
            summary { "The equations" }
            ul { @for used in equations { li { code { (used.equation) } } } }
        }
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
            (scrolling("Values used", &table(&[Text("Value"), Text(""), Text("Unit"), Text("From")], &html! {
                @for input in inputs {
                    tr {
                        th scope="row" { (input.name.replace(['.', '_'], " ")) }
                        td.number { (written(&input.value)) }
                        td { (input.unit) }
                        td { (written(&input.from)) }
                    }
                }
            })))
        }
    }
}

fn request(body: &str, calculator: Calculator) -> Markup {
    html! {
        details {
            summary { "The request" }
            pre.question tabindex="0" { code { (curl(calculator.path(), Some(body))) } }
        }
    }
}
