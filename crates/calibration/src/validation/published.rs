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
const OPERATING_POINT: &str = r#"{"accelerator": "h100-sxm", "chips": 8, "weight_bytes_per_parameter": 1,
    "kv_bytes_per_element": 1, "batch_over_optimal_batch": 2.5, "mean_decode_context_tokens": 8192,
    "load_path_bytes_per_second": 5e10}"#;

/// log of the published value, or of the value computed from it at the operating point.
pub(super) fn truth(truth: &Truth, quantity: J) -> f64 {
    // Kinds of attention give the slope only up to the spread of their models.
    if quantity == J::KvBytesReadSlope {
        return truth.log_kv_read;
    }
    let machines = machines(&operating_point());
    let known = |quantity| {
        operating_point()
            .known(quantity)
            .map_or(f64::NAN, |(value, _)| value.ln())
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

/// The operating point of the estimates, on a unit that holds every model: one of eight chips would rule out the truth.
const ROOMY_CHIPS: &str = "\"chips\": 576";

/// The operating point of the estimates.
pub(super) fn roomy_operating_point() -> Assumptions {
    unroof_base::input::read(roomy().as_bytes(), Assumptions::read)
        .expect("the operating point is well formed")
}

fn roomy() -> String {
    OPERATING_POINT.replace("\"chips\": 8", ROOMY_CHIPS)
}

pub(super) fn operating_point() -> Assumptions {
    unroof_base::input::read(OPERATING_POINT.as_bytes(), Assumptions::read)
        .expect("the operating point is well formed")
}

/// The operating point with a quantity stated; none if it is not one of the unknowns.
pub(super) fn operating_point_with(quantity: J, log_value: f64) -> Option<Assumptions> {
    let is_unknown = [
        J::ActiveParameters,
        J::TotalParameters,
        J::KvBytesRead,
        J::KvBytesReadSlope,
        J::KvBytesStored,
    ]
    .contains(&quantity);
    if !is_unknown {
        return None;
    }
    let roomy = roomy();
    let open = roomy.trim_end_matches('}');
    let text = format!("{open}, \"{}\": {:e}}}", quantity.name(), log_value.exp());
    unroof_base::input::read(text.as_bytes(), Assumptions::read).ok()
}
