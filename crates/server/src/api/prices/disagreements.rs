//! `/disagreements`: what sources state of a price other than the one that is in force.

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Response, Uri};
use serde::Deserialize;
use utoipa::IntoParams;
use uuid::Uuid;

use crate::app::App;
use unroof_edge::answer::described::{StoreRefusals, Unchanged};
use crate::service::extract::Query;
use unroof_edge::answer::names::Names;
use crate::list::page::{FieldNames, FilterText, Limit, ListItem, ListQuery, Moment, Page, PageRequest};
use unroof_edge::answer::problem::Problem;
use unroof_store::DisagreementRow;

/// Filter of disagreements.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct DisagreementsQuery {
    /// Billing provider; several separated by commas.
    #[param(nullable = false, inline)]
    provider: Option<Names>,
    /// Model name as the provider spells it; several separated by commas.
    #[param(nullable = false, inline)]
    model: Option<Names>,
    /// Region in which the model is served; several separated by commas.
    #[param(nullable = false, inline)]
    region: Option<Names>,
    /// Beginning of the provider, the model or the canonical name, with or without what is before the last `/`, in any case.
    #[param(nullable = false, inline, value_type = Option<FilterText>)]
    q: Option<String>,
    /// State at this time instead of now: RFC 3339, milliseconds since 1970, or `now`.
    #[param(nullable = false, inline, value_type = Option<Moment>)]
    as_of: Option<Moment>,
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

impl ListItem for DisagreementRow {}

/// Disagreements between catalogs about a price
///
/// A whole catalog counts more than an entry of one, and that more than a posted sheet. Of two catalogs, a stated start
/// beats one that was merely seen, and a sighting that is two weeks fresher beats an older one. What the others state is
/// listed here until they agree: a catalog that states fewer prices and none differently does.
#[utoipa::path(
    get,
    path = "/disagreements",
    tag = "price sheets",
    params(DisagreementsQuery, ("if-none-match" = Option<String>, Header, description = "ETag of the body the client has")),
    responses(
        (status = 200, description = "A page of disagreements", content((Page<DisagreementRow> = "application/json"), (String = "text/csv")),
            headers(("etag" = String), ("link" = String, description = "The next page"))),
        Unchanged, StoreRefusals,
    )
)]
pub(crate) async fn list_disagreements(
    State(app): State<App>,
    Query(query): Query<DisagreementsQuery>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response<Body>, Problem> {
    const LIST: &str = "disagreements";
    let names = ListQuery {
        provider: query.provider,
        model: query.model,
        region: query.region,
        q: query.q,
        fields: query.fields,
        limit: query.limit,
        cursor: query.cursor,
        ..ListQuery::default()
    };
    let (selection, after) = (names.selection()?, names.after::<Uuid>(LIST)?);
    let as_of = query.as_of.map(|moment| moment.0.into());
    let page = PageRequest::new(&app, LIST, names.limit, &uri, &headers);
    let page = page.of_fields(names.fields.as_deref());
    let rows = |after, limit| app.store.disagreements(&selection, as_of, after, limit);
    let body = || page.write::<_, DisagreementRow, _, _>(after, |row| row.id, rows);
    app.polled(format!("{LIST} {as_of:?} {names:?}"), &headers, body)
        .await
}
