//! The kinds of models there are: dense ones and mixtures of experts, each with one of six kinds of attention.

mod attention;
mod classes;
mod context;
mod facts;
mod regression;
mod sizes;

use super::data::PricedModel;
use unroof_roofline::reference::calibration::Population;

/// The population of these models.
pub(super) fn population(models: &[&PricedModel], size_degrees_of_freedom: f64) -> Population {
    let dates = facts::dates(models);
    let facts = facts::facts(models, &dates);
    let [dense, mixture_of_experts] = [true, false].map(|is_dense| sizes::sizes(models, is_dense));
    Population {
        size_degrees_of_freedom,
        classes: classes::classes(models, &facts, [&dense, &mixture_of_experts]),
        dense,
        mixture_of_experts,
        stored: attention::stored_law(models),
        attention: attention::attention_laws(models),
        context: context::context_law(models, &facts),
        dates,
    }
}
