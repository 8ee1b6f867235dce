//! The waterfall of an estimate: how each clue moved it, as a bar from before to after on a logarithmic axis.

use maud::{Markup, html};

use crate::chart::Chart;
use crate::chart::axis;
use crate::chart::axis::short;
use crate::chart::frame::{AXIS, WIDTH};
use crate::chart::mark::{Anchor, bar, dot, labelled, text};
use crate::chart::scale::{Scale, extent};
use crate::chart::table::Table;
use crate::chart::tone::Tone;
use unroof_base::units::compact;

/// Space at the left and at the right.
const SIDE: f64 = 24.0;
/// Height of a row: its words, and the bar below them.
const ROW: f64 = 36.0;

/// A step of a waterfall.
#[derive(Debug, Clone)]
pub struct Step {
    /// Clue that moves the estimate.
    pub clue: String,
    /// The factor by which it moves the estimate.
    pub factor: f64,
}

/// A waterfall of the moves of an estimate.
#[derive(Debug, Clone)]
pub struct Waterfall {
    /// Finding of the chart.
    pub title: String,
    /// The finding with its figures.
    pub description: String,
    /// Median before the sheets are read.
    pub prior: f64,
    /// The clues in order.
    pub steps: Vec<Step>,
    /// Median and 90 % interval.
    pub estimate: (f64, (f64, f64)),
}

impl Waterfall {
    /// Chart of the waterfall.
    pub fn chart(self) -> Chart {
        let places = self.places();
        let (median, (low, high)) = self.estimate;
        let all = places.iter().flat_map(|(from, to)| [*from, *to]);
        let all = all.chain([self.prior, median, low, high]);
        let (least, greatest) = extent(all);
        #[expect(clippy::cast_precision_loss, reason = "a handful of clues")]
        let bottom = ROW * (self.steps.len() + 2) as f64;
        let scale = Scale::log((least * 0.8, greatest * 1.25), (SIDE, WIDTH - SIDE));
        let drawing = html! {
            (axis::horizontal(&scale, (0.0, bottom), &axis::named(&scale, 7, short)))
            (self.drawing(&scale, &places))
        };
        Chart {
            width: WIDTH,
            height: bottom + AXIS,
            drawing,
            table: self.table(&places),
            title: self.title,
            description: self.description,
        }
    }

    /// Start and end of each step.
    fn places(&self) -> Vec<(f64, f64)> {
        let mut at = self.prior;
        let step = |step: &Step| {
            let from = at;
            at *= step.factor;
            (from, at)
        };
        self.steps.iter().map(step).collect()
    }

    fn drawing(&self, scale: &Scale, places: &[(f64, f64)]) -> Markup {
        let (median, (low, high)) = self.estimate;
        let last = self.steps.len() + 1;
        let first = format!("Before any price: {}", compact(self.prior));
        let end = format!(
            "Estimate: {} ({} to {})",
            compact(median),
            compact(low),
            compact(high)
        );
        let across = scale.at(low)..scale.at(high);
        html! {
            (row(0, &first, &html! { (dot(Tone::Prior, (scale.at(self.prior), middle(0)), 5.0, 1.0)) }))
            @for (number, (step, (from, to))) in self.steps.iter().zip(places).enumerate() {
                @let (from, to) = (scale.at(*from), scale.at(*to));
                @let y = middle(number + 1);
                @let words = format!("{}: × {}", capital(&step.clue), compact(step.factor));
                @let marks = html! {
                    (bar(Tone::Estimate, (from, y - 6.0), (to, y + 6.0), 0.75))
                };
                (row(number + 1, &words, &marks))
            }
            (row(last, &end, &html! {
                (bar(Tone::Estimate, (across.start, middle(last) - 3.0), (across.end, middle(last) + 3.0), 0.4))
                (dot(Tone::Estimate, (scale.at(median), middle(last)), 5.0, 1.0))
            }))
        }
    }

    fn table(&self, places: &[(f64, f64)]) -> Table {
        let step = |(step, (from, to)): (&Step, &(f64, f64))| {
            vec![
                step.clue.clone().into(),
                step.factor.into(),
                (*from).into(),
                (*to).into(),
            ]
        };
        Table {
            columns: vec!["clue", "factor", "before", "after"],
            rows: self.steps.iter().zip(places).map(step).collect(),
        }
    }
}

/// Middle of the bar of a row.
#[expect(clippy::cast_precision_loss, reason = "a handful of rows")]
fn middle(number: usize) -> f64 {
    ROW * number as f64 + 24.0
}

/// A row: its words above its marks.
fn row(number: usize, words: &str, marks: &Markup) -> Markup {
    labelled(
        words,
        &html! {
            (text(Tone::Ink, (2.0, middle(number) - 11.0), Anchor::Start, words))
            (marks)
        },
    )
}

/// Words with a capital letter in front.
fn capital(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bar_begins_where_the_one_before_it_ends() {
        let step = |clue: &str, factor| Step {
            clue: clue.to_owned(),
            factor,
        };
        let waterfall = Waterfall {
            title: "t".to_owned(),
            description: "d".to_owned(),
            prior: 10.0,
            steps: vec![step("input price", 4.0), step("output price", 0.5)],
            estimate: (20.0, (10.0, 40.0)),
        };
        assert_eq!(waterfall.places(), [(10.0, 40.0), (40.0, 20.0)]);
        let svg = waterfall.chart().svg().into_string();
        assert!(svg.contains("Input price: × 4.00"), "{svg}");
        assert!(svg.contains("Estimate: 20.0 (10.0 to 40.0)"), "{svg}");
    }
}
