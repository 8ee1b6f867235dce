//! The frontier of serving: cost over speed, each point one way of running a machine.

use maud::{Markup, html};

use crate::chart::Chart;
use crate::chart::axis::short;
use crate::chart::frame::{Axis, Frame};
use crate::chart::mark::{Anchor, dot, labelled, line, text};
use crate::chart::scale::{Scale, extent};
use crate::chart::table::Table;
use crate::chart::tone::Tone;
use unroof_base::units::compact;

/// Sides of the drawing.
const FRAME: Frame = Frame::new(420.0, 236.0);

/// A way of running.
#[derive(Debug, Clone)]
pub struct Way {
    /// Name of the way, such as that of a batch.
    pub name: String,
    /// Tokens per second that one user gets.
    pub speed: f64,
    /// USD per million tokens.
    pub cost: f64,
    /// Whether no other is both faster and cheaper.
    pub on_front: bool,
    /// Whether it is the one that is asked about.
    pub is_chosen: bool,
}

/// Frontier of speed and cost.
#[derive(Debug, Clone)]
pub struct Frontier {
    /// Finding of the chart.
    pub title: String,
    /// The finding with its figures.
    pub description: String,
    /// Name of the vertical axis.
    pub cost_name: &'static str,
    /// Name of the column of ways.
    pub way_name: &'static str,
    /// The ways, by speed.
    pub ways: Vec<Way>,
}

impl Frontier {
    /// Chart of the frontier.
    #[must_use]
    pub fn chart(self) -> Chart {
        let ends = |value: fn(&Way) -> f64| extent(self.ways.iter().map(value));
        let (speeds, costs) = (ends(|way| way.speed), ends(|way| way.cost));
        let across = Scale::log((speeds.0 * 0.85, speeds.1 * 1.15), FRAME.across());
        let up = Scale::log((costs.0 * 0.8, costs.1 * 1.25), FRAME.up());
        let drawing = if self.ways.is_empty() {
            text(
                Tone::Muted,
                (FRAME.width / 2.0, FRAME.height() / 2.0),
                Anchor::Middle,
                "No way of running fits",
            )
        } else {
            self.drawing(&across, &up)
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

    fn drawing(&self, across: &Scale, up: &Scale) -> Markup {
        let place = |way: &Way| (across.at(way.speed), up.at(way.cost));
        let front: Vec<_> = self
            .ways
            .iter()
            .filter(|way| way.on_front)
            .map(place)
            .collect();
        html! {
            (FRAME.axes(
                &Axis::new(across, 6, short, "tokens per second for one user"),
                &Axis::new(up, 6, short, self.cost_name),
            ))
            (line(Tone::Estimate, &front, 1.5))
            @for way in &self.ways {
                @let (tone, radius) = match (way.is_chosen, way.on_front) {
                    (true, _) => (Tone::Truth, 6.0),
                    (false, true) => (Tone::Estimate, 3.5),
                    (false, false) => (Tone::Prior, 3.0),
                };
                (labelled(&way.words(), &dot(tone, place(way), radius, 1.0)))
            }
        }
    }

    fn table(&self) -> Table {
        let row = |way: &Way| {
            let front = if way.on_front { "yes" } else { "no" };
            vec![
                way.name.as_str().into(),
                way.speed.into(),
                way.cost.into(),
                front.into(),
            ]
        };
        Table {
            columns: vec![
                self.way_name,
                "tokens_per_second_per_user",
                "usd_per_mtok",
                "on_front",
            ],
            rows: self.ways.iter().map(row).collect(),
        }
    }
}

impl Way {
    fn words(&self) -> String {
        let chosen = if self.is_chosen { " (as asked)" } else { "" };
        format!(
            "{}{chosen}: {} tokens/s for one user at {} USD/Mtok",
            self.name,
            compact(self.speed),
            compact(self.cost)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frontier_has_its_ways_and_an_empty_one_says_so() {
        let way = |name: &str, speed, on_front| Way {
            name: name.to_owned(),
            speed,
            cost: 2.0,
            on_front,
            is_chosen: !on_front,
        };
        let mut frontier = Frontier {
            title: "t".to_owned(),
            description: "d".to_owned(),
            cost_name: "USD per million tokens",
            way_name: "batch",
            ways: vec![way("batch 1", 80.0, true), way("batch 64", 40.0, false)],
        };
        let chart = frontier.clone().chart();
        assert!(
            chart
                .svg()
                .into_string()
                .contains("batch 64 (as asked): 40.0 tokens/s")
        );
        assert_eq!(chart.table.rows.len(), 2);
        frontier.ways.clear();
        assert!(
            frontier
                .chart()
                .svg()
                .into_string()
                .contains("No way of running fits")
        );
    }
}
