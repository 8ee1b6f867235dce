//! The form of the calculators, and what is wrong with a question.

use maud::{Markup, html};
use serde::Serialize;
use serde_json::Value;

use crate::http::calculated::{Calculator, OWN_SIZES, PARAMETERS, Parameter, VIEW};
use crate::http::charts::Question;
use crate::http::problem::Problem;
use unroof_core::reference::{accelerators, open_models};
use unroof_core::units::readable;

/// Links to both calculators.
pub(super) fn views(current: Calculator) -> Markup {
    html! {
        nav.views aria-label="Calculators" {
            @for (calculator, words) in [(Calculator::Machine, "One machine"), (Calculator::Fleet, "A fleet for a load")] {
                @let is_current = (calculator == current).then_some("page");
                a href={ "/ui/plan?view=" (calculator.name()) } aria-current=[is_current] { (words) }
            }
        }
    }
}

/// The form.
pub(super) fn form(question: &Question, calculator: Calculator) -> Markup {
    let of_calculator = || {
        PARAMETERS
            .iter()
            .filter(|parameter| parameter.pointer(calculator).is_some())
    };
    let is_size = |parameter: &&Parameter| {
        parameter
            .pointer(calculator)
            .is_some_and(|pointer| pointer.starts_with("/model/"))
    };
    let is_open = question.last("model") == Some(OWN_SIZES);
    html! {
        form method="get" action="/ui/plan" data-asks {
            input type="hidden" name=(VIEW) value=(calculator.name());
            div.controls-grid {
                @for parameter in of_calculator().filter(|parameter| !is_size(parameter)) { (control(question, parameter)) }
            }
            details open[is_open] {
                summary { "Sizes of a model of one's own" }
                p.note { "They count where the model is “sizes of my own”." }
                div.controls-grid { @for parameter in of_calculator().filter(is_size) { (control(question, parameter)) } }
            }
            p.note { "An empty field has its default, which the answer names." }
            p.buttons {
                button.primary type="submit" { "Calculate" }
                " " a.button href={ "/ui/plan?view=" (calculator.name()) } { "Clear" }
            }
        }
    }
}

fn control(question: &Question, parameter: &Parameter) -> Markup {
    let stated = question.last(parameter.name).unwrap_or_default();
    let id = format!("plan-{}", parameter.name);
    html! {
        div.control {
            label for=(id) { (parameter.label) @if !parameter.unit.is_empty() { " " small { (parameter.unit) } } }
            @match parameter.usual {
                Some(usual) => {
                    input id=(id) name=(parameter.name) type="text" inputmode="decimal" autocomplete="off" placeholder="default" value=(stated);
                    (slider(&id, parameter.label, usual))
                }
                None => select id=(id) name=(parameter.name) {
                    option value="" { "default" }
                    @for (value, words) in choices(parameter.name) { option value=(value) selected[stated == value] { (words) } }
                }
            }
        }
    }
}

fn slider(id: &str, label: &str, (least, most): (f64, f64)) -> Markup {
    let scale = if least > 0.0 && most > 3.0 * least {
        "log"
    } else {
        "linear"
    };
    html! {
        input type="range" min="0" max="1000" step="1" value="500" hidden aria-label={ (label) ", slider" } data-slides=(id)
            data-least=(least) data-most=(most) data-scale=(scale);
    }
}

fn choices(name: &str) -> Vec<(&'static str, &'static str)> {
    if name == "accelerator" {
        let rows = accelerators().iter();
        return rows.map(|row| (row.id.as_str(), row.id.as_str())).collect();
    }
    let models = open_models().iter();
    let names = models.map(|model| (model.name.as_str(), model.name.as_str()));
    let own = (OWN_SIZES, "sizes of my own");
    [own].into_iter().chain(names).collect()
}

/// What is wrong with a question, with the names of the form.
pub(super) fn refused(calculator: Calculator, problem: &Problem) -> Markup {
    let name = |pointer: &str| {
        let of_form = PARAMETERS
            .iter()
            .find(|parameter| parameter.pointer(calculator) == Some(pointer));
        of_form.map_or_else(
            || pointer.to_owned(),
            |parameter| parameter.label.to_owned(),
        )
    };
    html! {
        h2 { "This question cannot be answered" }
        ul.faults {
            @for fault in &problem.errors {
                li { (name(&fault.pointer)) ": " strong.bad { (fault.detail) } " – " (fault.hint) }
            }
            @if problem.errors.is_empty() { li { strong.bad { (problem.detail) } } }
        }
    }
}

/// A value as a reader writes it.
pub(super) fn written(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::Number(number)) => number.as_f64().map_or_else(|| number.to_string(), readable),
        Ok(Value::String(text)) => text.replace('_', " "),
        Ok(Value::Null) | Err(_) => "–".to_owned(),
        Ok(other) => other.to_string(),
    }
}
