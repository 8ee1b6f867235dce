//! Importance sampling: many draws from the fitted proposals, until as many as wanted are effective.

use std::iter::Cycle;
use std::slice;

use super::draw::{Draw, Proposed};
use super::pareto::pareto_k;
use super::placing::{BLOCK, Placer};
use super::prior::Prior;
use super::proposal::{Fitted, class_probabilities, fit_classes, log_target, share_out};
use super::sobol::{MOST_POINTS, Point, points};
use super::summary::{Summary, summarize};
use super::weights::{effective_sample_size, log_sum, normalize, share_of, softmax, whole};
use crate::estimate::quantities::JointQuantity;
use crate::evidence::likelihood::Likelihood;
use crate::evidence::unknowns::Unknowns;
use unroof_base::input::cancel::{CancelToken, Cancelled};
use unroof_base::units::count_f64;
use unroof_base::units::elementary::ln;

/// Effective sample size of a full answer.
pub const EFFECTIVE_DRAWS: usize = 10_000;
/// Number of draws of the prior.
pub const PRIOR_DRAWS: usize = 4_096;
/// Draws at most, over those that are wanted to be effective: sheets that contradict themselves never have enough.
const MOST_DRAWS_PER_EFFECTIVE: usize = 3;
/// Draws beyond those that are expected to be enough.
const RESERVE: f64 = 1.02;
/// Ratio of the effective sample size to the wanted one from which it is enough.
const ENOUGH: f64 = 0.99;
/// Times that further draws are made, at most.
const MOST_ADDITIONS: usize = 4;

impl Prior {
    /// Every quantity before a sheet is read, in the order of [`JointQuantity::ALL`].
    #[must_use]
    pub fn summaries(&self) -> &[Summary; JointQuantity::COUNT] {
        self.drawn.before.get_or_init(|| {
            let draws = sample_prior(self, PRIOR_DRAWS);
            JointQuantity::ALL.map(|quantity| {
                let logs = draws.iter().map(|unknowns| quantity.log_value(&unknowns));
                summarize(logs, draws.weights())
            })
        })
    }
}

/// Draws with their weights.
#[derive(Debug)]
pub struct Draws<'a> {
    prior: &'a Prior,
    each: Vec<Draw>,
    weights: Vec<f64>,
}

impl<'a> Draws<'a> {
    /// The unknowns of each draw.
    pub fn iter(&self) -> impl Iterator<Item = Unknowns<'a>> + Clone {
        self.each
            .iter()
            .map(|draw| draw.unknowns(self.prior, &self.prior.classes[usize::from(draw.class)]))
    }

    /// Weights, in the order of the draws; they add up to 1.
    #[must_use]
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Number of draws.
    #[must_use]
    pub fn len(&self) -> usize {
        self.each.len()
    }

    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.each.is_empty()
    }
}

/// The posterior as draws, with the diagnostics of their weights.
#[derive(Debug)]
pub struct Posterior<'a> {
    /// The draws that are possible; all of them where none is.
    pub draws: Draws<'a>,
    /// Number of draws made.
    pub drawn: usize,
    /// log weight of each draw under the prior alone, up to a constant.
    pub log_prior_weights: Vec<f64>,
    /// Number of independent draws with the same information.
    pub effective_sample_size: f64,
    /// k̂ of the weights.
    pub pareto_k: f64,
    /// log of the integral of prior and likelihood over all unknowns that are possible: the evidence of the sheets times
    /// [`possible_share`].
    pub log_evidence: f64,
}

impl<'a> Posterior<'a> {
    /// The posterior without observations: the prior.
    #[must_use]
    pub fn of_prior(draws: Draws<'a>) -> Self {
        Self {
            log_prior_weights: draws.weights.iter().map(|weight| weight.ln()).collect(),
            effective_sample_size: effective_sample_size(&draws.weights),
            drawn: draws.len(),
            pareto_k: 0.0,
            log_evidence: 0.0,
            draws,
        }
    }
}

/// Draws from the prior, each of the same weight. If no draw agrees with the stated values, all draws are kept.
#[must_use]
pub fn sample_prior(prior: &Prior, count: usize) -> Draws<'_> {
    let (each, mut weights, possible) = draws_of_prior(prior, count);
    if possible.iter().any(|weight| *weight > 0.0) {
        weights = possible;
    }
    normalize(&mut weights);
    Draws {
        prior,
        each,
        weights,
    }
}

/// Share of the prior in which no more parameters are active than there are.
#[must_use]
pub fn possible_share(prior: &Prior, count: usize) -> f64 {
    let (_, weights, possible) = draws_of_prior(prior, count);
    possible.iter().sum::<f64>() / weights.iter().sum::<f64>()
}

/// Draws from the prior, their weights, and their weights where those that are impossible have none.
fn draws_of_prior(prior: &Prior, count: usize) -> (Vec<Draw>, Vec<f64>, Vec<f64>) {
    let mut draws = Vec::with_capacity(count);
    let mut weights = Vec::with_capacity(count);
    let mut possible = Vec::with_capacity(count);
    let mut points = points().iter();
    for (class, of_class) in prior.classes.iter().enumerate() {
        let mut placer = Placer::new(prior, class, true);
        for (log_share, gaussian) in &of_class.mixture {
            let share = (of_class.log_share + log_share).exp();
            let own = share_of(count, share).max(1);
            let weight = share / count_f64(own);
            let proposed: Vec<Proposed<'_>> = points
                .by_ref()
                .take(own)
                .map(|point| Proposed {
                    values: of_class.values(&gaussian.draw(&point.normal, 1.0)),
                    point,
                    log_prior_over_proposal: 0.0,
                })
                .collect();
            for block in proposed.chunks(BLOCK) {
                for draw in placer.place(block) {
                    possible.push(if draw.is_possible { weight } else { 0.0 });
                    weights.push(weight);
                    draws.push(*draw);
                }
            }
        }
    }
    (draws, weights, possible)
}

/// Draws from the posterior, of this effective sample size.
#[must_use]
pub fn sample<'a>(
    prior: &'a Prior,
    terms: &[Box<dyn Likelihood>],
    effective: usize,
) -> Posterior<'a> {
    sample_while(prior, terms, effective, &CancelToken::default())
        .expect("the token is never cancelled")
}

/// Draws from the posterior, until the work is cancelled.
///
/// # Errors
/// The work is cancelled.
pub fn sample_while<'a>(
    prior: &'a Prior,
    terms: &[Box<dyn Likelihood>],
    effective: usize,
    wanted: &CancelToken,
) -> Result<Posterior<'a>, Cancelled> {
    let mut fitted = fit_classes(prior, terms, wanted)?;
    let shares = share_out(prior, &mut fitted);
    let mut pool = Pool::new(prior, terms, &fitted, shares);
    pool.draw_until(count_f64(effective), wanted)?;
    if pool.each.is_empty() {
        pool.keeps_impossible = true;
        pool.add(effective, wanted)?;
    }
    Ok(pool.weighed())
}

/// Prior over proposal and likelihood of a draw, in logs.
const OF_BOTH: fn(&[f64; 2]) -> f64 = |[prior, likelihood]| prior + likelihood;

/// Effective sample size and k̂ where no draw agrees with the sheets at all; the answer carries a warning.
const NO_DRAW_AGREES: (f64, f64) = (0.0, 1.0);

/// Draws from the proposals of all classes, to which more can be added.
struct Pool<'a, 't> {
    prior: &'a Prior,
    terms: &'t [Box<dyn Likelihood>],
    fitted: &'t [Fitted],
    shares: Vec<f64>,
    points: Cycle<slice::Iter<'static, Point>>,
    keeps_impossible: bool,
    /// Draws made of each class, also those that are not kept.
    counts: Vec<usize>,
    each: Vec<Draw>,
    /// log of the prior over the proposal of each, and of its likelihood.
    logs: Vec<[f64; 2]>,
}

impl<'a, 't> Pool<'a, 't> {
    fn new(
        prior: &'a Prior,
        terms: &'t [Box<dyn Likelihood>],
        fitted: &'t [Fitted],
        shares: Vec<f64>,
    ) -> Self {
        Self {
            prior,
            terms,
            fitted,
            shares,
            points: points().iter().cycle(),
            keeps_impossible: false,
            counts: vec![0; fitted.len()],
            each: Vec::new(),
            logs: Vec::new(),
        }
    }

    /// Draws until the effective sample size is reached, or most draws are made.
    fn draw_until(&mut self, effective: f64, wanted: &CancelToken) -> Result<(), Cancelled> {
        let most = effective * count_f64(MOST_DRAWS_PER_EFFECTIVE);
        let mut further = (RESERVE * effective * self.draws_per_effective()).min(most);
        for _ in 0..=MOST_ADDITIONS {
            self.add(whole(further), wanted)?;
            let made = count_f64(self.counts.iter().sum());
            let reached = effective_sample_size(&softmax(&self.log_weights(OF_BOTH)));
            if reached >= ENOUGH * effective || made >= most {
                break;
            }
            // Where no draw counts, nothing says how many would be enough.
            let missing = made * (RESERVE * effective / reached - 1.0);
            further = if missing.is_finite() {
                missing.min(most - made)
            } else {
                most - made
            };
        }
        Ok(())
    }

    /// Draws that are expected to be needed for each effective one.
    fn draws_per_effective(&self) -> f64 {
        let evidence = class_probabilities(self.fitted);
        let classes = self.fitted.iter().zip(&self.shares).zip(evidence);
        classes
            .map(|((of_class, share), probability)| {
                probability * probability / (share * of_class.efficiency)
            })
            .sum()
    }

    /// Adds about so many draws.
    fn add(&mut self, count: usize, wanted: &CancelToken) -> Result<(), Cancelled> {
        let Self {
            prior,
            terms,
            points,
            each,
            logs,
            ..
        } = self;
        each.reserve(count);
        logs.reserve(count);
        for (class, of_class) in self.fitted.iter().enumerate() {
            wanted.check()?;
            let own = share_of(count, self.shares[class]);
            self.counts[class] += own;
            let kind = &prior.classes[class];
            let mut placer = Placer::new(prior, class, true);
            of_class.proposal.draw(own, points, kind, |block| {
                for (proposed, draw) in block.iter().zip(placer.place(block)) {
                    if draw.is_possible || self.keeps_impossible {
                        let log_ratio = proposed.log_prior_over_proposal;
                        logs.push(log_target(prior, kind, terms, draw, log_ratio));
                        each.push(*draw);
                    }
                }
            });
        }
        Ok(())
    }

    /// log weight of each draw by these of its logs.
    fn log_weights(&self, of: fn(&[f64; 2]) -> f64) -> Vec<f64> {
        let counts = self.counts.iter();
        let log_counts: Vec<f64> = counts.map(|count| ln(count_f64(*count))).collect();
        let weight =
            |(draw, logs): (&Draw, &[f64; 2])| of(logs) - log_counts[usize::from(draw.class)];
        self.each.iter().zip(&self.logs).map(weight).collect()
    }

    fn weighed(self) -> Posterior<'a> {
        let logs = self.log_weights(OF_BOTH);
        let log_prior_weights = self.log_weights(|[prior, _]| *prior);
        let weights = softmax(&logs);
        let (effective_sample_size, pareto_k) = if logs.iter().any(|log| log.is_finite()) {
            (effective_sample_size(&weights), pareto_k(&weights))
        } else {
            NO_DRAW_AGREES
        };
        Posterior {
            draws: Draws {
                prior: self.prior,
                each: self.each,
                weights,
            },
            drawn: self.counts.iter().sum(),
            log_prior_weights,
            effective_sample_size,
            pareto_k,
            log_evidence: log_sum(&logs),
        }
    }
}

const _: () = assert!(MOST_DRAWS_PER_EFFECTIVE * EFFECTIVE_DRAWS <= MOST_POINTS);
