//! The machines that a sheet may come from: an accelerator, a width of weights and one of cache elements.
//!
//! ```
//! use unroof_infer::evidence::assumptions::Assumptions;
//! use unroof_infer::evidence::machine::{machines, machines_sold};
//!
//! let every = machines(&Assumptions::default());
//! assert!((every.iter().map(|machine| machine.share).sum::<f64>() - 1.0).abs() < 1e-9);
//! // A sheet of 2023 is not from an accelerator that was sold later.
//! assert!(machines_sold(&Assumptions::default(), Some("2023-06-01")).len() < every.len());
//! ```

use std::collections::BTreeMap;

use super::assumptions::Assumptions;
use super::canonical::{KnownModel, Sizes};
use super::quantity::{NINETY_PERCENT, Quantity as Q};
use unroof_base::units::{Bytes, BytesPerSecond, FlopPerSecond, Seconds, count_f64};
use unroof_roofline::forward;
use unroof_roofline::forward::{Efficiencies, Formats, UnitLogs, compute_to_bandwidth};
use unroof_roofline::reference::{
    Accelerator, AcceleratorStatus, AttentionKind, accelerators, open_models,
};

/// A machine as far as the joint estimate needs it; natural logarithms.
#[derive(Debug, Clone)]
pub struct Machine {
    /// Prior probability of the machine.
    pub share: f64,
    /// log ρ: peak multiply-adds per parameter read.
    pub log_compute_to_bandwidth: f64,
    /// log(`η_c`/`η_m`): arithmetic over bandwidth efficiency of decoding.
    pub log_balance: f64,
    /// log w: bytes per parameter.
    pub log_weight_bytes: f64,
    /// log `b_kv`: bytes per element of the KV cache.
    pub log_kv_element_bytes: f64,
    /// log M, MAC/s of one chip
    pub log_multiply_rate: f64,
    /// log `η_pre`: share of peak arithmetic in prefill.
    pub log_prefill_efficiency: f64,
    /// log `η_c`: share of peak arithmetic in decoding.
    pub log_decode_efficiency: f64,
    /// log of HBM bandwidth of one chip, B/s
    pub log_bandwidth: f64,
    /// log of HBM of one chip, B
    pub log_capacity: f64,
    /// Chips of a serving unit, where nothing else is known.
    pub chips: f64,
    /// log of these
    pub log_chips: f64,
    /// One chip, with its links.
    pub chip: forward::Machine,
    /// Shares of peak that the engine takes.
    pub efficiencies: Efficiencies,
    /// Latency per sequential kernel.
    pub per_stage: Seconds,
    /// Sizes of serving units, ascending, in chips; the first `unit_count` count.
    units: [f64; MOST_UNITS],
    unit_count: usize,
    /// Sums of 1/chips up to each size.
    units_below: [f64; MOST_UNITS],
    /// Logarithms of each size.
    unit_logs: [UnitLogs; MOST_UNITS],
    /// The open-weight model that all stated sizes are those of.
    pub known_model: Option<&'static KnownModel>,
    /// log of USD per hour and chip
    pub log_rental: f64,
    /// Standard deviation of that.
    pub rental_sd: f64,
    /// log of accepted tokens per pass
    pub log_accepted_tokens: f64,
    /// w, `b_kv` and accepted tokens per pass themselves.
    pub(super) weight_bytes: f64,
    pub(super) kv_element_bytes: f64,
    pub(super) accepted_tokens: f64,
}

impl Machine {
    /// Sizes of serving units in chips, ascending.
    #[must_use]
    pub fn units(&self) -> &[f64] {
        &self.units[..self.unit_count]
    }

    /// Sizes of serving units in chips, ascending, with the sums of 1/chips up to each.
    pub(super) fn units_with_shares(&self) -> impl DoubleEndedIterator<Item = (f64, f64)> + Clone {
        let below = &self.units_below[..self.unit_count];
        self.units().iter().copied().zip(below.iter().copied())
    }

    /// Logarithms of the smallest unit of at least so many chips.
    pub(super) fn logs_of(&self, chips: f64) -> &UnitLogs {
        let unit = self.units().partition_point(|unit| *unit < chips);
        &self.unit_logs[unit.min(self.unit_count - 1)]
    }

    /// log of memory time over compute time at the reached efficiencies, from that at peak.
    #[must_use]
    pub fn log_actual_ratio(&self, log_ratio_at_peak: f64) -> f64 {
        log_ratio_at_peak + self.log_balance
    }
}

/// Most sizes of units.
const MOST_UNITS: usize = 10;
/// Chips that share one copy of a model, each as likely as 1/chips: who pays for chips takes no more than needed; up to the largest unit that is published \[DS6: 144 chips for decoding; NVL576\].
const UNIT_SIZES: [f64; MOST_UNITS] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 72.0, 144.0, 288.0, 576.0];

/// Shares of peak arithmetic and bandwidth that nothing is stated about. The population of models and the law of prices
/// were learned with them, so that they belong to `crates/roofline/data/calibration.json` and not to the fit of the forward model, whose
/// shares are by kind of layer.
const COMPUTE: f64 = 0.680_6;
const BANDWIDTH: f64 = 0.820_4;
/// Rent of a machine whose price list has one figure: a factor of about 1.5 either way.
const RENTAL_SD: f64 = 0.25;
/// Rent of a machine without a price list: a factor of three either way of what others of its arithmetic cost.
const UNKNOWN_RENTAL_SD: f64 = 0.67;
/// One or two bytes per element of the cache, with equal probability.
const KV_ELEMENT_BYTES: [(f64, f64); 2] = [(1.0, 0.5), (2.0, 0.5)];

/// Every machine that agrees with the stated values, with shares that add up to 1: accelerators that are shipping and
/// rented out, each as likely; weights as open-weight models publish them.
#[must_use]
pub fn machines(assumptions: &Assumptions) -> Vec<Machine> {
    machines_sold(assumptions, None)
}

/// Every machine of [`machines`] whose accelerator was sold by a day, written as in ISO 8601, where it is known.
#[must_use]
pub fn machines_sold(assumptions: &Assumptions, day: Option<&str>) -> Vec<Machine> {
    let known_model = known_model(assumptions);
    let is_sold = |row: &&Accelerator| day.is_none_or(|day| row.is_sold_on(day));
    let on_offer = || accelerators().iter().filter(|row| is_on_offer(row));
    let mut rows: Vec<&Accelerator> = match assumptions.reference_accelerator() {
        Some(chosen) => vec![chosen],
        None => on_offer().filter(is_sold).collect(),
    };
    if rows.is_empty() {
        // Before the first of them was sold, all are possible.
        rows = on_offer().collect();
    }
    let stated = |quantity| assumptions.middle(quantity).map(|width| vec![(width, 1.0)]);
    let weights = stated(Q::WeightBytes).unwrap_or_else(published_widths);
    let elements = stated(Q::KvBytesPerElement).unwrap_or_else(|| KV_ELEMENT_BYTES.to_vec());
    let mut machines = Vec::new();
    for row in &rows {
        for (width, width_share) in &weights {
            for (element, element_share) in &elements {
                let share = width_share * element_share / count_f64(rows.len());
                machines.push(Machine {
                    known_model,
                    ..machine(assumptions, row, *width, *element, share)
                });
            }
        }
    }
    machines
}

/// The open-weight model of the stated sizes, where all of them are stated as numbers.
fn known_model(assumptions: &Assumptions) -> Option<&'static KnownModel> {
    let log = |quantity| {
        let stated = assumptions.stated(quantity)?;
        (stated.log_sd() <= 0.0).then(|| stated.middle.ln())
    };
    let element = log(Q::KvBytesPerElement).unwrap_or(0.0);
    let sizes = Sizes {
        log_active: log(Q::ActiveParameters)?,
        log_total: log(Q::TotalParameters)?,
        log_kv_read: log(Q::KvBytesRead)? - element,
        log_kv_stored: log(Q::KvBytesStored)? - element,
        is_dense: false,
        attention: AttentionKind::Grouped,
    };
    KnownModel::find(&sizes)
}

/// Sizes of units and their number: the stated one, else those of [`UNIT_SIZES`].
fn units(assumptions: &Assumptions) -> ([f64; MOST_UNITS], usize) {
    let stated = |quantity| assumptions.middle(quantity);
    match stated(Q::Chips).or(stated(Q::DomainSize)) {
        Some(chips) => ([chips; MOST_UNITS], 1),
        None => (UNIT_SIZES, MOST_UNITS),
    }
}

fn sums_of_reciprocals(chips: &[f64; MOST_UNITS]) -> [f64; MOST_UNITS] {
    let mut sum = 0.0;
    chips.map(|chips| {
        sum += 1.0 / chips;
        sum
    })
}

/// One chip at the stated figures.
fn chip(
    row: &Accelerator,
    formats: Formats,
    flops: Option<f64>,
    bandwidth: f64,
    capacity: f64,
) -> forward::Machine {
    let mut chip = forward::Machine::of(row, formats, 1.0);
    let attention = row.peak_for_weights(formats.attention_bytes).1;
    chip.unit.attention_multiply_rate = attention.multiply_adds();
    if let Some(flops) = flops {
        // A chip of one's own multiplies in attention as its peer does, against weights.
        let rate = FlopPerSecond(flops).multiply_adds();
        let ratio = rate.0 / chip.unit.multiply_rate.0;
        chip.unit.attention_multiply_rate = chip.unit.attention_multiply_rate * ratio;
        chip.unit.multiply_rate = rate;
    }
    chip.unit.bandwidth = BytesPerSecond(bandwidth);
    chip.unit.capacity = Bytes(capacity);
    chip
}

/// Whether an accelerator was sold by a day, written as in ISO 8601, per accelerator; all were where no day is known.
#[must_use]
pub fn sold_by(day: Option<&str>) -> Vec<bool> {
    accelerators()
        .iter()
        .map(|row| day.is_none_or(|day| row.is_sold_on(day)))
        .collect()
}

fn is_on_offer(row: &Accelerator) -> bool {
    row.weighed
        && row.status == AcceleratorStatus::Shipping
        && row.rental_usd_per_hour.typical.is_some()
}

/// Bytes per parameter of the open-weight models, each with its share.
fn published_widths() -> Vec<(f64, f64)> {
    let mut counts: BTreeMap<u64, u32> = BTreeMap::new();
    for model in open_models() {
        *counts
            .entry(model.native_weight_bytes().to_bits())
            .or_default() += 1;
    }
    let all: u32 = counts.values().sum();
    counts
        .into_iter()
        .map(|(bits, count)| (f64::from_bits(bits), f64::from(count) / f64::from(all)))
        .collect()
}

fn machine(
    assumptions: &Assumptions,
    row: &Accelerator,
    weight_bytes: f64,
    kv_element_bytes: f64,
    share: f64,
) -> Machine {
    let stated = |quantity| assumptions.middle(quantity);
    let or = |quantity, otherwise: f64| stated(quantity).unwrap_or(otherwise);
    let flops = or(Q::FlopsPerSecond, row.peak_for_weights(weight_bytes).1.0);
    let bandwidth = or(Q::Bandwidth, row.hbm_bytes_per_second.0);
    let multiply_rate = FlopPerSecond(flops).multiply_adds();
    let ratio = compute_to_bandwidth(weight_bytes, multiply_rate, BytesPerSecond(bandwidth));
    let decode_efficiency = or(Q::DecodeComputeEfficiency, COMPUTE);
    let bandwidth_efficiency = or(Q::DecodeBandwidthEfficiency, BANDWIDTH);
    let (rental, rental_sd) = rental(assumptions, row);
    let capacity = or(Q::Capacity, row.hbm_bytes.0);
    let formats = Formats {
        weight_bytes,
        attention_bytes: kv_element_bytes,
    };
    let reached = row.attainment();
    let fitted = Efficiencies::from(reached);
    let mut chip = chip(row, formats, stated(Q::FlopsPerSecond), bandwidth, capacity);
    chip.domain_chips = or(Q::DomainSize, chip.domain_chips);
    let (units, unit_count) = units(assumptions);
    let domain = or(Q::DomainSize, f64::from(row.serving_unit_chips));
    let chips = or(Q::Chips, domain);
    Machine {
        share,
        log_compute_to_bandwidth: or(Q::ComputeToBandwidth, ratio).ln(),
        log_balance: (decode_efficiency / bandwidth_efficiency).ln(),
        log_weight_bytes: weight_bytes.ln(),
        log_kv_element_bytes: kv_element_bytes.ln(),
        log_multiply_rate: multiply_rate.0.ln(),
        log_prefill_efficiency: or(Q::PrefillEfficiency, COMPUTE).ln(),
        log_decode_efficiency: decode_efficiency.ln(),
        log_bandwidth: bandwidth.ln(),
        log_capacity: capacity.ln(),
        chip,
        efficiencies: Efficiencies {
            prefill: or(Q::PrefillEfficiency, fitted.prefill),
            decode_bandwidth: or(Q::DecodeBandwidthEfficiency, fitted.decode_bandwidth),
            decode_compute: or(Q::DecodeComputeEfficiency, fitted.decode_compute),
        },
        per_stage: reached.seconds_per_stage,
        units,
        unit_count,
        units_below: sums_of_reciprocals(&units),
        unit_logs: units.map(|chips| UnitLogs::of(&chip.with_chips(chips))),
        known_model: None,
        chips,
        log_chips: chips.ln(),
        log_rental: rental.ln(),
        rental_sd,
        log_accepted_tokens: or(Q::AcceptedTokens, 1.0).ln(),
        weight_bytes,
        kv_element_bytes,
        accepted_tokens: or(Q::AcceptedTokens, 1.0),
    }
}

/// Rent per hour: as stated, else the typical one with the range of price lists as its 90 % interval.
fn rental(assumptions: &Assumptions, row: &Accelerator) -> (f64, f64) {
    if let Some(stated) = assumptions.stated(Q::RentalPerHour) {
        return (stated.middle, stated.log_sd());
    }
    let prices = &row.rental_usd_per_hour;
    let Some(typical) = prices.typical.as_ref().map(|rental| rental.0) else {
        return (rent_of_others(row), UNKNOWN_RENTAL_SD);
    };
    match (&prices.low, &prices.high) {
        (Some(low), Some(high)) if low.0 < high.0 => {
            (typical, (high.0 / low.0).ln() / (2.0 * NINETY_PERCENT))
        }
        _ => (typical, RENTAL_SD),
    }
}

/// The median rent of accelerators that are rented out, per bf16 arithmetic, times that of this one.
fn rent_of_others(row: &Accelerator) -> f64 {
    let per_flop = |other: &Accelerator| {
        let rent = other.rental_usd_per_hour.typical?.0;
        Some(rent / other.bf16_flops_per_second.0)
    };
    let mut rents: Vec<f64> = accelerators().iter().filter_map(per_flop).collect();
    rents.sort_by(f64::total_cmp);
    rents[rents.len() / 2] * row.bf16_flops_per_second.0
}
