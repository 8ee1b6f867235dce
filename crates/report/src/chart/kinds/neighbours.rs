//! A model among open-weight models: two of its quantities against one another.

use maud::{Markup, html};

use crate::chart::Chart;
use crate::chart::axis::short;
use crate::chart::frame;
use crate::chart::frame::{Axis, Frame};
use crate::chart::labels::{Area, beside};
use crate::chart::mark::{dot, labelled, rule, text};
use crate::chart::scale::{Scale, extent};
use crate::chart::table::{Cell, Table};
use crate::chart::tone::Tone;
use unroof_base::units::compact;

/// Sides of the drawing.
const FRAME: Frame = Frame::new(frame::WIDTH, 250.0);

/// A point: horizontal and vertical value.
pub type Point = (f64, f64);

/// A model among others.
#[derive(Debug, Clone)]
pub struct Neighbours {
    /// Finding of the chart.
    pub title: String,
    /// The finding with its figures.
    pub description: String,
    /// Names of the axes, with units.
    pub axes: [&'static str; 2],
    /// Medians of the estimate.
    pub estimate: Point,
    /// 90 % intervals of the estimate.
    pub intervals: [(f64, f64); 2],
    /// Open-weight models by name.
    pub models: Vec<(String, Point)>,
}

impl Neighbours {
    /// Chart of the neighbours.
    pub fn chart(self) -> Chart {
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
        let (level, upright) = (
            [at((left, y)), at((right, y))],
            [at((x, low)), at((x, high))],
        );
        let dots: Vec<(Point, &str)> = self
            .models
            .iter()
            .map(|(name, point)| (at(*point), name.as_str()))
            .collect();
        let taken = [level, upright].map(|[from, to]| Area::of_line(from, to));
        let within = Area {
            across: (FRAME.left, FRAME.width),
            down: (FRAME.top, FRAME.bottom),
        };
        let labels = beside(&dots, &taken, within);
        html! {
            (labelled(&words, &html! {
                (rule(Tone::Estimate, level[0], level[1], 2.0))
                (rule(Tone::Estimate, upright[0], upright[1], 2.0))
                (dot(Tone::Estimate, at((x, y)), 5.0, 1.0))
            }))
            @for ((place, name), label) in dots.iter().zip(&labels) {
                (labelled(name, &html! {
                    (dot(Tone::Truth, *place, 4.0, 1.0))
                    @if let Some(label) = label { (text(Tone::Ink, label.at, label.anchor, &label.words)) }
                }))
            }
        }
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
    fn every_model_is_read_out_and_named_where_there_is_a_place() {
        let neighbours = Neighbours {
            title: "t".to_owned(),
            description: "d".to_owned(),
            axes: ["active", "total"],
            estimate: (1e10, 1e11),
            intervals: [(5e9, 2e10), (5e10, 2e11)],
            models: vec![
                ("one".to_owned(), (8e9, 8e10)),
                ("two".to_owned(), (2e10, 2e11)),
            ],
        };
        let chart = neighbours.chart();
        let drawing = chart.svg().into_string();
        assert!(
            drawing.contains(">one</text>") && drawing.contains(">two</text>"),
            "{drawing}"
        );
        assert_eq!(drawing.matches("data-label").count(), 3);
        assert_eq!(chart.table.rows.len(), 3);
    }
}
