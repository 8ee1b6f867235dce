//! The grid: passes from decoding to prefill, cache hit rates, numbers of chips.

use super::answer::PlanPoint;
use super::binding::binds;
use super::search::{self, Search};
use crate::calculator::scenario::hits::HitRates;
use crate::forward::Speculation;
use crate::plan::question::goal::Goal;
use crate::plan::question::request::Question;
use crate::plan::serving::candidate::Candidate;
use unroof_base::input::cancel::{CancelToken, Cancelled};

const MILLION: f64 = 1e6;

/// Layouts that the searches of the series try.
pub(super) fn layouts(question: &Question) -> usize {
    let hit_rates = question.grid.cache_hit_rate.as_ref().map_or(0, Vec::len);
    let within = |chips: &u32| {
        search::layouts(&Question {
            budget: Some(*chips),
            ..question.clone()
        })
    };
    let drafts = question.grid.drafted_tokens.as_ref().map_or(0, Vec::len);
    let chips = question.grid.chips.iter().flatten();
    (hit_rates + drafts) * search::layouts(question) + chips.map(within).sum::<usize>()
}

/// Rows of every axis; each axis alone, the other inputs as stated.
pub(super) fn series(
    question: &Question,
    goal: &Goal,
    best: Option<&Candidate<'_>>,
    wanted: &CancelToken,
) -> Result<Vec<PlanPoint>, Cancelled> {
    let mut rows = Vec::new();
    let grid = &question.grid;
    if let Some(best) = best {
        rows.extend(
            grid.pass_tokens
                .iter()
                .flatten()
                .map(|tokens| of_pass(question, best, *tokens)),
        );
    }
    for hit_rate in grid.cache_hit_rate.iter().flatten() {
        wanted.check()?;
        let mut changed = question.clone();
        changed.load.set_hits(&HitRates::constant(*hit_rate));
        rows.push(of_plan(&changed, &Goal::of(&changed)));
    }
    for drafted in grid.drafted_tokens.iter().flatten() {
        wanted.check()?;
        let mut changed = question.clone();
        changed.speculation =
            Speculation::of(question.token_acceptance, *drafted, question.draft_layers);
        rows.push(PlanPoint {
            drafted_tokens: Some(*drafted),
            accepted_tokens_per_step: Some(changed.speculation.accepted),
            ..of_plan(&changed, &Goal::of(&changed))
        });
    }
    for chips in grid.chips.iter().flatten() {
        wanted.check()?;
        let mut changed = question.clone();
        changed.budget = Some(*chips);
        let goal = Goal {
            budget: Some(f64::from(*chips)),
            ..*goal
        };
        rows.push(of_plan(&changed, &goal));
    }
    Ok(rows)
}

/// A pass of the best plan's decode unit in which each sequence of the batch has this many tokens.
fn of_pass(question: &Question, best: &Candidate<'_>, tokens: f64) -> PlanPoint {
    let (decode, batch) = best.decode();
    let batch = batch.max(1.0);
    let context = decode.context_tokens;
    let parts = if tokens <= 1.0 {
        decode.engine.step(batch, context)
    } else {
        decode.engine.long_pass(batch, tokens, context)
    };
    let per_s = decode
        .engine
        .chip
        .usd_per_hour
        .map(|usd| usd * decode.engine.chips() / 3_600.0);
    PlanPoint {
        pass_tokens: Some(tokens),
        cache_hit_rate: question.load.hit_rate(),
        is_feasible: true,
        chips: Some(decode.engine.chips()),
        pass_seconds: Some(parts.total_s),
        usd_per_mtok: per_s.map(|usd| usd * parts.total_s / (batch * tokens) * MILLION),
        bound: Some(parts.longest()),
        ..PlanPoint::default()
    }
}

fn of_plan(question: &Question, goal: &Goal) -> PlanPoint {
    let search = Search::new(question);
    let found = search.cheapest(goal);
    let best = found.as_ref();
    let share = goal.limits.percentile.share();
    let first = best.and_then(Candidate::first_token);
    PlanPoint {
        cache_hit_rate: question.load.hit_rate(),
        chips_limit: goal.budget,
        is_feasible: best.is_some(),
        chips: best.map(Candidate::chips),
        requests_per_second: best.map(|best| best.rate),
        usd_per_mtok: best.and_then(|best| search.usd_per_mtok(best)),
        bound: best.and_then(|best| binds(question, goal, best).first().copied()),
        time_per_output_token_seconds: best.map(|best| best.per_token_s(goal).1),
        time_to_first_token_seconds: first.map(|first| first.quantile(share)),
        ..PlanPoint::default()
    }
}
