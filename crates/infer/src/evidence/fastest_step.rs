//! The fastest decoding that a machine allows one user: batch 1, at peak bandwidth.
//!
//! ```
//! use unroof_infer::evidence::fastest_step::fastest_step;
//!
//! // No accelerator on sale decodes 400 billion active parameters as fast as 4 billion.
//! let speed = |active_parameters| fastest_step(active_parameters).unwrap().tokens_per_second;
//! assert!(speed(4e9) > speed(400e9));
//! ```

use super::unknowns::Unknowns;
use unroof_base::units::Seconds;
use unroof_base::units::elementary::{exp, ln};
use unroof_roofline::forward::Overheads;
use unroof_roofline::reference::{
    Accelerator, AcceleratorStatus, Attainment, accelerators, fitted_attainment,
};

/// Most tokens that a step of speculative decoding yields per user, the checked one included: drafts of the vendors'
/// own multi-token heads are two to four tokens long \[D\].
pub const MOST_ACCEPTED_TOKENS: f64 = 4.0;
/// Bytes per parameter of the fastest step.
pub const FASTEST_WEIGHT_BYTES: f64 = 1.0;
/// Layers of a model of a billion active parameters, and the power of its active parameters by which they grow: least
/// squares over the open-weight models; 0.25 is the standard deviation of the logarithm.
const LAYERS_OF_A_BILLION: f64 = 22.67;
const LAYERS_POWER: f64 = 0.284_7;
/// log of 10⁹
const LOG_BILLION: f64 = 20.723_265_836_946_41;
/// Kernels that wait for one another in a layer: attention and MLP.
const STAGES_PER_LAYER: f64 = 2.0;
/// All-reduces per layer of matrices that are cut over chips.
const EXCHANGES_PER_LAYER: f64 = 2.0;
/// Chips of a unit.
const CHIPS: [f64; 14] = [
    1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 72.0, 128.0, 144.0, 256.0, 288.0, 512.0, 576.0,
];

/// A machine that decodes for one user.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FastestStep {
    /// Output tokens per second.
    pub tokens_per_second: f64,
    /// Id of its accelerator.
    pub accelerator: &'static str,
    /// Chips of its unit.
    pub chips: f64,
}

/// Waiting of a step that does not shrink with more chips, seconds per layer.
#[derive(Debug, Clone, Copy)]
pub struct Waits {
    kernels: f64,
    exchanges: f64,
    hops: f64,
}

impl Waits {
    /// Waiting of chips of any generation.
    #[must_use]
    pub fn fitted() -> Self {
        Self::of(fitted_attainment().all)
    }

    /// Waiting in the forward model: fitted waiting per kernel, and the latency of exchanges.
    fn of(reached: Attainment) -> Self {
        let overheads = Overheads::from(reached);
        let per_layer = |count: f64, wait: Seconds| count * wait.0;
        Self {
            kernels: per_layer(STAGES_PER_LAYER, overheads.per_stage),
            exchanges: per_layer(EXCHANGES_PER_LAYER, overheads.per_exchange),
            hops: per_layer(EXCHANGES_PER_LAYER, overheads.per_hop),
        }
    }

    /// Seconds per step of a model on this many chips, of which a domain has so many.
    fn seconds(&self, log_active_parameters: f64, chips: f64, domain: f64) -> f64 {
        let exchanges = if chips > 1.0 { self.exchanges } else { 0.0 };
        let hops = if chips > domain { self.hops } else { 0.0 };
        layers(log_active_parameters) * (self.kernels + exchanges + hops)
    }
}

/// Layers of a model by its active parameters, as open-weight models have them \[D\].
fn layers(log_active_parameters: f64) -> f64 {
    LAYERS_OF_A_BILLION * exp(LAYERS_POWER * (log_active_parameters - LOG_BILLION))
}

/// The fastest decoding of a model on any accelerator that is sold, on units of 1 to 576 chips that hold its active
/// parameters at 8 bits: 4/(`N_a`/(G·BW) + waits), tokens/s (E4 at batch 1, with U10) \[D\].
///
/// Experts that are not read, the cache and the arithmetic are left out, so that no machine of the list is faster.
#[must_use]
pub fn fastest_step(active_parameters: f64) -> Option<FastestStep> {
    let sold = accelerators()
        .iter()
        .filter(|row| row.status == AcceleratorStatus::Shipping);
    sold.flat_map(|row| CHIPS.map(|chips| (row, chips)))
        .filter(|(row, chips)| active_parameters * FASTEST_WEIGHT_BYTES <= row.hbm_bytes.0 * chips)
        .map(|(row, chips)| on_unit(row, chips, active_parameters))
        .max_by(|left, right| left.tokens_per_second.total_cmp(&right.tokens_per_second))
}

fn on_unit(row: &'static Accelerator, chips: f64, active_parameters: f64) -> FastestStep {
    let waits = Waits::of(row.attainment());
    let reading = active_parameters * FASTEST_WEIGHT_BYTES / (row.hbm_bytes_per_second.0 * chips);
    let domain = f64::from(row.scale_up_domain);
    let seconds = reading + waits.seconds(active_parameters.ln(), chips, domain);
    FastestStep {
        tokens_per_second: MOST_ACCEPTED_TOKENS / seconds,
        accelerator: &row.id,
        chips,
    }
}

/// log of the fastest decoding of a draw's model on the draw's machine, tokens/s: as [`fastest_step`], with the machine's
/// own format, bandwidth and chips.
#[must_use]
pub fn log_fastest_speed(unknowns: &Unknowns<'_>, waits: &Waits) -> f64 {
    let machine = unknowns.machine;
    let reading = machine.log_weight_bytes + unknowns.log_active_parameters
        - machine.log_bandwidth
        - machine.log_chips;
    let waiting = waits.seconds(unknowns.log_active_parameters, machine.chips, machine.chips);
    ln(MOST_ACCEPTED_TOKENS) - ln(exp(reading) + waiting)
}

#[cfg(test)]
mod tests {
    use super::*;
    use unroof_roofline::reference::open_models;

    #[test]
    fn the_law_of_layers_is_that_of_the_open_models() {
        let points: Vec<(f64, f64)> = open_models()
            .iter()
            .map(|model| {
                let active = model.architecture.active_parameters.ln() - LOG_BILLION;
                (active, f64::from(model.architecture.layers).ln())
            })
            .collect();
        #[expect(clippy::cast_precision_loss, reason = "a few hundred models")]
        let count = points.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
        let (x_mean, y_mean) = (mean(|point| point.0), mean(|point| point.1));
        let covariance: f64 = (points.iter())
            .map(|(x, y)| (x - x_mean) * (y - y_mean))
            .sum();
        let variance: f64 = points.iter().map(|(x, _)| (x - x_mean).powi(2)).sum();
        let power = covariance / variance;
        let of_a_billion = (y_mean - power * x_mean).exp();
        // Models that are added move it a little; it is set again when they move it by more.
        assert!(
            (power - LAYERS_POWER).abs() < 0.03,
            "{power}, {of_a_billion}"
        );
        assert!(
            (of_a_billion / LAYERS_OF_A_BILLION - 1.0).abs() < 0.1,
            "{of_a_billion}, {power}"
        );
    }

    #[test]
    fn waiting_and_not_bandwidth_limits_the_fastest_step_of_a_large_unit() {
        let large = fastest_step(7e10).expect("a unit holds 70 GB");
        let small = fastest_step(1e9).expect("a chip holds 1 GB");
        assert!(large.tokens_per_second < 1_700.0, "{large:?}");
        assert!(small.tokens_per_second > 4_000.0, "{small:?}");
        assert!(fastest_step(1e15).is_none(), "nothing holds a petabyte");
    }
}
