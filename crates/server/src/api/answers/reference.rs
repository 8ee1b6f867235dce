//! `/reference/...`: reference data, and the specifications of all readings.

use std::cmp::Ordering;
use std::sync::LazyLock;

use axum::body::Body;
use axum::http::{HeaderMap, Response};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::list::list_text::{chosen, no_field};
use crate::list::page::{Direction, FilterText};
use crate::query::query;
use crate::service::extract::{NoQuery, Query};
use unroof_base::units::{Bytes, BytesPerToken};
use unroof_edge::{CachedBody, Problem, QueryRefusals, Reply, Unchanged};
use unroof_infer::clue;
use unroof_infer::estimate::quantities::JointQuantity;
use unroof_infer::evidence::reading::Specification;
use unroof_roofline::forward::READ_CONTEXT_TOKENS;
use unroof_roofline::forward::{KvCache, compute_to_bandwidth};
use unroof_roofline::reference;
use unroof_roofline::reference::{
    Accelerator, NumberFormat, OpenModel, QuantityRecord, StorageTier, TrackRecord,
};

/// A table of reference data as a whole.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Table<Row> {
    /// Rows of the table.
    data: Vec<Row>,
}

impl<Row: Serialize> Table<Row> {
    /// The rows as JSON objects.
    fn rows(rows: impl Iterator<Item = Row>) -> Vec<Map<String, Value>> {
        let object = |row| match serde_json::to_value(row) {
            Ok(Value::Object(fields)) => fields,
            _ => Map::new(),
        };
        rows.map(object).collect()
    }
}

query! {
    /// Filter, order and fields of a reference table.
    TableQuery {
        /// Beginning of the name, or of one of its words, in any case.
        q: FilterText,
        /// Field with one text or number by which the rows are sorted; the order of the table if left out. Rows without a value
        /// come last.
        #[param(nullable = false, pattern = "^[a-z][a-z0-9_]*$")]
        sort: Option<String>,
        /// Direction of the sort; `asc` if left out.
        order: Direction,
        fields,
    }
}

impl TableQuery {
    /// The rows that are asked for.
    ///
    /// # Errors
    /// No row has a field that is named, or none has a text or number there by which it is sorted.
    fn body(&self, rows: &[Map<String, Value>]) -> Result<CachedBody, Problem> {
        let mut columns: Vec<String> = Vec::new();
        for name in rows.iter().flat_map(Map::keys) {
            if !columns.contains(name) {
                columns.push(name.clone());
            }
        }
        let chosen = |names: &String| chosen(names, &columns);
        let fields = self.fields.as_ref().map(chosen).transpose()?;
        let typed = self.q.as_ref().map_or("", |FilterText(typed)| typed);
        let mut found: Vec<&Map<String, Value>> =
            rows.iter().filter(|row| has_word(row, typed)).collect();
        if let Some(sort) = &self.sort {
            let is_value = |row: &Map<String, Value>, name: &str| {
                matches!(row.get(name), Some(Value::Number(_) | Value::String(_)))
            };
            columns.retain(|name| rows.iter().any(|row| is_value(row, name)));
            if !columns.contains(sort) {
                return Err(no_field("sort", sort, &columns));
            }
            let is_descending = self.order == Some(Direction::Desc);
            found.sort_by(|one, next| compare(one.get(sort), next.get(sort), is_descending));
        }
        let row = |row: &Map<String, Value>| match &fields {
            None => row.clone(),
            Some(fields) => {
                let field = |name: &String| Some((name.clone(), row.get(name)?.clone()));
                fields.iter().filter_map(field).collect()
            }
        };
        let data = found.into_iter().map(row).collect();
        let text = serde_json::to_string(&Table { data }).map_err(Problem::not_serialised)?;
        Ok(CachedBody::new(text, "application/json", None))
    }
}

/// Whether the name of a row, or one of its words, has a beginning.
fn has_word(row: &Map<String, Value>, beginning: &str) -> bool {
    let name = row.get("name").and_then(Value::as_str).unwrap_or_default();
    let (name, beginning) = (name.to_lowercase(), beginning.to_lowercase());
    let begins = |place: usize| {
        let before = name[..place].chars().next_back();
        before.is_none_or(|before| !before.is_alphanumeric())
    };
    beginning.is_empty()
        || name
            .match_indices(&beginning)
            .any(|(place, _)| begins(place))
}

/// Numbers before texts before everything else, which has no order. Without a value a row is the last in both directions.
fn compare(one: Option<&Value>, next: Option<&Value>, is_descending: bool) -> Ordering {
    let key = |value: Option<&Value>| match value {
        Some(Value::Number(number)) => (0, number.as_f64(), String::new()),
        Some(Value::String(text)) => (1, None, text.clone()),
        _ => (2, None, String::new()),
    };
    let (one, next) = (key(one), key(next));
    let order = one.1.partial_cmp(&next.1).unwrap_or(Ordering::Equal);
    let order = order.then_with(|| one.2.cmp(&next.2));
    let order = if is_descending {
        order.reverse()
    } else {
        order
    };
    one.0.cmp(&next.0).then(order)
}

/// An accelerator with the ratios that follow from its figures.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AcceleratorItem {
    #[serde(flatten)]
    accelerator: &'static Accelerator,
    /// Compute-to-bandwidth ratio ρ by width of the weights.
    compute_to_bandwidth: Vec<ComputeToBandwidth>,
}

/// ρ = w·M/W for one width of the weights: bytes per parameter × multiply-adds per second ÷ memory bandwidth.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ComputeToBandwidth {
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
pub(crate) struct OpenModelItem {
    #[serde(flatten)]
    model: &'static OpenModel,
    /// `N_t`/`N_a`: total ÷ active parameters.
    sparsity: f64,
    /// `k_st` at one byte per element, at long context.
    kv_bytes_per_token_stored: BytesPerToken,
    /// `k_bw` at one byte per element: bytes that a step reads of a context of 8,192 tokens, over 8,192.
    kv_bytes_per_token_read: BytesPerToken,
    /// `k_∞` at one byte per element: bytes that a step reads per further token of a very long context.
    kv_bytes_per_token_read_slope: BytesPerToken,
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
            kv_bytes_per_token_read: cache.read_per_token_at(READ_CONTEXT_TOKENS, 1.0),
            kv_bytes_per_token_read_slope: cache.read_per_token(1.0),
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
#[utoipa::path(get, path = "/reference/accelerators", tag = "reference", params(TableQuery), responses(
    (status = 200, description = "All accelerators", body = Table<AcceleratorItem>, headers(("etag" = String))),
    Unchanged, QueryRefusals,
))]
pub(crate) async fn list_accelerators(
    Query(query): Query<TableQuery>,
    headers: HeaderMap,
) -> Reply {
    static ROWS: LazyLock<Vec<Map<String, Value>>> =
        LazyLock::new(|| Table::rows(reference::accelerators().iter().map(AcceleratorItem::from)));
    Ok(query.body(&ROWS)?.respond(&headers))
}

/// List storage tiers
///
/// Devices that can hold a KV cache: capacity, bandwidth, cost of holding and reading a byte, with sources.
#[utoipa::path(get, path = "/reference/storage-tiers", tag = "reference", params(TableQuery), responses(
    (status = 200, description = "All storage tiers", body = Table<StorageTier>, headers(("etag" = String))),
    Unchanged, QueryRefusals,
))]
pub(crate) async fn list_storage_tiers(
    Query(query): Query<TableQuery>,
    headers: HeaderMap,
) -> Reply {
    static ROWS: LazyLock<Vec<Map<String, Value>>> =
        LazyLock::new(|| Table::rows(reference::storage_tiers().iter()));
    Ok(query.body(&ROWS)?.respond(&headers))
}

/// List open-weight models
///
/// Models with a published architecture, and the quantities computed from it; `POST /simulate` accepts their names.
#[utoipa::path(get, path = "/reference/open-models", tag = "reference", params(TableQuery), responses(
    (status = 200, description = "All open-weight models", body = Table<OpenModelItem>, headers(("etag" = String))),
    Unchanged, QueryRefusals,
))]
pub(crate) async fn list_open_models(Query(query): Query<TableQuery>, headers: HeaderMap) -> Reply {
    static ROWS: LazyLock<Vec<Map<String, Value>>> =
        LazyLock::new(|| Table::rows(reference::open_models().iter().map(OpenModelItem::from)));
    Ok(query.body(&ROWS)?.respond(&headers))
}

/// A reading with its track record.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ReadingItem {
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
pub(crate) struct QuantityItem {
    /// Name of the quantity.
    name: &'static str,
    /// Unit; empty for a dimensionless ratio.
    unit: &'static str,
    /// Equation from the model's unknowns.
    equation: &'static str,
    /// Errors of its joint estimate on open-weight models, one row per setting; empty if no true value is public.
    track_records: Vec<QuantityRecord>,
}

impl From<JointQuantity> for QuantityItem {
    fn from(quantity: JointQuantity) -> Self {
        Self {
            name: quantity.name(),
            unit: quantity.definition().unit,
            equation: quantity.definition().equation,
            track_records: reference::track_records_of_quantity(quantity.name()).collect(),
        }
    }
}

/// All readings, and the quantities of the joint estimate.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ReadingTable {
    /// Readings with their specifications.
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
    Unchanged, QueryRefusals,
))]
pub(crate) async fn list_readings(_: NoQuery, headers: HeaderMap) -> Response<Body> {
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
