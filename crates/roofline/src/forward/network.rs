//! Network traffic of a decode step, in bytes per chip.

use super::machine::{HIDDEN_BYTES_PER_ELEMENT, Machine};
use super::shape::ModelShape;
use unroof_base::units::elementary::ln;
use unroof_base::units::number::Number;
use unroof_base::units::{Bytes, BytesPerSecond, Seconds};

/// Bytes of a hidden state's element on its way to the experts, which is sent in fp8.
pub const DISPATCH_BYTES_PER_ELEMENT: f64 = 1.0;
/// Bytes of an element on its way back.
pub const COMBINE_BYTES_PER_ELEMENT: f64 = 2.0;

/// Bytes sent by one chip in a step.
#[derive(Debug, Clone, Copy)]
pub struct Traffic<N = f64> {
    /// Traffic over scale-up links, within the domain.
    pub inside: Bytes<N>,
    /// Traffic over scale-out links, to other domains.
    pub outside: Bytes<N>,
}

/// Logarithms that a pass needs of its machine: computed once for every size of a unit, since each takes as long as much of
/// a pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UnitLogs<N = f64> {
    /// log G: chips of the unit.
    pub chips: N,
    /// log(1 − 1/G); −∞ of one chip
    other_chips: N,
    /// log(1 − 1/Q); −∞ of one domain
    other_domains: N,
}

impl UnitLogs {
    /// Logarithms of a unit of one chip.
    pub const OF_ONE_CHIP: Self = Self {
        chips: 0.0,
        other_chips: f64::NEG_INFINITY,
        other_domains: f64::NEG_INFINITY,
    };

    /// Logarithms of a machine.
    #[must_use]
    pub fn of(machine: &Machine) -> Self {
        Self {
            chips: ln(machine.chips),
            other_chips: ln(1.0 - 1.0 / machine.chips),
            other_domains: ln(1.0 - 1.0 / machine.domains()),
        }
    }
}

impl<N: Number> UnitLogs<N> {
    /// Packs the logarithms of a unit per lane.
    pub fn of_lanes<'l>(logs: impl Fn(usize) -> &'l UnitLogs) -> Self {
        let each = |value: fn(&UnitLogs) -> f64| N::of_lanes(|lane| value(logs(lane)));
        Self {
            chips: each(|logs| logs.chips),
            other_chips: each(|logs| logs.other_chips),
            other_domains: each(|logs| logs.other_domains),
        }
    }
}

/// Copies of a token that leave its chip, by link.
#[derive(Debug, Clone, Copy)]
pub struct Copies<N = f64> {
    inside: N,
    outside: N,
}

/// One copy per expert, as in decoding, for low latency: of n active experts a share (Q − 1)/Q is in other domains (E11),
/// (G − 1)/G on other chips.
#[must_use]
pub fn every_copy<N: Number>(active_experts: N, machine: &Machine<N>) -> Copies<N> {
    let other = |parts: N| (parts - 1.0) / parts;
    let outside = active_experts * other(machine.domains());
    Copies {
        inside: active_experts * other(machine.chips) - outside,
        outside,
    }
}

/// One copy per domain with an active expert and one per chip there, as in prefill, to save bandwidth: n experts drawn from
/// Q domains are in Q·(1 − (1 − 1/Q)^n) different ones.
#[must_use]
pub fn merged<N: Number>(active_experts: N, machine: &Machine<N>, logs: &UnitLogs<N>) -> Copies<N> {
    // None of one part, whose logarithm is −∞.
    let others_met = |parts: N, log_others: N| {
        let met = parts * (N::splat(1.0) - (active_experts * log_others).exp());
        met * (parts - 1.0) / parts
    };
    Copies {
        inside: others_met(machine.chips, logs.other_chips),
        outside: others_met(machine.domains(), logs.other_domains),
    }
}

impl<N: Number> Traffic<N> {
    /// All-to-all of experts: tokens per chip · copies · `d_model` · (dispatch + combine bytes) · layers with experts \[D\].
    #[must_use]
    pub fn all_to_all(
        shape: &ModelShape<N>,
        machine: &Machine<N>,
        tokens: N,
        copies: Copies<N>,
    ) -> Self {
        let bytes_per_copy = shape.hidden_dimension
            * (DISPATCH_BYTES_PER_ELEMENT + COMBINE_BYTES_PER_ELEMENT)
            * shape.expert_layers;
        let bytes = tokens / machine.chips * bytes_per_copy;
        Self {
            inside: Bytes(bytes * copies.inside),
            outside: Bytes(bytes * copies.outside),
        }
    }

    /// Two ring all-reduces per layer: 2·(n − 1)/n of the hidden states among the n chips of a domain, then the same
    /// among domains with each chip's part \[SB\].
    #[must_use]
    pub fn all_reduce(shape: &ModelShape<N>, machine: &Machine<N>, tokens: N) -> Self {
        let bytes = shape.layers * 2.0 * tokens * shape.hidden_dimension * HIDDEN_BYTES_PER_ELEMENT;
        let around = |parts: N| (parts - 1.0) * 2.0 / parts;
        let near = machine.chips.min(machine.domain_chips);
        Self {
            inside: Bytes(bytes * around(near)),
            outside: Bytes(bytes * around(machine.domains()) / near),
        }
    }

    /// Time of the slower kind of links; both transfer at once. A link of unknown bandwidth takes no time.
    #[must_use]
    pub fn time(&self, machine: &Machine<N>) -> Seconds<N> {
        let over = |bytes: Bytes<N>, link: Option<BytesPerSecond<N>>| {
            link.map_or(N::splat(0.0), |bandwidth| (bytes / bandwidth).0)
        };
        let inside_s = over(self.inside, machine.scale_up);
        Seconds(inside_s.max(over(self.outside, machine.scale_out)))
    }
}
