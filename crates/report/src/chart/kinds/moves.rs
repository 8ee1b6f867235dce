//! The waterfall of an estimate: how each clue moved it, as a bar from before to after on a logarithmic axis.

use maud::{Markup, html};

use crate::chart::axis::{self, short};
use crate::chart::frame::{AXIS, WIDTH};
use crate::chart::mark::{Anchor, bar, dot, labelled, text};
use crate::chart::scale::Scale;
use crate::chart::table::Table;
use crate::chart::tone::Tone;
use crate::chart::{Chart, Words};
use crate::words::{capital, spread};
use unroof_base::units::{compact, count_f64};
use unroof_infer::estimate::record::stored_estimate::{EstimatedQuantity, StoredMove};

/// Space at the left and at the right.
const SIDE: f64 = 24.0;
/// Height of a row: its words, and the bar below them.
const ROW: f64 = 36.0;

/// A clue with the estimate before and after it.
struct Step<'a> {
    clue: &'a StoredMove,
    before: f64,
    after: f64,
}

/// Chart of the moves of a quantity, clue by clue.
#[must_use]
pub fn moves(label: &str, own: &EstimatedQuantity) -> Chart {
    let steps = steps(own);
    let interval = own.interval_90;
    let values = steps.iter().flat_map(|step| [step.before, step.after]);
    let values = values.chain([own.prior.median, own.median, interval.low, interval.high]);
    let scale = Scale::around(values, (0.8, 1.25), (SIDE, WIDTH - SIDE));
    let bottom = middle(steps.len() + 2) - middle(0);
    let drawing = html! {
        (axis::horizontal(&scale, (0.0, bottom), short))
        (rows(own, &steps, &scale))
    };
    let table = Table::of(
        steps,
        &[
            ("clue", |step| step.clue.clue.as_str().into()),
            ("factor", |step| step.clue.factor.into()),
            ("before", |step| step.before.into()),
            ("after", |step| step.after.into()),
        ],
    );
    words(label, own).chart((WIDTH, bottom + AXIS), drawing, table)
}

fn words(label: &str, own: &EstimatedQuantity) -> Words {
    let size = |step: &&StoredMove| step.factor.ln().abs();
    let clues = own.moved_by.iter();
    let strongest = clues.max_by(|one, other| size(one).total_cmp(&size(other)));
    Words {
        title: strongest.map_or_else(
            || format!("No clue moved the {label}: the estimate is the prior"),
            |step| {
                let factor = compact(step.factor);
                format!("The {} moved the {label} most: × {factor}", step.clue)
            },
        ),
        description: format!(
            "Each bar is the factor by which a clue moved the geometric mean, in the order in which clues are read: from the \
             median before any price, {}, to the estimate, {}.",
            compact(own.prior.median),
            compact(own.median),
        ),
    }
}

/// Start and end of each step.
fn steps(own: &EstimatedQuantity) -> Vec<Step<'_>> {
    let mut at = own.prior.median;
    let mut steps = Vec::new();
    for clue in &own.moved_by {
        let before = at;
        at *= clue.factor;
        let after = at;
        steps.push(Step {
            clue,
            before,
            after,
        });
    }
    steps
}

fn rows(own: &EstimatedQuantity, steps: &[Step<'_>], scale: &Scale) -> Markup {
    let last = steps.len() + 1;
    let first = format!("Before any price: {}", compact(own.prior.median));
    let end = format!("Estimate: {}", spread(own.median, own.interval_90));
    let point = |tone, value, number| dot(tone, (scale.at(value), middle(number)), 5.0, 1.0);
    let across = |(low, high): (f64, f64), half: f64, number, opacity| {
        let (from, to, y) = (scale.at(low), scale.at(high), middle(number));
        bar(Tone::Estimate, (from, y - half), (to, y + half), opacity)
    };
    html! {
        (row(0, &first, &point(Tone::Prior, own.prior.median, 0)))
        @for (number, step) in (1..).zip(steps) {
            @let words = format!("{}: × {}", capital(&step.clue.clue), compact(step.clue.factor));
            (row(number, &words, &across((step.before, step.after), 6.0, number, 0.75)))
        }
        (row(last, &end, &html! {
            (across((own.interval_90.low, own.interval_90.high), 3.0, last, 0.4))
            (point(Tone::Estimate, own.median, last))
        }))
    }
}

/// Middle of the bar of a row.
fn middle(number: usize) -> f64 {
    ROW * count_f64(number) + 24.0
}

/// A row: its words above its marks.
fn row(number: usize, words: &str, marks: &Markup) -> Markup {
    let words_and_marks = html! {
        (text(Tone::Ink, (2.0, middle(number) - 11.0), Anchor::Start, words))
        (marks)
    };
    labelled(words, &words_and_marks)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_bar_begins_where_the_one_before_it_ends() {
        let interval = json!({"low": 10.0, "high": 40.0});
        let own: EstimatedQuantity = serde_json::from_value(json!({
            "median": 20.0, "interval_50": interval, "interval_90": interval,
            "prior": {"median": 10.0, "interval_50": interval, "interval_90": interval}, "information_gained_bits": 1.0, "identified": true,
            "moved_by": [{"clue": "input price", "factor": 4.0}, {"clue": "output price", "factor": 0.5}],
        }))
        .unwrap();
        let ends: Vec<(f64, f64)> = steps(&own)
            .iter()
            .map(|step| (step.before, step.after))
            .collect();
        assert_eq!(ends, [(10.0, 40.0), (40.0, 20.0)]);
        let svg = moves("active parameters", &own).svg().into_string();
        assert!(svg.contains("Input price: × 4.00"), "{svg}");
        assert!(svg.contains("Estimate: 20.0 (10.0 to 40.0)"), "{svg}");
    }
}
