//! A vendor's models together: one markup and one accelerator for all of them, so that the ratio of two sizes is known
//! better than either size.
//!
//! A hypothesis h is a markup and an accelerator, common to the vendor's models. Each model is drawn once by itself; its draws
//! d, of weight w, give the evidence E(h) = Σ w·p(prices | d, markup)/p(prices | d) over the draws of that accelerator. A
//! hypothesis has the weight prior(h)·Π E(h), and given it the models are independent.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, Normal};
use utoipa::ToSchema;

use super::posterior::{DRAWS, Draws, Interval, Prior, sample_while, summarize};
use crate::clue;
use crate::input::cancel::{CancelToken, Cancelled};
use crate::model::assumptions::Assumptions;
use crate::model::clue_table::ClueKind;
use crate::model::likelihood::Observed;
use crate::model::machine::Machine;
use crate::reference::calibration::{Calibration, HostMarkup, OverLines};
use crate::reference::vendor;
use crate::sheet::PriceSheet;
use crate::units::significant;

/// Most models of a vendor that are drawn together.
pub const MOST_MODELS: usize = 16;
/// Points of the vendor's markup.
const MARKUPS: usize = 64;
/// Joint draws of the sizes of all models.
const JOINT_DRAWS: usize = 4_096;
/// One draw of a model in so many is weighed for every markup. Every third would fall in step with the proposals.
const STRIDE: usize = 2;

/// A model of a vendor with the sheets that its estimate reads.
#[derive(Debug, Clone)]
pub struct VendorModel {
    /// author/model
    pub canonical_model: String,
    /// The sheets.
    pub sheets: Vec<PriceSheet>,
}

/// A vendor's models with a common markup and a common accelerator.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct VendorEstimate {
    /// Factor by which the vendor prices above (or below) the price law, on the input and on the output line.
    pub markup: MarkupEstimate,
    /// The models, by name.
    pub models: Vec<SizeEstimate>,
    /// Every pair of models, the larger one first.
    pub ratios: Vec<SizeRatio>,
    /// Number of independent hypotheses about markup and accelerator with the same information.
    pub effective_hypotheses: f64,
}

/// The markup of a vendor on each line.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, ToSchema)]
pub struct MarkupEstimate {
    /// On the input price.
    pub input: Span,
    /// On the output price.
    pub output: Span,
}

/// Median and 90 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, ToSchema)]
pub struct Span {
    /// Median.
    pub median: f64,
    /// Interval that contains the value with a probability of 90 %.
    pub interval_90: Interval,
}

/// The sizes of one model.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct SizeEstimate {
    /// author/model
    #[schema(example = "anthropic/claude-opus-4.6")]
    pub canonical_model: String,
    /// Parameters used per token.
    pub active_parameters: Span,
    /// Parameters.
    pub total_parameters: Span,
}

/// The ratio of two models of one vendor.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct SizeRatio {
    /// The model with more active parameters.
    pub larger: String,
    /// The other one.
    pub smaller: String,
    /// Ratio of their active parameters.
    pub active_parameters: Span,
    /// Ratio of their total parameters.
    pub total_parameters: Span,
    /// Probability that the larger one has more active parameters.
    pub more_active_parameters: f64,
    /// Probability that it has more total parameters.
    pub more_total_parameters: f64,
    /// The ratio of their active parameters if markup and accelerator were not common.
    pub active_parameters_alone: Span,
}

/// A draw of a model: logarithms of active and total parameters.
type Sizes = [f64; 2];

/// The draws of one model, by accelerator, and their weights under every markup.
struct Drawn {
    name: String,
    /// By accelerator.
    groups: Vec<Group>,
    /// All draws with their weights, whatever the accelerator and the markup.
    alone: Choice,
}

/// The draws of one model on one accelerator.
struct Group {
    /// Draws to choose from, by markup.
    choices: Vec<Choice>,
    /// log evidence, by markup.
    log_evidence: Vec<f64>,
}

/// Draws to choose from by their weights.
struct Choice {
    sizes: Vec<Sizes>,
    below: Vec<f64>,
}

impl Choice {
    fn new(sizes: Vec<Sizes>, weights: &[f64]) -> Self {
        let add = |below: &mut f64, weight: &f64| {
            *below += weight;
            Some(*below)
        };
        Self {
            sizes,
            below: weights.iter().scan(0.0, add).collect(),
        }
    }

    fn total(&self) -> f64 {
        self.below.last().copied().unwrap_or_default()
    }

    /// The draw at a uniform coordinate.
    fn at(&self, uniform: f64) -> Sizes {
        let wanted = uniform * self.total();
        let place = self.below.partition_point(|below| *below <= wanted);
        self.sizes[place.min(self.sizes.len() - 1)]
    }
}

/// Estimates a vendor's models together, from sheets by which it sells them itself. None without models.
///
/// # Errors
/// The work is cancelled.
pub fn estimate(
    seller: &str,
    models: &[VendorModel],
    calibration: &Calibration,
    wanted: &CancelToken,
) -> Result<Option<VendorEstimate>, Cancelled> {
    if models.is_empty() {
        return Ok(None);
    }
    let assumptions = Assumptions::default();
    let prior = Prior::new(calibration, &assumptions);
    let markups = markups(seller, calibration);
    let accelerators = Accelerators::of(&prior_machines(&assumptions));
    let by_markup: Vec<Calibration> = markups
        .iter()
        .map(|markup| with_markup(calibration, seller, *markup))
        .collect();
    let mut drawn = Vec::with_capacity(models.len());
    for model in models.iter().take(MOST_MODELS) {
        let terms = clue::observed(&model.sheets, &assumptions, calibration);
        let posterior = sample_while(&prior, &terms, DRAWS, wanted)?;
        let prices = |calibration| price_terms(&model.sheets, &assumptions, calibration);
        let alone = prices(calibration);
        let given: Vec<Observed> = by_markup.iter().map(prices).collect();
        wanted.check()?;
        drawn.push(Drawn::new(
            &model.canonical_model,
            &posterior.draws,
            &accelerators,
            &alone,
            &given,
        ));
    }
    Ok(Some(together(
        &drawn,
        calibration.price_law.author,
        &markups,
        &accelerators,
    )))
}

/// The accelerators of the prior.
struct Accelerators {
    /// Prior share of each.
    shares: Vec<f64>,
    /// Place by the figures that distinguish accelerators.
    places: BTreeMap<[u64; 3], usize>,
}

impl Accelerators {
    fn of(machines: &[Machine]) -> Self {
        let mut found = Self {
            shares: Vec::new(),
            places: BTreeMap::new(),
        };
        for machine in machines {
            let next = found.shares.len();
            let place = *found.places.entry(Self::key(machine)).or_insert(next);
            if place == next {
                found.shares.push(0.0);
            }
            found.shares[place] += machine.share;
        }
        found
    }

    fn key(machine: &Machine) -> [u64; 3] {
        let parts = [
            machine.log_bandwidth,
            machine.log_capacity,
            machine.log_rental,
        ];
        parts.map(f64::to_bits)
    }

    fn place(&self, machine: &Machine) -> usize {
        self.places.get(&Self::key(machine)).copied().unwrap_or(0)
    }
}

fn prior_machines(assumptions: &Assumptions) -> Vec<Machine> {
    crate::model::machine::machines(assumptions)
}

/// The mean and the covariance of a vendor's log markup over that of an average vendor, before its sheets are read.
fn markup_prior(seller: &str, calibration: &Calibration) -> HostMarkup {
    let known = calibration.authors.get(&vendor(seller));
    known.cloned().unwrap_or(HostMarkup {
        mean: [0.0; 2],
        covariance: calibration.price_law.author_spread,
    })
}

/// Points of a vendor's log markup, each as probable.
fn markups(seller: &str, calibration: &Calibration) -> Vec<[f64; 2]> {
    let prior = markup_prior(seller, calibration);
    let [[input, both], [_, output]] = prior.covariance;
    let across = both / input.sqrt();
    let rest = (output - across * across).max(0.0).sqrt();
    let normal = Normal::standard();
    (0..MARKUPS)
        .map(|number| {
            let point = [2, 3].map(|prime| normal.inverse_cdf(spread(number, prime)));
            [
                prior.mean[0] + input.sqrt() * point[0],
                prior.mean[1] + across * point[0] + rest * point[1],
            ]
        })
        .collect()
}

/// Evenly spread points between 0 and 1: multiples of the square root of a prime, without their whole parts.
fn spread(number: usize, prime: u32) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a few thousand points")]
    let multiple = (number as f64 + 0.5) * f64::from(prime).sqrt();
    multiple.fract().clamp(1e-6, 1.0 - 1e-6)
}

/// A calibration that knows the vendor's markup.
fn with_markup(calibration: &Calibration, seller: &str, markup: [f64; 2]) -> Calibration {
    let mut known = calibration.clone();
    let certain = HostMarkup {
        mean: markup,
        covariance: OverLines::default(),
    };
    known.authors.insert(vendor(seller), certain);
    known
}

/// The terms of a model's prices, which alone depend on the markup.
fn price_terms(
    sheets: &[PriceSheet],
    assumptions: &Assumptions,
    calibration: &Calibration,
) -> Observed {
    let mut terms = clue::observed(sheets, assumptions, calibration);
    let is_price = |part: &ClueKind| matches!(part, ClueKind::InputPrice | ClueKind::OutputPrice);
    terms.retain(|term| term.parts().iter().any(is_price));
    terms
}

impl Drawn {
    fn new(
        name: &str,
        draws: &Draws<'_>,
        accelerators: &Accelerators,
        alone: &Observed,
        given: &[Observed],
    ) -> Self {
        let mut sizes = vec![Vec::new(); accelerators.shares.len()];
        let mut weights = vec![vec![Vec::new(); given.len()]; accelerators.shares.len()];
        let (mut all, mut own) = (Vec::new(), Vec::new());
        for (unknowns, weight) in draws.iter().zip(draws.weights()).step_by(STRIDE) {
            let density = |terms: &Observed| -> f64 {
                terms
                    .iter()
                    .map(|term| term.likelihood(&unknowns))
                    .product()
            };
            let place = accelerators.place(unknowns.machine);
            let size = [
                unknowns.log_active_parameters,
                unknowns.log_total_parameters,
            ];
            let per_density = weight / density(alone);
            sizes[place].push(size);
            for (of_markup, terms) in weights[place].iter_mut().zip(given) {
                of_markup.push(per_density * density(terms));
            }
            all.push(size);
            own.push(*weight);
        }
        let groups = sizes.into_iter().zip(weights).zip(&accelerators.shares);
        let groups = groups.map(|((sizes, weights), share)| Group::new(&sizes, &weights, *share));
        Self {
            name: name.to_owned(),
            groups: groups.collect(),
            alone: Choice::new(all, &own),
        }
    }
}

impl Group {
    fn new(sizes: &[Sizes], weights: &[Vec<f64>], share: f64) -> Self {
        let choices: Vec<Choice> = weights
            .iter()
            .map(|weights| Choice::new(sizes.to_vec(), weights))
            .collect();
        let log_evidence = choices.iter().map(|choice| (choice.total() / share).ln());
        Self {
            log_evidence: log_evidence.collect(),
            choices,
        }
    }
}

/// A hypothesis about the vendor: the places of its accelerator and of its markup.
type Hypothesis = (usize, usize);

/// The hypotheses with their weights, which add up to 1.
fn hypotheses(drawn: &[Drawn], accelerators: &Accelerators) -> Vec<(Hypothesis, f64)> {
    let mut logs = Vec::new();
    for (accelerator, share) in accelerators.shares.iter().enumerate() {
        for markup in 0..MARKUPS {
            let evidence = drawn
                .iter()
                .map(|model| model.groups[accelerator].log_evidence[markup]);
            logs.push(((accelerator, markup), share.ln() + evidence.sum::<f64>()));
        }
    }
    let greatest = logs
        .iter()
        .map(|(_, log)| *log)
        .fold(f64::NEG_INFINITY, f64::max);
    let mut weights: Vec<(Hypothesis, f64)> = logs
        .into_iter()
        .map(|(hypothesis, log)| (hypothesis, (log - greatest).exp()))
        .collect();
    let total: f64 = weights.iter().map(|(_, weight)| weight).sum();
    for (_, weight) in &mut weights {
        *weight /= total;
    }
    weights
}

/// The estimate; `own` is the log of the factor by which authors price above the law on average.
fn together(
    drawn: &[Drawn],
    own: [f64; 2],
    markups: &[[f64; 2]],
    accelerators: &Accelerators,
) -> VendorEstimate {
    let weighed = hypotheses(drawn, accelerators);
    let squares: f64 = weighed.iter().map(|(_, weight)| weight * weight).sum();
    let weights: Vec<f64> = weighed.iter().map(|(_, weight)| *weight).collect();
    let line = |line: usize| {
        let logs = weighed
            .iter()
            .map(|((_, markup), _)| own[line] + markups[*markup][line]);
        span(&logs.collect::<Vec<f64>>(), &weights)
    };
    let joint = joint_draws(drawn, &weighed);
    let even = vec![1.0; JOINT_DRAWS];
    let size = |model: usize, which: usize| -> Vec<f64> {
        joint.iter().map(|sizes| sizes[model][which]).collect()
    };
    let models = drawn.iter().enumerate().map(|(place, model)| SizeEstimate {
        canonical_model: model.name.clone(),
        active_parameters: span(&size(place, 0), &even),
        total_parameters: span(&size(place, 1), &even),
    });
    let models: Vec<SizeEstimate> = models.collect();
    let mut ratios = Vec::new();
    for (first, one) in drawn.iter().enumerate() {
        for (second, other) in drawn.iter().enumerate().skip(first + 1) {
            let is_larger =
                models[first].active_parameters.median >= models[second].active_parameters.median;
            let (over, under) = if is_larger {
                (first, second)
            } else {
                (second, first)
            };
            let (larger, smaller) = if is_larger {
                (one, other)
            } else {
                (other, one)
            };
            let ratio = |which: usize| -> Vec<f64> {
                let logs = size(over, which).into_iter().zip(size(under, which));
                logs.map(|(over, under)| over - under).collect()
            };
            let (active, total) = (ratio(0), ratio(1));
            ratios.push(SizeRatio {
                larger: larger.name.clone(),
                smaller: smaller.name.clone(),
                active_parameters: span(&active, &even),
                total_parameters: span(&total, &even),
                more_active_parameters: share_above_zero(&active),
                more_total_parameters: share_above_zero(&total),
                active_parameters_alone: alone(larger, smaller, &even),
            });
        }
    }
    VendorEstimate {
        markup: MarkupEstimate {
            input: line(0),
            output: line(1),
        },
        models,
        ratios,
        effective_hypotheses: significant(1.0 / squares),
    }
}

/// Share of logarithms above 0; one of 0 counts half.
fn share_above_zero(logs: &[f64]) -> f64 {
    let of_one = |log: &f64| match log.total_cmp(&0.0) {
        Ordering::Greater => 1.0,
        Ordering::Equal => 0.5,
        Ordering::Less => 0.0,
    };
    let above: f64 = logs.iter().map(of_one).sum();
    #[expect(clippy::cast_precision_loss, reason = "a few thousand draws")]
    let count = logs.len() as f64;
    significant(above / count)
}

/// Primes whose square roots spread the draws of the models, each in a way of its own.
const PRIMES: [u32; MOST_MODELS] = [5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61];

/// Draws of the sizes of all models: the hypotheses in proportion to their weights, and given each the models by themselves.
fn joint_draws(drawn: &[Drawn], weighed: &[(Hypothesis, f64)]) -> Vec<Vec<Sizes>> {
    let mut joint = Vec::with_capacity(JOINT_DRAWS);
    let mut hypotheses = weighed.iter();
    let mut current = (0, 0);
    let mut below = 0.0;
    for number in 0..JOINT_DRAWS {
        #[expect(clippy::cast_precision_loss, reason = "a few thousand draws")]
        let wanted = (number as f64 + 0.5) / JOINT_DRAWS as f64;
        while below < wanted
            && let Some((hypothesis, weight)) = hypotheses.next()
        {
            current = *hypothesis;
            below += weight;
        }
        let (accelerator, markup) = current;
        let sizes = drawn.iter().zip(PRIMES).map(|(model, prime)| {
            model.groups[accelerator].choices[markup].at(spread(number, prime))
        });
        joint.push(sizes.collect());
    }
    joint
}

/// The ratio of active parameters from the estimates of two models by themselves.
fn alone(larger: &Drawn, smaller: &Drawn, even: &[f64]) -> Span {
    let logs = (0..JOINT_DRAWS).map(|number| {
        larger.alone.at(spread(number, PRIMES[0]))[0]
            - smaller.alone.at(spread(number, PRIMES[1]))[0]
    });
    span(&logs.collect::<Vec<f64>>(), even)
}

fn span(logs: &[f64], weights: &[f64]) -> Span {
    let summary = summarize(logs.iter().copied(), weights);
    Span {
        median: summary.median(),
        interval_90: summary.interval_90(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sheet::{ContextTier, RateCell};

    fn model(name: &str, input: &str, output: &str) -> VendorModel {
        let mut cell = RateCell::new("standard", ContextTier::default(), None);
        cell.input = Some(input.parse().unwrap());
        cell.output = Some(output.parse().unwrap());
        let canonical_model = format!("acme/{name}");
        let sheet = PriceSheet {
            canonical_model: Some(canonical_model.clone()),
            ..PriceSheet::new("acme", name, vec![cell])
        };
        VendorModel {
            canonical_model,
            sheets: vec![sheet],
        }
    }

    fn together(models: &[VendorModel]) -> VendorEstimate {
        let wanted = CancelToken::default();
        estimate("acme", models, Calibration::shipped(), &wanted)
            .unwrap()
            .unwrap()
    }

    fn width(interval: Interval) -> f64 {
        (interval.high / interval.low).ln()
    }

    #[test]
    fn a_ratio_of_two_models_is_known_better_than_either_size() {
        let found = together(&[
            model("large", "5", "25"),
            model("middle", "3", "15"),
            model("small", "1", "5"),
        ]);
        assert_eq!(found.models.len(), 3);
        assert_eq!(found.ratios.len(), 3);
        for ratio in &found.ratios {
            let alone = width(ratio.active_parameters_alone.interval_90);
            let common = width(ratio.active_parameters.interval_90);
            assert!(common < 0.97 * alone, "{common} against {alone}");
            assert!(ratio.active_parameters.median > 1.0);
            assert!(ratio.more_active_parameters > 0.5 && ratio.more_active_parameters <= 1.0);
        }
        assert_eq!(found.ratios[1].larger, "acme/large");
        assert_eq!(found.ratios[1].smaller, "acme/small");
    }

    #[test]
    fn models_of_one_price_have_a_ratio_of_about_one() {
        let found = together(&[model("one", "2", "8"), model("other", "2", "8")]);
        let ratio = &found.ratios[0].active_parameters;
        assert!(ratio.median.ln().abs() < 0.15, "{}", ratio.median);
        let interval = ratio.interval_90;
        assert!(interval.low < 1.0 && 1.0 < interval.high);
        assert!((found.ratios[0].more_active_parameters - 0.5).abs() < 0.1);
    }

    #[test]
    fn one_model_learns_nothing_from_others() {
        let own = model("only", "2", "8");
        let found = together(std::slice::from_ref(&own));
        let contents: Vec<PriceSheet> =
            own.sheets.iter().map(PriceSheet::pricing_content).collect();
        let joint = super::super::joint::estimate(
            &contents,
            &[],
            &Assumptions::default(),
            Calibration::shipped(),
            &CancelToken::default(),
        );
        let median = joint.unwrap().quantities.active_parameters.median;
        let common = found.models[0].active_parameters.median;
        assert!(
            (common / median).ln().abs() < 0.03,
            "{common} against {median}"
        );
        assert_eq!(found.ratios, []);
    }

    #[test]
    fn many_dear_models_are_a_sign_of_a_markup() {
        let dear = [
            model("a", "15", "75"),
            model("b", "20", "80"),
            model("c", "12", "60"),
            model("d", "30", "120"),
        ];
        let found = together(&dear);
        assert!(found.markup.output.median > 1.2, "{:?}", found.markup);
        assert!(found.effective_hypotheses > 10.0);
    }

    #[test]
    fn a_vendor_without_models_has_no_estimate() {
        let wanted = CancelToken::default();
        let found = estimate("acme", &[], Calibration::shipped(), &wanted).unwrap();
        assert_eq!(found, None);
    }
}
