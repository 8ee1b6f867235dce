//! The calibration curve: the share of public values that intervals hold, over the share that they should hold.

use maud::html;

use super::Chart;
use super::axis;
use super::mark::{Anchor, dashed, dot, labelled, line, text};
use super::scale::Scale;
use super::table::Table;
use super::tone::Tone;

/// Width of a drawing that a telephone shows without scrolling.
const WIDTH: f64 = 400.0;
/// Height of the drawing.
const HEIGHT: f64 = 380.0;
/// Space for the values of the vertical axis.
const LEFT: f64 = 52.0;
/// Space at the right.
const RIGHT: f64 = 24.0;
/// Space above, for the name of the vertical axis.
const TOP: f64 = 24.0;
/// Place of the horizontal axis.
const BOTTOM: f64 = HEIGHT - 40.0;

/// The curve.
#[derive(Debug, Clone)]
pub(crate) struct Calibration {
    /// The finding.
    pub(crate) title: String,
    /// The finding with its figures.
    pub(crate) description: String,
    /// Nominal and actual shares.
    pub(crate) points: Vec<(f64, f64)>,
}

impl Calibration {
    /// Its chart.
    pub(crate) fn chart(self) -> Chart {
        let across = Scale::linear((0.0, 1.0), (LEFT, WIDTH - RIGHT));
        let up = Scale::linear((0.0, 1.0), (BOTTOM, TOP));
        let percent = |share: f64| format!("{:.0} %", 100.0 * share);
        let place = |(nominal, covered): &(f64, f64)| (across.at(*nominal), up.at(*covered));
        let places: Vec<_> = self.points.iter().map(place).collect();
        let drawing = html! {
            (axis::horizontal(&across, (TOP, BOTTOM), &axis::named(&across, 5, percent)))
            (axis::vertical(&up, (LEFT, WIDTH - RIGHT), &axis::named(&up, 5, percent)))
            (text(Tone::Muted, (2.0, 12.0), Anchor::Start, "public values inside"))
            (text(Tone::Muted, (WIDTH - RIGHT, HEIGHT - 6.0), Anchor::End, "probability of the interval"))
            (dashed(Tone::Truth, &[(LEFT, BOTTOM), (WIDTH - RIGHT, TOP)], 1.5))
            (line(Tone::Estimate, &places, 2.0))
            @for (point, place) in self.points.iter().zip(&places) {
                @let words = format!("Intervals of {} hold {} of the public values", percent(point.0), percent(point.1));
                (labelled(&words, &dot(Tone::Estimate, *place, 3.5, 1.0)))
            }
        };
        let row = |(nominal, covered): &(f64, f64)| vec![(*nominal).into(), (*covered).into()];
        Chart {
            width: WIDTH,
            height: HEIGHT,
            drawing,
            table: Table {
                columns: vec!["nominal", "covered"],
                rows: self.points.iter().map(row).collect(),
            },
            title: self.title,
            description: self.description,
        }
    }
}
