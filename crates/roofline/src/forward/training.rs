//! Cost of training: compute of pre-training, reinforcement learning and inference.

use crate::reference::RoutedLaw;
use unroof_base::units::Bytes;

/// Cost of one token in a phase: E23 without `N_a` and D.
#[derive(Debug, Clone, Copy)]
pub struct TokenCost {
    /// FLOP per active parameter and token: 6 for training, 2 for inference, 2 to 6 for reinforcement learning.
    pub flops_per_parameter: f64,
    /// η: utilisation of the machine over that of pretraining.
    pub relative_utilisation: f64,
}

impl TokenCost {
    /// E23, pretraining: two FLOP forward and four backward per parameter, η = 1 \[T\].
    pub const PRETRAINING: Self = Self {
        flops_per_parameter: 6.0,
        relative_utilisation: 1.0,
    };

    /// E23, inference: the forward pass alone, at the utilisation of decoding \[T\].
    #[must_use]
    pub fn inference(relative_utilisation: f64) -> Self {
        Self {
            flops_per_parameter: 2.0,
            relative_utilisation,
        }
    }

    /// Operations of training or serving: factor·`N_a`·D.
    #[must_use]
    pub fn arithmetic(&self, active_parameters: f64, tokens: f64) -> f64 {
        self.flops_per_parameter * active_parameters * tokens
    }

    /// E23: C = factor·`N_a`·D/η, in FLOP at the utilisation of pretraining: what the machine time is worth \[T\].
    #[must_use]
    pub fn compute(&self, active_parameters: f64, tokens: f64) -> f64 {
        self.arithmetic(active_parameters, tokens) / self.relative_utilisation
    }

    /// E24: the tokens that cost as much as `tokens` of another kind; `N_a` cancels \[T\].
    #[must_use]
    pub fn tokens_of_equal_compute(&self, other: &Self, tokens: f64) -> f64 {
        let relative = |cost: &Self| cost.flops_per_parameter / cost.relative_utilisation;
        tokens * relative(other) / relative(self)
    }
}

/// Inference demand over a model's lifetime.
#[derive(Debug, Clone, Copy)]
pub struct Demand {
    /// Tokens per second of the family.
    pub tokens_per_second: f64,
    /// Lifetime of the model.
    pub lifetime_days: f64,
    /// Share of the tokens that this model generates.
    pub model_share: f64,
    /// Chance that the model is served at all, and not replaced or given up before.
    pub served_probability: f64,
}

impl Demand {
    /// E26: `D_inf` = traffic × lifetime × share of the model, times the chance that it is served: what to expect when
    /// training is paid for \[T\].
    #[must_use]
    pub fn inference_tokens(&self) -> f64 {
        let if_served = self.tokens_per_second * self.lifetime_days * 86_400.0 * self.model_share;
        if_served * self.served_probability
    }
}

/// E26: `D_chinchilla` = 20·`N_a`, tokens that train a model of this size at the least compute \[T\].
#[must_use]
pub fn chinchilla_tokens(active_parameters: f64) -> f64 {
    20.0 * active_parameters
}

/// E26: tokens over those of a compute-optimal model, `D_pre`/`D_chinchilla` \[T\].
#[must_use]
pub fn overtraining(pretraining_tokens: f64, active_parameters: f64) -> f64 {
    pretraining_tokens / chinchilla_tokens(active_parameters)
}

/// Activations that the backward pass needs.
#[derive(Debug, Clone, Copy)]
pub struct Activations {
    /// Layers whose activations one device keeps.
    pub layers: u32,
    /// Elements of a token between layers.
    pub hidden_dimension: u32,
    /// Values of `hidden_dimension` elements kept per layer and token.
    pub kept_per_layer: f64,
    /// Tokens in flight per micro-batch.
    pub tokens: f64,
    /// Bytes per kept element.
    pub bytes_per_element: f64,
}

impl Activations {
    fn one_value(&self) -> f64 {
        f64::from(self.hidden_dimension) * self.tokens * self.bytes_per_element
    }

    /// Everything kept: O(layers), 6 FLOP per parameter and token.
    #[must_use]
    pub fn all_kept(&self) -> Bytes {
        Bytes(self.one_value() * self.kept_per_layer * f64::from(self.layers))
    }

    /// The input of each layer kept and one layer computed again at a time: still O(layers), 8 FLOP \[D\].
    #[must_use]
    pub fn inputs_kept(&self) -> Bytes {
        Bytes(self.one_value() * (f64::from(self.layers) + self.kept_per_layer))
    }

    /// E27: reversible blocks compute the inputs from the outputs, so one layer is kept: O(1), 8 FLOP \[T\].
    #[must_use]
    pub fn reversible(&self) -> Bytes {
        Bytes(self.one_value() * self.kept_per_layer)
    }
}

/// FLOP per parameter and token when the forward pass is carried out a second time: 6 + 2 (E27) \[T\].
pub const RECOMPUTING_FLOPS_PER_PARAMETER: f64 = 8.0;

impl RoutedLaw {
    /// Ê, the expert count with its saturation: 1/Ê = 1/(E − 1 + 1/(1/`E_start` − 1/`E_max`)) + 1/`E_max` \[CL22\].
    #[must_use]
    pub fn saturated_experts(&self, experts: f64) -> f64 {
        let offset = 1.0 / (1.0 / self.e_start - 1.0 / self.e_max);
        1.0 / (1.0 / (experts - 1.0 + offset) + 1.0 / self.e_max)
    }

    /// Size of the dense model with the loss that the law gives a routed one: from log L = a·log N + b·log Ê + c·log N·log
    /// Ê + d, log N̄ = ((a + c·log Ê)·log N + b·log(Ê/`E_start`))/(a + c·log `E_start`) \[CL22\].
    ///
    /// One expert gives N itself.
    #[must_use]
    pub fn dense_equivalent_parameters(&self, active_parameters: f64, experts: f64) -> f64 {
        let saturated = self.saturated_experts(experts);
        let slope = |experts: f64| self.a + self.c * experts.log10();
        let logarithm = slope(saturated) * active_parameters.log10()
            + self.b * (saturated / self.e_start).log10();
        10_f64.powf(logarithm / slope(self.e_start))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::reference::{published_equivalents, routed_law, routed_laws};

    #[test]
    fn a_model_without_idle_experts_is_worth_itself() {
        for law in routed_laws() {
            let size = law.dense_equivalent_parameters(3.7e8, 1.0);
            assert!((size / 3.7e8 - 1.0).abs() < 1e-9, "{}: {size}", law.routing);
        }
    }

    #[test]
    fn the_law_gives_the_published_equivalents_back() {
        let law = routed_law("s-base").unwrap();
        for point in published_equivalents() {
            let size = law.dense_equivalent_parameters(point.active_parameters, point.experts);
            let error = (size / point.dense_equivalent_parameters).ln().abs();
            assert!(
                error < 1.1_f64.ln(),
                "{} × {}: {size}",
                point.experts,
                point.active_parameters
            );
        }
    }

    #[test]
    fn reversible_blocks_keep_one_layer() {
        let activations = Activations {
            layers: 61,
            hidden_dimension: 7_168,
            kept_per_layer: 17.0,
            tokens: 4_096.0,
            bytes_per_element: 2.0,
        };
        let of_one = activations.reversible().0;
        assert!((activations.all_kept().0 / of_one - 61.0).abs() < 1e-9);
        assert!(activations.inputs_kept().0 < activations.all_kept().0);
        assert!(activations.inputs_kept().0 > of_one);
    }

    proptest! {
        #[test]
        fn equal_compute_is_equal(factor in 2.0..6.0_f64, utilisation in 0.01..1.0_f64, tokens in 1e9..1e16_f64) {
            let learning = TokenCost { flops_per_parameter: factor, relative_utilisation: utilisation };
            let inference = TokenCost::inference(utilisation);
            let equal = learning.tokens_of_equal_compute(&inference, tokens);
            let (left, right) = (learning.compute(1e11, equal), inference.compute(1e11, tokens));
            prop_assert!((left / right - 1.0).abs() < 1e-12);
        }
    }
}
