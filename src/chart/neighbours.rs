//! A model among open-weight models: two of its quantities against one another.

use maud::{Markup, html};

use super::Chart;
use super::axis::short;
use super::frame::{self, Axis, Frame};
use super::mark::{Anchor, dot, labelled, rule, text};
use super::scale::{Scale, extent};
use super::table::{Cell, Table};
use super::tone::Tone;
use unroof_core::units::compact;

/// Sides of the drawing.
const FRAME: Frame = Frame::new(frame::WIDTH, 250.0);
/// Least distance between two names.
const APART: f64 = 15.0;

/// A point: horizontal and vertical value.
pub(crate) type Point = (f64, f64);

/// A model among others.
#[derive(Debug, Clone)]
pub(crate) struct Neighbours {
    /// Their finding.
    pub(crate) title: String,
    /// The finding with its figures.
    pub(crate) description: String,
    /// Names of the axes, with units.
    pub(crate) axes: [&'static str; 2],
    /// Medians of the estimate.
    pub(crate) estimate: Point,
    /// 90 % intervals of the estimate.
    pub(crate) intervals: [(f64, f64); 2],
    /// Open-weight models by name.
    pub(crate) models: Vec<(String, Point)>,
}

impl Neighbours {
    /// Their chart.
    pub(crate) fn chart(self) -> Chart {
        let ends = |of: fn(&Point) -> f64, interval: (f64, f64)| {
            let models = self.models.iter().map(|(_, point)| of(point));
            let (low, high) = extent(models.chain([interval.0, interval.1]));
            (low * 0.6, high * 1.6)
        };
        let horizontal = Scale::log(ends(|point| point.0, self.intervals[0]), FRAME.across());
        let vertical = Scale::log(ends(|point| point.1, self.intervals[1]), FRAME.up());
        let names = self.axes.map(|name| name.replace('_', " "));
        let drawing = html! {
            (FRAME.axes(
                &Axis::new(&horizontal, 7, short, &names[0]),
                &Axis::new(&vertical, 6, short, &names[1]),
            ))
            (self.drawing(&horizontal, &vertical))
        };
        Chart {
            drawing,
            table: self.table(),
            title: self.title,
            description: self.description,
            width: FRAME.width,
            height: FRAME.height(),
        }
    }

    fn drawing(&self, horizontal: &Scale, vertical: &Scale) -> Markup {
        let at = |(x, y): Point| (horizontal.at(x), vertical.at(y));
        let [(left, right), (low, high)] = self.intervals;
        let (x, y) = self.estimate;
        let words = format!("The estimate: {} and {}", compact(x), compact(y));
        html! {
            (labelled(&words, &html! {
                (rule(Tone::Estimate, at((left, y)), at((right, y)), 2.0))
                (rule(Tone::Estimate, at((x, low)), at((x, high)), 2.0))
                (dot(Tone::Estimate, at((x, y)), 5.0, 1.0))
            }))
            @for (name, place, height) in self.places(horizontal, vertical) {
                @let anchor = if place.0 > FRAME.width / 2.0 { Anchor::End } else { Anchor::Start };
                @let beside = if anchor == Anchor::End { -8.0 } else { 8.0 };
                (labelled(name, &dot(Tone::Truth, place, 4.0, 1.0)))
                (text(Tone::Ink, (place.0 + beside, height + 4.0), anchor, name))
            }
        }
    }

    /// Names with the places of their dots and the heights of their words, which keep apart.
    fn places(&self, horizontal: &Scale, vertical: &Scale) -> Vec<(&str, Point, f64)> {
        let place = |(name, (x, y)): &'_ (String, Point)| {
            (horizontal.at(*x), vertical.at(*y), name.clone())
        };
        let mut places: Vec<(usize, (f64, f64, String))> =
            self.models.iter().map(place).enumerate().collect();
        places.sort_by(|(_, one), (_, other)| one.1.total_cmp(&other.1));
        let mut last = f64::NEG_INFINITY;
        let apart = |(number, (x, y, _)): (usize, (f64, f64, String))| {
            last = y.max(last + APART);
            (self.models[number].0.as_str(), (x, y), last)
        };
        places.into_iter().map(apart).collect()
    }

    fn table(&self) -> Table {
        let row = |name: &str, (x, y): Point| vec![Cell::from(name), x.into(), y.into()];
        let models = self.models.iter().map(|(name, point)| row(name, *point));
        Table {
            columns: vec!["model", self.axes[0], self.axes[1]],
            rows: std::iter::once(row("the estimate", self.estimate))
                .chain(models)
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_models_of_one_size_keep_apart() {
        let neighbours = Neighbours {
            title: "t".to_owned(),
            description: "d".to_owned(),
            axes: ["active", "total"],
            estimate: (1e10, 1e11),
            intervals: [(5e9, 2e10), (5e10, 2e11)],
            models: vec![
                ("a".to_owned(), (1e10, 1e11)),
                ("b".to_owned(), (1e10, 1e11)),
            ],
        };
        let scale = Scale::log((1e9, 1e12), (0.0, 100.0));
        let places = neighbours.places(&scale, &scale);
        assert!((places[1].2 - places[0].2 - APART).abs() < 1e-9);
        assert_eq!(neighbours.chart().table.rows.len(), 3);
    }
}
