//! The calibration: the population of open-weight models and the pricing of their hosts.
//!
//! ```
//! use unroof_roofline::reference::calibration::Calibration;
//!
//! let shipped = Calibration::shipped();
//! assert!(shipped.provenance.models > 100);
//! // Every answer names the calibration behind it; one of other numbers has another id.
//! let mut other = shipped.clone();
//! other.population.dates.mean_years += 0.1;
//! assert_ne!(other.id(), shipped.id());
//! ```

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

use super::AttentionKind;

static SHIPPED: LazyLock<Calibration> = LazyLock::new(|| {
    Calibration::read(include_str!("../../data/calibration.json"))
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
    /// Prior of models before any sheet is read.
    pub population: Population,
    /// Price law: prices as a function of parameters.
    pub price_law: PriceLaw,
    /// Relation of long-context thresholds to the KV cache.
    pub context_tier: ContextTierLaw,
    /// Knowledge of models as a function of their total parameters.
    pub knowledge: KnowledgeLaw,
    /// List prices as a function of what the engine says that serving costs.
    pub cost_law: CostLaw,
    /// Markups of known hosts on models of others, relative to the law.
    pub hosts: BTreeMap<String, HostMarkup>,
    /// Markups of vendors on models of their own, relative to the law; by the vendor's name.
    pub authors: BTreeMap<String, HostMarkup>,
}

/// Law of knowledge scores: log odds of a right answer = `intercept` + `total`·log(`N_t`/10⁹) + `per_year`·years since 2025 +
/// `reasoning` where the model reasons first + deviation of the vendor + Student-t deviation of the model.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnowledgeLaw {
    /// log odds of a model of a billion parameters, released at the start of 2025, without reasoning
    pub intercept: f64,
    /// Log odds per log of total parameters.
    pub total: f64,
    /// Log odds per year of release.
    pub per_year: f64,
    /// Log odds that reasoning before the answers adds.
    pub reasoning: f64,
    /// Standard deviation of vendors.
    pub vendor_sd: f64,
    /// Scale of the deviation of a model within its vendor.
    pub model_scale: f64,
    /// Degrees of freedom of that deviation.
    pub degrees_of_freedom: f64,
    /// Log odds of the best open model; beyond them the deviation widens by what they are exceeded.
    pub highest: f64,
    /// Models of the fit.
    pub models: usize,
    /// Vendors of the fit.
    pub vendors: usize,
    /// Record on open models whose vendors were left out.
    pub record: KnowledgeRecord,
}

/// Errors of total parameters on author's sheets of open models, with the vendor left out of prices and scores.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnowledgeRecord {
    /// Models with an author's sheet and a score.
    pub models: usize,
    /// Root mean square of log(estimate/truth) without the score.
    pub rmse_without: f64,
    /// Root mean square of log(estimate/truth) with the score.
    pub rmse_with: f64,
    /// Share of 90 % intervals that held the truth, with the score.
    pub coverage_90: f64,
}

/// Law of list prices over costs: log price = `intercept` + `input_cost`·log `c_in` + `output_cost`·log `c_out` + `per_year`·years +
/// on models of the seller's own `author` + `author_per_year`·years + Student-t deviation, per line. Costs are the engine's
/// medians for the published architecture at the prior's machine and load, USD per Mtok; years are from the mean release.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CostLaw {
    /// Log price of a model whose tokens cost 1 USD per Mtok on both lines.
    pub intercept: [f64; 2],
    /// Exponents of the cost of input tokens.
    pub input_cost: [f64; 2],
    /// Exponents of the cost of output tokens.
    pub output_cost: [f64; 2],
    /// Log price per year of the model's release.
    pub per_year: [f64; 2],
    /// Added by vendors on models of their own.
    pub author: [f64; 2],
    /// Added to it per year of the model's release.
    pub author_per_year: [f64; 2],
    /// Scale of the deviation of one price of a host.
    pub host_scale: [f64; 2],
    /// Scale of the deviation of one price of a vendor on a model of its own.
    pub author_scale: [f64; 2],
    /// Degrees of freedom of the deviations.
    pub degrees_of_freedom: f64,
    /// Models of the fit.
    pub models: usize,
    /// Prices of the fit.
    pub prices: usize,
    /// Record on hosts, family and seller left out.
    pub hosts: CostRecord,
    /// Record on vendors with models of their own, family and seller left out.
    pub authors: CostRecord,
}

/// Prices against the law of prices over costs, by fits that saw neither the model's family nor the seller; input, then output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CostRecord {
    /// Prices that were predicted.
    pub prices: usize,
    /// Models among them.
    pub models: usize,
    /// Root mean square of log(price ÷ usual price).
    pub rmse_log: [f64; 2],
    /// Share of prices within the 90 % interval.
    pub coverage_90: [f64; 2],
    /// Share of prices below the engine's cost.
    pub below_cost: [f64; 2],
    /// Mean probability of that by the law.
    pub below_cost_probability: [f64; 2],
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
    /// Families of the models.
    pub families: Vec<String>,
    /// Model × host rows, without duplicates of one decision.
    pub price_rows: usize,
    /// SHA-256 over the rows that were read.
    pub data_sha256: String,
}

/// Models: dense ones, whose every parameter is active, and mixtures of experts, each with a kind of attention.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Population {
    /// Sizes of dense models: `N_t` = `N_a`.
    pub dense: Sizes,
    /// Sizes of mixtures of experts: `N_t` > `N_a`.
    pub mixture_of_experts: Sizes,
    /// Degrees of freedom of the Student-t distribution of log `N_a` and log `N_t`.
    pub size_degrees_of_freedom: f64,
    /// Every class of models.
    pub classes: Vec<ModelClass>,
    /// Bytes of cache that are stored.
    pub stored: StoredLaw,
    /// Bytes of cache that are read beside those stored, by kind of attention.
    pub attention: Vec<AttentionLaw>,
    /// Law of the longest contexts.
    pub context: ContextLaw,
    /// Mean facts of the models.
    pub dates: Dates,
}

/// A normal distribution of log `N_a` and log `N_t`, spread by the scale of a Student-t.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sizes {
    /// Means of log `N_a` and log `N_t`.
    pub mean: [f64; 2],
    /// Covariance of the sizes.
    pub covariance: [[f64; 2]; 2],
}

/// A class of models.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelClass {
    /// Whether every parameter is active.
    pub is_dense: bool,
    /// Kind of attention of the class.
    pub attention: AttentionKind,
    /// Share of all models.
    pub share: f64,
    /// Mean log `N_a` and log `N_t` less those of all dense models or of all mixtures: sparse attention is for large models.
    pub size: [f64; 2],
    /// log odds at the mean facts, per year of release, and for sold cache reads.
    pub log_odds: [f64; 3],
}

/// log `k_st` = `by_kind` + active·(log `N_a` − centre) + total·(log `N_t` − centre) + noise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredLaw {
    /// Mean log `N_a` and log `N_t`.
    pub centre: [f64; 2],
    /// Exponent of the active parameters.
    pub active: f64,
    /// Exponent of the total parameters.
    pub total: f64,
    /// Standard deviation of the noise.
    pub sd: f64,
    /// log `k_st` at the centre, in the order of [`AttentionKind::ALL`].
    pub by_kind: [f64; AttentionKind::COUNT],
}

/// Bytes that a step reads per token at 8,192 tokens over bytes stored per token, of a kind of attention.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttentionLaw {
    /// Kind of attention that the law is of.
    pub kind: AttentionKind,
    /// Mean of the logarithm.
    pub log_read_over_stored: f64,
    /// Standard deviation of the logarithm; 0 where both are the same.
    pub sd: f64,
}

/// Mean facts of the models behind a calibration.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dates {
    /// Years from the start of 2025 to the mean release.
    pub mean_years: f64,
    /// Standard deviation of releases, years.
    pub sd_years: f64,
    /// Mean share of sellers that sell cache reads.
    pub mean_cache_share: f64,
}

/// log price = intercept + active·log `N_a` + total·log `N_t` + seller + deviation of the model + noise, per
/// line; dense models have an exponent of their own, and vendors that sell models of their own a markup of their own.
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
    /// Mean markup of vendors on models of their own.
    pub author: [f64; 2],
    /// Added to it per year of the model's release from the mean: their tariffs of old models are older.
    pub author_per_year: [f64; 2],
    /// Spread of what an unseen vendor asks for models of its own, and of what these have in common.
    pub author_spread: OverLines,
    /// Spread of hosts around the law, over the price lines.
    pub host: OverLines,
    /// Spread of models with equal parameters; Student-t.
    pub deviation: OverLines,
    /// Degrees of freedom of the deviation.
    pub degrees_of_freedom: f64,
    /// Spread of single decisions.
    pub noise: OverLines,
    /// Further weight of a decision per seller that copies it.
    pub copy_weight: f64,
    /// Greatest weight of a decision.
    pub most_weight: f64,
}

/// Markup of a known host relative to the law.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostMarkup {
    /// Mean markup on the input and on the output line.
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
    /// Mean of log(`k_bw`·`L_1`/`N_a`) over context tiers.
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

/// log of the maximum context = intercept + `by_kind` + `per_year`·years + active·log `N_a` + total·log `N_t` +
/// stored·log `k_st` + Student-t error.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextLaw {
    /// Value at the mean release for logarithms of 0.
    pub intercept: f64,
    /// Rise per year of release.
    pub per_year: f64,
    /// Exponent of the active parameters.
    pub active: f64,
    /// Exponent of the total parameters.
    pub total: f64,
    /// Exponent of the bytes stored per token.
    pub stored: f64,
    /// Added for each kind of attention, in the order of [`AttentionKind::ALL`].
    pub by_kind: [f64; AttentionKind::COUNT],
    /// Scale of the error.
    pub scale: f64,
    /// Degrees of freedom of the error.
    pub degrees_of_freedom: f64,
}

impl Calibration {
    /// Calibration that is built in.
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
