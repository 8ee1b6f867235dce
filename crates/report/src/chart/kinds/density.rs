//! Prior and posterior of a quantity as densities on one logarithmic axis, with the value that is public.

use maud::{Markup, html};

use crate::chart::Chart;
use crate::chart::axis;
use crate::chart::axis::short;
use crate::chart::frame::{AXIS, WIDTH};
use crate::chart::mark::{Anchor, area, bar, labelled, line, rule, text};
use crate::chart::scale::{Scale, extent};
use crate::chart::table::Table;
use crate::chart::tone::Tone;
use unroof_base::units::compact;

/// Height of the curves.
const HEIGHT: f64 = 130.0;
/// Space above them, for words.
const TOP: f64 = 34.0;
/// Space at the left and at the right.
const SIDE: f64 = 16.0;

/// Densities of a quantity.
#[derive(Debug, Clone)]
pub struct Densities {
    /// Finding of the chart.
    pub title: String,
    /// The finding with its figures.
    pub description: String,
    /// The values of the grid.
    pub values: Vec<f64>,
    /// Density of the prior at each value, per unit of its logarithm.
    pub prior: Vec<f64>,
    /// Density of the posterior, likewise.
    pub posterior: Vec<f64>,
    /// Median and 90 % interval.
    pub estimate: (f64, (f64, f64)),
    /// The value that is public.
    pub truth: Option<f64>,
}

impl Densities {
    /// Chart of the densities.
    pub fn chart(self) -> Chart {
        let ends = self.values.iter().chain(&self.truth);
        let horizontal = Scale::log(extent(ends.copied()), (SIDE, WIDTH - SIDE));
        let highest = self
            .prior
            .iter()
            .chain(&self.posterior)
            .copied()
            .fold(0.0, f64::max);
        let vertical = Scale::linear((0.0, highest.max(f64::MIN_POSITIVE)), (TOP + HEIGHT, TOP));
        Chart {
            drawing: self.drawing(&horizontal, &vertical),
            table: self.table(),
            title: self.title,
            description: self.description,
            width: WIDTH,
            height: TOP + HEIGHT + AXIS,
        }
    }

    fn drawing(&self, horizontal: &Scale, vertical: &Scale) -> Markup {
        let (median, (low, high)) = self.estimate;
        let bottom = TOP + HEIGHT;
        let estimate = format!(
            "Estimate {} ({} to {})",
            compact(median),
            compact(low),
            compact(high)
        );
        let curve = |density: &[f64]| -> Vec<(f64, f64)> {
            let points = self.values.iter().zip(density);
            points
                .map(|(value, density)| (horizontal.at(*value), vertical.at(*density)))
                .collect()
        };
        let filled = |density: &[f64]| {
            let curve = curve(density);
            let (start, end) = horizontal.range();
            [vec![(start, bottom)], curve, vec![(end, bottom)]].concat()
        };
        html! {
            (axis::horizontal(horizontal, (TOP, bottom), &axis::named(horizontal, 7, short)))
            (labelled("Before any price: the prior, in grey", &area(Tone::Prior, &filled(&self.prior), 0.35)))
            (area(Tone::Estimate, &filled(&self.posterior), 0.3))
            (line(Tone::Estimate, &curve(&self.posterior), 2.0))
            (labelled(&estimate, &html! {
                (bar(Tone::Estimate, (horizontal.at(low), bottom - 4.0), (horizontal.at(high), bottom), 0.9))
                (rule(Tone::Estimate, (horizontal.at(median), TOP), (horizontal.at(median), bottom), 1.5))
            }))
            (named(horizontal, median, TOP - 6.0, Tone::Ink, &compact(median)))
            @if let Some(truth) = self.truth {
                @let x = horizontal.at(truth);
                @let words = format!("public {}", compact(truth));
                (labelled(&words, &rule(Tone::Truth, (x, TOP), (x, bottom), 2.5)))
                (named(horizontal, truth, TOP - 20.0, Tone::Truth, &words))
            }
        }
    }

    fn table(&self) -> Table {
        let points = self.values.iter().zip(&self.prior).zip(&self.posterior);
        let row = |((value, prior), posterior): ((&f64, &f64), &f64)| {
            vec![(*value).into(), (*prior).into(), (*posterior).into()]
        };
        Table {
            columns: vec!["value", "prior_density", "posterior_density"],
            rows: points.map(row).collect(),
        }
    }
}

/// Words above a value; near an end of the drawing they are next to it.
fn named(scale: &Scale, value: f64, y: f64, tone: Tone, words: &str) -> Markup {
    let x = scale.at(value);
    let anchor = if x < 70.0 {
        Anchor::Start
    } else if x > WIDTH - 70.0 {
        Anchor::End
    } else {
        Anchor::Middle
    };
    text(tone, (x, y), anchor, words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_public_value_is_drawn_even_outside_the_grid() {
        let densities = Densities {
            title: "t".to_owned(),
            description: "d".to_owned(),
            values: vec![1e9, 1e10, 1e11],
            prior: vec![0.1, 0.2, 0.1],
            posterior: vec![0.0, 0.5, 0.1],
            estimate: (1e10, (5e9, 3e10)),
            truth: Some(1e12),
        };
        let chart = densities.chart();
        let svg = chart.svg().into_string();
        assert!(svg.contains("public 1.00T"), "{svg}");
        assert!(svg.contains("Estimate 10.0B (5.00B to 30.0B)"), "{svg}");
        assert_eq!(chart.table.rows.len(), 3);
    }
}
