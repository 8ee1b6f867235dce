//! The estimate of one model in a validation: distributions, exact gains, readings.

use super::published::{SCORED, operating_point, operating_point_with, roomy_operating_point};
use super::readings::{Typical, typical_readings};
use super::score::{Distribution, Exact};

use crate::prices::PricedModel;
use unroof_infer::clue::observed;
use unroof_infer::estimate::quantities::JointQuantity as J;
use unroof_infer::evidence::likelihood::Likelihood;
use unroof_infer::posterior::{
    Draws, PRIOR_DRAWS, Posterior, Prior, possible_share, sample, sample_prior,
};
use unroof_price_sheet::sheet::PriceSheet;
use unroof_roofline::reference::calibration::Calibration;

/// Parts of a sheet that the estimate uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each kind of clue takes part or does not"
)]
pub struct Shown {
    /// Whether input prices are shown.
    pub input: bool,
    /// Whether output prices are shown.
    pub output: bool,
    /// Whether maximum contexts are shown.
    pub context: bool,
    /// Whether context tiers are shown.
    pub tiers: bool,
}

impl Shown {
    /// All parts of a sheet.
    pub const ALL: Self = Self {
        input: true,
        output: true,
        context: true,
        tiers: true,
    };
}

/// Effective draws per model: a tenth of the spread of an estimate from 1,000 of them is far below its own error.
const EFFECTIVE_DRAWS: usize = 2_048;
/// Draws where a quantity is held at its true value: an error of about 0.02 nats.
const CONDITIONAL_DRAWS: usize = 1_024;

/// Estimates and readings of one model under one calibration.
pub(super) struct Estimated {
    /// Estimate, prior and exact scores of each scored quantity.
    pub(super) quantities: Vec<(Distribution, Distribution, Option<Exact>)>,
    pub(super) readings: Vec<Typical>,
}

/// The estimate of every scored quantity next to its prior, and the readings, each the median over hosts.
pub(super) fn estimate(
    model: &PricedModel,
    calibration: &Calibration,
    shown: Shown,
    truth: impl Fn(J) -> f64,
) -> Estimated {
    let assumptions = operating_point();
    let prior = Prior::new(calibration, &roomy_operating_point());
    let contents: Vec<PriceSheet> = model
        .sheets
        .iter()
        .map(|sheet| with_shown(sheet, shown))
        .collect();
    let terms = observed(&contents, &assumptions, calibration);
    let posterior = sample(&prior, &terms, EFFECTIVE_DRAWS);
    let prior_draws = sample_prior(&prior, PRIOR_DRAWS);
    let of = |draws: &Draws<'_>, quantity: J| {
        Distribution::new(
            draws.iter().map(|unknowns| quantity.log_value(&unknowns)),
            draws.weights(),
        )
    };
    let conditioned = Conditioned {
        calibration,
        prior: &prior,
        terms: &terms,
        posterior: &posterior,
        possible_share: possible_share(&prior, PRIOR_DRAWS),
    };
    let quantities = SCORED.iter().map(|(quantity, _)| {
        (
            of(&posterior.draws, *quantity),
            of(&prior_draws, *quantity),
            conditioned.exact(*quantity, truth(*quantity)),
        )
    });
    Estimated {
        quantities: quantities.collect(),
        readings: typical_readings(&contents, &assumptions),
    }
}

/// An estimate whose quantities can be held at a value.
struct Conditioned<'a> {
    calibration: &'a Calibration,
    prior: &'a Prior,
    terms: &'a [Box<dyn Likelihood>],
    posterior: &'a Posterior<'a>,
    /// Share of the prior that is possible.
    possible_share: f64,
}

impl Conditioned<'_> {
    /// Log score of the prior and gain of the estimate, without kernels: with the quantity held at its true value q,
    /// p(q | sheets)/p(q) = p(sheets | q)/p(sheets). None for a quantity that cannot be stated.
    fn exact(&self, quantity: J, log_truth: f64) -> Option<Exact> {
        let stated = operating_point_with(quantity, log_truth)?;
        let held = Prior::new(self.calibration, &stated);
        let log_evidence = sample(&held, self.terms, CONDITIONAL_DRAWS).log_evidence;
        let held_share = possible_share(&held, CONDITIONAL_DRAWS);
        let exact = Exact {
            // The operating point is stated in both.
            prior_log_score: held.log_statement() - self.prior.log_statement()
                + (held_share / self.possible_share).ln(),
            gain: log_evidence - held_share.ln() - self.posterior.log_evidence
                + self.possible_share.ln(),
        };
        (exact.prior_log_score.is_finite() && exact.gain.is_finite()).then_some(exact)
    }
}

/// The sheet, reduced to these parts.
fn with_shown(sheet: &PriceSheet, shown: Shown) -> PriceSheet {
    let mut content = sheet.pricing_content();
    for cell in &mut content.rates {
        cell.input = cell.input.take().filter(|_| shown.input);
        cell.output = cell.output.take().filter(|_| shown.output);
    }
    content
        .rates
        .retain(|cell| shown.tiers || cell.context_tier.min_prompt_tokens == 0);
    content.limits.context = content.limits.context.filter(|_| shown.context);
    content
}
