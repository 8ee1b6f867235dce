//! `/price-sheets`: the sheets as they were stored.

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Response, Uri};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::app::App;
use super::extract::{Path, Query};
use super::page::{AsOfQuery, ListItem, ListQuery, Page, PageRequest};
use super::problem::Problem;
use crate::sheet::PriceSheet;
use crate::storage::{DbTime, PriceSheetRow};

/// A price sheet as a flat row. Prices are those of the base cell, in `currency` per million tokens, as the nearest
/// floating-point number; the sheet itself has the exact decimals.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct PriceSheetItem {
    /// Id of the pricing content.
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
    /// Inclusive start of validity.
    #[schema(value_type = Option<String>, format = DateTime)]
    valid_from: Option<DbTime>,
    /// Exclusive end of validity.
    #[schema(value_type = Option<String>, format = DateTime)]
    valid_to: Option<DbTime>,
    /// When the content was first stored.
    #[schema(value_type = String, format = DateTime)]
    observed_at: DbTime,
    /// Fresh prompt tokens.
    input_per_mtok: Option<f64>,
    /// Generated tokens.
    output_per_mtok: Option<f64>,
    /// Prompt tokens found in the cache.
    cache_read_per_mtok: Option<f64>,
}

impl ListItem for PriceSheetItem {
    fn columns() -> Vec<&'static str> {
        vec![
            "id",
            "provider",
            "model",
            "canonical_model",
            "region",
            "currency",
            "valid_from",
            "valid_to",
            "observed_at",
            "input_per_mtok",
            "output_per_mtok",
            "cache_read_per_mtok",
        ]
    }
}

impl From<PriceSheetRow> for PriceSheetItem {
    fn from(row: PriceSheetRow) -> Self {
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
            input_per_mtok: row.input_price,
            output_per_mtok: row.output_price,
            cache_read_per_mtok: row.cache_read_price,
        }
    }
}

/// Price sheets as flat rows, the last stored first
///
/// `Accept: text/csv` gives CSV.
#[utoipa::path(
    get,
    path = "/price-sheets",
    tag = "price sheets",
    params(ListQuery, ("if-none-match" = Option<String>, Header, description = "ETag of the body the client has")),
    responses(
        (status = 200, description = "A page of sheets", content((Page<PriceSheetItem> = "application/json"), (String = "text/csv")),
            headers(("etag" = String), ("link" = String, description = "The next page"))),
        (status = 304, description = "The client has this body"),
        (status = 400, description = "The query is wrong", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "The database cannot be reached", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn list_price_sheets(
    State(app): State<App>,
    Query(query): Query<ListQuery>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response<Body>, Problem> {
    const LIST: &str = "price-sheets";
    let (filter, times) = (query.filter()?, query.times());
    let below = query.after::<i64>(LIST)?;
    let page = PageRequest::new(&app, LIST, query.limit, &uri, &headers);
    let rows = |below, limit| app.store.price_sheets(&filter, &times, below, limit);
    let body = page.write::<_, PriceSheetItem, _, _>(below, |row| row.sequence, rows);
    app.polled(format!("{LIST} {query:?}"), &headers, Box::pin(body))
        .await
}

/// One price sheet
///
/// The sheet in canonical form, with all sources that published this content.
#[utoipa::path(
    get,
    path = "/price-sheets/{id}",
    tag = "price sheets",
    params(("id" = Uuid, Path, description = "Id of the pricing content"), AsOfQuery),
    responses(
        (status = 200, description = "The sheet", body = PriceSheet, headers(("etag" = String))),
        (status = 304, description = "The client has this body"),
        (status = 400, description = "The query is wrong", body = Problem, content_type = "application/problem+json"),
        (status = 404, description = "No such sheet", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "The database cannot be reached", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn show_price_sheet(
    State(app): State<App>,
    Path(id): Path<Uuid>,
    Query(query): Query<AsOfQuery>,
    headers: HeaderMap,
) -> Result<Response<Body>, Problem> {
    let as_of = query.as_of();
    let document = app.store.price_sheet(id, as_of);
    app.polled_document("price sheet", id, as_of, &headers, Box::pin(document))
        .await
}
