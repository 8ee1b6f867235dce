//! `/estimates`: what was answered, for dashboards and scripts.

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Response, Uri};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::app::App;
use super::extract::{Path, Query};
use super::page::{
    AsOfQuery, FilterText, Limit, ListItem, ListQuery, Moment, Page, PageRequest, bad_cursor,
    fields,
};
use super::problem::Problem;
use crate::storage::{AsOf, DbTime, EstimateRow, Latest, LatestKey};
use unroof_core::estimate::{Answer, row_columns};

/// An estimate as a flat row: median, 90 % interval and whether it is identified per quantity, and one nullable number
/// per scalar reading (standard tier, first threshold, shortest time to live).
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct EstimateItem {
    /// Id of the estimate.
    id: Uuid,
    /// Who bills.
    provider: String,
    /// The model as the provider spells it.
    model: String,
    /// author/model
    canonical_model: Option<String>,
    /// Where it is served.
    region: String,
    /// ISO 4217 code.
    currency: String,
    /// Inclusive start of the sheet's validity.
    #[schema(value_type = Option<String>, format = DateTime)]
    valid_from: Option<DbTime>,
    /// Exclusive end of the sheet's validity.
    #[schema(value_type = Option<String>, format = DateTime)]
    valid_to: Option<DbTime>,
    /// When the estimate was stored.
    #[schema(value_type = String, format = DateTime)]
    observed_at: DbTime,
    /// The sheet whose estimate this is, where the listed one is a copy of the same pricing decision.
    duplicate_of: Option<Uuid>,
    /// Version of the engine.
    engine_version: String,
    /// Readings that have a value.
    readings_defined: i64,
    /// Pairs of readings that contradict each other.
    conflicts: i64,
    /// Four values per quantity and one number per scalar reading.
    #[serde(flatten, serialize_with = "in_order")]
    #[schema(ignore)]
    values: Vec<(&'static str, Value)>,
}

/// The columns of JSON stand in the same order as those of CSV.
fn in_order<S: Serializer>(
    values: &[(&'static str, Value)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(values.iter().map(|(column, value)| (column, value)))
}

impl ListItem for EstimateItem {
    fn columns() -> Vec<String> {
        let values = row_columns().map(str::to_owned);
        fields::<Self>().into_iter().chain(values).collect()
    }
}

impl From<EstimateRow> for EstimateItem {
    fn from(row: EstimateRow) -> Self {
        let stored: Map<String, Value> = serde_json::from_str(&row.row_values).unwrap_or_default();
        // A row that an older engine stored may lack a column.
        let value = |column: &str| stored.get(column).cloned().unwrap_or(Value::Null);
        Self {
            id: row.id,
            provider: row.provider,
            model: row.model,
            canonical_model: row.canonical_model,
            region: row.region,
            currency: row.currency,
            valid_from: row.valid_from,
            valid_to: row.valid_to,
            observed_at: row.observed_at,
            duplicate_of: row.duplicate_of,
            engine_version: row.engine_version,
            readings_defined: row.readings_defined,
            conflicts: row.conflicts,
            values: row_columns()
                .map(|column| (column, value(column)))
                .collect(),
        }
    }
}

/// Estimates as flat rows, the last stored first
///
/// Median, 90 % interval and whether it is identified per quantity; one number per scalar reading, null where it is not
/// defined. `Accept: text/csv` gives CSV. The ETag changes when the
/// body does; while nothing is stored, polling costs no query.
#[utoipa::path(
    get,
    path = "/estimates",
    tag = "estimates",
    params(ListQuery, ("if-none-match" = Option<String>, Header, description = "ETag of the body the client has")),
    responses(
        (status = 200, description = "A page of estimates", content((Page<EstimateItem> = "application/json"), (String = "text/csv")),
            headers(("etag" = String), ("link" = String, description = "The next page"))),
        (status = 304, description = "The client has this body"),
        (status = 400, description = "The query is wrong", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "The database cannot be reached", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn list_estimates(
    State(app): State<App>,
    Query(query): Query<ListQuery>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response<Body>, Problem> {
    const LIST: &str = "estimates";
    let (filter, times) = (query.filter()?, query.times());
    let below = query.after::<i64>(LIST)?;
    let page = PageRequest::new(&app, LIST, query.limit, &uri, &headers);
    let rows = |below, limit| app.store.estimates(&filter, &times, below, limit);
    let body = page.write::<_, EstimateItem, _, _>(below, |row| row.sequence, rows);
    app.polled(format!("{LIST} {query:?}"), &headers, Box::pin(body))
        .await
}

/// Which offers, and whether estimates with stated assumptions count.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(super) struct LatestQuery {
    #[param(nullable = false, inline, value_type = Option<FilterText>)]
    provider: Option<String>,
    #[param(nullable = false, inline, value_type = Option<FilterText>)]
    model: Option<String>,
    #[param(nullable = false, inline, value_type = Option<FilterText>)]
    canonical_model: Option<String>,
    #[param(nullable = false, inline, value_type = Option<FilterText>)]
    region: Option<String>,
    #[param(nullable = false, inline, value_type = Option<FilterText>)]
    currency: Option<String>,
    /// In force at this time instead of now: RFC 3339, or milliseconds since 1970.
    #[param(nullable = false, inline, value_type = Option<Moment>)]
    as_of: Option<Moment>,
    /// `any` also counts estimates for which something was stated.
    #[param(nullable = false, inline)]
    assumptions: Option<AnyAssumptions>,
    #[param(value_type = u32, minimum = 1, maximum = 2000, default = 100)]
    limit: Limit,
    #[param(nullable = false, min_length = 10, pattern = "^[A-Za-z0-9_-]+$")]
    cursor: Option<String>,
}

/// Counts every estimate.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum AnyAssumptions {
    /// Whatever was stated.
    Any,
}

/// The latest estimate of every offer
///
/// One row per (provider, model, region) with a price in force: its last stored estimate for which nothing was stated.
#[utoipa::path(
    get,
    path = "/estimates/latest",
    tag = "estimates",
    params(LatestQuery, ("if-none-match" = Option<String>, Header, description = "ETag of the body the client has")),
    responses(
        (status = 200, description = "A page of estimates", content((Page<EstimateItem> = "application/json"), (String = "text/csv")),
            headers(("etag" = String), ("link" = String, description = "The next page"))),
        (status = 304, description = "The client has this body"),
        (status = 400, description = "The query is wrong", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "The database cannot be reached", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn list_latest_estimates(
    State(app): State<App>,
    Query(query): Query<LatestQuery>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response<Body>, Problem> {
    const LIST: &str = "estimates/latest";
    let any = query.assumptions.is_some();
    let query = ListQuery {
        provider: query.provider,
        model: query.model,
        canonical_model: query.canonical_model,
        region: query.region,
        currency: query.currency,
        as_of: query.as_of,
        limit: query.limit,
        cursor: query.cursor,
        ..ListQuery::default()
    };
    let as_of = match query.as_of {
        Some(moment) => AsOf::Time(moment.0.into()),
        None => AsOf::Now(app.now().into()),
    };
    let after = query.after::<(String, String, String)>(LIST)?;
    // The seal is no secret: a cursor that somebody made may hold NUL, which PostgreSQL refuses.
    if let Some((provider, model, region)) = &after
        && [provider, model, region]
            .iter()
            .any(|name| name.contains('\0'))
    {
        return Err(bad_cursor());
    }
    let filter = query.filter()?;
    let page = PageRequest::new(&app, LIST, query.limit, &uri, &headers);
    let key = |row: &EstimateRow| (row.provider.clone(), row.model.clone(), row.region.clone());
    let store = &app.store;
    let latest = Latest {
        filter: &filter,
        any_assumptions: any,
        as_of,
    };
    let rows = |after: Option<(String, String, String)>, limit| async move {
        let after = after.map(|(provider, model, region)| LatestKey {
            provider,
            model,
            region,
        });
        store.latest_estimates(latest, after.as_ref(), limit).await
    };
    let body = page.write::<_, EstimateItem, _, _>(after, key, rows);
    app.polled(format!("{LIST} {any} {query:?}"), &headers, Box::pin(body))
        .await
}

/// One estimate
///
/// The answer as `/infer` gave it, byte for byte. It never changes.
#[utoipa::path(
    get,
    path = "/estimates/{id}",
    tag = "estimates",
    params(("id" = Uuid, Path, description = "Id of the estimate"), AsOfQuery),
    responses(
        (status = 200, description = "The estimate", body = Answer, headers(("etag" = String))),
        (status = 304, description = "The client has this body"),
        (status = 400, description = "The query is wrong", body = Problem, content_type = "application/problem+json"),
        (status = 404, description = "No such estimate", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "The database cannot be reached", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn show_estimate(
    State(app): State<App>,
    Path(id): Path<Uuid>,
    Query(query): Query<AsOfQuery>,
    headers: HeaderMap,
) -> Result<Response<Body>, Problem> {
    let as_of = query.as_of();
    let document = app.store.estimate(id, as_of);
    app.polled_document("estimate", id, as_of, &headers, Box::pin(document))
        .await
}
