//! `/reference/...`: reference data, and the specifications of all readings.

use std::sync::LazyLock;

use axum::body::Body;
use axum::http::{HeaderMap, Response};
use serde::Serialize;
use utoipa::ToSchema;

use super::extract::NoQuery;
use super::problem::Problem;
use super::response_cache::CachedBody;
use unroof_core::clue;
use unroof_core::estimate::quantities::JointQuantity;
use unroof_core::model::reading::Specification;
use unroof_core::reference::{
    self, Accelerator, NumberFormat, OpenModel, StorageTier, TrackRecord,
};
use unroof_core::roofline::{KvCache, compute_to_bandwidth};
use unroof_core::units::{Bytes, BytesPerToken};

/// A whole table.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Table<Row> {
    /// The rows.
    data: Vec<Row>,
}

impl<Row: Serialize> Table<Row> {
    fn body(rows: impl Iterator<Item = Row>) -> CachedBody {
        let table = Self {
            data: rows.collect(),
        };
        let text = serde_json::to_string(&table).expect("a table of texts and numbers serialises");
        CachedBody::new(text, "application/json", None)
    }
}

/// An accelerator with the ratios that follow from its figures.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct AcceleratorItem {
    #[serde(flatten)]
    accelerator: &'static Accelerator,
    /// Compute-to-bandwidth ratio ρ by width of the weights.
    compute_to_bandwidth: Vec<ComputeToBandwidth>,
}

/// ρ = w·M/W for one width of the weights: bytes per parameter × multiply-adds per second ÷ memory bandwidth.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ComputeToBandwidth {
    /// w: bytes per parameter.
    weight_bytes_per_parameter: f64,
    /// Number format of the multiplications.
    multiply_format: NumberFormat,
    /// ρ: multiply-adds per parameter read.
    value: f64,
}

impl From<&'static Accelerator> for AcceleratorItem {
    fn from(accelerator: &'static Accelerator) -> Self {
        let of_width = |weight_bytes_per_parameter| {
            let (multiply_format, peak) = accelerator.peak_for_weights(weight_bytes_per_parameter);
            let bandwidth = accelerator.hbm_bytes_per_second;
            let value =
                compute_to_bandwidth(weight_bytes_per_parameter, peak.multiply_adds(), bandwidth);
            ComputeToBandwidth {
                weight_bytes_per_parameter,
                multiply_format,
                value,
            }
        };
        Self {
            accelerator,
            compute_to_bandwidth: [2.0, 1.0, 0.5].map(of_width).into(),
        }
    }
}

/// An open-weight model with the quantities computed from its architecture.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct OpenModelItem {
    #[serde(flatten)]
    model: &'static OpenModel,
    /// `N_t`/`N_a`: total ÷ active parameters.
    sparsity: f64,
    /// `k_st` at one byte per element, at long context.
    kv_bytes_per_token_stored: BytesPerToken,
    /// `k_bw` at one byte per element, at long context.
    kv_bytes_per_token_read: BytesPerToken,
    /// KV entries selected by sparse attention, in bytes at one byte per element, at any context length.
    kv_bytes_read_of_picked_entries: Bytes,
    /// `a_dec`: multiply-adds of attention per generated token and context token.
    attention_macs_per_token_decode: f64,
    /// `a_pre`: multiply-adds of attention per prompt token and context token.
    attention_macs_per_token_prefill: f64,
    /// State of linear-attention layers per sequence, in bytes.
    state_bytes_per_sequence: Bytes,
}

impl From<&'static OpenModel> for OpenModelItem {
    fn from(model: &'static OpenModel) -> Self {
        let cache = KvCache::new(&model.architecture);
        Self {
            sparsity: model.architecture.sparsity(),
            kv_bytes_per_token_stored: cache.stored_per_token(1.0),
            kv_bytes_per_token_read: cache.read_per_token(1.0),
            kv_bytes_read_of_picked_entries: Bytes(cache.picked_elements()),
            attention_macs_per_token_decode: cache.decode_macs_per_token(),
            attention_macs_per_token_prefill: cache.prefill_macs_per_token(),
            state_bytes_per_sequence: cache.state_per_sequence(),
            model,
        }
    }
}

/// List accelerators
///
/// Peak dense arithmetic, memory, interconnect and rental price of each, with sources, and the compute-to-bandwidth ratio
/// computed from them.
#[utoipa::path(get, path = "/reference/accelerators", tag = "reference", responses(
    (status = 200, description = "All accelerators", body = Table<AcceleratorItem>, headers(("etag" = String))),
    (status = 304, description = "Not modified"),
    (status = 400, description = "Invalid query", body = Problem, content_type = "application/problem+json"),
))]
pub(super) async fn list_accelerators(_: NoQuery, headers: HeaderMap) -> Response<Body> {
    static BODY: LazyLock<CachedBody> =
        LazyLock::new(|| Table::body(reference::accelerators().iter().map(AcceleratorItem::from)));
    BODY.respond(&headers)
}

/// List storage tiers
///
/// Devices that can hold a KV cache: capacity, bandwidth, cost of holding and reading a byte, with sources.
#[utoipa::path(get, path = "/reference/storage-tiers", tag = "reference", responses(
    (status = 200, description = "All storage tiers", body = Table<StorageTier>, headers(("etag" = String))),
    (status = 304, description = "Not modified"),
    (status = 400, description = "Invalid query", body = Problem, content_type = "application/problem+json"),
))]
pub(super) async fn list_storage_tiers(_: NoQuery, headers: HeaderMap) -> Response<Body> {
    static BODY: LazyLock<CachedBody> =
        LazyLock::new(|| Table::body(reference::storage_tiers().iter()));
    BODY.respond(&headers)
}

/// List open-weight models
///
/// Models with a published architecture, and the quantities computed from it; `POST /simulate` accepts their names.
#[utoipa::path(get, path = "/reference/open-models", tag = "reference", responses(
    (status = 200, description = "All open-weight models", body = Table<OpenModelItem>, headers(("etag" = String))),
    (status = 304, description = "Not modified"),
    (status = 400, description = "Invalid query", body = Problem, content_type = "application/problem+json"),
))]
pub(super) async fn list_open_models(_: NoQuery, headers: HeaderMap) -> Response<Body> {
    static BODY: LazyLock<CachedBody> =
        LazyLock::new(|| Table::body(reference::open_models().iter().map(OpenModelItem::from)));
    BODY.respond(&headers)
}

/// A reading with its track record.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ReadingItem {
    #[serde(flatten)]
    specification: &'static Specification,
    /// Errors of this reading alone on open-weight models; null if the true value is not public.
    track_record: Option<TrackRecord>,
}

impl From<&'static Specification> for ReadingItem {
    fn from(specification: &'static Specification) -> Self {
        Self {
            specification,
            track_record: reference::track_record_of_reading(specification.id.name()),
        }
    }
}

/// A quantity of the joint estimate, with its track record.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct QuantityItem {
    /// Name of the quantity.
    name: &'static str,
    /// Unit; empty for a dimensionless ratio.
    unit: &'static str,
    /// Equation from the model's unknowns.
    equation: &'static str,
    /// Errors of its joint estimate on open-weight models; null if the true value is not public.
    track_record: Option<TrackRecord>,
}

impl From<JointQuantity> for QuantityItem {
    fn from(quantity: JointQuantity) -> Self {
        Self {
            name: quantity.name(),
            unit: quantity.definition().unit,
            equation: quantity.definition().equation,
            track_record: reference::track_record_of_quantity(quantity.name()),
        }
    }
}

/// All readings, and the quantities of the joint estimate.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ReadingTable {
    /// The readings.
    data: Vec<ReadingItem>,
    /// The quantities of the joint estimate.
    quantities: Vec<QuantityItem>,
}

/// List readings
///
/// Every reading with its equation, inputs, conditions, assumptions and errors on open-weight models; and every quantity
/// of the joint estimate.
#[utoipa::path(get, path = "/reference/readings", tag = "reference", responses(
    (status = 200, description = "All readings", body = ReadingTable, headers(("etag" = String))),
    (status = 304, description = "Not modified"),
    (status = 400, description = "Invalid query", body = Problem, content_type = "application/problem+json"),
))]
pub(super) async fn list_readings(_: NoQuery, headers: HeaderMap) -> Response<Body> {
    static BODY: LazyLock<CachedBody> = LazyLock::new(|| {
        let table = ReadingTable {
            data: clue::specifications().map(ReadingItem::from).collect(),
            quantities: JointQuantity::ALL
                .into_iter()
                .map(QuantityItem::from)
                .collect(),
        };
        let text = serde_json::to_string(&table).expect("a table of texts and numbers serialises");
        CachedBody::new(text, "application/json", None)
    });
    BODY.respond(&headers)
}
