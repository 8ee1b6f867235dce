//! The serving of the drawn models: the cost of a token over the length of its context, and the place of decoding on the
//! roofline of each machine.
//!
//! ```
//! # use unroof_infer::evidence::assumptions::Assumptions;
//! # use unroof_price_sheet::sheet::{ContextTier, PriceSheet, RateCell};
//! # use unroof_roofline::reference::calibration::Calibration;
//! use unroof_infer::joint::samples_and_serving;
//!
//! # let mut cell = RateCell::new(RateCell::STANDARD, ContextTier::default(), None);
//! # (cell.input, cell.output) = ("3".parse().ok(), "15".parse().ok());
//! # let (sheet, assumptions) = (PriceSheet::new("acme", "m-1", vec![cell]), Assumptions::default());
//! let (_, serving) = samples_and_serving(&[sheet], &assumptions, Calibration::shipped(), &Default::default())?;
//! // A generated token costs more behind a longer context.
//! let [first, .., last] = serving.output.as_slice() else { panic!("a length of context is missing") };
//! assert!(last.context_tokens > first.context_tokens && last.median > first.median);
//! # Ok::<(), unroof_base::input::cancel::Cancelled>(())
//! ```

use crate::evidence::machine::Machine;
use crate::evidence::unknowns::{Running, Unknowns};
use crate::posterior::{Draws, Interval, summarize};
use unroof_base::units::count_f64;
use unroof_roofline::reference::accelerators;

/// Draws that are served: two digits need no more.
const DRAWN: usize = 240;
/// Shortest context, in tokens.
const SHORTEST: f64 = 1_024.0;
/// Lengths of context, each √2 times the one before: up to two million tokens.
const LENGTHS: i32 = 23;
/// Multiplies and additions of one parameter and token.
const FLOP_PER_MULTIPLY_ADD: f64 = 2.0;
/// Step between two lengths of context.
const STEP: f64 = std::f64::consts::SQRT_2;

/// The drawn models as they are served.
#[derive(Debug, Clone, PartialEq)]
pub struct Serving {
    /// Cost of a fresh prompt token in prompts of a length.
    pub input: Vec<CostAt>,
    /// Cost of a generated token behind a context of a length, at the drawn batch.
    pub output: Vec<CostAt>,
    /// Decoding on the roofline, draw by draw.
    pub roofline: Vec<RooflinePoint>,
}

/// Cost of a token at a length of context.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CostAt {
    /// Tokens of context.
    pub context_tokens: f64,
    /// Median, USD per million tokens.
    pub median: f64,
    /// 90 % interval of the cost.
    pub interval_90: Interval,
}

/// Decoding of one draw, per chip.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RooflinePoint {
    /// FLOP per byte that a step reads.
    pub flop_per_byte: f64,
    /// FLOP per second that it reaches.
    pub flop_per_second: f64,
    /// The accelerator, where its figures are those of a known one.
    pub accelerator: Option<&'static str>,
    /// Peak FLOP per second in the format of the weights.
    pub peak_flop_per_second: f64,
    /// Bandwidth of its memory, bytes per second.
    pub bytes_per_second: f64,
}

impl Serving {
    /// Serving of models as the draws describe them.
    #[must_use]
    pub fn of(draws: &Draws<'_>) -> Self {
        let chosen = even(draws);
        let lengths = (0..LENGTHS).map(|step| SHORTEST * STEP.powi(step));
        let lengths: Vec<f64> = lengths.map(f64::round).collect();
        Self {
            input: costs(&chosen, &lengths, |unknowns, length| {
                let running = Running {
                    prompt_tokens: length,
                    log_prefill_cost: None,
                    ..unknowns.running
                };
                Unknowns {
                    running,
                    ..*unknowns
                }
                .log_input_cost()
            }),
            output: costs(&chosen, &lengths, |unknowns, length| {
                let running = Running {
                    log_step_seconds: None,
                    ..unknowns.running
                };
                let at_length = Unknowns {
                    log_mean_decode_context: length.ln(),
                    running,
                    ..*unknowns
                };
                at_length.log_output_cost()
            }),
            roofline: chosen.iter().map(RooflinePoint::of).collect(),
        }
    }
}

/// Draws of equal weight: one for each of so many equal parts of the weight.
fn even<'a>(draws: &Draws<'a>) -> Vec<Unknowns<'a>> {
    let total: f64 = draws.weights().iter().sum();
    let per_draw = total / count_f64(DRAWN);
    let mut wanted = 0.5 * per_draw;
    let mut passed = 0.0;
    let mut chosen = Vec::with_capacity(DRAWN);
    for (unknowns, weight) in draws.iter().zip(draws.weights()) {
        passed += weight;
        while passed > wanted && chosen.len() < DRAWN {
            chosen.push(unknowns);
            wanted += per_draw;
        }
    }
    chosen
}

fn costs(
    chosen: &[Unknowns<'_>],
    lengths: &[f64],
    log_cost: impl Fn(&Unknowns<'_>, f64) -> f64,
) -> Vec<CostAt> {
    let weights = vec![1.0; chosen.len()];
    let at = |length: &f64| {
        let logs = chosen.iter().map(|unknowns| log_cost(unknowns, *length));
        let logs: Vec<f64> = logs.collect();
        let summary = summarize(logs.into_iter(), &weights);
        CostAt {
            context_tokens: *length,
            median: summary.median(),
            interval_90: summary.interval_90(),
        }
    };
    lengths.iter().map(at).collect()
}

impl RooflinePoint {
    fn of(unknowns: &Unknowns<'_>) -> Self {
        let machine = unknowns.machine;
        let peak = FLOP_PER_MULTIPLY_ADD * machine.log_multiply_rate.exp();
        let bandwidth = machine.log_bandwidth.exp();
        let ridge = peak / bandwidth;
        Self {
            flop_per_byte: ridge / unknowns.log_memory_over_compute().exp(),
            flop_per_second: FLOP_PER_MULTIPLY_ADD * unknowns.log_decode_rate().exp(),
            accelerator: name_of(machine),
            peak_flop_per_second: peak,
            bytes_per_second: bandwidth,
        }
    }
}

/// The accelerator that has the figures of a machine.
fn name_of(machine: &Machine) -> Option<&'static str> {
    let is_same = |one: f64, log: f64| (one.ln() - log).abs() < 1e-9;
    let found = accelerators().iter().find(|row| {
        let peak = row.peak_for_weights(machine.log_weight_bytes.exp()).1;
        is_same(row.hbm_bytes_per_second.0, machine.log_bandwidth)
            && is_same(row.hbm_bytes.0, machine.log_capacity)
            && is_same(peak.multiply_adds().0, machine.log_multiply_rate)
    });
    found.map(|row| row.name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::assumptions::Assumptions;
    use crate::joint;
    use unroof_base::input::cancel::CancelToken;
    use unroof_price_sheet::sheet::{ContextTier, PriceSheet, RateCell};
    use unroof_roofline::reference::calibration::Calibration;

    fn serving() -> Serving {
        let mut cell = RateCell::new("standard", ContextTier::default(), None);
        cell.input = Some("1".parse().unwrap());
        cell.output = Some("4".parse().unwrap());
        let sheet = PriceSheet::new("acme", "m-1", vec![cell]);
        let (calibration, wanted) = (Calibration::shipped(), CancelToken::default());
        let assumptions = Assumptions::default();
        joint::samples_and_serving(&[sheet], &assumptions, calibration, &wanted)
            .unwrap()
            .1
    }

    #[test]
    fn a_token_behind_a_longer_context_does_not_cost_less() {
        let serving = serving();
        for costs in [&serving.input, &serving.output] {
            assert_eq!(costs.len(), 23);
            let last = costs[22];
            assert!(last.context_tokens > 2e6, "{last:?}");
            assert!(last.median > costs[0].median, "{last:?}");
            let is_inside = |cost: &CostAt| {
                cost.interval_90.low < cost.median && cost.median < cost.interval_90.high
            };
            assert!(costs.iter().all(is_inside));
        }
        let grows = serving
            .output
            .windows(2)
            .all(|pair| pair[0].median <= pair[1].median * 1.001);
        assert!(grows);
    }

    #[test]
    fn no_draw_is_above_the_roof_of_its_machine() {
        let serving = serving();
        assert_eq!(serving.roofline.len(), DRAWN);
        for point in &serving.roofline {
            let by_memory = point.flop_per_byte * point.bytes_per_second;
            // The measured error of predicted times is part of the rate that is reached.
            let roof = 1.8 * point.peak_flop_per_second.min(by_memory);
            assert!(point.flop_per_second < roof, "{point:?}");
            assert!(point.accelerator.is_some(), "{point:?}");
        }
    }
}
