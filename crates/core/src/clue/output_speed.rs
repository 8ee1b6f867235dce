//! Promised output speed: an upper bound on the bytes that a step reads.

use super::{Clue, none_defined, not_observed};
use crate::model::builder::ReadingBuilder;
use crate::model::clue_table::{ClueKind, ReadingId};
use crate::model::evidence::Evidence;
use crate::model::quantity::Quantity as Q;
use crate::model::reading::{Kind, NotDefined, Reading, Specification};

pub(super) static CLUE: Clue = Clue {
    specifications: &[&WEIGHT_BYTES],
    about_modes: true,
    read,
    observe: not_observed,
};

static WEIGHT_BYTES: Specification = Specification {
    id: ReadingId::OutputSpeedWeightBytes,
    clue: ClueKind::OutputSpeed,
    quantity: "weight_bytes",
    equation: "w·N_t ≤ η_m·W·V/v",
    unit: "B",
    kind: Kind::Upper,
    needs: "a promised number of output tokens per second; an accelerator",
    not_defined_when: "the sheet promises no tokens per second: a multiplier is not a speed",
    assumes: &[
        "a step reads all weights and the whole batch's KV cache: w·N_t + B·L·k ≤ η_m·W·V/v",
    ],
    source: "D",
    scalar: true,
};

fn read(evidence: &Evidence<'_>) -> Vec<Reading> {
    let promised = evidence
        .sheet
        .service_tiers
        .iter()
        .filter_map(|(tier, service)| {
            Some((
                tier.as_str(),
                service.slo.as_ref()?.output_tokens_per_second_min?,
            ))
        });
    let readings: Vec<Reading> = promised
        .map(|(tier, speed)| weight_bytes(evidence, tier, speed))
        .collect();
    if readings.is_empty() {
        let reason = "the sheet promises no output tokens per second; a multiplier is not a speed";
        return none_defined(&CLUE, evidence, &NotDefined::sheet_lacks(reason));
    }
    readings
}

fn weight_bytes(evidence: &Evidence<'_>, tier: &str, tokens_per_second: f64) -> Reading {
    let quantities = [
        Q::DecodeBandwidthEfficiency,
        Q::Chips,
        Q::UnitBandwidth,
        Q::AcceptedTokens,
    ];
    let with_capacity = [&quantities[..], &[Q::UnitCapacity]].concat();
    ReadingBuilder::new(&WEIGHT_BYTES, evidence)
        .label("service_tier", tier)
        .sheet(
            "output_tokens_per_second",
            "v",
            tokens_per_second,
            "tokens/s",
        )
        .solve(&quantities, |values| {
            let bytes_per_second = values[Q::DecodeBandwidthEfficiency] * values[Q::UnitBandwidth];
            Ok(bytes_per_second * values[Q::AcceptedTokens] / tokens_per_second)
        })
        .detail(
            ("speed_with_full_hbm", "tokens/s", Kind::Upper),
            &with_capacity,
            |values| {
                let sweeps_per_second = values[Q::UnitBandwidth] / values[Q::UnitCapacity];
                Ok(values[Q::DecodeBandwidthEfficiency]
                    * values[Q::AcceptedTokens]
                    * sweeps_per_second)
            },
        )
        .build()
}
