//! Efficiencies of a simulation: shares of the peaks.

use std::ops::RangeInclusive;

use crate::calculator::inputs::{InputOrigin as Origin, Inputs};
use crate::input::body::body;
use crate::input::body::{OneOf, Stated, Truth, number, value};
use crate::reference::{Attainment, fitted_attainment};
use crate::roofline::{Efficiencies, Overheads, Overlap};
use crate::units::Seconds;

/// Shares of a peak.
const SHARES: RangeInclusive<f64> = 1e-6..=1.0;

/// Base efficiencies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartingPoint {
    /// Fitted to published measurements.
    Fitted,
    /// Peak values without losses.
    Peak,
}

pub(super) const STARTING_POINTS: &[(&str, StartingPoint)] = &[
    ("fitted", StartingPoint::Fitted),
    ("peak", StartingPoint::Peak),
];
const OVERLAPS: &[(&str, Overlap)] = &[
    ("full", Overlap::Full),
    ("attention_apart", Overlap::AttentionApart),
    ("E1", Overlap::Full),
    ("E1'", Overlap::AttentionApart),
];

body! {
    /// Shares of peak and overheads; those of the base efficiencies where left out.
    pub struct StatedEfficiencies {
        /// The point to start from: `fitted` to published measurements, where compute and memory overlap within attention
        /// and within the rest (E1'); or `peak`: all of the peaks, no exchanges, no overheads, full overlap (E1). `fitted`
        /// if left out.
        name: Stated<StartingPoint> = value(OneOf(STARTING_POINTS)).flag("efficiencies"),
        /// `η_pre`
        prefill: Stated<f64> = number(SHARES),
        /// `η_m`
        decode_bandwidth: Stated<f64> = number(SHARES),
        /// `η_c`
        decode_compute: Stated<f64> = number(SHARES),
        /// Whether exchanges between chips are counted.
        communication: Stated<bool> = value(Truth),
        /// Share of link bandwidth.
        network: Stated<f64> = number(SHARES),
        /// Hidden vectors per token and layer that pass through memory beside weights and cache.
        vectors_per_token_and_layer: Stated<f64> = number(0.0..=1e6),
        /// Waiting per kernel.
        seconds_per_stage: Stated<f64> = number(0.0..=1.0).unit("s"),
        /// Overlap of work: `full` (E1), all arithmetic and all reading; `attention_apart` (E1'), those of
        /// attention, then those of the rest.
        overlap: Stated<Overlap> = value(OneOf(OVERLAPS)),
    }
}

/// Shares of the peaks, overheads and overlap.
#[derive(Debug, Clone, Copy)]
pub(super) struct Efficiency {
    pub(super) efficiencies: Efficiencies,
    pub(super) overheads: Overheads,
    pub(super) overlap: Overlap,
}

const PEAK: Attainment = Attainment {
    compute: 1.0,
    bandwidth: 1.0,
    network: 1.0,
    vectors_per_token_and_layer: 0.0,
    seconds_per_stage: Seconds(0.0),
};

pub(super) fn fill_efficiency(
    stated: &StatedEfficiencies,
    inputs: &Inputs<'_>,
) -> Option<Efficiency> {
    let point = inputs.choice(&stated.name, STARTING_POINTS, StartingPoint::Fitted)?;
    let is_peak = point == StartingPoint::Peak;
    let from = if is_peak { PEAK } else { fitted_attainment() };
    let or = |field, other: f64| inputs.or(field, other, Origin::Default);
    let efficiencies = Efficiencies {
        prefill: or(&stated.prefill, from.compute)?,
        decode_bandwidth: or(&stated.decode_bandwidth, from.bandwidth)?,
        decode_compute: or(&stated.decode_compute, from.compute)?,
    };
    let counts_network = inputs.or(&stated.communication, !is_peak, Origin::Default)?;
    let network = or(&stated.network, from.network)?;
    let vectors = or(
        &stated.vectors_per_token_and_layer,
        from.vectors_per_token_and_layer,
    )?;
    let per_stage = or(&stated.seconds_per_stage, from.seconds_per_stage.0)?;
    let overlap = if is_peak {
        Overlap::Full
    } else {
        Overlap::AttentionApart
    };
    Some(Efficiency {
        efficiencies,
        overheads: Overheads {
            network: counts_network.then_some(network),
            vectors_per_token_and_layer: vectors,
            per_stage: Seconds(per_stage),
        },
        overlap: inputs.choice(&stated.overlap, OVERLAPS, overlap)?,
    })
}
