//! The estimate of one model in a validation against its published values: exact gains, readings.

use std::collections::BTreeMap;

use super::published::{
    SCORED, operating_point, operating_point_with, roomy_operating_point, truth,
};
use super::readings::{ReadingError, Typical, typical_readings};
use super::ridge::Ridge;
use super::score::{Distribution, Exact, Outcome, Scores};

use crate::knowledge::ScoredModel;
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
#[derive(Debug, Clone, Copy)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each kind of clue takes part or does not"
)]
pub struct Shown<'a> {
    /// Whether input prices are shown.
    pub input: bool,
    /// Whether output prices are shown.
    pub output: bool,
    /// Whether maximum contexts are shown.
    pub context: bool,
    /// Whether context tiers are shown.
    pub tiers: bool,
    /// Knowledge scores that are shown beside the sheets.
    pub scores: &'a [ScoredModel],
}

impl Shown<'_> {
    /// All parts of a sheet, and no knowledge scores.
    pub const ALL: Self = Self {
        input: true,
        output: true,
        context: true,
        tiers: true,
        scores: &[],
    };
}

/// Effective draws per model: a tenth of the spread of an estimate from 1,000 of them is far below its own error.
const EFFECTIVE_DRAWS: usize = 2_048;
/// Draws where a quantity is held at its true value: an error of about 0.02 nats.
const CONDITIONAL_DRAWS: usize = 1_024;

/// The estimate of every scored quantity against its published value, and the errors of the readings, each the median over
/// hosts.
pub(super) fn estimate(
    model: &PricedModel,
    calibration: &Calibration,
    ridges: &[Option<Ridge>],
    shown: Shown<'_>,
) -> (BTreeMap<&'static str, Outcome>, Vec<ReadingError>) {
    let assumptions = operating_point();
    let prior = Prior::new(calibration, &roomy_operating_point());
    let sheets = model.sheets.iter();
    let mut contents: Vec<PriceSheet> = sheets.map(|sheet| with_shown(sheet, shown)).collect();
    let is_own = |scored: &&ScoredModel| scored.open_model.as_deref() == Some(&*model.name);
    if let Some(sheet) = contents.first_mut() {
        sheet.evidence = shown
            .scores
            .iter()
            .filter(is_own)
            .map(ScoredModel::evidence)
            .collect();
    }
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
    let readings = typical_readings(&contents, &assumptions);
    let (mut quantities, mut errors) = (BTreeMap::new(), Vec::new());
    for ((quantity, textbook), ridge) in SCORED.into_iter().zip(ridges) {
        let truth = truth(&model.truth, quantity);
        let (estimate, prior) = (of(&posterior.draws, quantity), of(&prior_draws, quantity));
        let exact = conditioned.exact(quantity, truth);
        let mut scores = Scores::new(truth, &estimate, &prior, exact.as_ref());
        let is_textbook = |reading: &&Typical| textbook.is_some_and(|id| id.name() == reading.0);
        let textbook = readings.iter().find(is_textbook).map(|reading| reading.2);
        scores.textbook_error = textbook.map(|value| value - truth);
        scores.ridge_error = ridge.as_ref().and_then(|ridge| ridge.error(model));
        let own = readings
            .iter()
            .filter(|reading| reading.1 == quantity.name());
        errors.extend(own.map(|(id, quantity, value)| ReadingError {
            id,
            quantity,
            error: value - truth,
            prior_error: scores.prior_error,
        }));
        let outcome = Outcome::new(truth, &estimate, textbook, scores);
        quantities.insert(quantity.name(), outcome);
    }
    (quantities, errors)
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
fn with_shown(sheet: &PriceSheet, shown: Shown<'_>) -> PriceSheet {
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
