//! Law of knowledge scores: log odds of a right answer by total parameters, release and reasoning, with vendors that
//! deviate, and models that deviate from their vendor by a Student-t.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;
use nalgebra::{Matrix4, Vector4};

use crate::prices::count;
use unroof_base::units::significant;
use unroof_price_sheet::sheet::{Benchmark, EvidenceItem, EvidenceKind, ReasoningEffort};
use unroof_roofline::reference::calibration::{KnowledgeLaw, KnowledgeRecord};

/// A model with open weights and its score.
#[derive(Debug, Clone)]
pub struct ScoredModel {
    /// Name in the table of open models, where it is there.
    pub open_model: Option<String>,
    /// Vendor of the model.
    pub vendor: String,
    /// Total parameters.
    pub total_parameters: f64,
    /// Release, years since the start of 2025.
    pub years: f64,
    /// Share of right answers.
    pub accuracy: f64,
    /// Whether the model reasons before it answers.
    pub reasons: bool,
}

impl ScoredModel {
    fn log_odds(&self) -> f64 {
        let accuracy = self.accuracy.clamp(0.01, 0.99);
        (accuracy / (1.0 - accuracy)).ln()
    }

    /// The score, as a price sheet states it.
    pub(crate) fn evidence(&self) -> EvidenceItem {
        EvidenceItem {
            kind: EvidenceKind::KnowledgeScore,
            benchmark: Some(Benchmark::AaOmniscience),
            accuracy: Some(self.accuracy),
            effort: self.reasons.then_some(ReasoningEffort::Medium),
            architecture: None,
            source: String::new(),
            date: Date::default(),
        }
    }

    fn features(&self) -> Vector4<f64> {
        let reasons = if self.reasons { 1.0 } else { 0.0 };
        Vector4::new(1.0, (self.total_parameters / 1e9).ln(), self.years, reasons)
    }
}

/// Degrees of freedom of a model's deviation: chosen, so that a benchmark that went wrong counts little.
const DEGREES_OF_FREEDOM: f64 = 4.0;
/// Rounds of the fit: its numbers are the same to nine digits long before.
const ROUNDS: usize = 400;

/// Fits the law by expectation and conditional maximisation; none from models of fewer than three vendors.
#[must_use]
pub fn fit(models: &[&ScoredModel], record: KnowledgeRecord) -> Option<KnowledgeLaw> {
    let mut vendors: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (place, model) in models.iter().enumerate() {
        vendors.entry(&model.vendor).or_default().push(place);
    }
    if vendors.len() < 3 {
        return None;
    }
    let features: Vec<Vector4<f64>> = models.iter().map(|model| model.features()).collect();
    let log_odds: Vec<f64> = models.iter().map(|model| model.log_odds()).collect();
    let mut weights = vec![1.0; models.len()];
    let mut of_vendor = vec![0.0; models.len()];
    let mut uncertain = vec![0.0; models.len()];
    let mut law = Vector4::zeros();
    let (mut vendor_variance, mut model_variance): (f64, f64) = (0.1, 0.1);
    for _ in 0..ROUNDS {
        law = weighted_law(&features, &log_odds, &of_vendor, &weights)?;
        let mut squares = 0.0;
        for places in vendors.values() {
            let residual = |place: &usize| log_odds[*place] - law.dot(&features[*place]);
            let pull: f64 = places
                .iter()
                .map(|place| weights[*place] * residual(place))
                .sum();
            let weight: f64 = places.iter().map(|place| weights[*place]).sum();
            let variance = (1.0 / vendor_variance + weight / model_variance).recip();
            let mean = variance * pull / model_variance;
            squares += mean * mean + variance;
            for place in places {
                (of_vendor[*place], uncertain[*place]) = (mean, variance);
            }
        }
        vendor_variance = squares / count(vendors.len());
        let mut sum = 0.0;
        for place in 0..models.len() {
            let residual = log_odds[place] - law.dot(&features[place]) - of_vendor[place];
            let square = residual * residual + uncertain[place];
            weights[place] =
                (DEGREES_OF_FREEDOM + 1.0) / (DEGREES_OF_FREEDOM + square / model_variance);
            sum += weights[place] * square;
        }
        model_variance = sum / count(models.len());
    }
    Some(KnowledgeLaw {
        intercept: significant(law[0]),
        total: significant(law[1]),
        per_year: significant(law[2]),
        reasoning: significant(law[3]),
        vendor_sd: significant(vendor_variance.sqrt()),
        model_scale: significant(model_variance.sqrt()),
        degrees_of_freedom: DEGREES_OF_FREEDOM,
        highest: significant(log_odds.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
        models: models.len(),
        vendors: vendors.len(),
        record,
    })
}

/// The law without the vendors of these models; none without scores.
pub(crate) fn fit_without(models: &[&str], scores: &[ScoredModel]) -> Option<KnowledgeLaw> {
    let is_left_out = |scored: &&ScoredModel| {
        let name = scored.open_model.as_deref();
        name.is_some_and(|name| models.contains(&name))
    };
    let vendors: BTreeSet<&str> = scores
        .iter()
        .filter(is_left_out)
        .map(|scored| scored.vendor.as_str())
        .collect();
    let others = scores
        .iter()
        .filter(|scored| !vendors.contains(scored.vendor.as_str()));
    fit(&others.collect::<Vec<_>>(), KnowledgeRecord::default())
}

/// Least squares of what the vendors leave, with weights.
fn weighted_law(
    features: &[Vector4<f64>],
    log_odds: &[f64],
    of_vendor: &[f64],
    weights: &[f64],
) -> Option<Vector4<f64>> {
    let (mut moments, mut products) = (Matrix4::zeros(), Vector4::zeros());
    for (place, known) in features.iter().enumerate() {
        moments += weights[place] * known * known.transpose();
        products += weights[place] * (log_odds[place] - of_vendor[place]) * known;
    }
    moments.lu().solve(&products)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_law_behind_made_up_scores_is_found_and_a_wrong_score_counts_little() {
        let mut models = Vec::new();
        for vendor in 0..12_u32 {
            for size in 0..8_u32 {
                let (vendor_at, size_at) = (f64::from(vendor), f64::from(size));
                let billions = 2.0 * (0.8 * size_at).exp();
                let deviation =
                    0.1 * (vendor_at * 1.7).sin() + 0.1 * (vendor_at * 3.1 + size_at * 2.3).sin();
                let years = 0.2 * f64::from((vendor * 5 + size * 3) % 7);
                let reasons = (vendor + size) % 3 == 0;
                let bump = if reasons { 0.2 } else { 0.0 };
                let odds = -2.5 + 0.25 * billions.ln() + 0.1 * years + bump + deviation;
                models.push(ScoredModel {
                    open_model: None,
                    vendor: vendor.to_string(),
                    total_parameters: 1e9 * billions,
                    years,
                    accuracy: 1.0 / (1.0 + (-odds).exp()),
                    reasons,
                });
            }
        }
        models[3].accuracy = 0.95;
        let record = KnowledgeRecord::default();
        let law = fit(&models.iter().collect::<Vec<_>>(), record).unwrap();
        assert!((law.total - 0.25).abs() < 0.02, "{law:?}");
        assert!((law.intercept + 2.5).abs() < 0.1, "{law:?}");
        assert!((law.reasoning - 0.2).abs() < 0.06, "{law:?}");
        assert!(law.vendor_sd < 0.15 && law.model_scale < 0.15, "{law:?}");
        assert!(fit(&[&models[0]], record).is_none());
    }
}
