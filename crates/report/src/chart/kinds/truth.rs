//! Estimates against public values: one mark per model, a dot where the interval holds the value and a diamond where it does
//! not.

use maud::{Markup, html};

use crate::chart::axis::short;
use crate::chart::frame::{Frame, Plane};
use crate::chart::mark::{area, dashed, dot, labelled, rule};
use crate::chart::scale::{Scale, extent};
use crate::chart::table::{Table, yes_or_no};
use crate::chart::tone::Tone;
use crate::chart::{Chart, Words};
use crate::words::spread;
use unroof_base::units::compact;
use unroof_infer::posterior::Interval;

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
    pub interval_90: Interval,
    /// Whether the interval holds the value.
    pub is_inside: bool,
}

/// Chart of estimates against true values.
#[must_use]
pub fn truth(words: Words, models: &[Scored]) -> Chart {
    // Medians and truths have the same axis; intervals are cut at its ends.
    let values = models.iter().flat_map(|model| [model.truth, model.median]);
    let (low, high) = extent(values);
    let ends = (low / 3.0, high * 3.0);
    let plane = Plane {
        frame: FRAME,
        across: Scale::log(ends, FRAME.across()),
        up: Scale::log(ends, FRAME.up()),
    };
    let equal = plane.path([(ends.0, ends.0), (ends.1, ends.1)]);
    let drawing = html! {
        (plane.axes([short, short], ["public value", "estimate"]))
        (dashed(Tone::Truth, &equal, 1.5))
        @for model in models { (model.marks(&plane)) }
    };
    let table = Table::of(
        models,
        &[
            ("model", |model| model.name.as_str().into()),
            ("public_value", |model| model.truth.into()),
            ("median", |model| model.median.into()),
            ("low_90", |model| model.interval_90.low.into()),
            ("high_90", |model| model.interval_90.high.into()),
            ("inside_90", |model| yes_or_no(model.is_inside)),
        ],
    );
    words.chart(FRAME.size(), drawing, table)
}

impl Scored {
    fn marks(&self, plane: &Plane) -> Markup {
        let at = |value: f64| plane.at((self.truth, value));
        let (x, y) = at(self.median);
        let (tone, verdict) = if self.is_inside {
            (Tone::Estimate, "inside")
        } else {
            (Tone::Bad, "outside")
        };
        let diamond = [
            (x, y - DIAMOND),
            (x + DIAMOND, y),
            (x, y + DIAMOND),
            (x - DIAMOND, y),
        ];
        let marks = html! {
            g opacity="0.35" { (rule(tone, at(self.interval_90.low), at(self.interval_90.high), 1.5)) }
            @if self.is_inside { (dot(tone, (x, y), 3.5, 0.85)) } @else { (area(tone, &diamond, 0.9)) }
        };
        let words = format!(
            "{}: {} is public, estimated {}, {verdict}",
            self.name,
            compact(self.truth),
            spread(self.median, self.interval_90)
        );
        labelled(&words, &marks)
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
            interval_90: Interval {
                low: 1.5e10,
                high: 4e10,
            },
            is_inside,
        };
        let words = Words {
            title: "t".to_owned(),
            description: "d".to_owned(),
        };
        let chart = truth(words, &[model("hit", true), model("miss", false)]);
        let svg = chart.svg().into_string();
        assert_eq!(svg.matches("<circle").count(), 1, "{svg}");
        assert!(
            svg.contains("miss: 10.0B is public, estimated 20.0B (15.0B to 40.0B), outside"),
            "{svg}"
        );
    }
}
