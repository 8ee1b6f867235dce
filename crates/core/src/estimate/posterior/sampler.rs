//! Importance sampling: proposals fitted to the posterior in a few rounds, then many draws from them.

use nalgebra::{DMatrix, DVector};

use super::gaussian::{Gaussian, Mixture, UNKNOWNS};
use super::pareto::pareto_k;
use super::prior::{ClassPrior, Prior};
use super::sobol::{MOST_POINTS, Point, points};
use crate::input::cancel::{CancelToken, Cancelled};
use crate::model::likelihood::Likelihood;
use crate::model::unknowns::{Running, Unknowns};

/// Number of draws of a full answer.
pub const DRAWS: usize = 15_000;
/// Number of draws of the prior.
pub const PRIOR_DRAWS: usize = 4_096;
/// Draws per round and class of models while proposals are fitted.
const PILOT_DRAWS: usize = 640;
/// Least ratio of effective sample size to draws; below it, sampling is repeated with twice as many.
const LEAST_EFFECTIVE_SHARE: f64 = 0.4;
/// Rounds, at most; the first draws from the prior.
const MOST_ROUNDS: usize = 5;
/// Ratio of effective sample size to possible draws at which a proposal is good enough.
const GOOD_ENOUGH: f64 = 0.5;
/// Share of draws from the prior, which bounds the weights and allows clues to be left out afterwards.
const DEFENSIVE_SHARE: f64 = 0.1;
/// Spread of proposals beyond the fit, and the share of draws for each: the tails of the posterior are heavier than
/// normal ones.
const SPREADS: [(f64, f64); 2] = [(1.05, 0.84), (1.7, 0.16)];
/// Least share of the draws for each class of models.
const LEAST_CLASS_SHARE: f64 = 0.05;
/// Least share of the weight at which a regime gets its own proposal.
const LEAST_REGIME_SHARE: f64 = 0.02;

/// One draw.
#[derive(Debug, Clone, Copy)]
struct Draw {
    class: u8,
    machine: u16,
    values: [f64; UNKNOWNS],
    log_utilisation: f64,
    log_rental: f64,
    running: Running,
    /// Whether a unit of its machine holds it and is fast enough, and no more parameters are active than there are.
    is_possible: bool,
}

impl Draw {
    /// On the first of a few machines that hold it.
    fn new(prior: &Prior, class: usize, values: [f64; UNKNOWNS], point: &Point) -> Self {
        let mut first = None;
        for uniform in point.machines {
            let draw = Self::on_machine(prior, class, values, point, uniform);
            if draw.is_possible {
                return draw;
            }
            first.get_or_insert(draw);
        }
        first.unwrap_or_else(|| Self::on_machine(prior, class, values, point, 0.0))
    }

    /// On the machine at a uniform coordinate.
    fn on_machine(
        prior: &Prior,
        class: usize,
        values: [f64; UNKNOWNS],
        point: &Point,
        uniform: f64,
    ) -> Self {
        let machine = prior.machine_at(uniform);
        let of_machine = prior.machine(machine);
        let mut draw = Self {
            class: u8::try_from(class).unwrap_or(u8::MAX),
            machine: u16::try_from(machine).unwrap_or(u16::MAX),
            values,
            log_utilisation: prior.log_utilisation(point.utilisation),
            log_rental: of_machine.log_rental + of_machine.rental_sd * point.rental,
            running: prior.running(of_machine, point),
            is_possible: true,
        };
        let unknowns = draw.unknowns(prior, &prior.classes[class]);
        match prior.placed(&unknowns, machine, uniform) {
            Some(running) => draw.running = running,
            None => draw.is_possible = false,
        }
        draw
    }

    fn unknowns<'a>(&self, prior: &'a Prior, class: &ClassPrior) -> Unknowns<'a> {
        Unknowns {
            log_utilisation: self.log_utilisation,
            log_rental: self.log_rental,
            running: self.running,
            ..class.unknowns(&self.values, prior.machine(self.machine.into()))
        }
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
    /// The draws.
    pub draws: Draws<'a>,
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
        for (log_share, gaussian) in &of_class.mixture {
            let share = (of_class.log_share + log_share).exp();
            let own = share_of(count, share).max(1);
            let weight = share / count_f64(own);
            for point in points.by_ref().take(own) {
                let values = of_class.values(&gaussian.draw(&point.normal, 1.0));
                let draw = Draw::new(prior, class, values, point);
                possible.push(if draw.is_possible { weight } else { 0.0 });
                weights.push(weight);
                draws.push(draw);
            }
        }
    }
    (draws, weights, possible)
}

/// Draws from the posterior.
#[must_use]
pub fn sample<'a>(prior: &'a Prior, terms: &[Box<dyn Likelihood>], count: usize) -> Posterior<'a> {
    sample_while(prior, terms, count, &CancelToken::default())
        .expect("the token is never cancelled")
}

/// The same, until it is cancelled.
///
/// # Errors
/// The work is cancelled.
pub fn sample_while<'a>(
    prior: &'a Prior,
    terms: &[Box<dyn Likelihood>],
    count: usize,
    wanted: &CancelToken,
) -> Result<Posterior<'a>, Cancelled> {
    let splits = terms.iter().any(|term| term.has_regimes());
    let fitted: Vec<Fitted> = (0..prior.classes.len())
        .map(|class| fit(prior, class, terms, splits, wanted))
        .collect::<Result<_, _>>()?;
    let posterior = weighed(prior, terms, &fitted, count, wanted)?;
    if posterior.effective_sample_size >= LEAST_EFFECTIVE_SHARE * count_f64(count) {
        return Ok(posterior);
    }
    weighed(prior, terms, &fitted, 2 * count, wanted)
}

/// Effective sample size and k̂ where no draw agrees with the sheets at all; the answer carries a warning.
const NO_DRAW_AGREES: (f64, f64) = (0.0, 1.0);

/// Draws from the proposals with their weights.
fn weighed<'a>(
    prior: &'a Prior,
    terms: &[Box<dyn Likelihood>],
    fitted: &[Fitted],
    count: usize,
    wanted: &CancelToken,
) -> Result<Posterior<'a>, Cancelled> {
    let shares = class_shares(fitted);
    let mut draws = Vec::with_capacity(count + fitted.len());
    let mut logs = Vec::with_capacity(count + fitted.len());
    let mut log_prior_weights = Vec::with_capacity(count + fitted.len());
    let mut points = points().iter().cycle();
    for (class, (of_class, share)) in fitted.iter().zip(&shares).enumerate() {
        wanted.check()?;
        let own = share_of(count, *share);
        let log_count = count_f64(own).ln();
        let kind = &prior.classes[class];
        of_class.proposal.draw(
            own,
            &mut points,
            kind,
            |coordinates, point, log_prior_over_proposal| {
                let draw = Draw::new(prior, class, kind.values(&coordinates), point);
                let (log_prior_weight, log_likelihood) =
                    log_target(prior, kind, terms, &draw, log_prior_over_proposal);
                log_prior_weights.push(log_prior_weight - log_count);
                logs.push(log_prior_weight + log_likelihood - log_count);
                draws.push(draw);
            },
        );
    }
    let weights = softmax(&logs);
    let (effective_sample_size, pareto_k) = if logs.iter().any(|log| log.is_finite()) {
        (effective_sample_size(&weights), pareto_k(&weights))
    } else {
        NO_DRAW_AGREES
    };
    Ok(Posterior {
        draws: Draws {
            prior,
            each: draws,
            weights,
        },
        log_prior_weights,
        effective_sample_size,
        pareto_k,
        log_evidence: log_sum(&logs),
    })
}

/// log of the sum of exponentials.
fn log_sum(logs: &[f64]) -> f64 {
    let greatest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if greatest == f64::NEG_INFINITY {
        return greatest;
    }
    greatest
        + logs
            .iter()
            .map(|log| (log - greatest).exp())
            .sum::<f64>()
            .ln()
}

/// log ratio of prior to proposal density of a draw, and its log likelihood.
fn log_target(
    prior: &Prior,
    class: &ClassPrior,
    terms: &[Box<dyn Likelihood>],
    draw: &Draw,
    log_prior_over_proposal: f64,
) -> (f64, f64) {
    if !draw.is_possible {
        return (f64::NEG_INFINITY, 0.0);
    }
    let unknowns = draw.unknowns(prior, class);
    let likelihood: f64 = terms
        .iter()
        .map(|term| term.likelihood(&unknowns))
        .product();
    (class.log_share + log_prior_over_proposal, likelihood.ln())
}

/// The proposal mixture: the fitted components and the prior.
#[derive(Clone)]
struct Proposal {
    /// Component distributions, each with its share.
    components: Vec<(f64, Gaussian)>,
    /// The fitted components, to be weighed.
    fitted: Option<Mixture>,
    /// Share of the prior.
    defensive_share: f64,
}

impl Proposal {
    /// A proposal of fitted normal distributions with their shares, and the prior.
    fn new(fits: &[(Gaussian, f64)], class: &ClassPrior) -> Self {
        let defensive_share = if fits.is_empty() {
            1.0
        } else {
            DEFENSIVE_SHARE
        };
        let mut components = Vec::new();
        for (gaussian, share) in fits {
            for (spread, spread_share) in SPREADS {
                components.push((
                    (1.0 - defensive_share) * share * spread_share,
                    gaussian.widened(spread),
                ));
            }
        }
        let fitted = (!fits.is_empty()).then(|| Mixture::new(&components));
        let of_prior = class
            .mixture
            .iter()
            .map(|(log_share, gaussian)| (defensive_share * log_share.exp(), *gaussian));
        components.extend(of_prior);
        Self {
            components,
            fitted,
            defensive_share,
        }
    }

    /// Calls back with each draw: its coordinates, its point, and the log ratio of prior to proposal density.
    fn draw<'p>(
        &self,
        count: usize,
        points: &mut impl Iterator<Item = &'p Point>,
        class: &ClassPrior,
        mut take: impl FnMut([f64; UNKNOWNS], &Point, f64),
    ) {
        let mut left = count;
        for (index, (share, gaussian)) in self.components.iter().enumerate() {
            let is_last = index + 1 == self.components.len();
            let own = if is_last {
                left
            } else {
                share_of(count, *share).min(left)
            };
            left -= own;
            for point in points.take(own) {
                let coordinates = gaussian.draw(&point.normal, 1.0);
                take(
                    coordinates,
                    point,
                    self.log_prior_over_own(&coordinates, class),
                );
            }
        }
    }

    fn log_prior_over_own(&self, coordinates: &[f64; UNKNOWNS], class: &ClassPrior) -> f64 {
        let prior = class.density(coordinates);
        let fitted = self
            .fitted
            .as_ref()
            .map_or(0.0, |fitted| fitted.density(coordinates));
        (prior / (self.defensive_share * prior + fitted)).ln()
    }
}

/// Regimes, each with a component per spread.
const _: () = assert!(2 * SPREADS.len() <= Mixture::MOST_PARTS);

/// A proposal for one class of models, and its log evidence.
struct Fitted {
    proposal: Proposal,
    log_evidence: f64,
}

/// Fits proposals in rounds: each draws from the last one and takes over the weighted moments.
fn fit(
    prior: &Prior,
    index: usize,
    terms: &[Box<dyn Likelihood>],
    splits: bool,
    wanted: &CancelToken,
) -> Result<Fitted, Cancelled> {
    let class = &prior.classes[index];
    let mut proposal = Proposal::new(&[], class);
    let mut log_evidence = f64::NEG_INFINITY;
    // Few draws may count where many fit no machine, and what is fitted to them may be worse than what it was fitted from.
    let mut best: Option<(f64, Fitted)> = None;
    let mut points = points().iter().cycle();
    for round in 0..MOST_ROUNDS {
        wanted.check()?;
        let mut draws = Vec::with_capacity(PILOT_DRAWS);
        let mut logs = Vec::with_capacity(PILOT_DRAWS);
        proposal.draw(
            PILOT_DRAWS,
            &mut points,
            class,
            |coordinates, point, log_prior_over_proposal| {
                let draw = Draw::new(prior, index, class.values(&coordinates), point);
                let (log_prior_weight, log_likelihood) =
                    log_target(prior, class, terms, &draw, log_prior_over_proposal);
                logs.push(log_prior_weight + log_likelihood);
                draws.push(draw);
            },
        );
        let greatest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if greatest == f64::NEG_INFINITY {
            break;
        }
        let weights = softmax(&logs);
        let mean: f64 =
            logs.iter().map(|log| (log - greatest).exp()).sum::<f64>() / count_f64(logs.len());
        log_evidence = greatest + mean.ln();
        let effective = effective_sample_size(&weights);
        if best.as_ref().is_none_or(|(most, _)| effective > *most) {
            let so_far = Fitted {
                proposal: proposal.clone(),
                log_evidence,
            };
            best = Some((effective, so_far));
        }
        let is_memory_bound = |draw: &Draw| {
            splits && draw.unknowns(prior, class).log_actual_memory_over_compute() > 0.0
        };
        let possible = draws.iter().filter(|draw| draw.is_possible).count();
        let is_good = effective > GOOD_ENOUGH * count_f64(possible);
        let mut fits = Vec::new();
        for regime in [false, true] {
            let own: Vec<(&Draw, f64)> = draws
                .iter()
                .zip(&weights)
                .filter(|(draw, _)| is_memory_bound(draw) == regime)
                .map(|(draw, weight)| (draw, *weight))
                .collect();
            let share: f64 = own.iter().map(|(_, weight)| weight).sum();
            if share > LEAST_REGIME_SHARE {
                fits.push((moments(&own, share, class), share));
            }
        }
        let all: f64 = fits.iter().map(|(_, share)| share).sum();
        for (_, share) in &mut fits {
            *share /= all;
        }
        proposal = Proposal::new(&fits, class);
        if is_good && round > 0 {
            best = None;
            break;
        }
    }
    let last = Fitted {
        proposal,
        log_evidence,
    };
    Ok(best.map_or(last, |(_, fitted)| fitted))
}

/// The normal distribution with the weighted mean and covariance of draws, which keeps a part of the prior's where few
/// draws count.
fn moments(draws: &[(&Draw, f64)], total: f64, class: &ClassPrior) -> Gaussian {
    let slots = class.slots();
    let free = slots.len();
    let mut mean = DVector::<f64>::zeros(free);
    for (draw, weight) in draws {
        for index in 0..free {
            mean[index] += weight / total * draw.values[slots[index]];
        }
    }
    let mut covariance = DMatrix::<f64>::zeros(free, free);
    for (draw, weight) in draws {
        for row in 0..free {
            for column in 0..=row {
                let away = |index: usize| draw.values[slots[index]] - mean[index];
                let product = away(row) * away(column);
                covariance[(row, column)] += weight / total * product;
            }
        }
    }
    let squares: f64 = draws.iter().map(|(_, weight)| weight * weight).sum();
    let effective = total * total / squares;
    let own = effective / (effective + 2.0 * count_f64(free));
    let prior = class.mixture[class.mixture.len() - 1].1.covariance();
    for row in 0..free {
        for column in 0..=row {
            let kept = (1.0 - own) * 0.25 * prior[row][column];
            covariance[(row, column)] = own * covariance[(row, column)] + kept;
            covariance[(column, row)] = covariance[(row, column)];
        }
    }
    Gaussian::new(&mean, &covariance)
}

/// Shares of draws in proportion to the evidence for each class of models.
fn class_shares(fitted: &[Fitted]) -> Vec<f64> {
    let evidence: Vec<f64> = fitted.iter().map(|class| class.log_evidence).collect();
    let mut shares = softmax(&evidence);
    for share in &mut shares {
        *share = share.max(LEAST_CLASS_SHARE);
    }
    normalize(&mut shares);
    shares
}

/// Softmax; uniform if all exponentials are 0.
pub(crate) fn softmax(logs: &[f64]) -> Vec<f64> {
    let greatest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if greatest == f64::NEG_INFINITY {
        return vec![1.0 / count_f64(logs.len()); logs.len()];
    }
    let mut weights: Vec<f64> = logs.iter().map(|log| (log - greatest).exp()).collect();
    normalize(&mut weights);
    weights
}

fn normalize(weights: &mut [f64]) {
    let total: f64 = weights.iter().sum();
    for weight in weights {
        *weight /= total;
    }
}

/// Kish's effective sample size: (Σw)²/Σw².
pub(crate) fn effective_sample_size(weights: &[f64]) -> f64 {
    let total: f64 = weights.iter().sum();
    let squares: f64 = weights.iter().map(|weight| weight * weight).sum();
    total * total / squares
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn count_f64(count: usize) -> f64 {
    count as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of a count"
)]
fn share_of(count: usize, share: f64) -> usize {
    (count_f64(count) * share).round() as usize
}

const _: () = assert!(2 * DRAWS <= MOST_POINTS);
