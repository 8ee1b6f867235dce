//! Changes of a request without a plan that would each give one.

use super::answer::NearestItem;
use super::grid::tray_chips;
use super::search::Search;
use crate::calculator::scenario::machine::MOST_CHIPS;
use crate::plan::question::goal::{Goal, bisected_in};
use crate::plan::question::request::{Limits, Question};
use crate::reference::WeightFormats;
use unroof_base::units::readable;

/// Doublings of a limit that are tried.
const DOUBLINGS: i32 = 24;
/// Doublings of the chips that are tried.
const DOUBLINGS_OF_CHIPS: u32 = 16;
/// Halvings of the last doubling.
const HALVINGS: u32 = 6;
/// Bytes per parameter of the published formats with smaller weights: fp8, and 4 bits with scales.
const WIDTHS: [f64; 2] = [1.0, 0.562_5];

/// Input of a change of both limits, whose values are multiples of what is stated.
const BOTH_LIMITS: &str = "limits";

/// A limit that may be relaxed.
type Relaxed = fn(Limits, f64) -> Limits;

/// Changes that would each give a plan.
pub(super) fn nearest(question: &Question, search: &Search<'_>) -> Vec<NearestItem> {
    let mut found = Vec::new();
    if search.holds_model() {
        found.extend(limits(question, search));
    }
    found.extend(chips(question));
    found.extend(width(question));
    found
}

/// The least value of each limit that would do.
fn limits(question: &Question, search: &Search<'_>) -> Vec<NearestItem> {
    let limits = question.limits;
    let one = |input, stated: Option<f64>, relaxed: Relaxed| {
        let (stated, factor) = (stated?, least_factor(question, search, relaxed)?);
        let would_do = rounded_up(stated * factor);
        Some(NearestItem {
            input,
            stated,
            would_do,
        })
    };
    let of_token: Relaxed = |limits, factor| Limits {
        per_token_s: limits.per_token_s.map(|limit| limit * factor),
        ..limits
    };
    let of_first: Relaxed = |limits, factor| Limits {
        first_token_s: limits.first_token_s.map(|limit| limit * factor),
        ..limits
    };
    let token = one(
        "limits.time_per_output_token_seconds",
        limits.per_token_s,
        of_token,
    );
    let first = one(
        "limits.time_to_first_token_seconds",
        limits.first_token_s,
        of_first,
    );
    let alone: Vec<NearestItem> = token.into_iter().chain(first).collect();
    let has_both = limits.per_token_s.is_some() && limits.first_token_s.is_some();
    if !alone.is_empty() || !has_both {
        return alone;
    }
    let both = least_factor(question, search, |limits, factor| {
        of_first(of_token(limits, factor), factor)
    });
    let item = |factor| NearestItem {
        input: BOTH_LIMITS,
        stated: 1.0,
        would_do: rounded_up(factor),
    };
    both.map(item).into_iter().collect()
}

/// The least factor, to a percent, by which limits must be relaxed for a plan.
fn least_factor(
    question: &Question,
    search: &Search<'_>,
    relaxed: impl Fn(Limits, f64) -> Limits,
) -> Option<f64> {
    let has_plan = |factor: f64| {
        let goal = Goal {
            limits: relaxed(question.limits, factor),
            ..Goal::of(question)
        };
        search.cheapest(&goal).is_some()
    };
    let doubled = (1..=DOUBLINGS).find(|doublings| has_plan(2.0_f64.powi(*doublings)))?;
    let (least, most) = (2.0_f64.powi(doubled - 1), 2.0_f64.powi(doubled));
    // The reciprocal falls from where there is a plan to where there is none.
    let strictest = bisected_in(HALVINGS, 1.0 / most, 1.0 / least, |strictness| {
        has_plan(1.0 / strictness)
    });
    Some(1.0 / strictest)
}

/// The least number of chips, in whole trays, that would do where the request has fewer.
fn chips(question: &Question) -> Option<NearestItem> {
    let stated = question.budget?;
    let tray = tray_chips(question.decode_chip.domain);
    let has_plan = |trays: u32| {
        let more = Question {
            budget: Some(trays * tray),
            ..question.clone()
        };
        let search = Search::new(&more);
        search.cheapest(&Goal::of(&more)).is_some()
    };
    let first = stated / tray + 1;
    let doubled = (0..DOUBLINGS_OF_CHIPS)
        .filter_map(|doublings| first.checked_mul(1 << doublings))
        .take_while(|trays| *trays <= MOST_CHIPS / tray)
        .find(|trays| has_plan(*trays))?;
    // The half of a doubling has no plan, and the first has only what was stated below it.
    let (mut low, mut high) = ((doubled / 2).max(first - 1), doubled);
    while high - low > 1 {
        let middle = low.midpoint(high);
        if has_plan(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(NearestItem {
        input: "machine.chips",
        stated: f64::from(stated),
        would_do: f64::from(high * tray),
    })
}

/// The widest format of smaller weights that would do.
fn width(question: &Question) -> Option<NearestItem> {
    let stated = question.precision.weights;
    let has_plan = |width: f64| {
        let mut smaller = question.clone();
        let embedding = question.precision.formats.embedding;
        smaller.precision.formats = WeightFormats {
            embedding,
            ..WeightFormats::uniform(width)
        };
        let search = Search::new(&smaller);
        search.cheapest(&Goal::of(&smaller)).is_some()
    };
    let smaller = WIDTHS.into_iter().filter(|width| *width < stated * 0.9);
    let would_do = smaller.into_iter().find(|width| has_plan(*width))?;
    Some(NearestItem {
        input: "precision.weight_bytes_per_parameter",
        stated,
        would_do,
    })
}

impl NearestItem {
    /// The change in words.
    pub(super) fn words(&self) -> String {
        let [would_do, stated] = [self.would_do, self.stated].map(readable);
        if self.input == BOTH_LIMITS {
            return format!("both limits {would_do} times as long");
        }
        format!("`{}` of {would_do} instead of {stated}", self.input)
    }
}

/// A number with two digits that would do too.
fn rounded_up(amount: f64) -> f64 {
    let scale = 10.0_f64.powf(amount.log10().floor() - 1.0);
    let text = format!("{:.1e}", (amount / scale).ceil() * scale);
    text.parse().unwrap_or(amount)
}
