//! Limits that keep a plan from being better.

use crate::plan::question::goal::Goal;
use crate::plan::question::request::Question;
use crate::plan::serving::candidate::Candidate;

/// Limits within a fiftieth of which a plan works.
pub(super) fn binds(
    question: &Question,
    goal: &Goal,
    candidate: &Candidate<'_>,
) -> Vec<&'static str> {
    const NEAR: f64 = 0.98;
    let mut binds = Vec::new();
    let (_, per_token_s) = candidate.per_token_s(goal);
    if goal
        .limits
        .per_token_s
        .is_some_and(|limit| per_token_s >= NEAR * limit)
    {
        binds.push("time_per_output_token");
    }
    let (decode, batch) = candidate.decode();
    if batch >= NEAR * decode.most_that_fits() {
        binds.push("memory");
    }
    let share = goal.limits.percentile.share();
    let first = candidate.first_token().map(|first| first.quantile(share));
    if let (Some(limit), Some(first)) = (goal.limits.first_token_s, first)
        && first >= NEAR * limit
    {
        binds.push("time_to_first_token");
    }
    if candidate.prefill_utilisation() >= NEAR {
        binds.push("prefill_capacity");
    }
    if binds.is_empty() && question.load.rate.is_some() {
        binds.push("request_rate");
    }
    binds
}
