//! The joint estimate: every quantity next to its prior, with the clues that moved it.
//!
//! ```
//! use unroof_infer::evidence::assumptions::Assumptions;
//! use unroof_infer::joint::{Regime, estimate};
//! # use unroof_price_sheet::sheet::{ContextTier, PriceSheet, RateCell};
//! use unroof_roofline::reference::calibration::Calibration;
//!
//! # let mut cell = RateCell::new(RateCell::STANDARD, ContextTier::default(), None);
//! # (cell.input, cell.output) = ("1".parse().ok(), "12".parse().ok());
//! let sheet = PriceSheet::new("acme", "m-1", vec![cell]);
//! let (assumptions, calibration) = (Assumptions::default(), Calibration::shipped());
//! let joint = estimate(&[sheet], &[], &assumptions, calibration, &Default::default())?;
//! // Output at twelve times the input price: decoding waits for memory.
//! assert_eq!(joint.quantities.memory_time_over_compute_time.regime, Regime::MemoryBound);
//! # Ok::<(), unroof_base::input::cancel::Cancelled>(())
//! ```

mod answer;
mod doubts;
mod margin_report;
mod published_serving;
mod setting;
pub(crate) mod steps;

pub use crate::estimate::judgement::model_check::Misfit;
pub use crate::estimate::quantities::Quantities;
pub use crate::estimate::quantity_estimate::{
    LEAST_BITS, Move, NotIdentified, PriorEstimate, QuantityEstimate, RatioEstimate, Regime,
};
pub use answer::{Diagnostics, ENGINE_VERSION, Joint};
pub use margin_report::MarginReport;
pub(crate) use published_serving::{drawn_with_architecture, with_architecture};

use super::posterior::{
    Draws, EFFECTIVE_DRAWS, Interval, PRIOR_DRAWS, Posterior, Prior, SEED, Summary, sample_prior,
    sample_while, summarize,
};
use crate::clue;
use crate::estimate::judgement::model_check;
use crate::estimate::margins::{Costs, LineMargin};
use crate::estimate::quantities::JointQuantity;
use crate::estimate::quantity_estimate::{LARGEST_PARETO_K, MOST_SPREAD};
use crate::estimate::samples::{PriorAndPosterior, Samples};
use crate::estimate::serving::Serving;
use crate::estimate::{margins, nearest, storage_tiers};
use crate::evidence::assumptions::Assumptions;
use crate::evidence::likelihood::Observed;
use crate::evidence::quantity::Quantity;
use crate::evidence::reading::Reading;
use doubts::doubts;
use setting::{independent_decisions, settings_of};
use steps::{CLUE_STRIDE, Step, steps};
use unroof_base::input::cancel::{CancelToken, Cancelled};
use unroof_base::units::{Decimal, readable, significant};
use unroof_price_sheet::sheet::{EvidenceKind, PriceSheet, RateCell};
use unroof_roofline::reference::calibration::Calibration;
use unroof_roofline::reference::{RecordSetting, track_record_of_quantity};

/// Smallest reported move of a quantity by a clue: 3 %, the noise of the draws.
const LEAST_MOVE: f64 = 0.03;

/// Values common to all quantities.
struct Shared<'a> {
    /// Every quantity before the sheets are read, and its draws after it.
    before: &'a [Summary; JointQuantity::COUNT],
    samples: Samples,
    /// Whether there is any clue.
    is_informed: bool,
    is_misfit: bool,
    pareto_k: f64,
    /// Prices that the sheets lack for the price lines.
    missing: Vec<String>,
    /// Whether the machine's rent is neither published nor stated.
    lacks_rent: bool,
    /// Settings that the sheets may be in, and their independent decisions.
    settings: (Vec<RecordSetting>, usize),
    steps: Vec<Step>,
}

/// Estimates from sheets of one model, from prices alone.
///
/// # Errors
/// The work is cancelled.
pub fn estimate(
    contents: &[PriceSheet],
    readings: &[Reading],
    assumptions: &Assumptions,
    calibration: &Calibration,
    wanted: &CancelToken,
) -> Result<Joint, Cancelled> {
    let prior = Prior::shared(calibration, assumptions, contents);
    let terms = clue::observed(contents, assumptions, calibration);
    let posterior = posterior(&prior, &terms, wanted)?;
    let steps = steps(&posterior, &terms, wanted)?;
    let misfit = model_check::check(contents, &steps);
    let samples = Samples::of(&posterior.draws);
    let regime = regime(&posterior.draws, &samples);
    let shared = Shared {
        before: prior.summaries(),
        samples,
        is_informed: !terms.is_empty(),
        is_misfit: misfit.flagged,
        pareto_k: posterior.pareto_k,
        missing: missing_lines(contents, assumptions),
        lacks_rent: assumptions.lacks_rent(),
        settings: (settings_of(contents), independent_decisions(contents)),
        steps,
    };
    let element_bytes = assumptions.middle(Quantity::KvBytesPerElement);
    let quantities = Quantities::of_each(regime, element_bytes, |quantity| {
        wanted.check()?;
        Ok(shared.estimate(quantity))
    })?;
    let costs = Costs::of(&shared.samples);
    let margin_report = MarginReport::read_of(contents, assumptions, calibration, &prior, wanted)?;
    let mut diagnostics = diagnostics(&posterior, contents, assumptions, calibration);
    let report = margin_report.as_ref().map(MarginReport::in_words);
    diagnostics.warnings.extend(report);
    Ok(Joint {
        prompt_tokens: prior.prompt_tokens(),
        published: None,
        margin_report,
        margins: margins::of_lines(contents, assumptions, calibration, costs, &posterior.draws),
        storage_tiers: storage_tiers::of_offers(contents, readings, assumptions, &posterior.draws),
        nearest_open_models: nearest::open_models_near(&quantities),
        attention_layouts: nearest::attention_layouts(&quantities.kv_bytes_per_token_stored),
        quantities,
        diagnostics,
        misfit,
    })
}

/// The draws behind an estimate from sheets of one model: every quantity before and after the sheets are read.
///
/// # Errors
/// The work is cancelled.
pub fn samples(
    contents: &[PriceSheet],
    assumptions: &Assumptions,
    calibration: &Calibration,
    wanted: &CancelToken,
) -> Result<PriorAndPosterior, Cancelled> {
    let drawn = samples_and(contents, assumptions, calibration, wanted, |_| ());
    Ok(drawn?.0)
}

/// Draws of the prior and of the estimate, and how the drawn models are served.
///
/// # Errors
/// The work is cancelled.
pub fn samples_and_serving(
    contents: &[PriceSheet],
    assumptions: &Assumptions,
    calibration: &Calibration,
    wanted: &CancelToken,
) -> Result<(PriorAndPosterior, Serving), Cancelled> {
    samples_and(contents, assumptions, calibration, wanted, Serving::of)
}

/// Draws of the prior and of the estimate, and what else is wanted of the posterior.
fn samples_and<T>(
    contents: &[PriceSheet],
    assumptions: &Assumptions,
    calibration: &Calibration,
    wanted: &CancelToken,
    of_posterior: impl FnOnce(&Draws<'_>) -> T,
) -> Result<(PriorAndPosterior, T), Cancelled> {
    let prior = Prior::shared(calibration, assumptions, contents);
    let terms = clue::observed(contents, assumptions, calibration);
    let before = sample_prior(&prior, PRIOR_DRAWS);
    let posterior = posterior(&prior, &terms, wanted)?;
    let samples = PriorAndPosterior {
        prior: Samples::of(&before),
        posterior: Samples::of(&posterior.draws),
    };
    Ok((samples, of_posterior(&posterior.draws)))
}

/// The quantities and the margins of another posterior of the same sheets; none where few draws carry it.
fn drawn_again(
    contents: &[PriceSheet],
    assumptions: &Assumptions,
    calibration: &Calibration,
    (prior, terms): (&Prior, &Observed),
    wanted: &CancelToken,
) -> Result<Option<(Samples, Vec<LineMargin>)>, Cancelled> {
    let posterior = posterior(prior, terms, wanted)?;
    if posterior.pareto_k > LARGEST_PARETO_K {
        return Ok(None);
    }
    let samples = Samples::of(&posterior.draws);
    let costs = Costs::of(&samples);
    let margins = margins::of_lines(contents, assumptions, calibration, costs, &posterior.draws);
    Ok(Some((samples, margins)))
}

/// The posterior; without terms the prior.
fn posterior<'a>(
    prior: &'a Prior,
    terms: &Observed,
    wanted: &CancelToken,
) -> Result<Posterior<'a>, Cancelled> {
    if terms.is_empty() {
        return Ok(Posterior::of_prior(sample_prior(prior, PRIOR_DRAWS)));
    }
    sample_while(prior, terms, EFFECTIVE_DRAWS, wanted)
}

/// Whether a sheet fits no machine: `misfit.flagged` of its estimate without assumptions, at less than half of the work.
///
/// # Errors
/// The work is cancelled.
pub(crate) fn is_misfit(
    content: &PriceSheet,
    calibration: &Calibration,
    wanted: &CancelToken,
) -> Result<bool, Cancelled> {
    let contents = std::slice::from_ref(content);
    if model_check::check(contents, &[]).flagged {
        return Ok(true);
    }
    let assumptions = Assumptions::default();
    let terms = clue::observed(contents, &assumptions, calibration);
    if terms.is_empty() {
        return Ok(false);
    }
    let prior = Prior::shared(calibration, &assumptions, contents);
    let posterior = sample_while(&prior, &terms, EFFECTIVE_DRAWS, wanted)?;
    let steps = steps(&posterior, &terms, wanted)?;
    Ok(model_check::check(contents, &steps).flagged)
}

/// The 90 % interval of `N_a` from prices and limits, without the speeds that are promised or measured.
///
/// # Errors
/// The work is cancelled.
pub(crate) fn active_by_prices(
    contents: &[PriceSheet],
    assumptions: &Assumptions,
    calibration: &Calibration,
    wanted: &CancelToken,
) -> Result<Interval, Cancelled> {
    let mut contents = contents.to_vec();
    let tiers = contents
        .iter_mut()
        .flat_map(|sheet| sheet.service_tiers.values_mut());
    for tier in tiers {
        tier.slo = None;
        tier.measured = None;
    }
    let prior = Prior::new(calibration, assumptions);
    let terms = clue::observed(&contents, assumptions, calibration);
    let posterior = posterior(&prior, &terms, wanted)?;
    let logs = (posterior.draws.iter()).map(|unknowns| unknowns.log_active_parameters);
    Ok(summarize(logs, posterior.draws.weights()).interval_90())
}

/// The limit of decoding, memory or compute, and its probability.
fn regime(draws: &Draws<'_>, samples: &Samples) -> (Regime, f64) {
    let ratios = samples.logs(JointQuantity::MemoryOverCompute);
    let memory_bound: f64 = (draws.iter().zip(ratios).zip(draws.weights()))
        .filter(|((unknowns, ratio), _)| unknowns.machine.log_actual_ratio(*ratio) > 0.0)
        .map(|(_, weight)| weight)
        .sum();
    if memory_bound >= 0.5 {
        (Regime::MemoryBound, memory_bound)
    } else {
        (Regime::ComputeBound, 1.0 - memory_bound)
    }
}

/// One of the prices of a rate cell.
type PriceOf = fn(&RateCell) -> Option<&Decimal>;

/// Price lines that no sheet states, or only in a currency without an exchange rate.
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

/// Unit of the quantities that a machine's rent makes.
const USD_PER_MTOK: &str = "USD/Mtok";

impl Shared<'_> {
    fn estimate(&self, quantity: JointQuantity) -> QuantityEstimate {
        let prior = self.before[quantity as usize];
        let posterior = self.samples.summary(quantity);
        let bits = if self.is_informed {
            posterior.bits_over(&prior)
        } else {
            0.0
        };
        let (settings, decisions) = &self.settings;
        let track_record = track_record_of_quantity(quantity.name(), settings, *decisions);
        let reason =
            NotIdentified::check(&prior, bits, self.is_misfit, track_record, &self.missing)
                .or_else(|| self.is_weak(&posterior));
        let is_cost = quantity.definition().unit == USD_PER_MTOK;
        let reason = if self.lacks_rent && is_cost {
            Some(NotIdentified::NoRent)
        } else {
            reason
        };
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
            unit: quantity.definition().unit,
            equation: quantity.definition().equation,
            track_record,
            moved_by: self.moves(quantity, &prior, &posterior),
        }
    }

    /// Reason not to take the draws for an estimate: few carry it, or their interval is wide.
    fn is_weak(&self, posterior: &Summary) -> Option<NotIdentified> {
        let interval = posterior.interval_90();
        let factor = interval.high / interval.low;
        if self.pareto_k > LARGEST_PARETO_K {
            let pareto_k = self.pareto_k;
            Some(NotIdentified::Unsound { pareto_k })
        } else {
            (factor > MOST_SPREAD).then_some(NotIdentified::TooWide { factor })
        }
    }

    /// Means of the logarithm from one clue to the next; the first is that of the prior, the last that of all clues.
    fn moves(&self, quantity: JointQuantity, prior: &Summary, posterior: &Summary) -> Vec<Move> {
        let mut mean = prior.log_mean;
        let mut moves = Vec::new();
        for (place, step) in self.steps.iter().enumerate() {
            let is_last = place + 1 == self.steps.len();
            let next = if is_last {
                posterior.log_mean
            } else {
                self.samples
                    .logs(quantity)
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
}

/// The stated compute margin, which nothing on the sheet shows.
fn chosen_margin(assumptions: &Assumptions) -> Option<String> {
    let margin = assumptions.stated(Quantity::ComputeMargin)?;
    Some(format!(
        "a compute margin of {} to {} is assumed as stated: what was reported of a vendor is not what one of its models earns",
        readable(margin.low),
        readable(margin.high)
    ))
}

/// Knowledge scores that the estimate reads, and how often such estimates were right.
fn knowledge_read(contents: &[PriceSheet], calibration: &Calibration) -> Option<String> {
    let mut items = contents.iter().flat_map(|sheet| &sheet.evidence);
    items.find(|item| item.kind == EvidenceKind::KnowledgeScore)?;
    let record = calibration.knowledge.record;
    Some(format!(
        "a knowledge score is read beside the prices: on {} open models of vendors that the fit had not seen, such a score brought \
         the error of total parameters from a factor of {:.1} to one of {:.1}, and {:.0} % of the 90 % intervals held",
        record.models,
        record.rmse_without.exp(),
        record.rmse_with.exp(),
        100.0 * record.coverage_90
    ))
}

fn diagnostics(
    posterior: &Posterior<'_>,
    contents: &[PriceSheet],
    assumptions: &Assumptions,
    calibration: &Calibration,
) -> Diagnostics {
    let mut warnings = doubts(contents);
    warnings.extend(chosen_margin(assumptions));
    warnings.extend(knowledge_read(contents, calibration));
    if posterior.pareto_k > LARGEST_PARETO_K {
        warnings.push(format!(
            "Pareto k̂ is {:.2}, above {LARGEST_PARETO_K}: few draws carry the estimate, and its intervals are not to be trusted",
            posterior.pareto_k
        ));
    }
    Diagnostics {
        effective_sample_size: significant(posterior.effective_sample_size),
        pareto_k: significant(posterior.pareto_k),
        samples: posterior.drawn,
        seed: SEED,
        engine_version: ENGINE_VERSION.to_owned(),
        calibration_id: calibration.id(),
        warnings,
    }
}
