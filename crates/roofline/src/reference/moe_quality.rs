//! Published scaling laws of mixture-of-experts models.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::words;

embedded_tables! {
    /// The published law of model quality against the number of experts, one row per way of routing.
    routed_laws: RoutedLaw = "moe_scaling_laws.csv";

    /// Routed models that were published with the size of a dense model as good.
    published_equivalents: PublishedEquivalent = "moe_quality.csv";
}

/// The law of one way of routing.
#[must_use]
pub fn routed_law(routing: &str) -> Option<&'static RoutedLaw> {
    routed_laws().iter().find(|law| law.routing == routing)
}

/// log L(N, E) = a·log N + b·log Ê + c·log N·log Ê + d for one way of routing, with the range that it was fitted on.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct RoutedLaw {
    /// The id used in requests.
    pub routing: String,
    /// Routing of tokens to experts.
    pub name: String,
    /// Coefficient of log N.
    pub a: f64,
    /// Coefficient of log Ê.
    pub b: f64,
    /// Coefficient of log N·log Ê.
    pub c: f64,
    /// Constant of the law.
    pub d: f64,
    /// Ê of one expert.
    pub e_start: f64,
    /// Ê of any number of experts at most.
    pub e_max: f64,
    /// Size beyond which experts add nothing, as published.
    pub cutoff_parameters: f64,
    /// Smallest model of the fit, active parameters.
    pub least_active_parameters: f64,
    /// Largest model of the fit, active parameters.
    pub most_active_parameters: f64,
    /// Most experts of the fit, one of them active.
    pub most_experts: f64,
    /// Tokens that every model of the fit was trained on.
    pub training_tokens: f64,
    /// Columns that are estimates or unverified.
    #[serde(deserialize_with = "words")]
    pub estimates: Vec<String>,
    /// Source of the figures.
    pub source: String,
    /// Remarks on the law.
    pub note: String,
}

/// A routed model and the dense model that is as good.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct PublishedEquivalent {
    /// Experts, one of them active.
    pub experts: f64,
    /// Active parameters of the routed model.
    pub active_parameters: f64,
    /// Parameters of the dense model.
    pub dense_equivalent_parameters: f64,
    /// Source of the figures.
    pub source: String,
    /// Remarks on the equivalent.
    pub note: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_law_and_every_published_model_has_a_source_and_figures_of_the_right_sign() {
        assert_eq!(routed_laws().len(), 3);
        for law in routed_laws() {
            assert!(!law.source.is_empty(), "{}", law.routing);
            // Larger models and more experts are better, and each makes the other matter less.
            assert!(law.a < 0.0 && law.b < 0.0 && law.c > 0.0, "{}", law.routing);
            assert!(1.0 < law.e_start && law.e_start < law.e_max);
            assert!(law.least_active_parameters < law.most_active_parameters);
        }
        assert!(!published_equivalents().is_empty());
        for point in published_equivalents() {
            assert!(!point.source.is_empty());
            assert!(point.active_parameters < point.dense_equivalent_parameters);
        }
    }
}
