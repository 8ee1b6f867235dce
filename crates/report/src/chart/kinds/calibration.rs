//! The calibration curve: the share of public values that intervals hold, over the share that they should hold.

use maud::html;

use crate::chart::Chart;
use crate::chart::frame::{Axis, Frame};
use crate::chart::mark::{dashed, dot, labelled, line};
use crate::chart::scale::Scale;
use crate::chart::table::Table;
use crate::chart::tone::Tone;

/// Sides of the drawing.
const FRAME: Frame = Frame::new(400.0, 316.0);

/// Curve of actual shares against nominal ones.
#[derive(Debug, Clone)]
pub struct Calibration {
    /// Finding of the chart.
    pub title: String,
    /// The finding with its figures.
    pub description: String,
    /// Nominal and actual shares.
    pub points: Vec<(f64, f64)>,
}

impl Calibration {
    /// Chart of the curve.
    #[must_use]
    pub fn chart(self) -> Chart {
        let across = Scale::linear((0.0, 1.0), FRAME.across());
        let up = Scale::linear((0.0, 1.0), FRAME.up());
        let percent = |share: f64| format!("{:.0} %", 100.0 * share);
        let place = |(nominal, covered): &(f64, f64)| (across.at(*nominal), up.at(*covered));
        let places: Vec<_> = self.points.iter().map(place).collect();
        let drawing = html! {
            (FRAME.axes(
                &Axis::new(&across, 5, percent, "probability of the interval"),
                &Axis::new(&up, 5, percent, "public values inside"),
            ))
            (dashed(Tone::Truth, &[(FRAME.left, FRAME.bottom), (FRAME.right, FRAME.top)], 1.5))
            (line(Tone::Estimate, &places, 2.0))
            @for (point, place) in self.points.iter().zip(&places) {
                @let words = format!("Intervals of {} hold {} of the public values", percent(point.0), percent(point.1));
                (labelled(&words, &dot(Tone::Estimate, *place, 3.5, 1.0)))
            }
        };
        let row = |(nominal, covered): &(f64, f64)| vec![(*nominal).into(), (*covered).into()];
        Chart {
            width: FRAME.width,
            height: FRAME.height(),
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
