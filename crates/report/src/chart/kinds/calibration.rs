//! The calibration curve: the share of public values that intervals hold, over the share that they should hold.

use maud::html;

use crate::chart::frame::{Frame, Plane, Point};
use crate::chart::mark::{dashed, dot, labelled, line};
use crate::chart::scale::Scale;
use crate::chart::table::Table;
use crate::chart::tone::Tone;
use crate::chart::{Chart, Words};
use crate::words::percent;

/// Sides of the drawing.
const FRAME: Frame = Frame::new(400.0, 316.0);

/// Chart of actual shares over nominal ones.
#[must_use]
pub fn calibration(words: Words, points: &[Point]) -> Chart {
    let plane = Plane {
        frame: FRAME,
        across: Scale::linear((0.0, 1.0), FRAME.across()),
        up: Scale::linear((0.0, 1.0), FRAME.up()),
    };
    let ideal = plane.path([(0.0, 0.0), (1.0, 1.0)]);
    let drawing = html! {
        (plane.axes([percent, percent], ["probability of the interval", "public values inside"]))
        (dashed(Tone::Truth, &ideal, 1.5))
        (line(Tone::Estimate, &plane.path(points.iter().copied()), 2.0))
        @for (nominal, covered) in points {
            @let words = format!("Intervals of {} hold {} of the public values", percent(*nominal), percent(*covered));
            (labelled(&words, &dot(Tone::Estimate, plane.at((*nominal, *covered)), 3.5, 1.0)))
        }
    };
    let table = Table::of(
        points,
        &[
            ("nominal", |point| point.0.into()),
            ("covered", |point| point.1.into()),
        ],
    );
    words.chart(FRAME.size(), drawing, table)
}
