//! The front of speed against cost: the cheapest plan for each limit on the time per generated token.

use super::answer::FrontItem;
use super::search::Search;
use crate::plan::question::goal::Goal;
use crate::plan::question::request::Limits;
use unroof_base::units::Seconds;

/// Speeds that are tried.
const SPEEDS: u32 = 16;
/// Fastest and slowest time per token that is tried, in seconds.
const ENDS: (f64, f64) = (0.002, 0.5);

/// The front, fastest first.
pub(super) fn front(search: &Search<'_>, goal: &Goal) -> Vec<FrontItem> {
    let ratio = ENDS.1 / ENDS.0;
    let mut limits: Vec<f64> = (0..SPEEDS)
        .map(|index| ENDS.0 * ratio.powf(f64::from(index) / f64::from(SPEEDS - 1)))
        .collect();
    limits.extend(goal.limits.per_token_s);
    limits.sort_by(f64::total_cmp);
    let mut front: Vec<FrontItem> = Vec::new();
    let mut least = f64::INFINITY;
    for limit in limits {
        let goal = Goal {
            limits: Limits {
                per_token_s: Some(limit),
                ..goal.limits
            },
            ..*goal
        };
        let Some(best) = search.cheapest(&goal) else {
            continue;
        };
        // A slower plan belongs to the front where it is cheaper.
        if best.ranked_cost() >= least * 0.999 {
            continue;
        }
        least = best.ranked_cost();
        let (_, at_percentile_s) = best.per_token_s(&goal);
        let (prefill, decode) = best.layouts();
        front.push(FrontItem {
            time_per_output_token_seconds: Seconds(limit),
            tokens_per_second_per_user: 1.0 / at_percentile_s,
            usd_per_mtok: search.usd_per_mtok(&best),
            chips: best.chips(),
            requests_per_second: best.rate,
            serving: best.serving(),
            decode,
            prefill,
        });
    }
    front
}
