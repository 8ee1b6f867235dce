//! The chart of the forward calculators: cost over speed.

use crate::api::calculators::calculated::{Calculated, calculate};
use crate::compute::Views;
use unroof_base::units::compact;
use unroof_edge::answer::problem::{Problem, UNREADABLE};
use unroof_report::chart::Chart;
use unroof_report::chart::kinds::frontier::{Frontier, Way};
use unroof_roofline::calculator::simulate::SimulationAnswer;
use unroof_roofline::plan::PlanAnswer;

use super::Question;

/// Cost over speed of a question to a calculator.
///
/// # Errors
/// The question is refused, or is one without a frontier.
pub(super) async fn frontier(views: &Views, question: &Question) -> Result<Chart, Problem> {
    match calculate(views, question).await? {
        Calculated::Machine(answer) => Ok(of_machine(&answer)),
        Calculated::Fleet(answer) => Ok(of_fleet(&answer)),
        Calculated::Layout(_) | Calculated::Training(_) | Calculated::Cost(_) => {
            let detail = "invalid query string: this calculator has no cost over speed";
            Err(Problem::new(UNREADABLE, detail).hint("write view=machine or view=fleet"))
        }
    }
}

/// Cost over speed of one machine.
pub(crate) fn of_machine(answer: &SimulationAnswer) -> Chart {
    let fitting = answer.series.iter().filter(|point| point.fits);
    let mut ways: Vec<Way> = fitting
        .filter_map(|point| {
            Some(Way {
                name: format!("batch {}", compact(point.batch)),
                speed: point.tokens_per_second_per_user,
                cost: point.cost_output_usd_per_mtok?,
                on_front: point.on_speed_cost_front,
                is_chosen: false,
            })
        })
        .collect();
    let cheapest = ways
        .iter()
        .map(|way| way.cost)
        .fold(f64::INFINITY, f64::min);
    let decode = &answer.decode;
    let chosen = decode.cost_usd_per_mtok.map(|cost| Way {
        name: format!("batch {}", compact(decode.batch)),
        speed: decode.tokens_per_second_per_user,
        cost,
        on_front: false,
        is_chosen: true,
    });
    let (speed, batch) = (
        compact(decode.tokens_per_second_per_user),
        compact(decode.batch),
    );
    let title = match &chosen {
        Some(way) if way.cost > 1.05 * cheapest => format!(
            "A batch of {batch} gives {speed} tokens/s at {} USD per million; the cheapest batch costs {}",
            compact(way.cost),
            compact(cheapest)
        ),
        Some(way) => format!(
            "A batch of {batch} gives {speed} tokens/s at {} USD per million",
            compact(way.cost)
        ),
        None => "The accelerator has no published rent: state one to see the cost".to_owned(),
    };
    ways.extend(chosen);
    Frontier {
        title,
        description: "Cost of generated tokens over the speed for one user; each dot is a batch that fits into memory, grey ones are \
                      both slower and dearer than another. Orange: the batch that was asked about."
            .to_owned(),
        cost_name: "USD per million output tokens",
        way_name: "batch",
        ways,
    }
    .chart()
}

/// Cost over speed of fleets.
pub(crate) fn of_fleet(answer: &PlanAnswer) -> Chart {
    let best = answer.plans.first();
    let speed = best.map(|plan| plan.time_per_output_token.tokens_per_second_per_user);
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
    let chosen = best.zip(speed).and_then(|(plan, speed)| {
        Some(Way {
            name: format!("cheapest plan, {} chips", compact(plan.chips)),
            speed,
            cost: plan.cost.usd_per_mtok?,
            on_front: false,
            is_chosen: true,
        })
    });
    let fastest = ways
        .iter()
        .max_by(|one, other| one.speed.total_cmp(&other.speed));
    let title = match (&chosen, fastest) {
        (Some(chosen), Some(fastest)) if fastest.cost > chosen.cost => format!(
            "{} tokens/s for one user cost {} times as much as {}",
            compact(fastest.speed),
            compact(fastest.cost / chosen.cost),
            compact(chosen.speed)
        ),
        (Some(chosen), _) => {
            format!(
                "The cheapest plan gives {} tokens/s at {} USD per million",
                compact(chosen.speed),
                compact(chosen.cost)
            )
        }
        (None, _) => "No plan keeps the limits, or the rent is not known".to_owned(),
    };
    ways.extend(chosen);
    Frontier {
        title,
        description: "Cost of a million prompt and generated tokens of the cheapest plan at each speed for one user. Orange: the \
                      cheapest plan within the limits."
            .to_owned(),
        cost_name: "USD per million tokens",
        way_name: "plan",
        ways,
    }
    .chart()
}
