//! `/reference/...`: the data and the readings behind every answer.

use std::sync::LazyLock;

use axum::body::Body;
use axum::http::{HeaderMap, Response};
use serde::Serialize;
use utoipa::ToSchema;

use super::extract::{NoQuery, Query};
use super::polling::CachedBody;
use super::problem::Problem;
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
    /// Multiply-adds per second × bytes per parameter ÷ bytes per second, by the width of the weights.
    compute_to_bandwidth: Vec<ComputeToBandwidth>,
}

/// ρ = w·M/W for weights of one width.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ComputeToBandwidth {
    /// w
    weight_bytes_per_parameter: f64,
    /// The format the multiplies run in.
    multiply_format: NumberFormat,
    /// ρ
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

/// An open-weight model with what follows from its architecture.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct OpenModelItem {
    #[serde(flatten)]
    model: &'static OpenModel,
    /// `N_t`/`N_a`
    sparsity: f64,
    /// `k_st` at one byte per element, at long context.
    kv_bytes_per_token_stored: BytesPerToken,
    /// `k_bw` at one byte per element, at long context.
    kv_bytes_per_token_read: BytesPerToken,
    /// What sparse attention reads at one byte per element however long the context: the entries it picks.
    kv_bytes_read_of_picked_entries: Bytes,
    /// `a_dec`
    attention_macs_per_token_decode: f64,
    /// `a_pre`
    attention_macs_per_token_prefill: f64,
    /// State of linear layers.
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

/// Accelerators
///
/// Peak dense arithmetic, memory, interconnect and rental of each, with sources; the ratio of compute to bandwidth is
/// computed from them.
#[utoipa::path(get, path = "/reference/accelerators", tag = "reference", responses(
    (status = 200, description = "All accelerators", body = Table<AcceleratorItem>, headers(("etag" = String))),
    (status = 304, description = "The client has this body"),
    (status = 400, description = "The query is wrong", body = Problem, content_type = "application/problem+json"),
))]
pub(super) async fn list_accelerators(
    Query(NoQuery {}): Query<NoQuery>,
    headers: HeaderMap,
) -> Response<Body> {
    static BODY: LazyLock<CachedBody> =
        LazyLock::new(|| Table::body(reference::accelerators().iter().map(AcceleratorItem::from)));
    BODY.respond(&headers)
}

/// Storage tiers
///
/// Devices that a KV cache can live on: capacity, bandwidth, cost of holding and reading a byte, with sources.
#[utoipa::path(get, path = "/reference/storage-tiers", tag = "reference", responses(
    (status = 200, description = "All storage tiers", body = Table<StorageTier>, headers(("etag" = String))),
    (status = 304, description = "The client has this body"),
    (status = 400, description = "The query is wrong", body = Problem, content_type = "application/problem+json"),
))]
pub(super) async fn list_storage_tiers(
    Query(NoQuery {}): Query<NoQuery>,
    headers: HeaderMap,
) -> Response<Body> {
    static BODY: LazyLock<CachedBody> =
        LazyLock::new(|| Table::body(reference::storage_tiers().iter()));
    BODY.respond(&headers)
}

/// Open-weight models
///
/// Models whose architecture is published, with what follows from it; `POST /simulate` takes their names.
#[utoipa::path(get, path = "/reference/open-models", tag = "reference", responses(
    (status = 200, description = "All open-weight models", body = Table<OpenModelItem>, headers(("etag" = String))),
    (status = 304, description = "The client has this body"),
    (status = 400, description = "The query is wrong", body = Problem, content_type = "application/problem+json"),
))]
pub(super) async fn list_open_models(
    Query(NoQuery {}): Query<NoQuery>,
    headers: HeaderMap,
) -> Response<Body> {
    static BODY: LazyLock<CachedBody> =
        LazyLock::new(|| Table::body(reference::open_models().iter().map(OpenModelItem::from)));
    BODY.respond(&headers)
}

/// A kind of reading with its track record.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ReadingItem {
    #[serde(flatten)]
    specification: &'static Specification,
    /// How good it has been by itself on open-weight models; null where no truth is public.
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
    /// Its name.
    name: &'static str,
    /// Its unit; empty for a plain ratio.
    unit: &'static str,
    /// How it follows from what is unknown.
    equation: &'static str,
    /// How good the joint estimate of it has been on open-weight models; null where no truth is public.
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

/// Every kind of reading, and the quantities that they are put together for.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ReadingTable {
    /// The readings.
    data: Vec<ReadingItem>,
    /// The quantities of the joint estimate.
    quantities: Vec<QuantityItem>,
}

/// Readings
///
/// Every kind of reading: its equation, what it needs, when it is not defined, what it assumes, and how good it has been
/// on open-weight models whose truth is public; and the same of every quantity of the joint estimate.
#[utoipa::path(get, path = "/reference/readings", tag = "reference", responses(
    (status = 200, description = "All readings", body = ReadingTable, headers(("etag" = String))),
    (status = 304, description = "The client has this body"),
    (status = 400, description = "The query is wrong", body = Problem, content_type = "application/problem+json"),
))]
pub(super) async fn list_readings(
    Query(NoQuery {}): Query<NoQuery>,
    headers: HeaderMap,
) -> Response<Body> {
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
