//! One quantity of several models: a strip per model on one shared axis.

use maud::html;

use super::Chart;
use super::axis;
use super::mark::{Anchor, text};
use super::scale::{Scale, extent};
use super::table::Table;
use super::tone::Tone;
use crate::chart::kinds::strip::Strip;
use unroof_base::units::compact;

/// Width of a drawing that a telephone shows without scrolling.
const WIDTH: f64 = 380.0;
/// Space at the left and at the right.
const SIDE: f64 = 24.0;
/// Height of a row: its name, its words, and the strip below them.
const ROW: f64 = 58.0;
/// Height of the axis below.
const AXIS: f64 = 26.0;

/// Strips on a shared axis.
#[derive(Debug, Clone)]
pub struct Aligned {
    /// Finding of the chart.
    pub title: String,
    /// The finding with its figures.
    pub description: String,
    /// Names with their strips.
    pub strips: Vec<(String, Strip)>,
}

impl Aligned {
    /// Chart of the aligned series.
    pub fn chart(self) -> Chart {
        let values = self.strips.iter().flat_map(|(_, strip)| {
            let (low, high) = strip.interval_90;
            [Some(low), Some(high), strip.truth].into_iter().flatten()
        });
        let (low, high) = extent(values);
        let scale = Scale::log((low * 0.85, high * 1.15), (SIDE, WIDTH - SIDE));
        #[expect(clippy::cast_precision_loss, reason = "a handful of rows")]
        let top = |number: usize| ROW * number as f64;
        let bottom = top(self.strips.len());
        let drawing = html! {
            (axis::horizontal(&scale, (0.0, bottom), &axis::named(&scale, 5, compact)))
            @for (number, (name, strip)) in self.strips.iter().enumerate() {
                (text(Tone::Ink, (2.0, top(number) + 15.0), Anchor::Start, name))
                (text(Tone::Muted, (2.0, top(number) + 31.0), Anchor::Start, &strip.words()))
                (strip.marks(&scale, top(number) + 45.0))
            }
        };
        Chart {
            width: WIDTH,
            height: bottom + AXIS,
            drawing,
            table: self.table(),
            title: self.title,
            description: self.description,
        }
    }

    fn table(&self) -> Table {
        let row = |(name, strip): &(String, Strip)| {
            let identified = if strip.identified { "yes" } else { "no" };
            let (low, high) = strip.interval_90;
            vec![
                name.as_str().into(),
                strip.median.into(),
                low.into(),
                high.into(),
                identified.into(),
                strip.truth.into(),
            ]
        };
        Table {
            columns: vec![
                "model",
                "median",
                "low_90",
                "high_90",
                "identified",
                "public_value",
            ],
            rows: self.strips.iter().map(row).collect(),
        }
    }
}
