//! `/price-sheets`: stored price sheets.

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Response, Uri};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::app::App;
use unroof_edge::answer::described::{StoreRefusals, Unchanged};
use crate::service::extract::{Path, Query};
use unroof_edge::answer::names::Names;
use crate::list::page::{AsOfQuery, Direction, FieldNames, FilterText, Limit, ListItem, ListQuery, Moment, Page, PageRequest, list_in_order};
use unroof_edge::answer::problem::Problem;
use unroof_store::{Order, Place, PriceSheetRow, SortKey};
use unroof_price_sheet::sheet::PriceSheet;

impl ListItem for PriceSheetRow {}

/// Sort key of price sheets. Sorted by a price, the list has only sheets with this price in their base cell.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SheetSort {
    /// Order of storing.
    ObservedAt,
    /// Provider, then order of storing.
    Provider,
    /// Model, then order of storing.
    Model,
    /// Price of fresh prompt tokens in the currency of each sheet.
    InputPerMtok,
    /// Price of generated tokens in the currency of each sheet.
    OutputPerMtok,
}

/// Filter, order and page of the price sheets.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct SheetsQuery {
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
    /// Earliest time of storing, inclusive: RFC 3339, milliseconds since 1970, or `now`.
    #[param(nullable = false, inline, value_type = Option<Moment>)]
    from: Option<Moment>,
    /// Latest time of storing, exclusive.
    #[param(nullable = false, inline, value_type = Option<Moment>)]
    to: Option<Moment>,
    /// Time at which the price is in force.
    #[param(nullable = false, inline, value_type = Option<Moment>)]
    as_of: Option<Moment>,
    /// Sort key; `observed_at` if left out. Sorted by a price, the list has only sheets with this price.
    #[param(nullable = false, inline)]
    sort: Option<SheetSort>,
    /// Direction of the sort: `desc` by default for `observed_at`, else `asc`.
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

impl SheetsQuery {
    fn order(&self) -> Order {
        let by = match self.sort {
            None | Some(SheetSort::ObservedAt) => SortKey::Stored,
            Some(SheetSort::Provider) => SortKey::Provider,
            Some(SheetSort::Model) => SortKey::Model,
            Some(SheetSort::InputPerMtok) => SortKey::InputPrice,
            Some(SheetSort::OutputPerMtok) => SortKey::OutputPrice,
        };
        Direction::of(self.order, by)
    }
}

impl From<SheetsQuery> for ListQuery {
    fn from(query: SheetsQuery) -> Self {
        Self {
            provider: query.provider,
            model: query.model,
            canonical_model: query.canonical_model,
            region: query.region,
            currency: query.currency,
            q: query.q,
            from: query.from,
            to: query.to,
            as_of: query.as_of,
            order: query.order,
            fields: query.fields,
            limit: query.limit,
            cursor: query.cursor,
            ..Self::default()
        }
    }
}

/// List price sheets as flat rows, newest first
///
/// `Accept: text/csv` gives CSV.
#[utoipa::path(
    get,
    path = "/price-sheets",
    tag = "price sheets",
    params(SheetsQuery, ("if-none-match" = Option<String>, Header, description = "ETag of the body the client has")),
    responses(
        (status = 200, description = "A page of sheets", content((Page<PriceSheetRow> = "application/json"), (String = "text/csv")),
            headers(("etag" = String), ("link" = String, description = "The next page"))),
        Unchanged, StoreRefusals,
    )
)]
pub(crate) async fn list_price_sheets(
    State(app): State<App>,
    Query(query): Query<SheetsQuery>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response<Body>, Problem> {
    const LIST: &str = "price-sheets";
    let order = query.order();
    let query = ListQuery::from(query);
    let (selection, times) = (query.selection()?, query.times());
    let list = list_in_order(LIST, order, Order::NEWEST);
    let after = query.place(&list, order)?;
    let question = format!("{list} {query:?}");
    let page = PageRequest::new(&app, list, query.limit, &uri, &headers);
    let page = page.of_fields(query.fields.as_deref());
    let (store, selection, times) = (&app.store, &selection, &times);
    let rows = |after: Option<Place>, limit| async move {
        let after = after.as_ref();
        store
            .price_sheets(selection, times, order, after, limit)
            .await
    };
    let key = |row: &PriceSheetRow| row.place(order);
    let body = || page.write::<_, PriceSheetRow, _, _>(after, key, rows);
    app.polled(question, &headers, body).await
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
        Unchanged, StoreRefusals,
        (status = 404, description = "No such sheet", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(crate) async fn show_price_sheet(
    State(app): State<App>,
    Path(id): Path<Uuid>,
    Query(query): Query<AsOfQuery>,
    headers: HeaderMap,
) -> Result<Response<Body>, Problem> {
    let as_of = query.as_of();
    let document = || app.store.price_sheet_document(id, as_of);
    app.polled_document("price sheet", id, as_of, &headers, document)
        .await
}
