//! Estimates against public values: one mark per model, a dot where the interval holds the value and a diamond where it does
//! not.

use maud::{Markup, html};

use crate::chart::Chart;
use crate::chart::axis::short;
use crate::chart::frame::{Axis, Frame};
use crate::chart::mark::{area, dashed, dot, labelled, rule};
use crate::chart::scale::{Scale, extent};
use crate::chart::table::Table;
use crate::chart::tone::Tone;
use unroof_base::units::compact;

/// Sides of the drawing, which is as high as it is wide.
const FRAME: Frame = Frame::new(400.0, 332.0);
/// Half of a diamond.
const DIAMOND: f64 = 5.5;

/// A model with its estimate and the public value.
#[derive(Debug, Clone)]
pub struct Scored {
    /// Name of the model, with the host where there is one.
    pub name: String,
    /// Published value of the quantity.
    pub truth: f64,
    /// Median of the estimate.
    pub median: f64,
    /// 90 % interval of the estimate.
    pub interval_90: (f64, f64),
    /// Whether the interval holds the value.
    pub is_inside: bool,
}

/// Scatter of estimates against true values.
#[derive(Debug, Clone)]
pub struct Truth {
    /// Finding of the chart.
    pub title: String,
    /// The finding with its figures.
    pub description: String,
    /// Models with their true values.
    pub models: Vec<Scored>,
}

impl Truth {
    /// Chart of estimates against true values.
    pub fn chart(self) -> Chart {
        // Medians and truths have the same axis; intervals are cut at its ends.
        let models = self.models.iter();
        let (low, high) = extent(models.flat_map(|model| [model.truth, model.median]));
        let (low, high) = (low / 3.0, high * 3.0);
        let across = Scale::log((low, high), FRAME.across());
        let up = Scale::log((low, high), FRAME.up());
        let drawing = html! {
            (FRAME.axes(&Axis::new(&across, 8, short, "public value"), &Axis::new(&up, 8, short, "estimate")))
            (dashed(Tone::Truth, &[(across.at(low), up.at(low)), (across.at(high), up.at(high))], 1.5))
            @for model in &self.models { (model.marks(&across, &up)) }
        };
        Chart {
            width: FRAME.width,
            height: FRAME.height(),
            drawing,
            table: self.table(),
            title: self.title,
            description: self.description,
        }
    }

    fn table(&self) -> Table {
        let row = |model: &Scored| {
            let inside = if model.is_inside { "yes" } else { "no" };
            let (low, high) = model.interval_90;
            vec![
                model.name.as_str().into(),
                model.truth.into(),
                model.median.into(),
                low.into(),
                high.into(),
                inside.into(),
            ]
        };
        Table {
            columns: vec![
                "model",
                "public_value",
                "median",
                "low_90",
                "high_90",
                "inside_90",
            ],
            rows: self.models.iter().map(row).collect(),
        }
    }
}

impl Scored {
    fn marks(&self, across: &Scale, up: &Scale) -> Markup {
        let (x, y) = (across.at(self.truth), up.at(self.median));
        let (low, high) = self.interval_90;
        let tone = if self.is_inside {
            Tone::Estimate
        } else {
            Tone::Bad
        };
        let diamond = [
            (x, y - DIAMOND),
            (x + DIAMOND, y),
            (x, y + DIAMOND),
            (x - DIAMOND, y),
        ];
        let marks = html! {
            g opacity="0.35" { (rule(tone, (x, up.at(low)), (x, up.at(high)), 1.5)) }
            @if self.is_inside { (dot(tone, (x, y), 3.5, 0.85)) } @else { (area(tone, &diamond, 0.9)) }
        };
        labelled(&self.words(), &marks)
    }

    fn words(&self) -> String {
        let (low, high) = self.interval_90;
        let verdict = if self.is_inside { "inside" } else { "outside" };
        format!(
            "{}: {} is public, estimated {} ({} to {}), {verdict}",
            self.name,
            compact(self.truth),
            compact(self.median),
            compact(low),
            compact(high)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hits_are_dots_and_misses_are_diamonds() {
        let model = |name: &str, is_inside| Scored {
            name: name.to_owned(),
            truth: 1e10,
            median: 2e10,
            interval_90: (1.5e10, 4e10),
            is_inside,
        };
        let chart = Truth {
            title: "t".to_owned(),
            description: "d".to_owned(),
            models: vec![model("hit", true), model("miss", false)],
        };
        let svg = chart.chart().svg().into_string();
        assert_eq!(svg.matches("<circle").count(), 1, "{svg}");
        assert!(
            svg.contains("miss: 10.0B is public, estimated 20.0B (15.0B to 40.0B), outside"),
            "{svg}"
        );
    }
}
