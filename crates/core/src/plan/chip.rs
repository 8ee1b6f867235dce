//! A chip as a request has it.

use crate::reference::Accelerator;

/// A chip as the request has it.
#[derive(Debug, Clone)]
pub(super) struct Chip {
    pub(super) row: &'static Accelerator,
    /// Rent of one chip; none if it is not known.
    pub(super) usd_per_hour: Option<f64>,
    /// Factors of the figures, 1 but for sensitivities.
    pub(super) scale: ChipScale,
}

/// Factors of a chip's figures.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChipScale {
    pub(super) arithmetic: f64,
    pub(super) bandwidth: f64,
    pub(super) capacity: f64,
    pub(super) links: f64,
}

impl ChipScale {
    pub(super) const NONE: Self = Self {
        arithmetic: 1.0,
        bandwidth: 1.0,
        capacity: 1.0,
        links: 1.0,
    };
}

impl Chip {
    /// Bandwidth of a chip out of its scale-up domain, in bytes per second.
    pub(super) fn scale_out(&self) -> Option<f64> {
        let link = self.row.scale_out_bytes_per_second;
        link.map(|link| link.0 * self.scale.links)
    }
}
