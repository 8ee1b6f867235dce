//! The part of the page that answers: what the sheet says, what is wrong with it, or what to do first.

use maud::{Markup, html};

use super::form::examples;
use super::placed::Placed;
use super::question::Open;
use super::source;
use crate::compute::Answered;
use crate::pages::hint::linked;
use crate::pages::words::usual_margin;
use crate::pages::{quantities, words};
use unroof_base::shell::curl;
use unroof_base::units::{compact, readable};
use unroof_edge::Problem;
use unroof_infer::estimate::judgement::headline::{finding, listed, margin_in_words, subject};
use unroof_infer::estimate::storage_tiers::OfferTiers;
use unroof_infer::estimate::{Conflict, Joint, StoredEstimate};
use unroof_infer::joint::{RatioEstimate, Regime};
use unroof_report::tables::Head::{Number, Text};
use unroof_report::tables::{scrolling, table};
use unroof_report::words::{count, percent, spaced};

/// Least probability of a storage tier that is shown.
const LEAST_SHOWN: f64 = 0.005;

/// The answer of the page.
pub(super) enum Outcome {
    /// Nothing was pasted.
    Empty,
    /// Answer to the pasted text.
    Answered(Box<Shown>),
    /// The text or the assumptions have faults.
    Wrong(Vec<Placed>, u16),
    /// An entry has to be chosen.
    Open(Open),
    /// The service could not answer.
    Failed(Problem),
}

/// An answer and how it came about.
pub(super) struct Shown {
    pub(super) answered: Answered,
    /// The answer as it would be read back.
    pub(super) estimate: StoredEstimate,
    /// The form in which the text was read.
    pub(super) read_as: String,
    /// The question, for a request of one's own.
    pub(super) question: String,
    /// Query of that request.
    pub(super) query: String,
    /// The effect of storing it; none if it is not stored.
    pub(super) stored: Option<Stored>,
}

/// An answer that is stored.
pub(super) struct Stored {
    /// Whether it was not stored before.
    pub(super) is_new: bool,
    /// Whether it is a question, which changes no price.
    pub(super) is_question: bool,
}

impl Outcome {
    /// The status of the page.
    pub(super) fn status(&self) -> u16 {
        match self {
            Self::Empty | Self::Answered(_) | Self::Open(Open::Choice { .. }) => 200,
            Self::Wrong(_, status) => *status,
            Self::Open(Open::Wrong(_)) => 422,
            Self::Failed(problem) => problem.status,
        }
    }

    /// The part of the page.
    pub(super) fn section(&self, text: &str) -> Markup {
        html! {
            section id="answer" aria-labelledby="answer-heading" {
                @match self {
                    Self::Empty => (empty()),
                    Self::Answered(shown) => (shown.section()),
                    Self::Wrong(faults, _) | Self::Open(Open::Wrong(faults)) => (wrong(text, faults)),
                    Self::Open(Open::Choice { catalog, keys, entries, missed }) => {
                        (choice(catalog, keys, *entries, missed.as_deref()))
                    }
                    Self::Failed(problem) => (failed(problem)),
                }
            }
        }
    }
}

fn empty() -> Markup {
    html! {
        h2 id="answer-heading" { "What the sheet says" }
        div.empty {
            p { "Paste a price sheet, or an entry of a published catalog: the answer appears here. Or begin with an example:" }
            ul.examples {
                @for (stem, name) in examples() {
                    li { a href={ "/ui/try?example=" (stem) } data-example { (name) } }
                }
            }
        }
    }
}

fn wrong(text: &str, faults: &[Placed]) -> Markup {
    let number = faults.len();
    html! {
        h2 id="answer-heading" {
            @if number == 1 { "One fault to correct" } @else { (number) " faults to correct" }
        }
        (source::faults(text, faults))
        p.note {
            "The form of a sheet is described by " a href="/openapi.json" { "the API document" }
            "; an example shows it too: delete the text, and choose one."
        }
    }
}

fn choice(catalog: &str, keys: &[String], entries: usize, missed: Option<&str>) -> Markup {
    html! {
        h2 id="answer-heading" { "Which entry?" }
        p {
            "This is a catalog of " (catalog) " with " (count(entries)) " entries. "
            @if let Some(missed) = missed { "None has the key " code { (missed) } ". " }
            "Choose one, or write its key into the field “Key of the entry”."
        }
        p.keys {
            @for key in keys { button type="submit" form="try" name="model" value=(key) { (key) } " " }
            @if entries > keys.len() && missed.is_none() { span.note { "and " (count(entries - keys.len())) " more" } }
        }
    }
}

fn failed(problem: &Problem) -> Markup {
    html! {
        h2 id="answer-heading" { (problem.title) }
        p.warning { (problem.detail) "." @if let Some(hint) = &problem.hint { " " (linked(hint)) "." } }
    }
}

impl Shown {
    fn section(&self) -> Markup {
        let joint = &self.answered.answer.joint;
        let conflicts = &self.answered.answer.textbook.conflicts;
        html! {
            h2 id="answer-heading" { "What the sheet says" }
            p.lead data-finding { strong { (subject(&self.estimate)) } ": " (finding(&self.estimate)) "." }
            (words::doubts(&self.estimate, None))
            (self.state())
            (quantities::all(&self.estimate))
            p.note {
                "Bright: 50 % and 90 % interval with the median. Grey: the 90 % interval before the sheet was read. Each strip has an axis of \
                 its own. A quantity is identified where the sheet adds at least 0.3 bits, the interval spans a factor of 30 at most, and such \
                 estimates beat the prior on open-weight models."
            }
            (regime(&joint.quantities.memory_time_over_compute_time))
            div.columns {
                (margins(joint))
                (neighbours(joint))
            }
            (tiers(&joint.storage_tiers))
            (verdicts(conflicts))
            (self.request())
        }
    }

    /// The form in which the text was read, and whether the answer is stored.
    fn state(&self) -> Markup {
        let id = self.answered.answer.id;
        html! {
            @match &self.stored {
                Some(stored) => {
                    p.done role="status" {
                        @if stored.is_new { "Stored" } @else { "Already stored" }
                        @if stored.is_question { " as a question, which is listed and changes no price: " } @else { " as a price seen now: " }
                        a href={ "/estimates/" (id) } { "the estimate " code { (id) } }
                    }
                }
                None => p.note {
                    "Read as " (self.read_as) ". Nothing is stored: “Store” does that "
                    @if self.answered.has_assumptions() { "as a question, which changes no price." } @else { "as a price seen now." }
                }
            }
        }
    }

    /// Question as a request to the API.
    fn request(&self) -> Markup {
        html! {
            details {
                summary { "The whole answer: the request" }
                p {
                    "With all readings, their equations and values, from the command line. Save the question below as "
                    code { "question.json" } "."
                }
                pre tabindex="0" {
                    code {
                        (curl(&format!("/infer?{}", self.query), None)) " --json @question.json"
                    }
                }
                pre.question tabindex="0" { code { (self.question) } }
            }
        }
    }
}

fn regime(ratio: &RatioEstimate) -> Markup {
    let waits = match ratio.regime {
        Regime::MemoryBound => "memory",
        Regime::ComputeBound => "arithmetic",
    };
    html! {
        p { "Decoding waits for " strong { (waits) } " with a probability of " (percent(ratio.regime_probability)) "." }
    }
}

fn margins(joint: &Joint) -> Markup {
    let margins = joint.best_margins();
    html! {
        @if !margins.is_empty() {
            div {
                h3 { "Margins: 1 − cost ÷ price" }
                (scrolling("Margins", &table(&[Text("Line"), Number("USD/Mtok"), Number("Margin, 90 %"), Number("Usual")], &html! {
                    @for margin in margins {
                        tr {
                            th scope="row" { (spaced(&margin.line)) }
                            td.number { (readable(margin.price_usd_per_mtok)) }
                            td.number { (margin_in_words(margin.median, margin.interval_90)) }
                            td.number { (usual_margin(margin)) }
                        }
                    }
                })))
                p.note {
                    "Usual is what sellers of open models have at such a cost. At prompts of " (readable(joint.prompt_tokens)) " tokens. No public truth: these costs are not published, so a margin is \
                     never identified."
                }
            }
        }
    }
}

fn neighbours(joint: &Joint) -> Markup {
    html! {
        @if !joint.nearest_open_models.is_empty() {
            div {
                h3 { "Nearest open-weight models" }
                (table(&[Text("Model"), Number("Active"), Number("Total")], &html! {
                    @for model in &joint.nearest_open_models {
                        tr {
                            th scope="row" { (model.name) }
                            td.number { (compact(model.active_parameters)) }
                            td.number { (compact(model.total_parameters)) }
                        }
                    }
                }))
            }
        }
    }
}

fn tiers(offers: &[OfferTiers]) -> Markup {
    html! {
        @if !offers.is_empty() {
            h3 { "Where cached tokens are kept" }
            div.columns { @for offer in offers { (tier(offer)) } }
        }
    }
}

fn tier(offer: &OfferTiers) -> Markup {
    let mut shares: Vec<_> = offer
        .probabilities
        .iter()
        .filter(|(_, share)| **share >= LEAST_SHOWN)
        .collect();
    shares.sort_by(|left, right| right.1.total_cmp(left.1));
    html! {
        div.card {
            h4 { (spaced(&offer.name)) }
            @for (tier, share) in shares.into_iter().take(4) {
                p.share {
                    span { (tier) }
                    meter value=(share) min="0" max="1" aria-label=(tier) { (percent(*share)) }
                    span.number { (percent(*share)) }
                }
            }
            p.note {
                @if !offer.rests_on.is_empty() { "Rests on " (listed(&offer.rests_on)) ". " }
                @if let Some(reading) = &offer.drain_time_reading { "By its drain time alone: " (reading) "." }
            }
        }
    }
}

fn verdicts(conflicts: &[Conflict]) -> Markup {
    html! {
        @if !conflicts.is_empty() {
            h3 { "Readings that cannot both be right" }
            @for conflict in conflicts {
                @let [left, right] = conflict.sides();
                div.card {
                    p {
                        strong { (spaced(conflict.quantity)) } ": " (left) " " (compact(conflict.values[0])) " against " (right) " "
                        (compact(conflict.values[1]))
                    }
                    p.note { (conflict.why) "." }
                }
            }
        }
    }
}
