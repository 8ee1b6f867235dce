//! Proposals: for each class of models, normal distributions fitted to the posterior in a few rounds, and the prior.

use nalgebra::{DMatrix, DVector};

use super::draw::{Draw, Proposed};
use super::gaussian::{Gaussian, Mixture, UNKNOWNS};
use super::placing::{BLOCK, Placer};
use super::prior::{ClassPrior, Prior};
use super::sobol::{Point, points};
use super::weights::{effective_sample_size, log_sum, normalize, share_of, softmax};
use crate::evidence::likelihood::Likelihood;
use unroof_base::input::cancel::{CancelToken, Cancelled};
use unroof_base::units::count_f64;
use unroof_base::units::elementary::{exp, ln};

/// Draws per round and class of models while proposals are fitted.
const PILOT_DRAWS: usize = 448;
/// Rounds, at most; the first draws from the prior.
const MOST_ROUNDS: usize = 5;
/// Ratio of effective sample size to possible draws at which a proposal is good enough.
const GOOD_ENOUGH: f64 = 0.4;
/// Share of each proposal that is its class's prior, which bounds the weights.
const DEFENSIVE_SHARE: f64 = 0.1;
/// Share of all draws that are from the prior of all classes, so that clues can be left out afterwards.
const PRIOR_SHARE: f64 = 0.02;
/// Least share of the draws for each class of models, of those that remain.
const LEAST_CLASS_SHARE: f64 = 0.01;
/// Spread of proposals beyond the fit, and the share of draws for each: the tails of the posterior are heavier than
/// normal ones, and narrower proposals leave a few draws with much of the weight.
const SPREADS: [(f64, f64); 2] = [(1.2, 0.8), (2.2, 0.2)];
/// Least efficiency that is expected of a proposal.
const LEAST_EFFICIENCY: f64 = 0.02;
/// Least share of the weight at which a regime gets its own proposal.
const LEAST_REGIME_SHARE: f64 = 0.02;

/// log ratio of prior to proposal density of a draw, and its log likelihood.
pub(super) fn log_target(
    prior: &Prior,
    class: &ClassPrior,
    terms: &[Box<dyn Likelihood>],
    draw: &Draw,
    log_prior_over_proposal: f64,
) -> [f64; 2] {
    if !draw.is_possible {
        return [f64::NEG_INFINITY, 0.0];
    }
    let unknowns = draw.unknowns(prior, class);
    let likelihood: f64 = terms
        .iter()
        .map(|term| term.likelihood(&unknowns))
        .product();
    [class.log_share + log_prior_over_proposal, ln(likelihood)]
}

/// Normal distributions that were fitted, and the prior.
#[derive(Clone)]
pub(super) struct Proposal {
    /// The fitted distributions, each with its share of them.
    fits: Vec<(f64, Gaussian)>,
    /// Mixture of the fitted distributions, to be weighed; none where all draws are from the prior.
    fitted: Option<Mixture>,
    /// Share of the prior.
    defensive_share: f64,
}

impl Proposal {
    /// All draws are from the prior.
    fn of_prior() -> Self {
        Self {
            fits: Vec::new(),
            fitted: None,
            defensive_share: 1.0,
        }
    }

    /// A proposal of fitted normal distributions with their shares, and the prior.
    fn new(fits: &[(Gaussian, f64)], class: &ClassPrior) -> Self {
        let mut components = Vec::new();
        for (gaussian, share) in fits {
            let wide = gaussian.widened(SPREADS.map(|(spread, _)| spread), class.widest());
            for (gaussian, (_, spread_share)) in wide.into_iter().zip(SPREADS) {
                components.push((share * spread_share, gaussian));
            }
        }
        Self {
            fitted: Some(Mixture::new(&components)),
            fits: components,
            defensive_share: DEFENSIVE_SHARE,
        }
    }

    /// Adds draws from the prior, this share of all of them.
    fn add_prior(&mut self, share: f64) {
        self.defensive_share = share + (1.0 - share) * self.defensive_share;
    }

    /// Calls back with blocks of draws.
    pub(super) fn draw<'p>(
        &self,
        count: usize,
        points: &mut impl Iterator<Item = &'p Point>,
        class: &ClassPrior,
        mut take: impl FnMut(&[Proposed<'p>]),
    ) {
        let of_fits = self.fits.iter().map(|(share, gaussian)| {
            let share = (1.0 - self.defensive_share) * share;
            (share, gaussian)
        });
        let of_prior = class.mixture.iter().map(|(log_share, gaussian)| {
            let share = self.defensive_share * log_share.exp();
            (share, gaussian)
        });
        let mut block = Vec::with_capacity(BLOCK);
        let mut left = count;
        let mut components = of_fits.chain(of_prior).peekable();
        while let Some((share, gaussian)) = components.next() {
            let is_last = components.peek().is_none();
            let own = if is_last {
                left
            } else {
                share_of(count, share).min(left)
            };
            left -= own;
            for point in points.take(own) {
                let coordinates = gaussian.draw(&point.normal, 1.0);
                block.push(Proposed {
                    values: class.values(&coordinates),
                    point,
                    log_prior_over_proposal: self.log_prior_over_own(&coordinates, class),
                });
                if block.len() == BLOCK {
                    take(&block);
                    block.clear();
                }
            }
        }
        take(&block);
    }

    fn log_prior_over_own(&self, coordinates: &[f64; UNKNOWNS], class: &ClassPrior) -> f64 {
        let Some(fitted) = &self.fitted else {
            return 0.0;
        };
        let [prior, fitted] = Mixture::densities([class.weighed(), fitted], coordinates);
        let share = self.defensive_share;
        ln(prior / (share * prior + (1.0 - share) * fitted))
    }
}

/// Regimes, each with a component per spread.
const _: () = assert!(2 * SPREADS.len() <= Mixture::MOST_PARTS);

/// A proposal for one class of models, its log evidence, and the effective draws that one draw is expected to give.
#[derive(Clone)]
pub(super) struct Fitted {
    pub(super) proposal: Proposal,
    log_evidence: f64,
    pub(super) efficiency: f64,
}

/// A proposal per class.
pub(super) fn fit_classes(
    prior: &Prior,
    terms: &[Box<dyn Likelihood>],
    wanted: &CancelToken,
) -> Result<Vec<Fitted>, Cancelled> {
    let splits = terms.iter().any(|term| term.has_regimes());
    let classes = 0..prior.classes.len();
    let fit = |class| Rounds::first(prior, class, terms, splits).fit(terms, wanted);
    classes.map(fit).collect()
}

/// The draws of the first round of a class, which answers with the same prior share.
fn pilots(prior: &Prior, class: usize) -> &[Draw] {
    let of_class = |class: usize| {
        let kind = &prior.classes[class];
        let mut draws = Vec::with_capacity(PILOT_DRAWS);
        let mut placer = Placer::new(prior, class, true);
        let mut points = points().iter();
        Proposal::of_prior().draw(PILOT_DRAWS, &mut points, kind, |block| {
            draws.extend_from_slice(placer.place(block));
        });
        draws
    };
    let all = prior.drawn.pilots.get_or_init(|| {
        let classes = 0..prior.classes.len();
        classes.map(of_class).collect()
    });
    &all[class]
}

/// Rounds of one class, each of which draws from the last fit and takes over the weighted moments.
struct Rounds<'p> {
    prior: &'p Prior,
    class: usize,
    splits: bool,
    /// Proposal of the next round, with what the last one says of it.
    next: Fitted,
    /// Whether the last round's draws were good enough.
    is_good: bool,
    /// The best proposal so far, with its effective draws. Few draws may count where many fit no machine, and what is
    /// fitted to them may be worse than what it was fitted from.
    best: Option<(f64, Fitted)>,
}

impl<'p> Rounds<'p> {
    /// Rounds after the first one, which draws from the prior.
    fn first(prior: &'p Prior, class: usize, terms: &[Box<dyn Likelihood>], splits: bool) -> Self {
        let kind = &prior.classes[class];
        let mut rounds = Self {
            prior,
            class,
            splits,
            next: Fitted {
                proposal: Proposal::of_prior(),
                log_evidence: f64::NEG_INFINITY,
                efficiency: LEAST_EFFICIENCY,
            },
            is_good: false,
            best: None,
        };
        let draws = pilots(prior, class);
        let logs: Vec<f64> = draws
            .iter()
            .map(|draw| log_target(prior, kind, terms, draw, 0.0).iter().sum())
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
        let mut placer = Placer::new(prior, index, with_prompts);
        let (mut draws, mut logs) = (Vec::new(), Vec::new());
        for _ in 1..MOST_ROUNDS {
            wanted.check()?;
            if self.next.log_evidence == f64::NEG_INFINITY {
                break;
            }
            draws.clear();
            logs.clear();
            self.next
                .proposal
                .draw(PILOT_DRAWS, &mut points, class, |block| {
                    let of_block = placer.place(block);
                    logs.extend(block.iter().zip(of_block).map(|(proposed, draw)| {
                        let log_ratio = proposed.log_prior_over_proposal;
                        let logs = log_target(prior, class, terms, draw, log_ratio);
                        logs.iter().sum::<f64>()
                    }));
                    draws.extend_from_slice(of_block);
                });
            self.learn(&draws, &logs);
            if self.is_good {
                self.best = None;
                break;
            }
        }
        Ok(self.best.map_or(self.next, |(_, best)| best))
    }

    /// Takes over the weighted moments of a round.
    fn learn(&mut self, draws: &[Draw], logs: &[f64]) {
        let greatest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if greatest == f64::NEG_INFINITY {
            return;
        }
        let weights = softmax(logs);
        self.next.log_evidence = log_sum(logs) - ln(count_f64(logs.len()));
        let effective = effective_sample_size(&weights);
        self.next.efficiency = (effective / count_f64(logs.len())).max(LEAST_EFFICIENCY);
        if self.best.as_ref().is_none_or(|(most, _)| effective > *most) {
            self.best = Some((effective, self.next.clone()));
        }
        let possible = draws.iter().filter(|draw| draw.is_possible).count();
        self.is_good = effective > GOOD_ENOUGH * count_f64(possible);
        let fits = self.fits(draws, &weights);
        self.next.proposal = Proposal::new(&fits, &self.prior.classes[self.class]);
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
pub(super) fn class_probabilities(fitted: &[Fitted]) -> Vec<f64> {
    let evidence: Vec<f64> = fitted.iter().map(|class| class.log_evidence).collect();
    softmax(&evidence)
}

/// Share of the draws for each class of models. Those of the fits get what makes the sum of squared weights least,
/// probability over the root of the efficiency, but at least some; each proposal learns what it draws from the prior.
pub(super) fn share_out(prior: &Prior, fitted: &mut [Fitted]) -> Vec<f64> {
    let mut shares = class_probabilities(fitted);
    for (share, class) in shares.iter_mut().zip(&*fitted) {
        *share /= class.efficiency.sqrt();
    }
    normalize(&mut shares);
    for share in &mut shares {
        *share = share.max(LEAST_CLASS_SHARE);
    }
    normalize(&mut shares);
    for ((share, class), kind) in shares.iter_mut().zip(fitted).zip(&prior.classes) {
        let of_prior = PRIOR_SHARE * exp(kind.log_share);
        let of_proposal = (1.0 - PRIOR_SHARE) * *share;
        *share = of_prior + of_proposal;
        class.proposal.add_prior(of_prior / *share);
    }
    shares
}
