//! A chip as a request has it.

use crate::reference::Accelerator;

/// A chip as the request has it.
#[derive(Debug, Clone)]
pub(crate) struct Chip {
    pub(crate) row: &'static Accelerator,
    /// Rent of one chip; none if it is not known.
    pub(crate) usd_per_hour: Option<f64>,
    /// Factors of the figures, 1 but for sensitivities.
    pub(crate) scale: ChipScale,
}

/// Factors of a chip's figures.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChipScale {
    pub(crate) arithmetic: f64,
    pub(crate) bandwidth: f64,
    pub(crate) capacity: f64,
    pub(crate) links: f64,
}

impl ChipScale {
    pub(crate) const NONE: Self = Self {
        arithmetic: 1.0,
        bandwidth: 1.0,
        capacity: 1.0,
        links: 1.0,
    };
}

impl Chip {
    /// Bandwidth of a chip out of its scale-up domain, in bytes per second.
    pub(crate) fn scale_out(&self) -> Option<f64> {
        let link = self.row.scale_out_bytes_per_second;
        link.map(|link| link.0 * self.scale.links)
    }
}
