//! The form of the calculators, with the faults of a question beside their fields.

use maud::{Markup, html};

use crate::api::calculators::calculated::{
    Calculator, Choices, Group, Kind, OWN_SIZES, Parameter, VIEW,
};
use crate::pages::hint::linked;
use crate::pages::slider::slider;
use crate::question::Question;
use unroof_base::input::cursor::Fault;
use unroof_edge::Problem;
use unroof_report::calculators::parts::written;
use unroof_roofline::calculator::inputs::InputUsed;
use unroof_roofline::calculator::scenario::load::DOMAINS;
use unroof_roofline::calculator::scenario::rent::CONTRACTS;
use unroof_roofline::plan::question::request::{ENGINES, SERVINGS};
use unroof_roofline::reference::names::ALL;
use unroof_roofline::reference::{accelerators, open_models, routed_laws};

/// Links to all calculators.
pub(super) fn views(current: Calculator) -> Markup {
    html! {
        nav.views aria-label="Calculators" {
            @for calculator in Calculator::ALL {
                @let is_current = (calculator == current).then_some("page");
                a href=(address(calculator)) aria-current=[is_current] { (title(calculator)) }
            }
        }
    }
}

fn title(calculator: Calculator) -> &'static str {
    match calculator {
        Calculator::Machine => "One machine",
        Calculator::Fleet => "A fleet for a load",
        Calculator::Layout => "A layout on racks",
        Calculator::Training => "Training",
        Calculator::Cost => "The cost of a request",
    }
}

fn address(calculator: Calculator) -> String {
    format!("/ui/plan?view={}", calculator.name())
}

/// A question that a form shows.
pub(super) struct Form<'a> {
    /// Values that the form states.
    pub(super) question: &'a Question,
    /// Calculator of the form.
    pub(super) calculator: Calculator,
    /// The values that the answer used where nothing is stated.
    pub(super) used: &'a [InputUsed],
    /// The faults of the question.
    pub(super) faults: &'a [Fault],
}

impl Form<'_> {
    /// Form as HTML.
    pub(super) fn markup(&self) -> Markup {
        let [more, own, note] = folded(self.calculator);
        html! {
            form method="get" action="/ui/plan" data-asks {
                input type="hidden" name=(VIEW) value=(self.calculator.name());
                (self.controls(Group::Main))
                details open[self.is_open(Group::More)] {
                    summary { (more) }
                    (self.controls(Group::More))
                }
                details open[self.is_open(Group::Own)] {
                    summary { (own) }
                    @if !note.is_empty() { p.note { (note) } }
                    (self.controls(Group::Own))
                }
                p.note { "A field that is empty has the value shown in grey." }
                p.buttons {
                    button.primary type="submit" { "Calculate" }
                    " " a.button href=(address(self.calculator)) { "Clear" }
                }
            }
        }
    }

    fn of(&self, group: Group) -> impl Iterator<Item = &'static Parameter> {
        let all = self.calculator.parameters();
        all.filter(move |parameter| parameter.group == group)
    }

    /// Whether something in a part is stated or wrong.
    fn is_open(&self, group: Group) -> bool {
        self.of(group).any(|parameter| {
            let stated = self.question.last(parameter.name);
            stated.is_some_and(|text| !text.is_empty())
                || self.faults_of(parameter).next().is_some()
        })
    }

    fn faults_of(&self, parameter: &'static Parameter) -> impl Iterator<Item = &Fault> {
        let of_field = move |fault: &&Fault| {
            let named = named(self.calculator, &fault.pointer);
            named.is_some_and(|named| named.name == parameter.name)
        };
        self.faults.iter().filter(of_field)
    }

    fn controls(&self, group: Group) -> Markup {
        html! {
            div.controls-grid { @for parameter in self.of(group) { (self.control(parameter)) } }
        }
    }

    fn control(&self, parameter: &'static Parameter) -> Markup {
        let stated = self.question.last(parameter.name).unwrap_or_default();
        let id = id(parameter);
        let of_faults = format!("{id}-fault");
        let used = self.used_for(parameter);
        let is_wrong = self.faults_of(parameter).next().map(|_| "true");
        html! {
            div.control {
                label for=(id) { (parameter.label) @if !parameter.unit.is_empty() { " (" (parameter.unit) ")" } }
                @if let Kind::Choice(choices) = parameter.kind {
                    select id=(id) name=(parameter.name) data-field aria-describedby=(of_faults) aria-invalid=[is_wrong] {
                        option value="" { (used) @if used != parameter.unstated { " (default)" } }
                        @for (value, words) in choices_of(choices) { option value=(value) selected[stated == value] { (words) } }
                    }
                } @else {
                    @let mode = (parameter.kind != Kind::Text).then_some("decimal");
                    input id=(id) name=(parameter.name) type="text" inputmode=[mode] autocomplete="off" placeholder=(used)
                        data-field data-usual=(used.replace(',', "")) value=(stated) aria-describedby=(of_faults) aria-invalid=[is_wrong];
                    @if let Some(ends) = parameter.kind.ends() {
                        (slider(&id, parameter.label, ends, matches!(parameter.kind, Kind::Count(..))))
                    }
                }
                p.fault id=(of_faults) data-follows {
                    @for fault in self.faults_of(parameter) { strong.bad { (fault.detail) } " – " (linked(&fault.hint)) }
                }
            }
        }
    }

    /// The value that an empty field has.
    fn used_for(&self, parameter: &Parameter) -> String {
        let name = parameter.pointer.trim_start_matches('/').replace('/', ".");
        let of_name = format!("{name}.name");
        let mut all = self.used.iter();
        let used = all.find(|input| input.name == name || input.name == of_name);
        used.map_or_else(
            || parameter.unstated.to_owned(),
            |input| written(&input.value),
        )
    }
}

const OF_OWN_SIZES: &str = "They count where the model is “sizes of my own”.";

/// Headings of the folded parts, and a note above the second.
fn folded(calculator: Calculator) -> [&'static str; 3] {
    match calculator {
        Calculator::Machine | Calculator::Fleet => [
            "Chips, widths, limits, margins",
            "Sizes of a model of one's own",
            OF_OWN_SIZES,
        ],
        Calculator::Layout => [
            "Stages, widths, links",
            "Sizes of a model of one's own",
            OF_OWN_SIZES,
        ],
        Calculator::Training => [
            "Tokens, costs, sparsity, and what is kept in memory",
            "Sizes of a model of one's own",
            OF_OWN_SIZES,
        ],
        Calculator::Cost => [
            "Reasoning, cache writes, tier, region, time",
            "Prices of one's own",
            "They count where no provider and no model is named.",
        ],
    }
}

fn id(parameter: &Parameter) -> String {
    format!("plan-{}", parameter.name)
}

/// The parameter that a fault is about: that of the place itself, else the first one inside it or around it.
fn named(calculator: Calculator, pointer: &str) -> Option<&'static Parameter> {
    let is_inside = |inner: &str, outer: &str| {
        let rest = inner.strip_prefix(outer);
        rest.is_some_and(|rest| rest.starts_with('/'))
    };
    let mut all = calculator.parameters();
    let is_near = |parameter: &&Parameter| {
        let own = parameter.pointer;
        !pointer.is_empty() && (is_inside(own, pointer) || is_inside(pointer, own))
    };
    all.find(|parameter| parameter.pointer == pointer)
        .or_else(|| calculator.parameters().find(is_near))
}

/// The question with the wrong fields empty.
pub(super) fn without_faults(
    question: &Question,
    calculator: Calculator,
    faults: &[Fault],
) -> Question {
    let wrong = faults
        .iter()
        .filter_map(|fault| named(calculator, &fault.pointer));
    wrong.fold(question.clone(), |question, parameter| {
        question.with(parameter.name, "")
    })
}

/// The values of a choice, with their names.
fn choices_of(choices: Choices) -> Vec<(&'static str, &'static str)> {
    let ids = || accelerators().iter().map(|row| row.id.as_str());
    let twice = |name: &'static str| (name, name);
    let models = open_models().iter();
    match choices {
        Choices::Models => {
            let names = models.map(|model| twice(&model.name));
            let own = (OWN_SIZES, "sizes of my own");
            [own].into_iter().chain(names).collect()
        }
        Choices::Accelerators => ids().map(twice).collect(),
        Choices::AcceleratorsOrAll => {
            let all = [(ALL, "all, ranked")];
            all.into_iter().chain(ids().map(twice)).collect()
        }
        Choices::Contracts => CONTRACTS.iter().map(|(name, _)| twice(name)).collect(),
        Choices::Domains => DOMAINS.iter().map(|(name, _)| twice(name)).collect(),
        Choices::Servings => SERVINGS.iter().map(|(name, _)| twice(name)).collect(),
        Choices::Engines => ENGINES.iter().map(|(name, _)| twice(name)).collect(),
        Choices::Routings => routed_laws()
            .iter()
            .map(|law| twice(&law.routing))
            .collect(),
    }
}

/// The faults of a question, each with a link to its field.
pub(super) fn refused(calculator: Calculator, problem: &Problem) -> Markup {
    html! {
        h2 { "This question cannot be answered" }
        ul.faults {
            @for fault in &problem.errors {
                li {
                    @match named(calculator, &fault.pointer) {
                        Some(parameter) => a href={ "#" (id(parameter)) } { (parameter.label) },
                        None => (fault.pointer),
                    }
                    ": " strong.bad { (fault.detail) } " – " (linked(&fault.hint))
                }
            }
            @if problem.errors.is_empty() { li { strong.bad { (problem.detail) } } }
        }
    }
}
