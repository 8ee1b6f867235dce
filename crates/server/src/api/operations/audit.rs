//! `/audit`: who changed what.

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Response, Uri};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::app::App;
use unroof_edge::answer::described::{StoreRefusals, Unchanged};
use crate::service::extract::Query;
use crate::list::page::{FieldNames, Limit, ListItem, ListQuery, Page, PageRequest};
use unroof_edge::answer::problem::Problem;
use unroof_store::AuditRow;

impl ListItem for AuditRow {}

/// Fields and page of the audit log.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct AuditQuery {
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

/// List the audit log, newest first
///
/// The callers who observed, withdrew or imported prices, added or removed webhooks, created or revoked keys: when, and in which
/// request.
/// A row is stored in the transaction of its change. Questions change nothing of the record and are not listed.
#[utoipa::path(
    get,
    path = "/audit",
    tag = "access",
    params(AuditQuery, ("if-none-match" = Option<String>, Header, description = "ETag of the body the client has")),
    responses(
        (status = 200, description = "A page of the audit log", content((Page<AuditRow> = "application/json"), (String = "text/csv")),
            headers(("etag" = String), ("link" = String, description = "The next page"))),
        Unchanged, StoreRefusals,
    )
)]
pub(crate) async fn list_audit(
    State(app): State<App>,
    Query(query): Query<AuditQuery>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response<Body>, Problem> {
    const LIST: &str = "audit";
    let (limit, fields) = (query.limit, query.fields);
    let query = ListQuery {
        cursor: query.cursor,
        ..ListQuery::default()
    };
    let before = query.after::<i64>(LIST)?;
    let page = PageRequest::new(&app, LIST, limit, &uri, &headers);
    let page = page.of_fields(fields.as_deref());
    let rows = |before, limit| app.store.audit(before, limit);
    let body = page.write::<_, AuditRow, _, _>(before, |row| row.sequence, rows);
    Ok(body.await?.respond(&headers))
}
