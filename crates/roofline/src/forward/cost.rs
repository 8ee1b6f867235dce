//! Cost of a generated token and of a prompt token, in USD.

use super::{Model, OperatingPoint, ServingUnit, step_time};
use unroof_base::units::number::Number;

/// E5: `c_out`(L) = R·T/B, USD per generated token \[T\].
#[must_use]
pub fn cost_per_generated_token(model: &Model, unit: &ServingUnit, point: &OperatingPoint) -> f64 {
    unit.rental_usd_per_second * step_time(model, unit, point).total.0 / point.batch
}

/// E16: `c_in`(S | `P_c`) = R·(`N_a` + `a_pre`·(`P_c` + S/2))/(`η_pre`·M), USD per fresh prompt token \[D\].
///
/// `prefill_attention_macs` is `a_pre`, multiply-adds per prompt token and context token.
#[must_use]
pub fn cost_per_prompt_token(
    model: &Model,
    unit: &ServingUnit,
    prefill_efficiency: f64,
    prefill_attention_macs: f64,
    prompt: PromptTokens,
) -> f64 {
    let mean_context = prompt.cached + prompt.fresh / 2.0;
    let macs_per_token = model.active_parameters + prefill_attention_macs * mean_context;
    unit.rental_usd_per_second * macs_per_token / (prefill_efficiency * unit.multiply_rate.0)
}

/// A prompt, by what must be computed.
#[derive(Debug, Clone, Copy)]
pub struct PromptTokens<N = f64> {
    /// S: tokens that are computed.
    pub fresh: N,
    /// `P_c`: tokens found in the cache.
    pub cached: N,
}

impl<N: Number> PromptTokens<N> {
    /// A prompt of which nothing is cached.
    #[must_use]
    pub fn fresh(tokens: N) -> Self {
        Self {
            fresh: tokens,
            cached: N::splat(0.0),
        }
    }
}
