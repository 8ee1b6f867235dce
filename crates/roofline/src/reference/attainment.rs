//! Efficiencies: the shares of peak bandwidth and arithmetic reached in serving.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::{Accelerator, Predicted, TimeRange};
use unroof_base::units::Seconds;

static FITTED: LazyLock<FittedAttainment> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../data/efficiencies.json"))
        .unwrap_or_else(|error| panic!("data/efficiencies.json: {error}"))
});

/// Efficiencies of published measurements, as `unroof-dev fit` found them.
#[must_use]
pub fn fitted_attainment() -> &'static FittedAttainment {
    &FITTED
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
    /// Share of the shorter of reading routed experts and multiplying with them that the longer does not hide.
    pub exposed_weights: f64,
    /// Share of link bandwidth.
    pub network: f64,
    /// Share of the shorter of work and exchanges that is not hidden when decoding with distributed experts.
    pub exposed_exchange: f64,
    /// Further memory traffic besides weights and cache, in hidden vectors per token and layer.
    pub vectors_per_token_and_layer: f64,
    /// Waiting per kernel, seconds.
    pub seconds_per_stage: Seconds,
    /// Sequential kernels of a dense layer; one with experts has ten, in 4 bits five.
    pub stages_per_dense_layer: f64,
    /// Latency of an all-reduce, seconds.
    pub seconds_per_exchange: Seconds,
    /// Latency of sending tokens to experts and back, per doubling of the chips, seconds.
    pub seconds_per_dispatch: Seconds,
}

/// Efficiencies that a generation of chips has of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OfGeneration {
    /// Generation as `accelerators.csv` names it.
    pub generation: String,
    /// Share of peak arithmetic in multiplies with dense matrices.
    pub compute: f64,
    /// Share of HBM bandwidth.
    pub bandwidth: f64,
    /// Waiting per kernel, seconds.
    pub seconds_per_stage: Seconds,
}

/// Efficiencies of all chips, and of the generations that were measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FittedAttainment {
    /// The command that writes the file.
    pub source: String,
    /// Efficiencies of a generation that was not measured: the middle of those that were.
    pub all: Attainment,
    /// Generations that were measured.
    pub generations: Vec<OfGeneration>,
    /// Rows of the fit, by accelerator.
    pub rows: BTreeMap<String, u32>,
    /// Errors of predicted times, on rows that a fit had not seen.
    pub errors: Vec<TimeRange>,
}

impl FittedAttainment {
    /// Efficiencies of chips of a generation; the middle of all where it was not measured.
    #[must_use]
    pub fn of(&self, generation: &str) -> Attainment {
        let measured = |own: &&OfGeneration| own.generation == generation;
        match self.generations.iter().find(measured) {
            None => self.all,
            Some(own) => Attainment {
                compute: own.compute,
                bandwidth: own.bandwidth,
                seconds_per_stage: own.seconds_per_stage,
                ..self.all
            },
        }
    }

    /// Whether chips of a generation are among the rows of the fit.
    #[must_use]
    pub fn has_measured(&self, generation: &str) -> bool {
        (self.generations.iter()).any(|own| own.generation == generation)
    }

    /// Rows of an accelerator among those of the fit.
    #[must_use]
    pub fn rows_of(&self, accelerator: &str) -> u32 {
        self.rows.get(accelerator).copied().unwrap_or(0)
    }

    /// Errors of what is predicted of chips of a generation; those of generations that a fit had not seen where it was not
    /// measured.
    #[must_use]
    pub fn time_range(&self, of: Predicted, generation: &str) -> Option<&TimeRange> {
        let was_measured = self.has_measured(generation);
        let mut ranges = self.errors.iter();
        ranges.find(|range| range.of == of && range.was_measured == was_measured)
    }
}

impl Accelerator {
    /// Efficiencies of such chips in published measurements.
    #[must_use]
    pub fn attainment(&self) -> Attainment {
        fitted_attainment().of(&self.generation)
    }
}
