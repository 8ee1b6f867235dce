//! A model among open-weight models: two of its quantities against one another.

use maud::{Markup, html};

use crate::chart::axis::short;
use crate::chart::frame::{self, Frame, Plane, Point};
use crate::chart::labels::{Area, beside};
use crate::chart::mark::{dot, labelled, rule, text};
use crate::chart::scale::Scale;
use crate::chart::table::Table;
use crate::chart::tone::Tone;
use crate::chart::{Chart, Words};
use crate::words::spaced;
use unroof_base::units::compact;
use unroof_infer::estimate::StoredEstimate;
use unroof_infer::estimate::nearest::NearModel;
use unroof_infer::estimate::quantities::JointQuantity;
use unroof_infer::estimate::record::stored_estimate::EstimatedQuantity;

/// Sides of the drawing.
const FRAME: Frame = Frame::new(frame::WIDTH, 250.0);

/// Chart of the active parameters of an estimate against another quantity among open-weight models; `None` if
/// the estimate lacks one of the two.
#[must_use]
pub fn neighbours(estimate: &StoredEstimate, against: JointQuantity) -> Option<Chart> {
    let active = estimate.quantity(JointQuantity::ActiveParameters)?;
    let own = [active, estimate.quantity(against)?];
    let is_of_cache = against == JointQuantity::KvBytesRead;
    let name = if is_of_cache {
        "kv_bytes_per_token"
    } else {
        "total_parameters"
    };
    let near = estimate.nearest_open_models.iter();
    let point = |model: &NearModel| {
        let other = if is_of_cache {
            model.kv_bytes_per_token_read
        } else {
            model.total_parameters
        };
        (model.active_parameters, other)
    };
    let models: Vec<(&str, Point)> = near
        .map(|model| (model.name.as_str(), point(model)))
        .collect();
    Some(words(estimate, against).chart(
        FRAME.size(),
        drawing(own, name, &models),
        table(own, name, &models),
    ))
}

fn words(estimate: &StoredEstimate, against: JointQuantity) -> Words {
    let nearest = estimate.nearest_open_models.first();
    Words {
        title: nearest.map_or_else(
            || "No open-weight model is near".to_owned(),
            |nearest| {
                let distance = compact(nearest.distance);
                format!(
                    "Of the open-weight models {} is nearest: {distance} standard deviations away",
                    nearest.name
                )
            },
        ),
        description: format!(
            "Active parameters against {}. The cross is the estimate with its 90\u{a0}% intervals, dots are the five open-weight \
             models with the most similar figures.",
            against.definition().label
        ),
    }
}

fn drawing(own: [&EstimatedQuantity; 2], name: &str, models: &[(&str, Point)]) -> Markup {
    let scale = |place: usize, of: fn(&Point) -> f64, range| {
        let interval = own[place].interval_90;
        let models = models.iter().map(|(_, point)| of(point));
        Scale::around(
            models.chain([interval.low, interval.high]),
            (0.6, 1.6),
            range,
        )
    };
    let plane = Plane {
        frame: FRAME,
        across: scale(0, |point| point.0, FRAME.across()),
        up: scale(1, |point| point.1, FRAME.up()),
    };
    let [(x, across), (y, up)] = own.map(|own| (own.median, own.interval_90));
    let words = format!("The estimate: {} and {}", compact(x), compact(y));
    let lines = [
        [(across.low, y), (across.high, y)],
        [(x, up.low), (x, up.high)],
    ];
    let lines = lines.map(|ends| ends.map(|end| plane.at(end)));
    let dots: Vec<(Point, &str)> = models
        .iter()
        .map(|(name, point)| (plane.at(*point), *name))
        .collect();
    let taken = lines.map(|[from, to]| Area::of_line(from, to));
    let within = Area {
        across: (FRAME.left, FRAME.width),
        down: (FRAME.top, FRAME.bottom),
    };
    let labels = beside(&dots, &taken, within);
    html! {
        (plane.axes([short, short], ["active parameters", &spaced(name)]))
        (labelled(&words, &html! {
            @for [from, to] in lines { (rule(Tone::Estimate, from, to, 2.0)) }
            (dot(Tone::Estimate, plane.at((x, y)), 5.0, 1.0))
        }))
        @for ((place, name), label) in dots.iter().zip(&labels) {
            (labelled(name, &html! {
                (dot(Tone::Truth, *place, 4.0, 1.0))
                @if let Some(label) = label { (text(Tone::Ink, label.at, label.anchor, &label.words)) }
            }))
        }
    }
}

fn table(
    [active, other]: [&EstimatedQuantity; 2],
    name: &'static str,
    models: &[(&str, Point)],
) -> Table {
    let estimate = ("the estimate", (active.median, other.median));
    Table::of(
        std::iter::once(&estimate).chain(models),
        &[
            ("model", |(name, _)| (*name).into()),
            ("active_parameters", |(_, point)| point.0.into()),
            (name, |(_, point)| point.1.into()),
        ],
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_model_is_read_out_and_named_where_there_is_a_place() {
        let own = |median: f64| -> EstimatedQuantity {
            let interval = json!({"low": 0.5 * median, "high": 2.0 * median});
            serde_json::from_value(json!({
                "median": median, "interval_50": interval, "interval_90": interval,
                "prior": {"median": median, "interval_50": interval, "interval_90": interval}, "information_gained_bits": 1.0, "identified": true,
                "moved_by": [],
            }))
            .unwrap()
        };
        let own = [&own(1e10), &own(1e11)];
        let models = [("one", (8e9, 8e10)), ("two", (2e10, 2e11))];
        let drawing = drawing(own, "total_parameters", &models).into_string();
        assert!(
            drawing.contains(">one</text>") && drawing.contains(">two</text>"),
            "{drawing}"
        );
        assert_eq!(drawing.matches("data-label").count(), 3);
        assert_eq!(table(own, "total_parameters", &models).rows.len(), 3);
    }
}
