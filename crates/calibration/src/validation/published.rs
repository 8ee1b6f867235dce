//! The quantities with published values, at the operating point where they are compared.

use crate::prices::Truth;
use unroof_infer::estimate::quantities::JointQuantity as J;
use unroof_infer::evidence::assumptions::Assumptions;
use unroof_infer::evidence::clue_table::ReadingId;
use unroof_infer::evidence::machine::machines;
use unroof_infer::evidence::quantity::Quantity as Q;
use unroof_infer::evidence::unknowns::{Running, Unknowns};

/// The quantities with published values, each with its textbook reading.
pub(super) const SCORED: [(J, Option<ReadingId>); 6] = [
    (
        J::ActiveParameters,
        Some(ReadingId::PriceLevelActiveParameters),
    ),
    (J::TotalParameters, None),
    (J::KvBytesRead, Some(ReadingId::OutputRatioKvBytes)),
    (J::KvBytesReadSlope, Some(ReadingId::ContextTierKvBytes)),
    (J::KvBytesStored, Some(ReadingId::OutputRatioKvBytes)),
    (
        J::MemoryOverCompute,
        Some(ReadingId::OutputRatioMemoryBoundness),
    ),
];

/// Operating point of the ratio of times: H100, 8 of them, one byte per weight and element of the cache, 2.5 times the
/// optimal batch, a context of 8,192 tokens; caches are loaded at 50 GB/s per chip, a link of 400 Gbit/s.
pub(super) fn operating_point() -> Assumptions {
    assumed(8, "").expect("the operating point is well formed")
}

/// Chips of a unit that holds every model: one of eight would rule out the truth.
const ROOMY_CHIPS: u32 = 576;

/// The operating point of the estimates.
pub(super) fn roomy_operating_point() -> Assumptions {
    assumed(ROOMY_CHIPS, "").expect("the operating point is well formed")
}

/// The operating point of the estimates with a quantity stated; none if it is not one of the unknowns.
pub(super) fn operating_point_with(quantity: J, log_value: f64) -> Option<Assumptions> {
    if quantity == J::MemoryOverCompute {
        return None;
    }
    let stated = format!(", \"{}\": {:e}", quantity.name(), log_value.exp());
    assumed(ROOMY_CHIPS, &stated)
}

/// The operating point on a unit of this many chips, with a further statement.
fn assumed(chips: u32, stated: &str) -> Option<Assumptions> {
    let text = format!(
        r#"{{"accelerator": "h100-sxm", "chips": {chips}, "weight_bytes_per_parameter": 1,
        "kv_bytes_per_element": 1, "batch_over_optimal_batch": 2.5, "mean_decode_context_tokens": 8192,
        "load_path_bytes_per_second": 5e10{stated}}}"#
    );
    unroof_base::input::read(text.as_bytes(), Assumptions::read).ok()
}

/// log of the published value, or of the value computed from it at the operating point.
pub(super) fn truth(truth: &Truth, quantity: J) -> f64 {
    // Kinds of attention give the slope only up to the spread of their models.
    if quantity == J::KvBytesReadSlope {
        return truth.log_kv_read;
    }
    let assumptions = operating_point();
    let machines = machines(&assumptions);
    let known = |quantity| {
        let known = assumptions.known(quantity);
        known.map_or(f64::NAN, |(value, _)| value.ln())
    };
    quantity.log_value(&Unknowns {
        log_active_parameters: truth.log_active,
        log_total_parameters: truth.log_total,
        log_kv_bytes_read: truth.log_kv_read_8k,
        log_kv_bytes_stored: truth.log_kv_stored,
        log_batch_over_optimal: known(Q::BatchOverOptimal),
        log_mean_decode_context: known(Q::MeanDecodeContext),
        log_utilisation: 0.0,
        log_rental: 0.0,
        is_dense: truth.is_dense(),
        attention: truth.attention,
        machine: &machines[0],
        running: Running::typical(&machines[0]),
    })
}
