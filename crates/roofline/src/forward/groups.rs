//! Chips that share attention where experts are distributed: each group has one copy of attention's weights.

use super::machine::Machine;
use super::network::Traffic;
use super::overheads::Overheads;
use crate::reference::architecture::{Architecture, AttentionGroup};
use unroof_base::units::{BytesPerSecond, Seconds};

/// The groups of a unit as if each were one chip.
pub(super) fn of_groups(machine: &Machine, chips_of_group: f64) -> Machine {
    let times = |link: Option<BytesPerSecond>| link.map(|link| link * chips_of_group);
    Machine {
        chips: machine.chips / chips_of_group,
        domain_chips: (machine.domain_chips / chips_of_group).max(1.0),
        scale_up: times(machine.scale_up),
        scale_out: times(machine.scale_out),
        ..*machine
    }
}

/// Time of the all-reduce after attention among the chips of each group; experts have exchanges of their own.
pub(super) fn exchange(
    architecture: &Architecture,
    overheads: &Overheads,
    machine: &Machine,
    chips_of_group: f64,
    tokens: f64,
) -> Seconds {
    let Some(reached) = overheads.network else {
        return Seconds(0.0);
    };
    let group = Machine {
        chips: chips_of_group,
        ..*machine
    };
    let of_group = tokens * chips_of_group / machine.chips;
    let both = Traffic::all_reduce(&architecture.into(), &group, of_group);
    let latency = f64::from(architecture.layers) * overheads.per_exchange.0;
    Seconds(both.time(&group).0 / reached / 2.0 + latency)
}

/// Copies of the cache among chips that share attention's heads: each chip needs the KV heads of its query heads, and
/// a latent is needed by every head.
pub(super) fn cache_copies(architecture: &Architecture, chips_of_group: f64) -> f64 {
    let (mut once, mut copied) = (0.0, 0.0);
    for group in &architecture.attention {
        let (layers, elements, heads) = match group {
            AttentionGroup::GroupedQuery(group) => {
                let entry = f64::from(group.key_dimension) + f64::from(group.value_dimension);
                let heads = f64::from(group.kv_heads);
                (group.layers, heads * entry, heads)
            }
            AttentionGroup::Latent(group) => {
                let entry = f64::from(group.kv_lora_rank) + f64::from(group.rope_dimension);
                (group.layers, entry, 1.0)
            }
            AttentionGroup::Compressed(group) => {
                (group.layers, f64::from(group.head_dimension), 1.0)
            }
            AttentionGroup::Linear(_) => continue,
        };
        let elements = f64::from(layers) * elements;
        once += elements;
        copied += elements * (chips_of_group / heads).max(1.0);
    }
    if once > 0.0 { copied / once } else { 1.0 }
}
