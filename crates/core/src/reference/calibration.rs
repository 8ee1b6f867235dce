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

/// What `unroof calibrate` learned from open-weight models: the population of models and what their hosts charge.
///
/// Logarithms are natural; parameters are counted one by one, KV bytes at one byte per element, prices in USD per Mtok.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// What it was learned from.
    pub provenance: Provenance,
    /// The kinds of models there are.
    pub population: Population,
    /// How prices follow from parameters.
    pub price_law: PriceLaw,
    /// How contexts relate to long-context thresholds.
    pub context_tier: ContextTierLaw,
    /// What each known host charges beyond the law.
    pub hosts: BTreeMap<String, HostMarkup>,
}

/// What a calibration was learned from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// The command that writes the file.
    pub command: String,
    /// Models with a published architecture.
    pub models: usize,
    /// Those of them that have a price.
    pub priced_models: usize,
    /// Their families.
    pub families: Vec<String>,
    /// Model × host rows, after copies of one decision were taken out.
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
    /// Standard deviation of the stated maximum context beyond what models differ by.
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
    /// What is added to the exponents of the active parameters of dense models,
    pub dense: [f64; 2],
    /// for log `N_a` above this.
    pub dense_centre: f64,
    /// Spread of hosts.
    pub host: OverLines,
    /// Spread of models whose parameters are the same; Student-t.
    pub deviation: OverLines,
    /// Degrees of freedom of the deviation.
    pub degrees_of_freedom: f64,
    /// Spread of single rows.
    pub noise: OverLines,
}

/// What a known host charges beyond the law.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostMarkup {
    /// On the input and on the output line.
    pub mean: [f64; 2],
    /// How well that is known.
    pub covariance: OverLines,
}

/// log(`k_bw`·`L_1`/`N_a`) where a threshold reflects the cost of reading the cache, and thresholds that do not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextTierLaw {
    /// Independent decisions seen.
    pub decisions: usize,
    /// Author families that made them; the law is one over the means of families.
    pub families: usize,
    /// Mean of log(`k_bw`·`L_1`/`N_a`).
    pub mean: f64,
    /// Scale of the Student-t predictive, the uncertainty of the mean included.
    pub scale: f64,
    /// Its degrees of freedom.
    pub degrees_of_freedom: f64,
    /// Share of thresholds that are copied from others.
    pub convention_share: f64,
    /// Mean log threshold of those.
    pub convention_mean: f64,
    /// Their spread.
    pub convention_sd: f64,
}

/// The maximum context of a model as its other figures let expect it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContextLaw {
    intercept: f64,
    slopes: [f64; 4],
    /// Spread of maxima around what is expected.
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
    /// The regression of the maximum context on the other four. Where two of them are one, as total and active
    /// parameters of dense models are, the first carries both.
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
    /// The calibration that is part of the program.
    #[must_use]
    pub fn shipped() -> &'static Self {
        &SHIPPED
    }

    /// Reads a file that `unroof calibrate` wrote.
    ///
    /// # Errors
    /// It is not such a file.
    pub fn read(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// The first digits of the SHA-256 of the file: an answer says which calibration it rests on.
    #[must_use]
    pub fn id(&self) -> String {
        const BYTES: usize = 6;
        let text = serde_json::to_vec(self).expect("a calibration of numbers serialises");
        let hex = |byte: &u8| format!("{byte:02x}");
        Sha256::digest(text)[..BYTES].iter().map(hex).collect()
    }
}
