//! The size and the tokens of the best model for a budget that pays for inference too.

use serde::Serialize;
use utoipa::ToSchema;

/// Loss of a dense model of N parameters after D tokens: E + A/N^α + B/D^β.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, ToSchema)]
pub struct ScalingLaw {
    /// Author of the fit.
    pub name: &'static str,
    /// Publication of the constants.
    pub source: &'static str,
    /// E: loss of an infinite model.
    pub irreducible: f64,
    /// A: factor of the term of parameters.
    pub size_factor: f64,
    /// α: exponent of the term of parameters.
    pub size_exponent: f64,
    /// B: factor of the term of tokens.
    pub token_factor: f64,
    /// β: exponent of the term of tokens.
    pub token_exponent: f64,
}

/// The two published fits of the same experiments.
pub const SCALING_LAWS: [ScalingLaw; 2] = [
    ScalingLaw {
        name: "Hoffmann",
        source: "Hoffmann et al., arXiv 2203.15556, approach 3",
        irreducible: 1.69,
        size_factor: 406.4,
        size_exponent: 0.34,
        token_factor: 410.7,
        token_exponent: 0.28,
    },
    ScalingLaw {
        name: "Besiroglu",
        source: "Besiroglu et al., arXiv 2404.10102",
        irreducible: 1.8172,
        size_factor: 482.01,
        size_exponent: 0.3478,
        token_factor: 2_085.43,
        token_exponent: 0.3658,
    },
];

/// Compute that pretraining and inference of one model share.
#[derive(Debug, Clone, Copy)]
pub struct SharedBudget {
    /// C: FLOP at the utilisation of pretraining.
    pub compute_flop: f64,
    /// FLOP per parameter and token of pretraining.
    pub pretraining_flops: f64,
    /// FLOP per parameter that all tokens of inference take, over η: 2·`D_inf`/η.
    pub inference_flops_per_parameter: f64,
}

impl SharedBudget {
    /// Tokens of pretraining that the budget leaves for a model of this size; not positive if inference takes all.
    #[must_use]
    pub fn tokens(&self, parameters: f64) -> f64 {
        (self.compute_flop / parameters - self.inference_flops_per_parameter)
            / self.pretraining_flops
    }
}

impl ScalingLaw {
    /// Loss of a model of so many parameters after so many tokens.
    #[must_use]
    pub fn loss(&self, parameters: f64, tokens: f64) -> f64 {
        self.irreducible
            + self.size_factor / parameters.powf(self.size_exponent)
            + self.token_factor / tokens.powf(self.token_exponent)
    }

    /// The size of least loss within a budget: where a larger model loses as much by fewer tokens as it gains \[D\]. The
    /// loss has one minimum in log N, between one parameter and the size at which inference takes all of the budget.
    #[must_use]
    pub fn best_parameters(&self, budget: &SharedBudget) -> f64 {
        const NARROWINGS: u32 = 200;
        let most = if budget.inference_flops_per_parameter > 0.0 {
            budget.compute_flop / budget.inference_flops_per_parameter
        } else {
            budget.compute_flop / budget.pretraining_flops
        };
        let loss = |log: f64| {
            let parameters = log.exp();
            let tokens = budget.tokens(parameters);
            if tokens > 0.0 {
                self.loss(parameters, tokens)
            } else {
                f64::INFINITY
            }
        };
        let (mut low, mut high) = (0.0, most.max(1.0).ln());
        for _ in 0..NARROWINGS {
            let third = (high - low) / 3.0;
            let (left, right) = (low + third, high - third);
            if loss(left) <= loss(right) {
                high = right;
            } else {
                low = left;
            }
        }
        f64::midpoint(low, high).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without inference the optimum is known: N = G·(C/6)^(β/(α + β)), G = (αA/βB)^(1/(α + β)).
    #[test]
    fn without_inference_it_is_the_published_optimum() {
        for law in SCALING_LAWS {
            let budget = SharedBudget {
                compute_flop: 5.76e23,
                pretraining_flops: 6.0,
                inference_flops_per_parameter: 0.0,
            };
            let both = law.size_exponent + law.token_exponent;
            let ratio = law.size_exponent * law.size_factor / law.token_exponent / law.token_factor;
            let closed =
                ratio.powf(1.0 / both) * (5.76e23_f64 / 6.0).powf(law.token_exponent / both);
            let found = law.best_parameters(&budget);
            assert!(
                (found / closed - 1.0).abs() < 1e-3,
                "{}: {found:e}",
                law.name
            );
        }
    }

    #[test]
    fn the_more_is_served_the_smaller_the_best_model_is() {
        for law in SCALING_LAWS {
            let best = |served: f64| {
                law.best_parameters(&SharedBudget {
                    compute_flop: 1e26,
                    pretraining_flops: 6.0,
                    inference_flops_per_parameter: 6.0 * served,
                })
            };
            assert!(best(1e12) > best(1e13) && best(1e13) > best(1e14));
        }
    }
}
