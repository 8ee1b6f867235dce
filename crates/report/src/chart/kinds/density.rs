//! Prior and posterior of a quantity as densities on one logarithmic axis, with the value that is public.

use maud::{Markup, html};

use crate::chart::axis::{self, short};
use crate::chart::frame::{AXIS, WIDTH};
use crate::chart::mark::{Anchor, area, bar, labelled, line, rule, text};
use crate::chart::scale::{Scale, extent};
use crate::chart::table::Table;
use crate::chart::tone::Tone;
use crate::chart::{Chart, Words};
use crate::words::{capital, ends, spread};
use unroof_base::units::compact;
use unroof_infer::estimate::LEAST_BITS;
use unroof_infer::estimate::density::QuantityDensity;
use unroof_infer::estimate::quantities::JointQuantity;
use unroof_infer::estimate::record::stored_estimate::EstimatedQuantity;

/// Upper side of the curves, below the words.
const TOP: f64 = 34.0;
/// Lower side of the curves.
const BOTTOM: f64 = TOP + 130.0;
/// Space at the left and at the right.
const SIDE: f64 = 16.0;

/// Chart of the densities of a quantity, with the value that is public.
#[must_use]
pub fn density(
    quantity: JointQuantity,
    own: &EstimatedQuantity,
    density: &QuantityDensity,
    truth: Option<f64>,
) -> Chart {
    let points = density.values.iter().zip(&density.prior);
    let table = Table::of(
        points.zip(&density.posterior),
        &[
            ("value", |((value, _), _)| (**value).into()),
            ("prior_density", |((_, prior), _)| (**prior).into()),
            ("posterior_density", |(_, posterior)| (**posterior).into()),
        ],
    );
    words(quantity, own, truth).chart((WIDTH, BOTTOM + AXIS), drawing(own, density, truth), table)
}

fn words(quantity: JointQuantity, own: &EstimatedQuantity, truth: Option<f64>) -> Words {
    let definition = quantity.definition();
    let label = capital(definition.label);
    let (median, interval) = (compact(own.median), own.interval_90);
    let span = ends(interval);
    let title = if own.identified {
        format!("{label}: probably {median} ({span})")
    } else if own.information_gained_bits < LEAST_BITS {
        format!("{label} not identified: {median} ({span}) is mostly the prior")
    } else {
        format!("{label}: {median} ({span}), not identified")
    };
    let of_truth = truth.map(|truth| {
        let is_inside = (interval.low..=interval.high).contains(&truth);
        let place = if is_inside { "inside" } else { "outside" };
        let truth = compact(truth);
        format!(" The public value, {truth}, is {place} the 90\u{a0}% interval.")
    });
    let description = format!(
        "{}. Grey is the prior, with a median of {}; blue is the estimate; the bar below has 90\u{a0}% of it.{}",
        definition.description,
        compact(own.prior.median),
        of_truth.unwrap_or_default(),
    );
    Words { title, description }
}

fn drawing(own: &EstimatedQuantity, density: &QuantityDensity, truth: Option<f64>) -> Markup {
    let values = density.values.iter().chain(&truth).copied();
    let across = Scale::log(extent(values), (SIDE, WIDTH - SIDE));
    let heights = density.prior.iter().chain(&density.posterior).copied();
    let highest = heights.fold(f64::MIN_POSITIVE, f64::max);
    let up = Scale::linear((0.0, highest), (BOTTOM, TOP));
    let curve = |heights: &[f64]| -> Vec<(f64, f64)> {
        let points = density.values.iter().zip(heights);
        points
            .map(|(value, height)| (across.at(*value), up.at(*height)))
            .collect()
    };
    let filled = |heights: &[f64]| {
        let (start, end) = across.range();
        [vec![(start, BOTTOM)], curve(heights), vec![(end, BOTTOM)]].concat()
    };
    let upright = |tone, x, width| rule(tone, (x, TOP), (x, BOTTOM), width);
    let (low, high) = (
        across.at(own.interval_90.low),
        across.at(own.interval_90.high),
    );
    let median = across.at(own.median);
    let estimate = format!("Estimate {}", spread(own.median, own.interval_90));
    html! {
        (axis::horizontal(&across, (TOP, BOTTOM), short))
        (labelled("Before any price: the prior, in grey", &area(Tone::Prior, &filled(&density.prior), 0.35)))
        (area(Tone::Estimate, &filled(&density.posterior), 0.3))
        (line(Tone::Estimate, &curve(&density.posterior), 2.0))
        (labelled(&estimate, &html! {
            (bar(Tone::Estimate, (low, BOTTOM - 4.0), (high, BOTTOM), 0.9))
            (upright(Tone::Estimate, median, 1.5))
        }))
        (named((median, TOP - 6.0), Tone::Ink, &compact(own.median)))
        @if let Some(truth) = truth {
            @let x = across.at(truth);
            @let words = format!("public {}", compact(truth));
            (labelled(&words, &upright(Tone::Truth, x, 2.5)))
            (named((x, TOP - 20.0), Tone::Truth, &words))
        }
    }
}

/// Words above a place; near an end of the drawing they are next to it.
fn named(place: (f64, f64), tone: Tone, words: &str) -> Markup {
    let anchor = match place.0 {
        x if x < 70.0 => Anchor::Start,
        x if x > WIDTH - 70.0 => Anchor::End,
        _ => Anchor::Middle,
    };
    text(tone, place, anchor, words)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_public_value_is_drawn_even_outside_the_grid() {
        let interval = json!({"low": 5e9, "high": 3e10});
        let own = serde_json::from_value(json!({
            "median": 1e10, "interval_50": interval, "interval_90": interval,
            "prior": {"median": 1e10, "interval_50": interval, "interval_90": interval}, "information_gained_bits": 1.0, "identified": true,
            "moved_by": [],
        }));
        let drawn = QuantityDensity {
            quantity: "active_parameters",
            label: "active parameters",
            unit: "parameters",
            median: 1e10,
            values: vec![1e9, 1e10, 1e11],
            prior: vec![0.1, 0.2, 0.1],
            posterior: vec![0.0, 0.5, 0.1],
        };
        let quantity = JointQuantity::ActiveParameters;
        let chart = density(quantity, &own.unwrap(), &drawn, Some(1e12));
        let svg = chart.svg().into_string();
        assert!(svg.contains("public 1.00T"), "{svg}");
        assert!(svg.contains("Estimate 10.0B (5.00B to 30.0B)"), "{svg}");
        assert_eq!(chart.table.rows.len(), 3);
    }
}
