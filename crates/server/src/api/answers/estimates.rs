//! `/estimates`: stored estimates, for dashboards and scripts.

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Response, Uri};
use serde::{Deserialize, Serialize, Serializer};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::app::App;
use unroof_edge::answer::described::{StoreRefusals, Unchanged};
use crate::service::extract::{Path, Query};
use crate::list::list_text::stored_in_order;
use unroof_edge::answer::names::Names;
use crate::list::page::{AsOfQuery, Direction, FieldNames, FilterText, Limit, ListItem, ListQuery, Moment, Page, PageRequest, bad_cursor, fields, list_in_order};
use unroof_edge::answer::problem::Problem;
use unroof_store::{AsOf, DbTime, EstimateOf, EstimateRow, Latest, LatestKey, Order, Place, SortKey};
use unroof_infer::estimate::model::ModelEstimate;
use unroof_infer::estimate::{Answer, row_columns};

/// An estimate as a flat row: median, 90 % interval and whether it is identified per quantity, and one nullable number
/// per scalar reading (standard tier, first threshold, shortest time to live).
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EstimateItem {
    /// Id of the estimate.
    id: Uuid,
    /// Provider that bills for the offer.
    provider: String,
    /// Model name as the provider spells it.
    model: String,
    /// Canonical name, `author/model`.
    canonical_model: Option<String>,
    /// Region in which the model is served.
    region: String,
    /// Currency as an ISO 4217 code.
    currency: String,
    /// Inclusive start of the sheet's validity.
    #[schema(value_type = Option<String>, format = DateTime)]
    valid_from: Option<DbTime>,
    /// Exclusive end of the sheet's validity.
    #[schema(value_type = Option<String>, format = DateTime)]
    valid_to: Option<DbTime>,
    /// Announced time from which the offer is no longer sold; null where none is announced.
    #[schema(value_type = Option<String>, format = DateTime)]
    retires_at: Option<DbTime>,
    /// Time at which the estimate was stored.
    #[schema(value_type = String, format = DateTime)]
    observed_at: DbTime,
    /// Whether it is the estimate of an observed price; false for a question.
    observed: bool,
    /// Id of the estimated sheet, if the listed sheet is a duplicate of it.
    duplicate_of: Option<Uuid>,
    /// `sheet`: from one sheet alone. `model`: from all sheets of the model, which `/models` lists. `pool`: from the sheets of
    /// one request.
    #[schema(inline)]
    of: EstimateOf,
    /// Version of the estimation engine.
    engine_version: String,
    /// Number of readings with a value.
    readings_defined: i64,
    /// Number of pairs of readings that contradict each other.
    conflicts: i64,
    /// Four values per quantity and one number per scalar reading.
    #[serde(flatten, serialize_with = "in_order")]
    #[schema(ignore)]
    row_values: String,
}

fn in_order<S: Serializer>(row_values: &str, serializer: S) -> Result<S::Ok, S::Error> {
    stored_in_order(row_values, row_columns(), serializer)
}

impl ListItem for EstimateItem {
    fn columns() -> Vec<String> {
        let values = row_columns().map(str::to_owned);
        fields::<Self>().into_iter().chain(values).collect()
    }
}

impl From<EstimateRow> for EstimateItem {
    fn from(row: EstimateRow) -> Self {
        Self {
            of: row.of(),
            id: row.id,
            provider: row.provider,
            model: row.model,
            canonical_model: row.canonical_model,
            region: row.region,
            currency: row.currency,
            valid_from: row.valid_from,
            valid_to: row.valid_to,
            retires_at: row.retires_at,
            observed_at: row.observed_at,
            observed: row.observed,
            duplicate_of: row.duplicate_of,
            engine_version: row.engine_version,
            readings_defined: row.readings_defined,
            conflicts: row.conflicts,
            row_values: row.row_values,
        }
    }
}

/// List estimates as flat rows, newest first
///
/// Per quantity the median, the 90 % interval and whether it is identified; one number per scalar reading, null if it is
/// undefined. `Accept: text/csv` gives CSV. The ETag changes only with the body; polling costs no query while nothing is
/// stored.
#[utoipa::path(
    get,
    path = "/estimates",
    tag = "estimates",
    params(ListQuery, ("if-none-match" = Option<String>, Header, description = "ETag of the body the client has")),
    responses(
        (status = 200, description = "A page of estimates", content((Page<EstimateItem> = "application/json"), (String = "text/csv")),
            headers(("etag" = String), ("link" = String, description = "The next page"))),
        Unchanged, StoreRefusals,
    )
)]
pub(crate) async fn list_estimates(
    State(app): State<App>,
    Query(query): Query<ListQuery>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response<Body>, Problem> {
    const LIST: &str = "estimates";
    let (selection, times, order) = (query.selection()?, query.times(), query.order());
    let list = list_in_order(LIST, order, Order::NEWEST);
    let after = query.place(&list, order)?;
    let page = PageRequest::new(&app, list, query.limit, &uri, &headers);
    let page = page.of_fields(query.fields.as_deref());
    let (store, selection, times) = (&app.store, &selection, &times);
    let rows = |after: Option<Place>, limit| async move {
        let after = after.as_ref();
        store.estimates(selection, times, order, after, limit).await
    };
    let key = |row: &EstimateRow| row.place(order);
    let body = || page.write::<_, EstimateItem, _, _>(after, key, rows);
    app.polled(format!("{LIST} {query:?}"), &headers, body)
        .await
}

/// Filter of the latest estimates.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct LatestQuery {
    /// Billing provider; several separated by commas.
    #[param(nullable = false, inline)]
    provider: Option<Names>,
    /// Model name as the provider spells it; several separated by commas.
    #[param(nullable = false, inline)]
    model: Option<Names>,
    /// Canonical name, `author/model`; several separated by commas.
    #[param(nullable = false, inline)]
    canonical_model: Option<Names>,
    /// Region in which the model is served; several separated by commas.
    #[param(nullable = false, inline)]
    region: Option<Names>,
    /// Currency as an ISO 4217 code; several separated by commas.
    #[param(nullable = false, inline)]
    currency: Option<Names>,
    /// Beginning of the provider, the model or the canonical name, with or without what is before the last `/`, in any case.
    #[param(nullable = false, inline, value_type = Option<FilterText>)]
    q: Option<String>,
    /// Time at which the price is in force, now if left out: RFC 3339, milliseconds since 1970, or `now`.
    #[param(nullable = false, inline, value_type = Option<Moment>)]
    as_of: Option<Moment>,
    /// Sort key; `provider` if left out.
    #[param(nullable = false, inline)]
    sort: Option<LatestSort>,
    /// Direction of the sort; `asc` if left out.
    #[param(nullable = false, inline)]
    order: Option<Direction>,
    /// Fields of a row, separated by commas; all if left out.
    #[param(nullable = false, inline, value_type = Option<FieldNames>)]
    fields: Option<String>,
    /// Rows per page.
    #[param(value_type = u32, minimum = 1, maximum = 2000, default = 100)]
    limit: Limit,
    /// `next_cursor` of the previous page.
    #[param(nullable = false, min_length = 10, pattern = "^[A-Za-z0-9_-]+$")]
    cursor: Option<String>,
}

/// Sort key of the latest estimates.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LatestSort {
    /// Provider, model, region.
    Provider,
    /// Model, provider, region.
    Model,
}

/// List the latest estimate of every offer
///
/// One row per (provider, model, region) with a price in force: its newest estimate without stated assumptions; and one row
/// per canonical model, of the provider `model`: the estimate from all its sheets. `of` says which of the two a row is.
#[utoipa::path(
    get,
    path = "/estimates/latest",
    tag = "estimates",
    params(LatestQuery, ("if-none-match" = Option<String>, Header, description = "ETag of the body the client has")),
    responses(
        (status = 200, description = "A page of estimates", content((Page<EstimateItem> = "application/json"), (String = "text/csv")),
            headers(("etag" = String), ("link" = String, description = "The next page"))),
        Unchanged, StoreRefusals,
    )
)]
pub(crate) async fn list_latest_estimates(
    State(app): State<App>,
    Query(query): Query<LatestQuery>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response<Body>, Problem> {
    const LIST: &str = "estimates/latest";
    let sort = query.sort;
    let query = ListQuery {
        provider: query.provider,
        model: query.model,
        canonical_model: query.canonical_model,
        region: query.region,
        currency: query.currency,
        q: query.q,
        as_of: query.as_of,
        order: query.order,
        fields: query.fields,
        limit: query.limit,
        cursor: query.cursor,
        ..ListQuery::default()
    };
    let by = match sort {
        None | Some(LatestSort::Provider) => SortKey::Provider,
        Some(LatestSort::Model) => SortKey::Model,
    };
    let order = Direction::of(query.order, by);
    let by_provider = Direction::of(None, SortKey::Provider);
    let list = list_in_order(LIST, order, by_provider);
    let as_of = match query.as_of {
        Some(moment) => AsOf::Time(moment.0.into()),
        None => AsOf::Now(app.now().into()),
    };
    let after = query.after::<(String, String, String)>(&list)?;
    // A forged cursor may contain NUL, which PostgreSQL rejects.
    if let Some((provider, model, region)) = &after
        && [provider, model, region]
            .iter()
            .any(|name| name.contains('\0'))
    {
        return Err(bad_cursor());
    }
    let selection = query.selection()?;
    let page = PageRequest::new(&app, list, query.limit, &uri, &headers);
    let page = page.of_fields(query.fields.as_deref());
    let key = |row: &EstimateRow| (row.provider.clone(), row.model.clone(), row.region.clone());
    let store = &app.store;
    let latest = Latest {
        selection: &selection,
        as_of,
        order,
    };
    let rows = |after: Option<(String, String, String)>, limit| async move {
        let after = after.map(|(provider, model, region)| LatestKey {
            provider,
            model,
            region,
        });
        store.latest_estimates(latest, after.as_ref(), limit).await
    };
    let body = || page.write::<_, EstimateItem, _, _>(after, key, rows);
    let question = match uri.query() {
        // What clients poll most is found without a description of every filter.
        None => LIST.to_owned(),
        Some(_) => format!("{LIST} {by:?} {query:?}"),
    };
    app.polled(question, &headers, body).await
}

/// A stored estimate: the answer to a request, or the estimate of a model.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[expect(
    dead_code,
    reason = "describes a stored document, which is sent as it is"
)]
enum StoredEstimate {
    /// The answer to a request.
    Answer(Box<Answer>),
    /// The estimate of a model.
    Model(Box<ModelEstimate>),
}

/// Show an estimate
///
/// The answer of `/infer`, byte for byte, or the estimate of a model as it was then. It never changes.
#[utoipa::path(
    get,
    path = "/estimates/{id}",
    tag = "estimates",
    params(("id" = Uuid, Path, description = "Id of the estimate"), AsOfQuery),
    responses(
        (status = 200, description = "The estimate", body = StoredEstimate, headers(("etag" = String))),
        Unchanged, StoreRefusals,
        (status = 404, description = "No such estimate", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(crate) async fn show_estimate(
    State(app): State<App>,
    Path(id): Path<Uuid>,
    Query(query): Query<AsOfQuery>,
    headers: HeaderMap,
) -> Result<Response<Body>, Problem> {
    let as_of = query.as_of();
    let document = || app.store.estimate_document(id, as_of);
    app.polled_document("estimate", id, as_of, &headers, document)
        .await
}
