//! Conflicts: readings of one quantity that cannot both be right.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

use crate::evidence::assumptions::Assumptions;
use crate::evidence::clue_table::ReadingId;
use crate::evidence::quantity::Quantity;
use crate::evidence::reading::{Kind, Reading};
use crate::joint::{Joint, Regime};
use unroof_base::units::readable;

/// Two readings that contradict each other.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Conflict {
    /// Ids of the two readings; one alone contradicts the joint estimate.
    pub between: Vec<ReadingId>,
    /// The quantity they disagree about.
    pub quantity: &'static str,
    /// Value of each, in the order of `between`; that of the joint estimate is the last.
    pub values: [f64; 2],
    /// Reason that both cannot be right.
    pub why: String,
}

impl Conflict {
    /// The two sides in words.
    #[must_use]
    pub fn sides(&self) -> [&'static str; 2] {
        let side = |place: usize| {
            let id = self.between.get(place);
            id.map_or("the joint estimate", |id| id.name())
        };
        [side(0), side(1)]
    }

    /// Says which of the two prices the joint estimate sides with, where they are a threshold and an output/input ratio.
    pub(crate) fn judge(&mut self, joint: &Joint) {
        if self.between != FAMOUS {
            return;
        }
        let boundness = &joint.quantities.memory_time_over_compute_time;
        let side = match boundness.regime {
            Regime::MemoryBound => "the ratio: decoding waits for memory",
            Regime::ComputeBound => "the threshold: decoding waits for arithmetic",
        };
        let leans = if boundness.regime_probability >= 0.9 {
            "takes the side of"
        } else {
            "leans to the side of"
        };
        let percent = 100.0 * boundness.regime_probability;
        let verdict =
            format!("; the joint estimate {leans} {side}, with a probability of {percent:.0} %");
        self.why.push_str(&verdict);
    }

    fn is_of_same_readings(&self, other: &Self) -> bool {
        self.between == other.between && self.quantity == other.quantity
    }
}

/// Adds the conflicts of a further sheet: of those between the same readings, the one with the widest values is kept.
pub(crate) fn add_once(conflicts: &mut Vec<Conflict>, of_sheet: Vec<Conflict>) {
    let earlier = conflicts.len();
    for conflict in of_sheet {
        let mut known = conflicts[..earlier].iter_mut();
        match known.find(|known| known.is_of_same_readings(&conflict)) {
            Some(known) if factor(known.values) >= factor(conflict.values) => {}
            Some(known) => *known = conflict,
            None => conflicts.push(conflict),
        }
    }
}

/// Readings of one quantity may differ by this factor before they contradict each other.
const TOLERATED_FACTOR: f64 = 3.0;
/// Quantities of which the first is at most the second: windows and selected entries only add to what a step reads.
const KV_READ_SLOPE: &str = "kv_bytes_per_token_read_slope";
const KV_READ: &str = "kv_bytes_per_token_read";
/// Readings of a threshold and of an output/input ratio.
const FAMOUS: [ReadingId; 2] = [
    ReadingId::ContextTierKvBytes,
    ReadingId::OutputRatioMemoryBoundness,
];
/// Tolerance of the rule for threshold against output/input ratio.
const TOLERATED_BOUNDNESS: f64 = 1.5;

/// All conflicts, each pair of ids once with its widest values.
pub(crate) fn conflicts(readings: &[Reading], assumptions: &Assumptions) -> Vec<Conflict> {
    let mut conflicts: Vec<Conflict> = famous_readings(readings, assumptions).into_iter().collect();
    conflicts.extend(peak_below_off_peak(readings));
    let mut by_quantity: BTreeMap<&str, Vec<&Reading>> = BTreeMap::new();
    for reading in readings.iter().filter(|reading| reading.number().is_some()) {
        by_quantity
            .entry(reading.quantity)
            .or_default()
            .push(reading);
    }
    let of = |name: &str| by_quantity.get(name).into_iter().flatten();
    for slope in of(KV_READ_SLOPE) {
        for read in of(KV_READ) {
            conflicts_widened(&mut conflicts, slope_above_read(slope, read));
        }
    }
    for of_quantity in by_quantity.values() {
        for (index, left) in of_quantity.iter().enumerate() {
            for right in &of_quantity[index + 1..] {
                conflicts_widened(&mut conflicts, disagreement(left, right));
            }
        }
    }
    conflicts
}

/// Keeps the widest of all conflicts between two ids.
fn conflicts_widened(conflicts: &mut Vec<Conflict>, found: Option<Conflict>) {
    let Some(conflict) = found else { return };
    match (conflicts.iter_mut()).find(|known| known.is_of_same_readings(&conflict)) {
        Some(known) if factor(known.values) >= factor(conflict.values) => {}
        Some(known) => *known = conflict,
        None => conflicts.push(conflict),
    }
}

fn factor([left, right]: [f64; 2]) -> f64 {
    (left / right).max(right / left)
}

/// Two defined readings of one quantity that differ by more than a factor of 3; a bound disagrees only with what lies
/// beyond it. What holds for one service tier or schedule alone is compared within that.
fn disagreement(left: &Reading, right: &Reading) -> Option<Conflict> {
    let is_of_operating_point =
        !is_same_offer(left, right) || left.quantity == "memory_time_over_compute_time";
    if left.quantity != right.quantity || left.id == right.id && is_of_operating_point {
        return None;
    }
    contradiction((left, left.kind), (right, right.kind))
}

/// Bytes read per further token that exceed those read per token of a whole context.
fn slope_above_read(slope: &Reading, read: &Reading) -> Option<Conflict> {
    is_same_offer(slope, read)
        .then(|| contradiction((slope, Kind::Lower), (read, Kind::Upper)))
        .flatten()
}

/// Two readings of which each equals or bounds the same value.
fn contradiction(
    (left, left_kind): (&Reading, Kind),
    (right, right_kind): (&Reading, Kind),
) -> Option<Conflict> {
    let (left_value, right_value) = (left.number()?, right.number()?);
    let contradicts = match (left_kind, right_kind) {
        (Kind::Equal, Kind::Equal) => factor([left_value, right_value]) > TOLERATED_FACTOR,
        (Kind::Upper, Kind::Equal | Kind::Lower) | (Kind::Equal, Kind::Lower) => {
            right_value > TOLERATED_FACTOR * left_value
        }
        (Kind::Equal | Kind::Lower, Kind::Upper) | (Kind::Lower, Kind::Equal) => {
            left_value > TOLERATED_FACTOR * right_value
        }
        (Kind::Upper, Kind::Upper) | (Kind::Lower, Kind::Lower) => false,
    };
    contradicts.then(|| Conflict {
        between: vec![left.id, right.id],
        quantity: left.quantity,
        values: [left_value, right_value],
        why: {
            let factor = factor([left_value, right_value]);
            let apart = if factor.is_finite() {
                format!("a factor of {}", readable(factor))
            } else {
                "one of them is zero".to_owned()
            };
            format!(
                "{} says {}, {} says {}: {apart}",
                described(left),
                with_unit(left_value, left.unit),
                described(right),
                with_unit(right_value, right.unit),
            )
        },
    })
}

fn is_same_offer(left: &Reading, right: &Reading) -> bool {
    ["service_tier", "schedule"]
        .iter()
        .all(|name| left.label(name) == right.label(name))
}

fn with_unit(value: f64, unit: &str) -> String {
    format!("{} {unit}", readable(value)).trim_end().to_owned()
}

/// The id with the qualifiers of the entry.
fn described(reading: &Reading) -> String {
    let apart = reading.qualifiers();
    if apart.is_empty() {
        reading.id.to_string()
    } else {
        format!("{} ({apart})", reading.id)
    }
}

/// A threshold against the output/input ratio: a threshold implies that decoding waits for its multiplies up to `L_1`
/// (r < 1), a high output/input ratio that it waits for memory at ordinary contexts already (r > 1).
fn famous_readings(readings: &[Reading], assumptions: &Assumptions) -> Option<Conflict> {
    let known = |quantity| assumptions.known(quantity).map(|(value, _)| value);
    let stated = |quantity| known(quantity).filter(|_| assumptions.states(quantity));
    // η_m/η_c: the ideal r at which t_mem = t_comp; 1 at peak.
    let balance = known(Quantity::DecodeBandwidthEfficiency)
        .zip(known(Quantity::DecodeComputeEfficiency))
        .map_or(1.0, |(bandwidth, compute)| bandwidth / compute);
    let tiers = readings
        .iter()
        .filter(|reading| reading.id == ReadingId::ContextTierKvBytes && reading.value.is_some());
    tiers.into_iter().find_map(|tier| {
        let threshold = tier.input("threshold_tokens")?;
        let ratio = readings.iter().find(|reading| {
            reading.id == ReadingId::OutputRatioMemoryBoundness
                && is_same_offer(reading, tier)
                && reading.input("min_prompt_tokens") < tier.input("min_prompt_tokens")
        })?;
        let boundness = ratio.number()?;
        let weight_share = stated(Quantity::BatchOverOptimal).map_or(0.0, |batch| 1.0 / batch);
        let context_share = stated(Quantity::MeanDecodeContext)
            .map_or(0.0, |context| balance * context / threshold);
        let explained = (weight_share + context_share).max(balance);
        (boundness > TOLERATED_BOUNDNESS * explained).then(|| Conflict {
            between: FAMOUS.to_vec(),
            quantity: "memory_time_over_compute_time",
            values: [explained, boundness],
            why: famous_reason(tier, ratio, explained, boundness),
        })
    })
}

/// Hours named peak that cost less than the others, of all schedules the one with the widest ratio: a machine that is
/// fuller at peak earns more in such an hour already.
fn peak_below_off_peak(readings: &[Reading]) -> Option<Conflict> {
    let inverted = readings.iter().filter_map(|reading| {
        let ratio = reading.number().filter(|ratio| *ratio > 1.0)?;
        (reading.id == ReadingId::PeakScheduleUtilisation).then_some((reading, ratio))
    });
    let (reading, ratio) = inverted.max_by(|left, right| left.1.total_cmp(&right.1))?;
    Some(Conflict {
        between: vec![reading.id; 2],
        quantity: reading.quantity,
        values: [1.0, ratio],
        why: format!(
            "the hours off-peak cost {} times as much as those at peak ({}), though machines are fuller at peak: the \
             names are exchanged, or this price is not set by how full the machines are",
            readable(ratio),
            reading.qualifiers(),
        ),
    })
}

fn famous_reason(tier: &Reading, ratio: &Reading, explained: f64, boundness: f64) -> String {
    let (allowed, verdict) = if explained > 1.0 {
        let times = readable(explained);
        (
            format!(
                "decoding spends at most {times} times as long on memory as on compute, as stated"
            ),
            "that is far beyond it",
        )
    } else {
        (
            "decoding does not wait for memory (t_mem ≤ t_comp)".to_owned(),
            "they lie on opposite sides of t_mem = t_comp",
        )
    };
    format!(
        "the price step ({}) says that below it {allowed}; the output/input price ratio ({}) says that it spends {} \
         times as long on memory as on compute: {verdict}, so at least one of the two prices is not set by this cost",
        tier.qualifiers(),
        ratio.qualifiers(),
        readable(boundness),
    )
}
