//! The frontier of serving: cost over speed, each point one way of running a machine, or one plan of a fleet.

use maud::{Markup, html};

use crate::chart::axis::short;
use crate::chart::frame::{Frame, Plane, Point};
use crate::chart::mark::{Anchor, dot, labelled, line, text};
use crate::chart::scale::Scale;
use crate::chart::table::{Table, yes_or_no};
use crate::chart::tone::Tone;
use crate::chart::{Chart, Words};
use unroof_base::units::compact;
use unroof_roofline::calculator::simulate::SimulationAnswer;
use unroof_roofline::plan::PlanAnswer;

/// Sides of the drawing.
const FRAME: Frame = Frame::new(420.0, 236.0);

/// A way of running.
struct Way {
    /// Name of the way, such as that of a batch.
    name: String,
    /// Tokens per second that one user gets.
    speed: f64,
    /// USD per million tokens.
    cost: f64,
    /// Whether no other is both faster and cheaper.
    on_front: bool,
    /// Whether it is the one that is asked about.
    is_chosen: bool,
}

/// Cost over speed of one machine.
#[must_use]
pub fn of_machine(answer: &SimulationAnswer) -> Chart {
    let way = |batch, speed, cost: Option<f64>, on_front, is_chosen| {
        Some(Way {
            name: format!("batch {}", compact(batch)),
            speed,
            cost: cost?,
            on_front,
            is_chosen,
        })
    };
    let fitting = answer.series.iter().filter(|point| point.fits);
    let mut ways: Vec<Way> = fitting
        .filter_map(|point| {
            let (speed, cost) = (
                point.tokens_per_second_per_user,
                point.cost_output_usd_per_mtok,
            );
            way(point.batch, speed, cost, point.on_speed_cost_front, false)
        })
        .collect();
    let costs = ways.iter().map(|way| way.cost);
    let cheapest = costs.fold(f64::INFINITY, f64::min);
    let decode = &answer.decode;
    let (speed, cost) = (decode.tokens_per_second_per_user, decode.cost_usd_per_mtok);
    let title = cost.map_or_else(
        || "The accelerator has no published rent: state one to see the cost".to_owned(),
        |cost| {
            let dearer = (cost > 1.05 * cheapest)
                .then(|| format!("; the cheapest batch costs {}", compact(cheapest)));
            format!(
                "A batch of {} gives {} tokens/s at {} USD per million{}",
                compact(decode.batch),
                compact(speed),
                compact(cost),
                dearer.unwrap_or_default()
            )
        },
    );
    ways.extend(way(decode.batch, speed, cost, false, true));
    let words = Words {
        title,
        description: "Cost of generated tokens over the speed for one user; each dot is a batch that fits into memory, grey ones are \
                      both slower and dearer than another. Orange: the batch that was asked about."
            .to_owned(),
    };
    chart(words, "USD per million output tokens", "batch", &ways)
}

/// Cost over speed of fleets.
#[must_use]
pub fn of_fleet(answer: &PlanAnswer) -> Chart {
    let ways = answer.front.iter().filter_map(|item| {
        Some(Way {
            name: format!("{} chips", compact(item.chips)),
            speed: item.tokens_per_second_per_user,
            cost: item.usd_per_mtok?,
            on_front: true,
            is_chosen: false,
        })
    });
    let mut ways: Vec<Way> = ways.collect();
    let chosen = answer.plans.first().and_then(|plan| {
        Some(Way {
            name: format!("cheapest plan, {} chips", compact(plan.chips)),
            speed: plan.time_per_output_token.tokens_per_second_per_user,
            cost: plan.cost.usd_per_mtok?,
            on_front: false,
            is_chosen: true,
        })
    });
    let speed = |way: &&Way| way.speed;
    let fastest = ways
        .iter()
        .max_by(|one, other| speed(one).total_cmp(&speed(other)));
    let title = match (&chosen, fastest) {
        (Some(chosen), Some(fastest)) if fastest.cost > chosen.cost => format!(
            "{} tokens/s for one user cost {} times as much as {}",
            compact(fastest.speed),
            compact(fastest.cost / chosen.cost),
            compact(chosen.speed)
        ),
        (Some(chosen), _) => format!(
            "The cheapest plan gives {} tokens/s at {} USD per million",
            compact(chosen.speed),
            compact(chosen.cost)
        ),
        (None, _) => "No plan keeps the limits, or the rent is not known".to_owned(),
    };
    ways.extend(chosen);
    let words = Words {
        title,
        description: "Cost of a million prompt and generated tokens of the cheapest plan at each speed for one user. Orange: the \
                      cheapest plan within the limits."
            .to_owned(),
    };
    chart(words, "USD per million tokens", "plan", &ways)
}

fn chart(words: Words, cost_name: &str, way_name: &'static str, ways: &[Way]) -> Chart {
    let (width, height) = FRAME.size();
    let drawing = if ways.is_empty() {
        let middle = (width / 2.0, height / 2.0);
        text(
            Tone::Muted,
            middle,
            Anchor::Middle,
            "No way of running fits",
        )
    } else {
        drawing(ways, cost_name)
    };
    let table = Table::of(
        ways,
        &[
            (way_name, |way| way.name.as_str().into()),
            ("tokens_per_second_per_user", |way| way.speed.into()),
            ("usd_per_mtok", |way| way.cost.into()),
            ("on_front", |way| yes_or_no(way.on_front)),
        ],
    );
    words.chart((width, height), drawing, table)
}

fn drawing(ways: &[Way], cost_name: &str) -> Markup {
    let (speeds, costs) = (
        ways.iter().map(|way| way.speed),
        ways.iter().map(|way| way.cost),
    );
    let plane = Plane {
        frame: FRAME,
        across: Scale::around(speeds, (0.85, 1.15), FRAME.across()),
        up: Scale::around(costs, (0.8, 1.25), FRAME.up()),
    };
    let front = ways.iter().filter(|way| way.on_front).map(Way::point);
    html! {
        (plane.axes([short, short], ["tokens per second for one user", cost_name]))
        (line(Tone::Estimate, &plane.path(front), 1.5))
        @for way in ways {
            @let (tone, radius) = match (way.is_chosen, way.on_front) {
                (true, _) => (Tone::Truth, 6.0),
                (false, true) => (Tone::Estimate, 3.5),
                (false, false) => (Tone::Prior, 3.0),
            };
            (labelled(&way.words(), &dot(tone, plane.at(way.point()), radius, 1.0)))
        }
    }
}

impl Way {
    fn point(&self) -> Point {
        (self.speed, self.cost)
    }

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
        let words = || Words {
            title: "t".to_owned(),
            description: "d".to_owned(),
        };
        let ways = [way("batch 1", 80.0, true), way("batch 64", 40.0, false)];
        let drawn = chart(words(), "USD per million tokens", "batch", &ways);
        let svg = drawn.svg().into_string();
        assert!(svg.contains("batch 64 (as asked): 40.0 tokens/s"));
        assert_eq!(drawn.table.rows.len(), 2);
        let empty = chart(words(), "USD per million tokens", "batch", &[]);
        assert!(empty.svg().into_string().contains("No way of running fits"));
    }
}
