//! The form of the calculators, and the faults of a question.

use maud::{Markup, html};
use serde::Serialize;
use serde_json::Value;

use crate::http::calculated::{Calculator, OWN_SIZES, PARAMETERS, Parameter, VIEW};
use crate::http::charts::Question;
use crate::http::problem::Problem;
use unroof_core::calculator::inputs::InputUsed;
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

/// The form, with the values that an answer used where nothing is stated.
pub(super) fn form(question: &Question, calculator: Calculator, used: &[InputUsed]) -> Markup {
    let group = |group: Group| {
        let of_group = PARAMETERS
            .iter()
            .filter_map(move |parameter| Some((parameter, parameter.pointer(calculator)?)));
        of_group.filter(move |(parameter, pointer)| Group::of(parameter, pointer) == group)
    };
    let is_open = |of: Group| {
        group(of).any(|(parameter, _)| {
            question
                .last(parameter.name)
                .is_some_and(|text| !text.is_empty())
        })
    };
    html! {
        form method="get" action="/ui/plan" data-asks {
            input type="hidden" name=(VIEW) value=(calculator.name());
            div.controls-grid { @for parameter in group(Group::Main) { (control(question, parameter, used)) } }
            details open[is_open(Group::More)] {
                summary { "Chips, widths, limits, margins" }
                div.controls-grid { @for parameter in group(Group::More) { (control(question, parameter, used)) } }
            }
            details open[is_open(Group::Sizes)] {
                summary { "Sizes of a model of one's own" }
                p.note { "They count where the model is “sizes of my own”." }
                div.controls-grid { @for parameter in group(Group::Sizes) { (control(question, parameter, used)) } }
            }
            p.note { "A field that is empty has the value shown in grey." }
            p.buttons {
                button.primary type="submit" { "Calculate" }
                " " a.button href={ "/ui/plan?view=" (calculator.name()) } { "Clear" }
            }
        }
    }
}

/// A part of the form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Group {
    /// Shown unfolded.
    Main,
    /// All others but sizes.
    More,
    /// The sizes of a model.
    Sizes,
}

impl Group {
    fn of(parameter: &Parameter, pointer: &str) -> Self {
        if pointer.starts_with("/model/") {
            Self::Sizes
        } else if parameter.is_main {
            Self::Main
        } else {
            Self::More
        }
    }
}

fn control(
    question: &Question,
    (parameter, pointer): (&Parameter, &str),
    used: &[InputUsed],
) -> Markup {
    let stated = question.last(parameter.name).unwrap_or_default();
    let id = format!("plan-{}", parameter.name);
    let name = pointer.trim_start_matches('/').replace('/', ".");
    let used = used
        .iter()
        .find(|input| input.name == name || input.name == format!("{name}.name"));
    let used = used.map_or_else(|| "not stated".to_owned(), |input| written(&input.value));
    html! {
        div.control {
            label for=(id) { (parameter.label) @if !parameter.unit.is_empty() { " " small { (parameter.unit) } } }
            @match parameter.usual {
                Some(usual) => {
                    input id=(id) name=(parameter.name) type="text" inputmode="decimal" autocomplete="off" placeholder=(used)
                        data-usual=(used.replace(',', "")) value=(stated);
                    (slider(&id, parameter.label, usual))
                }
                None => select id=(id) name=(parameter.name) {
                    option value="" { (used) " (default)" }
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

/// The faults of a question, with the names of the form.
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
