//! The joint estimate as it is answered: every quantity beside its prior, with what moved it.

use serde::Serialize;
use utoipa::ToSchema;

use super::misfit::{self, Misfit};
use super::posterior::{
    DRAWS, Draws, Interval, PRIOR_DRAWS, Posterior, Prior, SEED, Summary, exponentials,
    sample_prior, sample_while, summarize,
};
use super::quantities::{self as q, JOINT_QUANTITIES, JointQuantity, QUANTITIES};
use super::{ENGINE_VERSION, Unwanted, Wanted, nearest, storage_tiers};
use crate::clue;
use crate::model::assumptions::Assumptions;
use crate::model::likelihood::Likelihood;
use crate::model::quantity::Quantity;
use crate::model::reading::Reading;
use crate::model::unknowns::Unknowns;
use crate::reference::calibration::Calibration;
use crate::reference::{TrackRecord, track_record_of_quantity};
use crate::sheet::{PriceSheet, RateCell};
use crate::units::{Decimal, readable, significant};

/// What the sheets say together, with honest intervals.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Joint {
    /// Every quantity.
    pub quantities: Quantities,
    /// Where each cache offer lives.
    pub storage_tiers: Vec<storage_tiers::OfferTiers>,
    /// Open-weight models whose figures lie nearest.
    pub nearest_open_models: Vec<nearest::NearModel>,
    /// Attention layers whose cache would be of such a size.
    pub attention_layouts: Vec<nearest::AttentionLayout>,
    /// Whether the sheets fit the model at all.
    pub misfit: Misfit,
    /// How far the draws can be trusted.
    pub diagnostics: Diagnostics,
}

/// The quantities of the joint estimate.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Quantities {
    /// `N_a`
    pub active_parameters: QuantityEstimate,
    /// `N_t`
    pub total_parameters: QuantityEstimate,
    /// `k_bw` at one byte per element.
    pub kv_bytes_per_token_read: QuantityEstimate,
    /// `k_bw` as served, where `kv_bytes_per_element` is stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub kv_bytes_per_token_read_as_served: Option<QuantityEstimate>,
    /// `k_st` at one byte per element.
    pub kv_bytes_per_token_stored: QuantityEstimate,
    /// `k_st` as served, where `kv_bytes_per_element` is stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub kv_bytes_per_token_stored_as_served: Option<QuantityEstimate>,
    /// r at peak, with the regime.
    pub memory_time_over_compute_time: RatioEstimate,
    /// β
    pub batch_over_optimal_batch: QuantityEstimate,
    /// L0
    pub crossover_context_tokens: QuantityEstimate,
    /// `T_min`
    pub latency_floor_seconds: QuantityEstimate,
    /// `c_in`
    pub cost_input_usd_per_mtok: QuantityEstimate,
    /// `c_out`
    pub cost_output_usd_per_mtok: QuantityEstimate,
}

impl Quantities {
    /// Each of [`JOINT_QUANTITIES`], in its order.
    #[must_use]
    pub fn in_order(&self) -> [(&'static JointQuantity, &QuantityEstimate); QUANTITIES] {
        let estimates = [
            &self.active_parameters,
            &self.total_parameters,
            &self.kv_bytes_per_token_read,
            &self.kv_bytes_per_token_stored,
            &self.memory_time_over_compute_time.estimate,
            &self.batch_over_optimal_batch,
            &self.crossover_context_tokens,
            &self.latency_floor_seconds,
            &self.cost_input_usd_per_mtok,
            &self.cost_output_usd_per_mtok,
        ];
        std::array::from_fn(|place| (JOINT_QUANTITIES[place], estimates[place]))
    }

    /// How many are identified.
    #[must_use]
    pub fn identified(&self) -> usize {
        let estimates = self.in_order();
        estimates
            .iter()
            .filter(|(_, estimate)| estimate.identified)
            .count()
    }

    /// Why the first one that is not identified is not.
    #[must_use]
    pub fn first_reason(&self) -> Option<&str> {
        let estimates = self.in_order();
        estimates
            .iter()
            .find_map(|(_, estimate)| estimate.not_identified_because.as_deref())
    }
}

/// One quantity: what is believed after the sheets were read, beside what was believed before.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct QuantityEstimate {
    /// What the rest is made of.
    #[serde(skip)]
    pub(super) summary: Summary,
    /// As probable above as below.
    pub median: f64,
    /// Holds it with a probability of one half.
    pub interval_50: Interval,
    /// Holds it with a probability of 90 %.
    pub interval_90: Interval,
    /// What is believed before the sheets are read, with what is stated.
    pub prior: PriorEstimate,
    /// What the sheets tell beyond the prior.
    pub information_gained_bits: f64,
    /// Whether the sheets tell enough to speak of an estimate.
    pub identified: bool,
    /// Why they do not.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub not_identified_because: Option<String>,
    /// Its unit; empty for a plain ratio.
    pub unit: &'static str,
    /// How it follows from what is unknown.
    pub equation: &'static str,
    /// How good this estimate has been on open-weight models; null where no truth is public.
    pub track_record: Option<TrackRecord>,
    /// The clues that moved it, in the order in which they were taken up; their factors multiply to the whole move.
    pub moved_by: Vec<Move>,
}

/// What is believed before the sheets are read.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct PriorEstimate {
    /// As probable above as below.
    pub median: f64,
    /// Holds it with a probability of one half.
    pub interval_50: Interval,
    /// Holds it with a probability of 90 %.
    pub interval_90: Interval,
}

/// How far a clue moved a quantity.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Move {
    /// The clue.
    pub clue: &'static str,
    /// Geometric mean after it over the one before it.
    pub factor: f64,
}

/// The ratio of memory time to compute time, with what it means.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct RatioEstimate {
    /// The ratio at peak.
    #[serde(flatten)]
    pub estimate: QuantityEstimate,
    /// Which of the two decoding waits for, with what is reached of either peak.
    pub regime: Regime,
    /// Probability of that regime.
    pub regime_probability: f64,
}

/// What decoding waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Regime {
    /// Memory.
    MemoryBound,
    /// Arithmetic.
    ComputeBound,
}

/// How far the draws can be trusted.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Diagnostics {
    /// Independent draws that would tell as much.
    pub effective_sample_size: f64,
    /// Tail of the weights; above 0.7 the intervals are not to be trusted.
    pub pareto_k: f64,
    /// Draws.
    pub samples: usize,
    /// Seed of the points the draws are made of.
    pub seed: u32,
    /// Version of the engine.
    pub engine_version: &'static str,
    /// The calibration behind the prior and the law of prices.
    pub calibration_id: String,
    /// What a reader should know before using the intervals.
    pub warnings: Vec<String>,
}

/// Least information that makes an estimate of a quantity: as much as an interval narrowed by two fifths tells.
pub const LEAST_BITS: f64 = 0.3;
/// A clue that moves a quantity by less than 3 % is not named: that is the noise of the draws.
const LEAST_MOVE: f64 = 0.03;
/// Above this k̂ the weights have no second moment to speak of.
const LARGEST_PARETO_K: f64 = 0.7;
/// Every so many draws take part in what is worked out per clue.
const CLUE_STRIDE: usize = 6;
/// Every so many of these take part in how surprising a clue is, which need not be known to more than two digits.
const TAIL_STRIDE: usize = 8;

/// What is worked out once for all quantities.
struct Worked<'a> {
    posterior: &'a Posterior<'a>,
    terms: &'a [Box<dyn Likelihood>],
    assumptions: &'a Assumptions,
    misfit: &'a Misfit,
    /// What the sheets would have to state for the price lines to be read.
    missing: Vec<String>,
    /// Per clue, weights of every [`CLUE_STRIDE`]th draw once it and those before it were taken up.
    steps: Vec<Step>,
}

/// A clue once it was taken up.
pub(super) struct Step {
    /// The clue.
    pub(super) clue: &'static str,
    /// Weights of the draws after it.
    pub(super) weights: Vec<f64>,
    /// Probability, before it, of seeing it at least as far out as it is.
    pub(super) tail_probability: f64,
}

/// Estimates from sheets of one model.
///
/// # Errors
/// The estimate is not wanted any more.
pub fn estimate(
    contents: &[PriceSheet],
    readings: &[Reading],
    assumptions: &Assumptions,
    calibration: &Calibration,
    wanted: &Wanted,
) -> Result<Joint, Unwanted> {
    let prior = Prior::new(calibration, assumptions);
    let terms = clue::observed(contents, assumptions, calibration);
    let believed = sample_prior(&prior, PRIOR_DRAWS);
    let posterior = if terms.is_empty() {
        Posterior::of_prior(sample_prior(&prior, PRIOR_DRAWS))
    } else {
        sample_while(&prior, &terms, DRAWS, wanted)?
    };
    let steps = steps(&posterior, &terms, wanted)?;
    let misfit = misfit::check(contents, &steps);
    let worked = Worked {
        posterior: &posterior,
        terms: &terms,
        assumptions,
        misfit: &misfit,
        missing: missing_lines(contents, assumptions),
        steps,
    };
    let quantities = worked.quantities(&believed, wanted)?;
    Ok(Joint {
        storage_tiers: storage_tiers::of_offers(contents, readings, assumptions, &posterior.draws),
        nearest_open_models: nearest::open_models_near([
            &quantities.active_parameters,
            &quantities.total_parameters,
            &quantities.kv_bytes_per_token_read,
            &quantities.kv_bytes_per_token_stored,
        ]),
        attention_layouts: nearest::attention_layouts(&quantities.kv_bytes_per_token_stored),
        quantities,
        diagnostics: diagnostics(&posterior, calibration),
        misfit,
    })
}

/// Takes up one clue after the other.
fn steps(
    posterior: &Posterior<'_>,
    terms: &[Box<dyn Likelihood>],
    wanted: &Wanted,
) -> Result<Vec<Step>, Unwanted> {
    let draws = || posterior.draws.iter().step_by(CLUE_STRIDE);
    let mut logs: Vec<f64> = posterior
        .log_prior_weights
        .iter()
        .step_by(CLUE_STRIDE)
        .copied()
        .collect();
    let mut before = exponentials(&logs);
    let mut steps = Vec::new();
    for term in terms {
        wanted.check()?;
        for (part, clue) in term.parts().iter().copied().enumerate() {
            let (mut tail, mut all) = (0.0, 0.0);
            for (unknowns, weight) in draws().zip(&before).step_by(TAIL_STRIDE) {
                tail += weight * term.tail_probability(part, &unknowns);
                all += weight;
            }
            // Few draws may miss all of the weight; then nothing is known to be surprising.
            let tail_probability = if all > 0.0 { tail / all } else { 1.0 };
            for (log, unknowns) in logs.iter_mut().zip(draws()) {
                *log += term.log_likelihood_of(part, &unknowns);
            }
            before = exponentials(&logs);
            steps.push(Step {
                clue,
                weights: before.clone(),
                tail_probability,
            });
        }
    }
    Ok(steps)
}

/// One of the prices of a rate cell.
type PriceOf = fn(&RateCell) -> Option<&Decimal>;

/// Price lines that no sheet states, or states in a currency without a rate.
fn missing_lines(contents: &[PriceSheet], assumptions: &Assumptions) -> Vec<String> {
    let has_rate = assumptions.states(Quantity::UsdPerCurrencyUnit);
    if !has_rate && let Some(foreign) = contents.iter().find(|sheet| sheet.currency != "USD") {
        return vec![format!(
            "its prices are in {}: state `usd_per_currency_unit`",
            foreign.currency
        )];
    }
    let lines: [(&str, PriceOf); 2] = [
        ("input", |rate| rate.input.as_ref()),
        ("output", |rate| rate.output.as_ref()),
    ];
    let is_stated = |price: PriceOf| {
        let mut base = contents.iter().filter_map(|sheet| sheet.base_rate());
        base.any(|rate| price(rate).is_some_and(|price| !price.is_zero()))
    };
    let missing = lines.into_iter().filter(|(_, price)| !is_stated(*price));
    missing
        .map(|(name, _)| format!("the sheet states no {name} price"))
        .collect()
}

impl Worked<'_> {
    fn quantities(&self, believed: &Draws<'_>, wanted: &Wanted) -> Result<Quantities, Unwanted> {
        let of = |quantity: &'static JointQuantity| {
            wanted.check()?;
            Ok(self.estimate(quantity, believed))
        };
        let element = self
            .assumptions
            .stated(Quantity::KvBytesPerElement)
            .map(|stated| stated.middle);
        let read = of(&q::KV_BYTES_READ)?;
        let stored = of(&q::KV_BYTES_STORED)?;
        Ok(Quantities {
            active_parameters: of(&q::ACTIVE_PARAMETERS)?,
            total_parameters: of(&q::TOTAL_PARAMETERS)?,
            kv_bytes_per_token_read_as_served: element.map(|bytes| read.as_served(bytes)),
            kv_bytes_per_token_read: read,
            kv_bytes_per_token_stored_as_served: element.map(|bytes| stored.as_served(bytes)),
            kv_bytes_per_token_stored: stored,
            memory_time_over_compute_time: self.ratio(of(&q::MEMORY_OVER_COMPUTE)?),
            batch_over_optimal_batch: of(&q::BATCH_OVER_OPTIMAL)?,
            crossover_context_tokens: of(&q::CROSSOVER_CONTEXT)?,
            latency_floor_seconds: of(&q::LATENCY_FLOOR)?,
            cost_input_usd_per_mtok: of(&q::COST_INPUT)?,
            cost_output_usd_per_mtok: of(&q::COST_OUTPUT)?,
        })
    }

    fn estimate(&self, quantity: &'static JointQuantity, believed: &Draws<'_>) -> QuantityEstimate {
        let summary = |draws: &Draws<'_>| {
            let logs: Vec<f64> = draws
                .iter()
                .map(|unknowns| (quantity.log_value)(&unknowns))
                .collect();
            (summarize(logs.iter().copied(), draws.weights()), logs)
        };
        let (prior, _) = summary(believed);
        let (posterior, logs) = summary(&self.posterior.draws);
        let moved_by = self.moves(&logs, &prior, &posterior);
        let bits = if self.terms.is_empty() {
            0.0
        } else {
            posterior.bits_over(&prior)
        };
        let track_record = track_record_of_quantity(quantity.name);
        let reason = self.not_identified(&prior, bits, track_record);
        QuantityEstimate {
            summary: posterior,
            median: posterior.median(),
            interval_50: posterior.interval_50(),
            interval_90: posterior.interval_90(),
            prior: PriorEstimate {
                median: prior.median(),
                interval_50: prior.interval_50(),
                interval_90: prior.interval_90(),
            },
            information_gained_bits: bits,
            identified: reason.is_none(),
            not_identified_because: reason,
            unit: quantity.unit,
            equation: quantity.equation,
            track_record,
            moved_by,
        }
    }

    /// Means of the logarithm from one clue to the next; the first is that of the prior, the last that of all clues.
    fn moves(&self, logs: &[f64], prior: &Summary, posterior: &Summary) -> Vec<Move> {
        let mut mean = prior.log_mean;
        let mut moves = Vec::new();
        for (place, step) in self.steps.iter().enumerate() {
            let is_last = place + 1 == self.steps.len();
            let next = if is_last {
                posterior.log_mean
            } else {
                logs.iter()
                    .step_by(CLUE_STRIDE)
                    .zip(&step.weights)
                    .map(|(log, weight)| log * weight)
                    .sum()
            };
            if (next - mean).abs() >= LEAST_MOVE {
                moves.push(Move {
                    clue: step.clue,
                    factor: significant((next - mean).exp()),
                });
            }
            mean = next;
        }
        moves
    }

    fn not_identified(
        &self,
        prior: &Summary,
        bits: f64,
        record: Option<TrackRecord>,
    ) -> Option<String> {
        if prior.log_sd <= 0.0 {
            return Some("it is stated, so there is nothing to identify".to_owned());
        }
        if self.misfit.flagged {
            return Some(
                "the prices contradict each other or what is known of prices; see `misfit`"
                    .to_owned(),
            );
        }
        if bits < LEAST_BITS {
            let told = readable((bits * 100.0).floor() / 100.0);
            let missing = self.missing.iter().map(|missing| format!("; {missing}"));
            let missing: String = missing.collect();
            return Some(format!(
                "the sheet tells {told} bits about it, less than {LEAST_BITS}{missing}"
            ));
        }
        if record.is_some_and(|record| !record.beats_prior) {
            return Some(
                "on open-weight models this estimate is no better than the prior".to_owned(),
            );
        }
        None
    }

    fn ratio(&self, estimate: QuantityEstimate) -> RatioEstimate {
        let draws = &self.posterior.draws;
        let is_memory_bound = |(unknowns, weight): (Unknowns<'_>, &f64)| {
            if unknowns.log_actual_memory_over_compute() > 0.0 {
                *weight
            } else {
                0.0
            }
        };
        let memory_bound: f64 = draws.iter().zip(draws.weights()).map(is_memory_bound).sum();
        let (regime, probability) = if memory_bound >= 0.5 {
            (Regime::MemoryBound, memory_bound)
        } else {
            (Regime::ComputeBound, 1.0 - memory_bound)
        };
        RatioEstimate {
            estimate,
            regime,
            regime_probability: significant(probability),
        }
    }
}

impl QuantityEstimate {
    /// KV bytes with this many bytes per element.
    fn as_served(&self, element_bytes: f64) -> Self {
        let times = |value: f64| significant(value * element_bytes);
        let interval = |interval: Interval| Interval {
            low: times(interval.low),
            high: times(interval.high),
        };
        Self {
            median: times(self.median),
            interval_50: interval(self.interval_50),
            interval_90: interval(self.interval_90),
            prior: PriorEstimate {
                median: times(self.prior.median),
                interval_50: interval(self.prior.interval_50),
                interval_90: interval(self.prior.interval_90),
            },
            ..self.clone()
        }
    }
}

fn diagnostics(posterior: &Posterior<'_>, calibration: &Calibration) -> Diagnostics {
    let mut warnings = Vec::new();
    if posterior.pareto_k > LARGEST_PARETO_K {
        warnings.push(format!(
            "Pareto k̂ is {:.2}, above {LARGEST_PARETO_K}: few draws carry the estimate, and its intervals are not to be trusted",
            posterior.pareto_k
        ));
    }
    Diagnostics {
        effective_sample_size: significant(posterior.effective_sample_size),
        pareto_k: significant(posterior.pareto_k),
        samples: posterior.draws.len(),
        seed: SEED,
        engine_version: ENGINE_VERSION,
        calibration_id: calibration.id(),
        warnings,
    }
}
