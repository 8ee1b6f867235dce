//! The calibration: the population of open-weight models and the pricing of their hosts.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use nalgebra::{SMatrix, SVector};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

static SHIPPED: LazyLock<Calibration> = LazyLock::new(|| {
    Calibration::read(include_str!("../../../../data/calibration.json"))
        .unwrap_or_else(|error| panic!("data/calibration.json: {error}"))
});

/// A symmetric matrix over the input and the output line.
pub type OverLines = [[f64; 2]; 2];

/// Calibration fitted to open-weight models: the population of models, and the price law of their hosts.
///
/// Logarithms are natural; parameters are counted one by one, KV bytes at one byte per element, prices in USD per Mtok.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// Data of the fit.
    pub provenance: Provenance,
    /// Prior of models.
    pub population: Population,
    /// Price law: prices as a function of parameters.
    pub price_law: PriceLaw,
    /// Relation of long-context thresholds to the KV cache.
    pub context_tier: ContextTierLaw,
    /// Markups of known hosts relative to the law.
    pub hosts: BTreeMap<String, HostMarkup>,
}

/// Data of a calibration's fit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// The command that writes the file.
    pub command: String,
    /// Models with a published architecture.
    pub models: usize,
    /// Models among them with a price.
    pub priced_models: usize,
    /// Their families.
    pub families: Vec<String>,
    /// Model × host rows, without duplicates of one decision.
    pub price_rows: usize,
    /// SHA-256 over the rows that were read.
    pub data_sha256: String,
}

/// Two kinds of models: dense ones, whose every parameter is active, and mixtures of experts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Population {
    /// `N_t` = `N_a`
    pub dense: ModelClass,
    /// `N_t` > `N_a`
    pub mixture_of_experts: ModelClass,
    /// Degrees of freedom of the Student-t distribution of log `N_a` and log `N_t`.
    pub size_degrees_of_freedom: f64,
    /// Standard deviation of the noise in the stated maximum context.
    pub context_sd: f64,
}

/// A kind of models: a normal distribution of logarithms, whose sizes are spread by the scale of a Student-t.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelClass {
    /// Share of all models.
    pub share: f64,
    /// Mean of log `N_a`, log `N_t`, log `k_bw`, log `k_st` and the log of the maximum context.
    pub mean: [f64; 5],
    /// Their covariance.
    pub covariance: [[f64; 5]; 5],
}

/// log price = intercept + active·log `N_a` + total·log `N_t` + host + deviation of the model + noise, per line; dense
/// models have an exponent of their own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceLaw {
    /// Input and output intercept.
    pub intercept: [f64; 2],
    /// Exponents of the active parameters.
    pub active: [f64; 2],
    /// Exponents of the total parameters.
    pub total: [f64; 2],
    /// Added to the exponents of the active parameters of dense models, above `dense_centre`.
    pub dense: [f64; 2],
    /// Log `N_a` above which `dense` applies.
    pub dense_centre: f64,
    /// Spread of hosts.
    pub host: OverLines,
    /// Spread of models with equal parameters; Student-t.
    pub deviation: OverLines,
    /// Degrees of freedom of the deviation.
    pub degrees_of_freedom: f64,
    /// Spread of single rows.
    pub noise: OverLines,
}

/// Markup of a known host relative to the law.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostMarkup {
    /// On the input and on the output line.
    pub mean: [f64; 2],
    /// Covariance of the uncertainty of the mean.
    pub covariance: OverLines,
}

/// Mixture for context thresholds: those that reflect the cost of reading the cache, by log(`k_bw`·`L_1`/`N_a`), and
/// conventional ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextTierLaw {
    /// Number of independent decisions.
    pub decisions: usize,
    /// Number of author families; the law is fitted to the means of families.
    pub families: usize,
    /// Mean of log(`k_bw`·`L_1`/`N_a`).
    pub mean: f64,
    /// Scale of the Student-t predictive, the uncertainty of the mean included.
    pub scale: f64,
    /// Degrees of freedom of the predictive.
    pub degrees_of_freedom: f64,
    /// Share of thresholds that are copied from others.
    pub convention_share: f64,
    /// Mean log threshold of copied thresholds.
    pub convention_mean: f64,
    /// Standard deviation of copied log thresholds.
    pub convention_sd: f64,
}

/// Regression of the maximum context on the other figures of a model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContextLaw {
    intercept: f64,
    slopes: [f64; 4],
    /// Residual standard deviation.
    pub sd: f64,
}

impl ContextLaw {
    /// Expected log of the maximum context, from log `N_a`, log `N_t`, log `k_bw` and log `k_st`.
    #[must_use]
    pub fn expected(&self, model: [f64; 4]) -> f64 {
        self.intercept
            + self
                .slopes
                .iter()
                .zip(model)
                .map(|(slope, value)| slope * value)
                .sum::<f64>()
    }
}

impl ModelClass {
    /// The regression of the maximum context on the other four. Of two identical ones, as total and active parameters of dense
    /// models, the first gets the coefficient.
    #[must_use]
    pub fn context_law(&self, noise_sd: f64) -> ContextLaw {
        const CONTEXT: usize = 4;
        let others = SMatrix::<f64, 4, 4>::from_fn(|row, column| self.covariance[row][column]);
        let with_context = SVector::<f64, 4>::from_fn(|row, _| self.covariance[row][CONTEXT]);
        let inverse = others
            .pseudo_inverse(1e-9)
            .expect("the tolerance is positive");
        let slopes = inverse * with_context;
        let explained = slopes.dot(&with_context);
        let at_mean: f64 = (0..CONTEXT)
            .map(|index| slopes[index] * self.mean[index])
            .sum();
        ContextLaw {
            intercept: self.mean[CONTEXT] - at_mean,
            slopes: slopes.into(),
            sd: (self.covariance[CONTEXT][CONTEXT] - explained + noise_sd * noise_sd).sqrt(),
        }
    }
}

impl Calibration {
    /// The built-in calibration.
    #[must_use]
    pub fn shipped() -> &'static Self {
        &SHIPPED
    }

    /// Parses a calibration file.
    ///
    /// # Errors
    /// The text is not a calibration.
    pub fn read(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Id of the calibration: the first digits of the SHA-256 of the file.
    #[must_use]
    pub fn id(&self) -> String {
        const BYTES: usize = 6;
        let text = serde_json::to_vec(self).expect("a calibration of numbers serialises");
        let hex = |byte: &u8| format!("{byte:02x}");
        Sha256::digest(text)[..BYTES].iter().map(hex).collect()
    }
}
