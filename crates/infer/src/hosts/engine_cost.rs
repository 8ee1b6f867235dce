//! Costs of the open models by the engine, before any price is read.
//!
//! ```
//! use unroof_infer::evidence::open_name::open_model_of;
//! use unroof_infer::hosts::engine_cost::engine_cost;
//!
//! let small = engine_cost(open_model_of("meta/llama-3.1-8b-instruct").unwrap()).unwrap();
//! let large = engine_cost(open_model_of("meta/llama-3.1-405b-instruct").unwrap()).unwrap();
//! assert!(large.output.median > 10.0 * small.output.median);
//! assert!(small.output.interval_90.low < small.output.median);
//! ```

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::estimate::margins::Costs;
use crate::estimate::samples::Samples;
use crate::evidence::assumptions::Assumptions;
use crate::joint::with_architecture;
use crate::posterior::{Prior, sample_prior};
use unroof_roofline::reference::calibration::Calibration;
use unroof_roofline::reference::{OpenModel, open_models};

/// Draws per model: the median is known to a few percent.
const DRAWS: usize = 2_048;

/// Costs by the names of the models; some 0.3 s of work for all of them.
static COSTS: LazyLock<HashMap<&'static str, Costs>> = LazyLock::new(|| {
    let with_costs = |model: &'static OpenModel| Some((model.name.as_str(), costs_of(model)?));
    open_models().iter().filter_map(with_costs).collect()
});

/// Costs of a model's tokens, USD per million: its published architecture, with machine, load, context and utilisation of the
/// prior.
#[must_use]
pub fn engine_cost(model: &OpenModel) -> Option<Costs> {
    COSTS.get(model.name.as_str()).copied()
}

fn costs_of(model: &OpenModel) -> Option<Costs> {
    let stated = with_architecture(model, &Assumptions::default())?;
    let prior = Prior::new(Calibration::shipped(), &stated);
    let draws = sample_prior(&prior, DRAWS);
    Some(Costs::of(&Samples::of(&draws)))
}
