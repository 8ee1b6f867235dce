//! Shares of the peaks that a scenario reaches, and what the rooflines leave out.

use crate::forward::{Efficiencies, Overheads, Overlap};
use crate::reference::Attainment;

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
    /// The bare rooflines, or what the chips reach.
    pub(crate) fn of(is_peak: bool, reached: Attainment) -> Self {
        if is_peak {
            return Self {
                efficiencies: Efficiencies::PEAK,
                overheads: Overheads::NONE,
                overlap: Overlap::Full,
            };
        }
        Self {
            efficiencies: reached.into(),
            overheads: reached.into(),
            overlap: Overlap::AttentionApart,
        }
    }
}
