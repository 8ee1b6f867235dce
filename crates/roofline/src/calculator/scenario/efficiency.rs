//! Efficiencies of a scenario: shares of the peaks, and what the rooflines leave out.

use std::ops::RangeInclusive;

use crate::calculator::inputs::{InputOrigin as Origin, Inputs};
use crate::forward::{Efficiencies, Overheads, Overlap};
use crate::reference::Attainment;
use unroof_base::input::body::{OneOf, Stated, Truth, body, number, value};
use unroof_base::units::Seconds;

/// Efficiencies to start from, and whether they are the peaks.
pub(crate) const STARTING_POINTS: &[(&str, bool)] = &[("fitted", false), ("peak", true)];

/// Shares of a peak.
const SHARES: RangeInclusive<f64> = 1e-6..=1.0;

const OVERLAPS: &[(&str, Overlap)] = &[
    ("full", Overlap::Full),
    ("attention_apart", Overlap::AttentionApart),
    ("E1", Overlap::Full),
    ("E1'", Overlap::AttentionApart),
];

body! {
    /// Shares of peak and overheads; those of the starting point where left out.
    pub struct StatedEfficiencies {
        /// The point to start from: `fitted` to published measurements of such chips, where compute and memory overlap within attention
        /// and within the rest (E1'); or `peak`: all of the peaks, no exchanges, no overheads, full overlap (E1). `fitted`
        /// if left out.
        name: Stated<bool> = value(OneOf(STARTING_POINTS)).flag("efficiencies"),
        /// `η_pre`: share of peak arithmetic in prefill.
        prefill: Stated<f64> = number(SHARES),
        /// `η_m`: share of HBM bandwidth in decoding.
        decode_bandwidth: Stated<f64> = number(SHARES),
        /// `η_c`: share of peak arithmetic in decoding.
        decode_compute: Stated<f64> = number(SHARES),
        /// Whether exchanges between chips are counted.
        communication: Stated<bool> = value(Truth),
        /// Share of link bandwidth.
        network: Stated<f64> = number(SHARES),
        /// Share of the shorter of work and exchanges that is not hidden when decoding with distributed experts.
        exposed_exchange: Stated<f64> = number(0.0..=1.0),
        /// Share of the shorter of reading routed experts and multiplying with them that the longer does not hide.
        exposed_weights: Stated<f64> = number(0.0..=1.0),
        /// Hidden vectors per token and layer that pass through memory in addition to weights and cache.
        vectors_per_token_and_layer: Stated<f64> = number(0.0..=1e6),
        /// Hidden vectors per copy of a token that goes to an expert, which pass through memory in addition to weights and cache.
        vectors_per_expert_copy: Stated<f64> = number(0.0..=1e6),
        /// Share of peak of multiplies with experts, over that with dense matrices.
        expert_compute_ratio: Stated<f64> = number(SHARES),
        /// Share of peak of attention's multiplies, over that with dense matrices.
        attention_compute_ratio: Stated<f64> = number(SHARES),
        /// Waiting per kernel, in seconds.
        seconds_per_stage: Stated<f64> = number(0.0..=1.0).unit("s"),
        /// Sequential kernels of a dense layer; one with experts has ten, in 4 bits five.
        stages_per_dense_layer: Stated<f64> = number(0.0..=1e3),
        /// Latency of an all-reduce, two of which every layer of cut matrices has.
        seconds_per_exchange: Stated<f64> = number(0.0..=1.0).unit("s"),
        /// Latency of sending tokens to distributed experts and back, per layer with experts and doubling of the chips.
        seconds_per_dispatch: Stated<f64> = number(0.0..=1.0).unit("s"),
        /// Further latency of an all-reduce that leaves the scale-up domain.
        seconds_per_hop: Stated<f64> = number(0.0..=1.0).unit("s"),
        /// Load of the chip with the most popular experts over the mean, beyond what chance makes of a finite batch; not
        /// counted at peak unless stated.
        expert_imbalance: Stated<f64> = number(1.0..=1e6),
        /// Whether chips that cut matrices keep a copy each of what the cache has too few heads for.
        cache_copies: Stated<bool> = value(Truth),
        /// Whether arithmetic is that of kernels: no multiplies with the input embedding, those with the output head for the last
        /// token of a prompt, all selections of sparse attention and the whole indexer on every chip.
        kernel_arithmetic: Stated<bool> = value(Truth),
        /// Share of memory that the engine leaves free.
        memory_headroom: Stated<f64> = number(0.0..=0.99),
        /// Hidden vectors per token of a pass that need memory on every chip, for 8,192 tokens.
        activation_vectors: Stated<f64> = number(0.0..=1e6),
        /// Overlap of work: `full` (E1), all arithmetic and all reading; `attention_apart` (E1'), those of
        /// attention, then those of the rest.
        overlap: Stated<Overlap> = value(OneOf(OVERLAPS)),
    }
}

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

impl StatedEfficiencies {
    /// The stated shares; those of the starting point where none is stated, `reached` where that is `fitted`.
    pub(crate) fn fill(&self, inputs: &Inputs<'_>, reached: Attainment) -> Option<Efficiency> {
        let is_peak = inputs.choice(&self.name, STARTING_POINTS, false)?;
        let base = Efficiency::of(is_peak, reached);
        let (shares, from) = (base.efficiencies, base.overheads);
        let or = |field, other: f64| inputs.or(field, other, Origin::Default);
        let seconds = |field, other: Seconds| or(field, other.0).map(Seconds);
        let efficiencies = Efficiencies {
            prefill: or(&self.prefill, shares.prefill)?,
            decode_bandwidth: or(&self.decode_bandwidth, shares.decode_bandwidth)?,
            decode_compute: or(&self.decode_compute, shares.decode_compute)?,
        };
        let counts_network = inputs.or(&self.communication, !is_peak, Origin::Default)?;
        let network = or(&self.network, from.network.unwrap_or(1.0))?;
        let counts_imbalance = !is_peak || self.expert_imbalance.is_stated();
        let imbalance = or(&self.expert_imbalance, 1.0)?;
        let cache_copies = inputs.or(&self.cache_copies, from.cache_copies, Origin::Default)?;
        let counts_kernels = inputs.or(
            &self.kernel_arithmetic,
            from.counts_kernels,
            Origin::Default,
        )?;
        Some(Efficiency {
            efficiencies,
            overheads: Overheads {
                network: counts_network.then_some(network),
                exposed_exchange: or(&self.exposed_exchange, from.exposed_exchange)?,
                exposed_weights: or(&self.exposed_weights, from.exposed_weights)?,
                vectors_per_token_and_layer: or(
                    &self.vectors_per_token_and_layer,
                    from.vectors_per_token_and_layer,
                )?,
                vectors_per_expert_copy: or(
                    &self.vectors_per_expert_copy,
                    from.vectors_per_expert_copy,
                )?,
                expert_compute_ratio: or(&self.expert_compute_ratio, from.expert_compute_ratio)?,
                attention_compute_ratio: or(
                    &self.attention_compute_ratio,
                    from.attention_compute_ratio,
                )?,
                per_stage: seconds(&self.seconds_per_stage, from.per_stage)?,
                stages_per_dense_layer: or(
                    &self.stages_per_dense_layer,
                    from.stages_per_dense_layer,
                )?,
                per_dispatch: seconds(&self.seconds_per_dispatch, from.per_dispatch)?,
                per_exchange: seconds(&self.seconds_per_exchange, from.per_exchange)?,
                per_hop: seconds(&self.seconds_per_hop, from.per_hop)?,
                expert_imbalance: counts_imbalance.then_some(imbalance),
                cache_copies,
                counts_kernels,
                memory_headroom: or(&self.memory_headroom, from.memory_headroom)?,
                activation_vectors: or(&self.activation_vectors, from.activation_vectors)?,
            },
            overlap: inputs.choice(&self.overlap, OVERLAPS, base.overlap)?,
        })
    }
}
