//! Efficiencies: the shares of peak bandwidth and arithmetic reached in serving.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use unroof_base::units::Seconds;

static FITTED: LazyLock<Fitted> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../data/efficiencies.json"))
        .unwrap_or_else(|error| panic!("data/efficiencies.json: {error}"))
});

/// The shares of peak that published measurements reach, as `unroof-dev fit` found them.
#[must_use]
pub fn fitted_attainment() -> Attainment {
    FITTED.fitted
}

/// Efficiencies, and costs that the rooflines leave out.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attainment {
    /// Share of peak arithmetic in multiplies with dense matrices.
    pub compute: f64,
    /// The share of multiplies with experts over that: their matrices see few tokens each.
    pub expert_compute_ratio: f64,
    /// The share of attention's multiplies over that.
    pub attention_compute_ratio: f64,
    /// Share of HBM bandwidth.
    pub bandwidth: f64,
    /// Share of link bandwidth.
    pub network: f64,
    /// Share of the shorter of work and exchanges that is not hidden when decoding with distributed experts.
    pub exposed_exchange: f64,
    /// Further memory traffic besides weights and cache, in hidden vectors per token and layer.
    pub vectors_per_token_and_layer: f64,
    /// Waiting per kernel, seconds.
    pub seconds_per_stage: Seconds,
}

/// The file: the fit to all rows, and the range over the fits that leave a generation out.
#[derive(Debug, Deserialize)]
struct Fitted {
    fitted: Attainment,
}
