//! Time to live of a cached token: the storage tier that suits it.

use std::collections::BTreeSet;

use super::{Clue, Readings, or_lacking};
use crate::evidence::builder::{Drawn, ReadingBuilder};
use crate::evidence::cache_placement::observe_document;
use crate::evidence::clue_table::ReadingId;
use crate::evidence::hold_cost::{HbmHolding, tiers};
use crate::evidence::quantity::Quantity as Q;
use crate::evidence::reading::{Kind, NotDefined, Specification};
use crate::evidence::sheet::Evidence;
use unroof_base::units::Seconds;
use unroof_roofline::forward::HoldCost;
use unroof_roofline::reference::{StorageTier, TALK_DRAIN_TIMES};

pub(super) static CLUE: Clue = Clue::new(&[&DRAIN_TIME, &FIVE_MINUTE_RULE], read)
    .observed_by(|sheets, _| observe_document(sheets));

static DRAIN_TIME: Specification = Specification {
    quantity: "storage_tier",
    equation: "the tier with the least |ln(TTL·BW_X/C_X)|",
    needs: "a write price with a time to live",
    not_defined_when: "no time to live is published",
    assumes: &["a tier is kept for about the time it takes to read it once"],
    source: "T",
    scalar: false,
    ..Specification::of(ReadingId::CacheTtlDrainTime)
};

static FIVE_MINUTE_RULE: Specification = Specification {
    quantity: "storage_tier",
    equation: "the tier with the least read_X + hold_X·TTL",
    needs: "a write price with a time to live",
    not_defined_when: "no time to live is published",
    assumes: &["a token is read once within its time to live and lies where that is cheapest"],
    source: "D",
    scalar: false,
    ..Specification::of(ReadingId::CacheTtlFiveMinuteRule)
};

fn read(evidence: &Evidence<'_>) -> Readings {
    let cells = evidence.cells();
    let writes = cells.iter().flat_map(|cell| &cell.rate.cache_write);
    let times: BTreeSet<u32> = writes.filter_map(|write| write.ttl_seconds).collect();
    let each = |read: fn(&Evidence<'_>, f64) -> Drawn| {
        times.iter().map(move |ttl| read(evidence, f64::from(*ttl)))
    };
    let drawn = each(drain_time).chain(each(five_minute_rule));
    or_lacking(drawn, "the sheet states no time to live")
}

/// The index of the drain time nearest to a time to live, on a logarithmic scale.
fn nearest_drain_time(ttl_s: f64, drain_times_s: impl Iterator<Item = f64>) -> Option<usize> {
    let distances = drain_times_s
        .map(|drain_s| (ttl_s / drain_s).ln().abs())
        .enumerate();
    distances
        .min_by(|left, right| left.1.total_cmp(&right.1))
        .map(|(index, _)| index)
}

fn drain_time(evidence: &Evidence<'_>, ttl_s: f64) -> Drawn {
    let builder =
        ReadingBuilder::new(&DRAIN_TIME, evidence).sheet("ttl_seconds", "TTL", ttl_s, "s");
    let known = |quantity| evidence.assumptions.known(quantity).map(|(value, _)| value);
    let chosen_hbm_s = known(Q::Capacity)
        .zip(known(Q::Bandwidth))
        .map(|(capacity, bandwidth)| capacity / bandwidth);
    let devices: Vec<(&StorageTier, f64)> = tiers()
        .filter_map(|tier| {
            let drain_s = chosen_hbm_s
                .filter(|_| tier.id == StorageTier::HBM)
                .or(tier.drain_time().map(|time| time.0))?;
            Some((tier, drain_s))
        })
        .collect();
    let today = nearest_drain_time(ttl_s, devices.iter().map(|(_, drain_s)| *drain_s))
        .map(|index| devices[index]);
    let talk = nearest_drain_time(ttl_s, TALK_DRAIN_TIMES.iter().map(|(_, drain)| drain.0))
        .map(|index| TALK_DRAIN_TIMES[index]);
    let no_tier = || NotDefined::no_solution("no storage tier has a drain time");
    let ((tier, drain_s), (talk_name, talk_drain)) =
        builder.given(today.zip(talk).ok_or_else(no_tier))?;
    let builder = builder
        .name(&tier.id)
        .named_detail("tier_by_the_talk", talk_name)
        .detail(("drain_time", "s", Kind::Equal), &[], |_| Ok(drain_s))
        .detail(("drain_time_by_the_talk", "s", Kind::Equal), &[], |_| {
            Ok(talk_drain.0)
        })
        .caveat("the talk's drain times name tiers one step slower than today's devices do");
    let devices_sold = [
        ("smallest_device_drain_time", tier.capacity_low_bytes),
        ("largest_device_drain_time", tier.capacity_high_bytes),
    ];
    Ok(devices_sold
        .into_iter()
        .fold(builder, |builder, (name, capacity)| {
            match (capacity, tier.bandwidth_bytes_per_second) {
                (Some(capacity), Some(bandwidth)) => {
                    builder.detail((name, "s", Kind::Equal), &[], |_| {
                        Ok((capacity / bandwidth).0)
                    })
                }
                _ => builder,
            }
        })
        .build())
}

/// A device and its cost per byte.
#[derive(Debug, Clone, Copy)]
struct DeviceCost {
    id: &'static str,
    cost: HoldCost,
}

/// Costs of every tier that has both; flash as the device named.
fn device_costs(
    hbm_hold_usd_per_hour: Option<f64>,
    flash_read: fn(&StorageTier) -> Option<f64>,
) -> Vec<DeviceCost> {
    let mut costs = Vec::new();
    for tier in tiers() {
        let is_hbm = tier.id == StorageTier::HBM;
        let read = if is_hbm {
            Some(0.0)
        } else {
            flash_read(tier).or(tier.read_usd_per_byte)
        };
        let hold = if is_hbm {
            hbm_hold_usd_per_hour
        } else {
            tier.hold_usd_per_byte_hour
        };
        if let (Some(read_usd_per_byte), Some(hold_usd_per_byte_hour)) = (read, hold) {
            costs.push(DeviceCost {
                id: &tier.id,
                cost: HoldCost {
                    read_usd_per_byte,
                    hold_usd_per_byte_hour,
                },
            });
        }
    }
    costs
}

fn cheapest(costs: &[DeviceCost], ttl_s: f64) -> Option<DeviceCost> {
    let cost = |device: &DeviceCost| device.cost.for_duration(Seconds(ttl_s));
    costs
        .iter()
        .copied()
        .min_by(|left, right| cost(left).total_cmp(&cost(right)))
}

type ReadCost = fn(&StorageTier) -> Option<f64>;

fn five_minute_rule(evidence: &Evidence<'_>, ttl_s: f64) -> Drawn {
    let hbm = HbmHolding::new(evidence);
    let hbm_hold = hbm.known(evidence).map(|(cost, _)| cost);
    let builder =
        ReadingBuilder::new(&FIVE_MINUTE_RULE, evidence).sheet("ttl_seconds", "TTL", ttl_s, "s");
    let builder = match hbm_hold {
        Some(_) => hbm.show(builder, evidence),
        None => builder.caveat("HBM is left out: state `rental_usd_per_hour` and an accelerator"),
    };
    let costs = device_costs(hbm_hold, |_| None);
    let no_cost = || NotDefined::no_solution("no storage tier has a cost");
    let winner = builder.given(cheapest(&costs, ttl_s).ok_or_else(no_cost))?;
    let others = || {
        costs
            .iter()
            .filter(|other| other.id != winner.id)
            .map(|other| other.cost)
    };
    let held_for = winner.cost.hold_usd_per_byte_hour;
    let from = others()
        .filter(|other| other.hold_usd_per_byte_hour > held_for)
        .map(|other| other.boundary(&winner.cost).0)
        .fold(0.0, f64::max);
    let to = others()
        .filter(|other| other.hold_usd_per_byte_hour < held_for)
        .map(|other| winner.cost.boundary(&other).0)
        .fold(f64::INFINITY, f64::min);
    let builder = builder
        .name(winner.id)
        .detail(("cheapest_from", "s", Kind::Equal), &[], |_| Ok(from))
        .detail(("cheapest_to", "s", Kind::Equal), &[], |_| Ok(to));
    // Flash is sold in many sizes, and reading from a larger device costs more.
    let sizes: [(&str, ReadCost); 2] = [
        ("tier_with_the_smallest_flash", |tier| {
            tier.read_low_usd_per_byte
        }),
        ("tier_with_the_largest_flash", |tier| {
            tier.read_high_usd_per_byte
        }),
    ];
    Ok(sizes
        .into_iter()
        .filter_map(|(name, read)| Some((name, cheapest(&device_costs(hbm_hold, read), ttl_s)?)))
        .filter(|(_, tier)| tier.id != winner.id)
        .fold(builder, |builder, (name, tier)| {
            builder.named_detail(name, tier.id)
        })
        .caveat(
            "costs of capital are lower bounds; server, power and replication add 1.3 to 2 times",
        )
        .build())
}
