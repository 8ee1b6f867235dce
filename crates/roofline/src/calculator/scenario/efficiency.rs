//! Shares of the peaks that a scenario reaches, and what the rooflines leave out.

use crate::forward::{Efficiencies, Overheads, Overlap};
use crate::reference::fitted_attainment;

/// Efficiencies to start from, and whether they are the peaks.
pub(crate) const STARTING_POINTS: &[(&str, bool)] = &[("fitted", false), ("peak", true)];

/// Shares of the peaks, overheads and overlap.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Efficiency {
    pub(crate) efficiencies: Efficiencies,
    pub(crate) overheads: Overheads,
    pub(crate) overlap: Overlap,
}

impl Efficiency {
    /// The bare rooflines, or what published measurements reach.
    pub(crate) fn of(is_peak: bool) -> Self {
        if is_peak {
            return Self {
                efficiencies: Efficiencies::PEAK,
                overheads: Overheads::NONE,
                overlap: Overlap::Full,
            };
        }
        let fitted = fitted_attainment();
        Self {
            efficiencies: fitted.into(),
            overheads: fitted.into(),
            overlap: Overlap::AttentionApart,
        }
    }
}
