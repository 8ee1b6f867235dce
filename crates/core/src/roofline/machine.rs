//! The chips that serve a model, and the formats they compute in.

use super::ServingUnit;
use crate::reference::Accelerator;
use crate::units::{BytesPerSecond, UsdPerHour};

/// Bytes per element of hidden states between layers: bf16 for any format of the weights.
pub(super) const HIDDEN_BYTES_PER_ELEMENT: f64 = 2.0;
/// The chips that serve one copy of a model, with the links between them.
#[derive(Debug, Clone, Copy)]
pub struct Machine {
    /// All chips together.
    pub unit: ServingUnit,
    /// G
    pub chips: f64,
    /// Chips on one scale-up interconnect.
    pub domain_chips: f64,
    /// Scale-up bandwidth per chip, one direction.
    pub scale_up: Option<BytesPerSecond>,
    /// Scale-out bandwidth per chip, one direction.
    pub scale_out: Option<BytesPerSecond>,
}

/// Widths that determine the number format of multiplications.
#[derive(Debug, Clone, Copy)]
pub struct Formats {
    /// w
    pub weight_bytes: f64,
    /// Bytes per element in attention.
    pub attention_bytes: f64,
}

impl Machine {
    /// A unit of this many chips at their typical rental price.
    #[must_use]
    pub fn of(accelerator: &Accelerator, formats: Formats, chips: f64) -> Self {
        let peak = |bytes| accelerator.peak_for_weights(bytes).1.multiply_adds() * chips;
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
        }
    }

    /// The unit with another number of chips.
    #[must_use]
    pub fn with_chips(&self, chips: f64) -> Self {
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
    pub fn domains(&self) -> f64 {
        (self.chips / self.domain_chips).ceil().max(1.0)
    }
}
