//! The chips that serve a model, and the formats they compute in.

use super::ServingUnit;
use crate::reference::Accelerator;
use crate::reference::architecture::Architecture;
use unroof_base::units::number::Number;
use unroof_base::units::{Bytes, BytesPerSecond, MacPerSecond, UsdPerHour};

/// Bytes per element of hidden states between layers: bf16 for any format of the weights.
pub(super) const HIDDEN_BYTES_PER_ELEMENT: f64 = 2.0;
/// Sequential kernels of a layer with experts: attention, router, sort, dispatch, gather, two of experts with the activation
/// between them, scatter, combine.
const STAGES_PER_EXPERT_LAYER: f64 = 10.0;
/// Sequential kernels of a layer whose experts multiply in 4 bits: kernels for them also sort, gather, quantise and activate,
/// and measurements on Blackwell and CDNA4 fit half as many \[D\].
const STAGES_PER_FOUR_BIT_LAYER: f64 = 5.0;

/// Peak multiply-adds of one chip, by what is multiplied.
#[derive(Debug, Clone, Copy)]
pub struct MultiplyRates {
    /// Peak multiply-adds with experts.
    pub experts: MacPerSecond,
    /// Peak multiply-adds with all other weights.
    pub others: MacPerSecond,
    /// Peak multiply-adds in attention.
    pub attention: MacPerSecond,
}

impl MultiplyRates {
    /// M: the rate of all multiplies of a token with weights, one kind after the other.
    #[must_use]
    pub fn of_weights(&self, architecture: &Architecture) -> MacPerSecond {
        if self.experts.0.total_cmp(&self.others.0).is_eq() {
            return self.others;
        }
        let active = architecture.active_parameters;
        let experts = architecture.active_expert_parameters();
        let seconds_per_token = experts / self.experts.0 + (active - experts) / self.others.0;
        MacPerSecond(active / seconds_per_token)
    }
}

/// The chips that serve one copy of a model, with the links between them.
#[derive(Debug, Clone, Copy)]
pub struct Machine<N = f64> {
    /// Memory and rates of all chips together.
    pub unit: ServingUnit<N>,
    /// G: chips of the unit.
    pub chips: N,
    /// Chips on one scale-up interconnect.
    pub domain_chips: N,
    /// Scale-up bandwidth per chip, one direction.
    pub scale_up: Option<BytesPerSecond<N>>,
    /// Scale-out bandwidth per chip, one direction.
    pub scale_out: Option<BytesPerSecond<N>>,
    /// Rate of multiplies with experts over M.
    pub expert_rate: N,
    /// Rate of multiplies with all other weights over M.
    pub other_rate: N,
    /// Sequential kernels of a layer with experts.
    pub stages_per_expert_layer: N,
}

/// Sequential kernels of a layer with experts of this width on an accelerator.
#[must_use]
pub fn stages_per_expert_layer(accelerator: &Accelerator, expert_bytes: f64) -> f64 {
    if accelerator.multiplies_in_four_bits(expert_bytes) {
        STAGES_PER_FOUR_BIT_LAYER
    } else {
        STAGES_PER_EXPERT_LAYER
    }
}

/// Widths that determine the number format of multiplications.
#[derive(Debug, Clone, Copy)]
pub struct Formats {
    /// w: bytes per parameter.
    pub weight_bytes: f64,
    /// Bytes per element in attention.
    pub attention_bytes: f64,
}

impl Machine {
    /// A unit of this many chips at their typical rental price.
    #[must_use]
    pub fn of(accelerator: &Accelerator, formats: Formats, chips: f64) -> Self {
        let peak = |bytes| accelerator.peak_of_multiplies(bytes).multiply_adds() * chips;
        let rental = accelerator.rental_usd_per_hour.typical;
        Self {
            unit: ServingUnit {
                multiply_rate: peak(formats.weight_bytes),
                attention_multiply_rate: peak(formats.attention_bytes),
                bandwidth: accelerator.hbm_bytes_per_second * chips,
                capacity: accelerator.hbm_bytes * chips,
                rental_usd_per_second: rental.map_or(0.0, UsdPerHour::usd_per_second) * chips,
            },
            chips,
            domain_chips: f64::from(accelerator.scale_up_domain),
            scale_up: accelerator.scale_up_bytes_per_second,
            scale_out: accelerator.scale_out_bytes_per_second,
            expert_rate: 1.0,
            other_rate: 1.0,
            stages_per_expert_layer: stages_per_expert_layer(accelerator, formats.weight_bytes),
        }
    }

    /// The machine with other rates of multiplication per chip.
    #[must_use]
    pub fn with_rates(&self, rates: &MultiplyRates, architecture: &Architecture) -> Self {
        let of_weights = rates.of_weights(architecture);
        Self {
            unit: ServingUnit {
                multiply_rate: of_weights * self.chips,
                attention_multiply_rate: rates.attention * self.chips,
                ..self.unit
            },
            expert_rate: rates.experts.0 / of_weights.0,
            other_rate: rates.others.0 / of_weights.0,
            ..*self
        }
    }
}

impl<N: Number> Machine<N> {
    /// A machine in each lane.
    #[must_use]
    pub fn of_lanes<'m>(machine: impl Fn(usize) -> &'m Machine) -> Self {
        let each = |value: fn(&Machine) -> f64| N::of_lanes(|lane| value(machine(lane)));
        // A link of unknown bandwidth takes no time.
        let link = |bandwidth: fn(&Machine) -> Option<BytesPerSecond>| {
            let known = |lane| bandwidth(machine(lane)).map_or(f64::INFINITY, |known| known.0);
            Some(BytesPerSecond(N::of_lanes(known)))
        };
        Self {
            unit: ServingUnit {
                multiply_rate: MacPerSecond(each(|machine| machine.unit.multiply_rate.0)),
                attention_multiply_rate: MacPerSecond(each(|machine| {
                    machine.unit.attention_multiply_rate.0
                })),
                bandwidth: BytesPerSecond(each(|machine| machine.unit.bandwidth.0)),
                capacity: Bytes(each(|machine| machine.unit.capacity.0)),
                rental_usd_per_second: each(|machine| machine.unit.rental_usd_per_second),
            },
            chips: each(|machine| machine.chips),
            domain_chips: each(|machine| machine.domain_chips),
            scale_up: link(|machine| machine.scale_up),
            scale_out: link(|machine| machine.scale_out),
            expert_rate: each(|machine| machine.expert_rate),
            other_rate: each(|machine| machine.other_rate),
            stages_per_expert_layer: each(|machine| machine.stages_per_expert_layer),
        }
    }

    /// The unit with another number of chips.
    #[must_use]
    pub fn with_chips(&self, chips: N) -> Self {
        let factor = chips / self.chips;
        let unit = &self.unit;
        Self {
            unit: ServingUnit {
                multiply_rate: unit.multiply_rate * factor,
                attention_multiply_rate: unit.attention_multiply_rate * factor,
                bandwidth: unit.bandwidth * factor,
                capacity: unit.capacity * factor,
                rental_usd_per_second: unit.rental_usd_per_second * factor,
            },
            chips,
            ..*self
        }
    }

    /// Q: scale-up domains that the chips fill.
    #[must_use]
    pub fn domains(&self) -> N {
        (self.chips / self.domain_chips).ceil().max(N::splat(1.0))
    }
}
