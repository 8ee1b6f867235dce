//! Recompute or hold: the time for which holding a token costs less than computing it again. It uses no price of the sheet.

use super::Clue;
use crate::evidence::builder::{ReadingBuilder, Values};
use crate::evidence::clue_table::ReadingId;
use crate::evidence::hold_cost::tiers;
use crate::evidence::quantity::Quantity as Q;
use crate::evidence::reading::{Kind, Reading, Specification};
use crate::evidence::sheet::Evidence;
use unroof_roofline::reference::StorageTier;

pub(super) static CLUE: Clue =
    Clue::new(&[&RECOMPUTE_OR_HOLD], |evidence| Ok(vec![read(evidence)]));

static RECOMPUTE_OR_HOLD: Specification = Specification {
    quantity: "break_even_hold",
    equation: "t = N_a·Cap/(η_pre·M·k_st)",
    unit: "s",
    needs: "KV bytes stored per token and an accelerator; other storage tiers also its rent",
    not_defined_when: "`kv_bytes_per_token_stored` is not stated",
    assumes: &[
        "a token is held in HBM at the accelerator's rent, or computed again at the same rent: the rent cancels",
    ],
    source: "D",
    ..Specification::of(ReadingId::RecomputeOrHold)
};

const COMPUTE: [Q; 4] = [
    Q::ActiveParameters,
    Q::PrefillEfficiency,
    Q::MultiplyRate,
    Q::KvBytesStored,
];

fn read(evidence: &Evidence<'_>) -> Reading {
    let recompute_s_per_byte = |values: &Values| {
        values[Q::ActiveParameters]
            / (values[Q::PrefillEfficiency] * values[Q::MultiplyRate] * values[Q::KvBytesStored])
    };
    let in_hbm = [&COMPUTE[..], &[Q::Capacity]].concat();
    let elsewhere = [&COMPUTE[..], &[Q::RentalPerHour]].concat();
    let mut builder = ReadingBuilder::new(&RECOMPUTE_OR_HOLD, evidence).solve(&in_hbm, |values| {
        Ok(recompute_s_per_byte(values) * values[Q::Capacity])
    });
    for tier in tiers().filter(|tier| tier.id != StorageTier::HBM) {
        let Some(hold_usd_per_byte_hour) = tier.hold_usd_per_byte_hour else {
            continue;
        };
        builder = builder.detail((tier.id.as_str(), "s", Kind::Equal), &elsewhere, |values| {
            Ok(recompute_s_per_byte(values) * values[Q::RentalPerHour] / hold_usd_per_byte_hour)
        });
    }
    builder.build()
}
