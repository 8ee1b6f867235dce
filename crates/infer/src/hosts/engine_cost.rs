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
use crate::estimate::quantity_estimate::LARGEST_PARETO_K;
use crate::estimate::samples::Samples;
use crate::evidence::assumptions::Assumptions;
use crate::evidence::likelihood::terms;
use crate::evidence::served_speed::ServedSpeed;
use crate::joint::with_architecture;
use crate::posterior::{Draws, Prior, sample_prior, sample_while};
use unroof_base::input::cancel::CancelToken;
use unroof_roofline::reference::calibration::Calibration;
use unroof_roofline::reference::{OpenModel, open_models};

/// Draws per model: the median is known to a few percent.
const DRAWS: usize = 2_048;
/// Effective draws of a model whose speed is published.
const EFFECTIVE_DRAWS: usize = 1_000;

/// Costs by the names of the models, computed when one is first asked for.
static COSTS: LazyLock<HashMap<&'static str, Costs>> = LazyLock::new(|| {
    let with_costs = |model: &'static OpenModel| Some((model.name.as_str(), costs_of(model)?));
    open_models().iter().filter_map(with_costs).collect()
});

/// Costs of a model's tokens, USD per million: its published architecture, with machine, load, context and utilisation of the
/// prior, and of a model whose output speed is published, as it is served.
#[must_use]
pub fn engine_cost(model: &OpenModel) -> Option<Costs> {
    COSTS.get(model.name.as_str()).copied()
}

fn costs_of(model: &OpenModel) -> Option<Costs> {
    costs_at_speed(model, ServedSpeed::of_model(&model.name, &[]))
}

/// Costs of a model's tokens as it is served at a speed; those of the prior without one, and where few draws carry it.
#[must_use]
pub fn costs_at_speed(model: &OpenModel, speed: Option<ServedSpeed>) -> Option<Costs> {
    let stated = with_architecture(model, &Assumptions::default())?;
    let prior = Prior::new(Calibration::shipped(), &stated);
    let of_draws = |draws: &Draws<'_>| Costs::of(&Samples::of(draws));
    if let Some(speed) = speed {
        let posterior = sample_while(
            &prior,
            &terms([speed]),
            EFFECTIVE_DRAWS,
            &CancelToken::default(),
        );
        let sound = posterior
            .ok()
            .filter(|posterior| posterior.pareto_k <= LARGEST_PARETO_K);
        if let Some(posterior) = sound {
            return Some(of_draws(&posterior.draws));
        }
    }
    Some(of_draws(&sample_prior(&prior, DRAWS)))
}
