//! `/price-sheets`: stored price sheets.

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Response, Uri};
use uuid::Uuid;

use super::app::App;
use super::extract::{Path, Query};
use super::page::{AsOfQuery, ListItem, ListQuery, Page, PageRequest};
use super::problem::Problem;
use crate::storage::PriceSheetRow;
use unroof_core::sheet::PriceSheet;

impl ListItem for PriceSheetRow {}

/// List price sheets as flat rows, newest first
///
/// `Accept: text/csv` gives CSV.
#[utoipa::path(
    get,
    path = "/price-sheets",
    tag = "price sheets",
    params(ListQuery, ("if-none-match" = Option<String>, Header, description = "ETag of the body the client has")),
    responses(
        (status = 200, description = "A page of sheets", content((Page<PriceSheetRow> = "application/json"), (String = "text/csv")),
            headers(("etag" = String), ("link" = String, description = "The next page"))),
        (status = 304, description = "Not modified"),
        (status = 400, description = "Invalid query", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "The database is unreachable", body = Problem, content_type = "application/problem+json"),
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
    let body = page.write::<_, PriceSheetRow, _, _>(below, |row| row.sequence, rows);
    app.polled(format!("{LIST} {query:?}"), &headers, Box::pin(body))
        .await
}

/// Show a price sheet
///
/// The canonical sheet with all sources that published this content.
#[utoipa::path(
    get,
    path = "/price-sheets/{id}",
    tag = "price sheets",
    params(("id" = Uuid, Path, description = "Id of the pricing content"), AsOfQuery),
    responses(
        (status = 200, description = "The sheet", body = PriceSheet, headers(("etag" = String))),
        (status = 304, description = "Not modified"),
        (status = 400, description = "Invalid query", body = Problem, content_type = "application/problem+json"),
        (status = 404, description = "No such sheet", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "The database is unreachable", body = Problem, content_type = "application/problem+json"),
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
