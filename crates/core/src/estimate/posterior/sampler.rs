//! Importance sampling: proposals fitted to the posterior in a few rounds, then many draws from them.

use std::iter::Cycle;
use std::slice;
use std::sync::OnceLock;

use nalgebra::{DMatrix, DVector};

use super::gaussian::{Gaussian, Mixture, UNKNOWNS};
use super::pareto::pareto_k;
use super::prior::{ClassPrior, Prior, exists};
use super::sobol::{MOST_POINTS, Point, points};
use super::summary::{Summary, summarize};
use crate::estimate::quantities::JointQuantity;
use crate::input::cancel::{CancelToken, Cancelled};
use crate::model::likelihood::Likelihood;
use crate::model::unknowns::{Running, Unknowns};
use crate::units::elementary::{exp, ln};

/// Effective sample size of a full answer.
pub const EFFECTIVE_DRAWS: usize = 10_000;
/// Number of draws of the prior.
pub const PRIOR_DRAWS: usize = 4_096;
/// Draws per round and class of models while proposals are fitted.
const PILOT_DRAWS: usize = 640;
/// Draws at most, over those that are wanted to be effective: sheets that contradict themselves never have enough.
const MOST_DRAWS_PER_EFFECTIVE: usize = 3;
/// Draws beyond those that are expected to be enough.
const RESERVE: f64 = 1.02;
/// Ratio of the effective sample size to the wanted one from which it is enough.
const ENOUGH: f64 = 0.99;
/// Times that further draws are made, at most.
const MOST_ADDITIONS: usize = 4;
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
const LEAST_CLASS_SHARE: f64 = 0.01;
/// Least probability of a class, by draws from the prior, at which its proposal is fitted in further rounds.
const LEAST_FITTED_SHARE: f64 = 0.01;
/// Least efficiency that is expected of a proposal.
const LEAST_EFFICIENCY: f64 = 0.02;
/// Least share of the weight at which a regime gets its own proposal.
const LEAST_REGIME_SHARE: f64 = 0.02;

/// One draw.
#[derive(Debug, Clone, Copy)]
pub(super) struct Draw {
    class: u8,
    machine: u16,
    values: [f64; UNKNOWNS],
    log_utilisation: f64,
    log_rental: f64,
    running: Running,
    /// Whether there are such models, and a unit of its machine holds it and is fast enough.
    pub(super) is_possible: bool,
}

impl Draw {
    /// On the first of a few machines that hold it; on the first of all if none does.
    pub(super) fn new(
        prior: &Prior,
        class: usize,
        values: [f64; UNKNOWNS],
        point: &Point,
        with_prompts: bool,
    ) -> Self {
        let of_class = &prior.classes[class];
        let first = prior.machine(prior.machine_at(point.machines[0]));
        let unknowns = of_class.unknowns(&values, first);
        let mut placed = None;
        if exists(&unknowns) {
            let model = unknowns.model();
            placed = point.machines.into_iter().find_map(|uniform| {
                let machine = prior.machine_at(uniform);
                let of_machine = prior.machine(machine);
                let unknowns = Unknowns {
                    machine: of_machine,
                    running: prior.running(of_machine, point),
                    ..unknowns
                };
                let running = prior.placed(&unknowns, &model, machine, uniform, with_prompts)?;
                Some((machine, running))
            });
        }
        let is_possible = placed.is_some();
        let (machine, running) = placed.unwrap_or_else(|| {
            let machine = prior.machine_at(point.machines[0]);
            (machine, prior.running(prior.machine(machine), point))
        });
        let of_machine = prior.machine(machine);
        Self {
            class: u8::try_from(class).unwrap_or(u8::MAX),
            machine: u16::try_from(machine).unwrap_or(u16::MAX),
            values,
            log_utilisation: prior.log_utilisation(point.utilisation),
            log_rental: of_machine.log_rental + of_machine.rental_sd * point.rental,
            running,
            is_possible,
        }
    }

    pub(super) fn unknowns<'a>(&self, prior: &'a Prior, class: &ClassPrior) -> Unknowns<'a> {
        Unknowns {
            log_utilisation: self.log_utilisation,
            log_rental: self.log_rental,
            running: self.running,
            ..class.unknowns(&self.values, prior.machine(self.machine.into()))
        }
    }
}

/// Draws and summaries of a prior that answers share, once they are wanted.
#[derive(Debug, Clone, Default)]
pub(super) struct Drawn {
    /// The first round of every class.
    pilots: OnceLock<Vec<Vec<Draw>>>,
    /// Every quantity before a sheet is read.
    before: OnceLock<[Summary; JointQuantity::COUNT]>,
}

impl Drawn {
    /// The draws of the first round of a class.
    fn pilots<'p>(&'p self, prior: &Prior, class: usize) -> &'p [Draw] {
        let of_class = |class: usize| {
            let kind = &prior.classes[class];
            let mut draws = Vec::with_capacity(PILOT_DRAWS);
            let proposal = Proposal::new(&[], kind);
            let mut points = points().iter();
            proposal.draw(PILOT_DRAWS, &mut points, kind, |coordinates, point, _| {
                let values = kind.values(&coordinates);
                draws.push(Draw::new(prior, class, values, point, true));
            });
            draws
        };
        let all = self
            .pilots
            .get_or_init(|| (0..prior.classes.len()).map(of_class).collect());
        &all[class]
    }
}

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
        for (log_share, gaussian) in &of_class.mixture {
            let share = (of_class.log_share + log_share).exp();
            let own = share_of(count, share).max(1);
            let weight = share / count_f64(own);
            for point in points.by_ref().take(own) {
                let values = of_class.values(&gaussian.draw(&point.normal, 1.0));
                let draw = Draw::new(prior, class, values, point, true);
                possible.push(if draw.is_possible { weight } else { 0.0 });
                weights.push(weight);
                draws.push(draw);
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

/// The same, until it is cancelled.
///
/// # Errors
/// The work is cancelled.
pub fn sample_while<'a>(
    prior: &'a Prior,
    terms: &[Box<dyn Likelihood>],
    effective: usize,
    wanted: &CancelToken,
) -> Result<Posterior<'a>, Cancelled> {
    let fitted = fit_classes(prior, terms, wanted)?;
    let mut pool = Pool::new(prior, terms, &fitted);
    pool.draw_until(count_f64(effective), wanted)?;
    if pool.each.is_empty() {
        pool.keeps_impossible = true;
        pool.add(effective, wanted)?;
    }
    Ok(pool.weighed())
}

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
    fn new(prior: &'a Prior, terms: &'t [Box<dyn Likelihood>], fitted: &'t [Fitted]) -> Self {
        Self {
            prior,
            terms,
            fitted,
            shares: class_shares(fitted),
            points: points().iter().cycle(),
            keeps_impossible: false,
            counts: vec![0; fitted.len()],
            each: Vec::new(),
            logs: Vec::new(),
        }
    }

    /// Draws until the effective sample size is reached, or most draws are made.
    fn draw_until(&mut self, effective: f64, wanted: &CancelToken) -> Result<(), Cancelled> {
        #[expect(clippy::cast_precision_loss, reason = "a handful")]
        let most = effective * MOST_DRAWS_PER_EFFECTIVE as f64;
        let mut further = (RESERVE * effective * self.draws_per_effective()).min(most);
        for _ in 0..=MOST_ADDITIONS {
            self.add(whole(further), wanted)?;
            let made = count_f64(self.counts.iter().sum());
            let reached = effective_sample_size(&softmax(&self.log_weights()));
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
            of_class
                .proposal
                .draw(own, points, kind, |coordinates, point, log_ratio| {
                    let draw = Draw::new(prior, class, kind.values(&coordinates), point, true);
                    if draw.is_possible || self.keeps_impossible {
                        let (log_prior, log_likelihood) =
                            log_target(prior, kind, terms, &draw, log_ratio);
                        logs.push([log_prior, log_likelihood]);
                        each.push(draw);
                    }
                });
        }
        Ok(())
    }

    fn log_weights(&self) -> Vec<f64> {
        let log_counts = self.log_counts();
        let weight = |(draw, logs): (&Draw, &[f64; 2])| {
            logs[0] + logs[1] - log_counts[usize::from(draw.class)]
        };
        self.each.iter().zip(&self.logs).map(weight).collect()
    }

    fn log_counts(&self) -> Vec<f64> {
        self.counts
            .iter()
            .map(|count| ln(count_f64(*count)))
            .collect()
    }

    fn weighed(self) -> Posterior<'a> {
        let logs = self.log_weights();
        let log_counts = self.log_counts();
        let of_prior =
            |(draw, logs): (&Draw, &[f64; 2])| logs[0] - log_counts[usize::from(draw.class)];
        let log_prior_weights = self.each.iter().zip(&self.logs).map(of_prior).collect();
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

/// log of the sum of exponentials.
fn log_sum(logs: &[f64]) -> f64 {
    let greatest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if greatest == f64::NEG_INFINITY {
        return greatest;
    }
    greatest + ln(logs.iter().map(|log| exp(log - greatest)).sum::<f64>())
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
    (class.log_share + log_prior_over_proposal, ln(likelihood))
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
        let Some(fitted) = &self.fitted else {
            // All draws are from the prior.
            return 0.0;
        };
        let [prior, fitted] = Mixture::densities([class.weighed(), fitted], coordinates);
        ln(prior / (self.defensive_share * prior + fitted))
    }
}

/// Regimes, each with a component per spread.
const _: () = assert!(2 * SPREADS.len() <= Mixture::MOST_PARTS);

/// A proposal for one class of models, its log evidence, and the effective draws that one draw is expected to give.
struct Fitted {
    proposal: Proposal,
    log_evidence: f64,
    efficiency: f64,
}

/// A proposal per class: every class is weighed by draws from the prior, and those that may matter are fitted further.
fn fit_classes(
    prior: &Prior,
    terms: &[Box<dyn Likelihood>],
    wanted: &CancelToken,
) -> Result<Vec<Fitted>, Cancelled> {
    let splits = terms.iter().any(|term| term.has_regimes());
    let mut rounds: Vec<Rounds<'_>> = (0..prior.classes.len())
        .map(|class| Rounds::first(prior, class, terms, splits))
        .collect();
    let evidence: Vec<f64> = rounds.iter().map(|class| class.log_evidence).collect();
    let mut fitted = Vec::with_capacity(rounds.len());
    for (class, probability) in rounds.drain(..).zip(softmax(&evidence)) {
        wanted.check()?;
        fitted.push(if probability < LEAST_FITTED_SHARE {
            class.fitted()
        } else {
            class.fit(terms, wanted)?
        });
    }
    Ok(fitted)
}

/// Rounds of one class, each of which draws from the last fit and takes over the weighted moments.
struct Rounds<'p> {
    prior: &'p Prior,
    class: usize,
    splits: bool,
    /// Proposal of the next round.
    proposal: Proposal,
    log_evidence: f64,
    efficiency: f64,
    /// Whether the last round's draws were good enough.
    is_good: bool,
    /// The best proposal so far, with its effective draws. Few draws may count where many fit no machine, and what is
    /// fitted to them may be worse than what it was fitted from.
    best: Option<(f64, Fitted)>,
}

impl<'p> Rounds<'p> {
    /// After the first round, which draws from the prior.
    fn first(prior: &'p Prior, class: usize, terms: &[Box<dyn Likelihood>], splits: bool) -> Self {
        let kind = &prior.classes[class];
        let mut rounds = Self {
            prior,
            class,
            splits,
            proposal: Proposal::new(&[], kind),
            log_evidence: f64::NEG_INFINITY,
            efficiency: LEAST_EFFICIENCY,
            is_good: false,
            best: None,
        };
        let draws = prior.drawn.pilots(prior, class);
        let logs: Vec<f64> = draws
            .iter()
            .map(|draw| {
                let (log_prior_weight, log_likelihood) = log_target(prior, kind, terms, draw, 0.0);
                log_prior_weight + log_likelihood
            })
            .collect();
        rounds.learn(draws, &logs);
        rounds
    }

    /// Further rounds, until draws are good enough.
    fn fit(
        mut self,
        terms: &[Box<dyn Likelihood>],
        wanted: &CancelToken,
    ) -> Result<Fitted, Cancelled> {
        let (prior, index) = (self.prior, self.class);
        let class = &prior.classes[index];
        let mut points = points().iter().cycle().skip(PILOT_DRAWS);
        let with_prompts = terms.iter().any(|term| term.needs_prompts());
        let (mut draws, mut logs) = (Vec::new(), Vec::new());
        for _ in 1..MOST_ROUNDS {
            wanted.check()?;
            if self.log_evidence == f64::NEG_INFINITY {
                break;
            }
            draws.clear();
            logs.clear();
            self.proposal.draw(
                PILOT_DRAWS,
                &mut points,
                class,
                |coordinates, point, log_prior_over_proposal| {
                    let values = class.values(&coordinates);
                    let draw = Draw::new(prior, index, values, point, with_prompts);
                    let (log_prior_weight, log_likelihood) =
                        log_target(prior, class, terms, &draw, log_prior_over_proposal);
                    logs.push(log_prior_weight + log_likelihood);
                    draws.push(draw);
                },
            );
            self.learn(&draws, &logs);
            if self.is_good {
                self.best = None;
                break;
            }
        }
        Ok(self.fitted())
    }

    /// Takes over the weighted moments of a round.
    fn learn(&mut self, draws: &[Draw], logs: &[f64]) {
        let greatest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if greatest == f64::NEG_INFINITY {
            return;
        }
        let weights = softmax(logs);
        self.log_evidence = log_sum(logs) - ln(count_f64(logs.len()));
        let effective = effective_sample_size(&weights);
        self.efficiency = (effective / count_f64(logs.len())).max(LEAST_EFFICIENCY);
        if self.best.as_ref().is_none_or(|(most, _)| effective > *most) {
            let so_far = Fitted {
                proposal: self.proposal.clone(),
                log_evidence: self.log_evidence,
                efficiency: self.efficiency,
            };
            self.best = Some((effective, so_far));
        }
        let possible = draws.iter().filter(|draw| draw.is_possible).count();
        self.is_good = effective > GOOD_ENOUGH * count_f64(possible);
        let fits = self.fits(draws, &weights);
        self.proposal = Proposal::new(&fits, &self.prior.classes[self.class]);
    }

    /// A normal distribution per regime that holds weight, with its share.
    fn fits(&self, draws: &[Draw], weights: &[f64]) -> Vec<(Gaussian, f64)> {
        let class = &self.prior.classes[self.class];
        let is_memory_bound = |draw: &Draw| {
            let unknowns = || draw.unknowns(self.prior, class);
            self.splits && unknowns().log_actual_memory_over_compute() > 0.0
        };
        let weighed = draws.iter().zip(weights.iter().copied());
        let (bound, free): (Vec<_>, Vec<_>) = weighed
            .filter(|(_, weight)| *weight > 0.0)
            .partition(|(draw, _)| is_memory_bound(draw));
        let mut fits = Vec::new();
        for own in [free, bound] {
            let share: f64 = own.iter().map(|(_, weight)| weight).sum();
            if share > LEAST_REGIME_SHARE {
                fits.push((moments(&own, share, class), share));
            }
        }
        let all: f64 = fits.iter().map(|(_, share)| share).sum();
        for (_, share) in &mut fits {
            *share /= all;
        }
        fits
    }

    fn fitted(self) -> Fitted {
        let last = Fitted {
            proposal: self.proposal,
            log_evidence: self.log_evidence,
            efficiency: self.efficiency,
        };
        self.best.map_or(last, |(_, fitted)| fitted)
    }
}

/// The normal distribution with the weighted mean and covariance of draws, which keeps a part of the prior's where few
/// draws count.
#[expect(
    clippy::needless_range_loop,
    reason = "loops over indices of fixed length are unrolled; iterators are not"
)]
fn moments(draws: &[(&Draw, f64)], total: f64, class: &ClassPrior) -> Gaussian {
    let mut means = [0.0; UNKNOWNS];
    for (draw, weight) in draws {
        for slot in 0..UNKNOWNS {
            means[slot] += weight / total * draw.values[slot];
        }
    }
    let mut products = [[0.0; UNKNOWNS]; UNKNOWNS];
    let mut squares = 0.0;
    for (draw, weight) in draws {
        let mut away = draw.values;
        for slot in 0..UNKNOWNS {
            away[slot] -= means[slot];
        }
        for row in 0..UNKNOWNS {
            for column in 0..=row {
                products[row][column] += weight / total * away[row] * away[column];
            }
        }
        squares += weight * weight;
    }
    let slots = class.slots();
    let free = slots.len();
    let effective = total * total / squares;
    let own = effective / (effective + 2.0 * count_f64(free));
    let prior = class.mixture[class.mixture.len() - 1].1.covariance();
    let entry = |row: usize, column: usize| {
        let (row, column) = (row.max(column), row.min(column));
        own * products[slots[row]][slots[column]] + (1.0 - own) * 0.25 * prior[row][column]
    };
    let mean = DVector::from_iterator(free, slots.iter().map(|slot| means[*slot]));
    Gaussian::new(&mean, &DMatrix::from_fn(free, free, entry))
}

/// Probability of each class.
fn class_probabilities(fitted: &[Fitted]) -> Vec<f64> {
    let evidence: Vec<f64> = fitted.iter().map(|class| class.log_evidence).collect();
    softmax(&evidence)
}

/// Shares of draws that make the sum of squared weights least, probability over the root of the efficiency; each class has
/// some.
fn class_shares(fitted: &[Fitted]) -> Vec<f64> {
    let mut shares = class_probabilities(fitted);
    for (share, class) in shares.iter_mut().zip(fitted) {
        *share /= class.efficiency.sqrt();
    }
    normalize(&mut shares);
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
    let mut weights: Vec<f64> = logs.iter().map(|log| exp(log - greatest)).collect();
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
fn whole(count: f64) -> usize {
    count.round() as usize
}

fn share_of(count: usize, share: f64) -> usize {
    whole(count_f64(count) * share)
}

const _: () = assert!(MOST_DRAWS_PER_EFFECTIVE * EFFECTIVE_DRAWS <= MOST_POINTS);
