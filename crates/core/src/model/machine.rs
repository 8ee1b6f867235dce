//! The machines that a sheet may come from: an accelerator, a width of weights and one of cache elements.

use std::collections::BTreeMap;

use super::assumptions::Assumptions;
use super::quantity::{NINETY_PERCENT, Quantity as Q};
use crate::reference::{Accelerator, AcceleratorStatus, accelerators, open_models};
use crate::roofline::compute_to_bandwidth;
use crate::units::FlopPerSecond;

/// A machine as far as the joint estimate needs it; natural logarithms.
#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    /// Its prior probability.
    pub share: f64,
    /// log ρ
    pub log_compute_to_bandwidth: f64,
    /// log(`η_c`/`η_m`)
    pub log_balance: f64,
    /// log w
    pub log_weight_bytes: f64,
    /// log `b_kv`
    pub log_kv_element_bytes: f64,
    /// log M, MAC/s of one chip
    pub log_multiply_rate: f64,
    /// log `η_pre`
    pub log_prefill_efficiency: f64,
    /// log `η_c`
    pub log_decode_efficiency: f64,
    /// log of HBM bandwidth of one chip, B/s
    pub log_bandwidth: f64,
    /// log of HBM of one chip, B
    pub log_capacity: f64,
    /// log of the chips of a serving unit
    pub log_chips: f64,
    /// log of USD per hour and chip
    pub log_rental: f64,
    /// Standard deviation of that.
    pub rental_sd: f64,
    /// log of accepted tokens per pass
    pub log_accepted_tokens: f64,
}

/// Shares of peak arithmetic and bandwidth that nothing is stated about. The population of models and the law of prices
/// were learned with them, so that they belong to `data/calibration.json` and not to the fit of the forward model, whose
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
    let rows: Vec<&Accelerator> = match assumptions.reference_accelerator() {
        Some(chosen) => vec![chosen],
        None => accelerators()
            .iter()
            .filter(|row| is_on_offer(row))
            .collect(),
    };
    let stated = |quantity| assumptions.stated(quantity).map(|stated| stated.middle);
    let weights = stated(Q::WeightBytes).map_or_else(published_widths, |width| vec![(width, 1.0)]);
    let elements = stated(Q::KvBytesPerElement)
        .map_or_else(|| KV_ELEMENT_BYTES.to_vec(), |width| vec![(width, 1.0)]);
    let mut machines = Vec::new();
    for row in &rows {
        for (width, width_share) in &weights {
            for (element, element_share) in &elements {
                #[expect(clippy::cast_precision_loss, reason = "a handful of rows")]
                let share = width_share * element_share / rows.len() as f64;
                machines.push(machine(assumptions, row, *width, *element, share));
            }
        }
    }
    machines
}

fn is_on_offer(row: &Accelerator) -> bool {
    row.status == AcceleratorStatus::Shipping && row.rental_usd_per_hour.typical.is_some()
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
    let stated = |quantity| assumptions.stated(quantity).map(|stated| stated.middle);
    let or = |quantity, otherwise: f64| stated(quantity).unwrap_or(otherwise);
    let flops = or(Q::FlopsPerSecond, row.peak_for_weights(weight_bytes).1.0);
    let bandwidth = or(Q::Bandwidth, row.hbm_bytes_per_second.0);
    let multiply_rate = FlopPerSecond(flops).multiply_adds();
    let ratio = compute_to_bandwidth(
        weight_bytes,
        multiply_rate,
        crate::units::BytesPerSecond(bandwidth),
    );
    let decode_efficiency = or(Q::DecodeComputeEfficiency, COMPUTE);
    let bandwidth_efficiency = or(Q::DecodeBandwidthEfficiency, BANDWIDTH);
    let (rental, rental_sd) = rental(assumptions, row);
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
        log_capacity: or(Q::Capacity, row.hbm_bytes.0).ln(),
        log_chips: or(
            Q::Chips,
            or(Q::DomainSize, f64::from(row.serving_unit_chips)),
        )
        .ln(),
        log_rental: rental.ln(),
        rental_sd,
        log_accepted_tokens: or(Q::AcceptedTokens, 1.0).ln(),
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
