//! Price history of a model, disagreements between catalogs, and withdrawn prices.

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Response, StatusCode, Uri, header};
use axum::response::IntoResponse;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;
use utoipa::{IntoParams, PartialSchema, ToSchema};
use uuid::Uuid;

use super::app::App;
use super::extract::{JsonBody, NoQuery, Path, Query};
use super::page::{FilterText, Limit, ListItem, ListQuery, Moment, Page, PageRequest};
use super::problem::{CONFLICT, Problem};
use crate::storage::{
    DbTime, DisagreementRow, HistoryKey, HistoryRow, PricesOf, Reinstated, Store, StoreError,
    Withdrawn,
};
use unroof_core::estimate::StoredRow;
use unroof_core::estimate::quantities::JointQuantity;
use unroof_core::history::UNKNOWN_START;
use unroof_core::input;
use unroof_core::input::schema::one_of_texts;
use unroof_core::sheet::compare::difference::{first_words, in_words};
use unroof_core::sheet::{OfferStatus, PriceSheet, RateCell};
use unroof_core::units::Decimal;

/// The part of a history to return.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(super) struct HistoryQuery {
    /// Region that serves the model.
    #[param(nullable = false, inline, value_type = Option<FilterText>)]
    region: Option<String>,
    /// Up to the price in force at this time: RFC 3339, or milliseconds since 1970.
    #[param(nullable = false, inline, value_type = Option<Moment>)]
    as_of: Option<Moment>,
    /// Fields of a row, separated by commas; all if left out.
    #[param(nullable = false, inline, value_type = Option<FilterText>)]
    fields: Option<String>,
    /// Rows per page.
    #[param(value_type = u32, minimum = 1, maximum = 2000, default = 100)]
    limit: Limit,
    /// `next_cursor` of the previous page.
    #[param(nullable = false, min_length = 10, pattern = "^[A-Za-z0-9_-]+$")]
    cursor: Option<String>,
}

/// Names of an offer, and the part of its history to return.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct NamedHistoryQuery {
    /// Provider, as it bills.
    #[param(inline, value_type = FilterText, example = "google")]
    provider: String,
    /// The model as the provider spells it.
    #[param(inline, value_type = FilterText, example = "gemini-2.5-pro")]
    model: String,
    /// Region that serves the model.
    #[param(nullable = false, inline, value_type = Option<FilterText>)]
    region: Option<String>,
    /// Up to the price in force at this time: RFC 3339, or milliseconds since 1970.
    #[param(nullable = false, inline, value_type = Option<Moment>)]
    as_of: Option<Moment>,
    /// Fields of a row, separated by commas; all if left out.
    #[param(nullable = false, inline, value_type = Option<FilterText>)]
    fields: Option<String>,
    /// Rows per page.
    #[serde(default)]
    #[param(value_type = u32, minimum = 1, maximum = 2000, default = 100)]
    limit: Limit,
    /// `next_cursor` of the previous page.
    #[param(nullable = false, min_length = 10, pattern = "^[A-Za-z0-9_-]+$")]
    cursor: Option<String>,
}

/// A price of an offer with its period, and the changes since the previous price in its region.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct HistoryItem {
    /// Region that serves the model.
    region: String,
    /// Inclusive start; null where it is not known.
    #[schema(value_type = Option<String>, format = DateTime)]
    valid_from: Option<DbTime>,
    /// Exclusive end; null until further notice. Equal to the start where the price was replaced the moment it began.
    #[schema(value_type = Option<String>, format = DateTime)]
    valid_to: Option<DbTime>,
    /// Time at which the price was seen.
    #[schema(value_type = String, format = DateTime)]
    observed_at: DbTime,
    /// Source of the price: a catalog, or what a posted sheet names as its source.
    catalog: String,
    /// The sheet.
    sheet_id: Uuid,
    /// The listed estimate.
    estimate_id: Option<Uuid>,
    /// The estimated sheet, if it is not the listed one.
    duplicate_of: Option<Uuid>,
    /// ISO 4217 code.
    currency: String,
    /// Fresh prompt tokens.
    input_per_mtok: Option<f64>,
    /// Generated tokens.
    output_per_mtok: Option<f64>,
    /// Prompt tokens found in the cache.
    cache_read_per_mtok: Option<f64>,
    /// Time from which the offer is no longer sold, as announced.
    #[schema(value_type = Option<String>, format = DateTime)]
    retires_at: Option<DbTime>,
    /// `deprecated` where the offer is to be retired, at `retires_at` or at a time that is not stated.
    status: Option<String>,
    /// Source of the start: `stated` by a source, or `observed`, the time at which the price was first seen.
    #[schema(value_type = Option<PriceStart>)]
    start_basis: Option<String>,
    /// Time at which the price before was last seen; null where none was, or where it is not known.
    #[schema(value_type = Option<String>, format = DateTime)]
    not_before: Option<DbTime>,
    /// Time at which a source last stated the price; before `valid_from` where the price holds again because another was
    /// withdrawn or ended.
    #[schema(value_type = Option<String>, format = DateTime)]
    last_seen_at: Option<DbTime>,
    /// Reason for the end; null while it is in force.
    #[schema(value_type = Option<PriceEnd>)]
    ending: Option<String>,
    /// Whether the price is probably a mistake, and listed only because no other source states one.
    flagged: bool,
    /// Time of the withdrawal; null unless withdrawn.
    #[schema(value_type = Option<String>, format = DateTime)]
    withdrawn_at: Option<DbTime>,
    /// Reason for the withdrawal; null unless withdrawn.
    withdrawn_because: Option<String>,
    /// Changes from the sheet before it, in words; for the first sheet its prices.
    #[schema(
        example = "output 12 → 10 $/Mtok, input and cache read unchanged; active parameters estimate −14 %"
    )]
    difference: String,
}

impl ListItem for HistoryItem {}

/// The schema of the basis of a start.
struct PriceStart;

impl PartialSchema for PriceStart {
    fn schema() -> RefOr<Schema> {
        one_of_texts(["stated", "observed"])
            .description(Some(
                "Whether a source states the start, or the price was first seen then.",
            ))
            .into()
    }
}

impl ToSchema for PriceStart {}

/// The schema of the reason for an end.
struct PriceEnd;

impl PartialSchema for PriceEnd {
    fn schema() -> RefOr<Schema> {
        one_of_texts(["replaced", "expired", "delisted", "withdrawn"])
            .description(Some("Reason for the end of a price."))
            .into()
    }
}

impl ToSchema for PriceEnd {}

/// A row with its sheet read.
struct Entry {
    row: HistoryRow,
    sheet: PriceSheet,
}

impl Entry {
    fn read(row: HistoryRow) -> Result<Self, Problem> {
        let sheet = row.sheet()?;
        Ok(Self { row, sheet })
    }

    fn item(&self, before: Option<&Self>) -> HistoryItem {
        let before = before.filter(|before| before.row.region == self.row.region);
        let row = &self.row;
        let base = self.sheet.base_rate();
        let price = |of: fn(&RateCell) -> Option<&Decimal>| base.and_then(of).map(Decimal::to_f64);
        let is_known = Timestamp::from(row.starts_at) != UNKNOWN_START;
        HistoryItem {
            region: row.region.clone(),
            valid_from: Some(row.starts_at).filter(|_| is_known),
            valid_to: row.ends_at,
            observed_at: row.observed_at,
            catalog: row.catalog.clone(),
            sheet_id: row.sheet_id,
            estimate_id: row.estimate_id,
            duplicate_of: row.duplicate_of,
            currency: self.sheet.currency.clone(),
            input_per_mtok: price(|rate| rate.input.as_ref()),
            output_per_mtok: price(|rate| rate.output.as_ref()),
            cache_read_per_mtok: price(|rate| rate.cache_read.as_ref()),
            retires_at: self.sheet.retires_at.map(Into::into),
            status: self
                .sheet
                .status
                .as_ref()
                .map(|OfferStatus::Deprecated| "deprecated".to_owned()),
            start_basis: row.start_basis.clone().filter(|_| is_known),
            not_before: row.not_before,
            last_seen_at: row.last_seen_at,
            ending: row.ending.clone(),
            flagged: row.is_flagged,
            withdrawn_at: row.withdrawn_at,
            withdrawn_because: row.withdrawn_because.clone(),
            difference: self.difference(before),
        }
    }

    fn difference(&self, before: Option<&Self>) -> String {
        let Some(before) = before else {
            return first_words(&self.sheet);
        };
        let prices = in_words(&before.sheet, &self.sheet);
        let moves = estimate_moves(&before.numbers(), &self.numbers());
        [vec![prices], moves].concat().join("; ")
    }

    fn numbers(&self) -> StoredRow {
        StoredRow::read(self.row.row_values.as_deref().unwrap_or_default())
    }
}

/// `active parameters estimate −14 %`, for estimates of which at least one is identified.
fn estimate_moves(before: &StoredRow, after: &StoredRow) -> Vec<String> {
    let moved = |quantity: JointQuantity| {
        let label = quantity.definition().history_label?;
        let (before, after) = (before.quantity(quantity), after.quantity(quantity));
        if before.identified != Some(true) && after.identified != Some(true) {
            return None;
        }
        let percent = (100.0 * (after.median? / before.median? - 1.0)).round();
        if !percent.is_finite() || percent == 0.0 {
            return None;
        }
        let sign = if percent > 0.0 { "+" } else { "−" };
        Some(format!("{label} estimate {sign}{} %", percent.abs()))
    };
    JointQuantity::ALL.into_iter().filter_map(moved).collect()
}

/// Price history of a model
///
/// Every price of one seller's model, region by region, each with its interval of validity (the start is included, the end
/// is not; within a region they do not overlap) and the changes since the previous one in words: prices, limits and
/// estimates. Write `/` in a model's name as `%2F`.
#[utoipa::path(
    get,
    path = "/models/{provider}/{model}/history",
    tag = "price sheets",
    params(
        ("provider" = String, Path, description = "Provider, as it bills", example = "google"),
        ("model" = String, Path, description = "The model as the provider spells it", example = "gemini-2.5-pro"),
        HistoryQuery,
    ),
    responses(
        (status = 200, description = "A page of prices", content((Page<HistoryItem> = "application/json"), (String = "text/csv")),
            headers(("etag" = String), ("link" = String, description = "The next page"))),
        (status = 304, description = "The client's copy is current"),
        (status = 400, description = "The query is wrong", body = Problem, content_type = "application/problem+json"),
        (status = 404, description = "No such model", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "The database is unreachable", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn show_history(
    State(app): State<App>,
    Path((provider, model)): Path<(String, String)>,
    Query(query): Query<HistoryQuery>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response<Body>, Problem> {
    respond(&app, (provider, model), query, &headers, &uri).await
}

/// Price history of a model, by parameters
///
/// The same as `/models/{provider}/{model}/history`, with the names as parameters: `/` in a model's name needs no escape.
#[utoipa::path(
    get,
    path = "/history",
    tag = "price sheets",
    params(NamedHistoryQuery, ("if-none-match" = Option<String>, Header, description = "ETag of the body the client has")),
    responses(
        (status = 200, description = "A page of prices", content((Page<HistoryItem> = "application/json"), (String = "text/csv")),
            headers(("etag" = String), ("link" = String, description = "The next page"))),
        (status = 304, description = "The client's copy is current"),
        (status = 400, description = "The query is wrong", body = Problem, content_type = "application/problem+json"),
        (status = 404, description = "No such model", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "The database is unreachable", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn find_history(
    State(app): State<App>,
    Query(query): Query<NamedHistoryQuery>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response<Body>, Problem> {
    let part = HistoryQuery {
        region: query.region,
        as_of: query.as_of,
        fields: query.fields,
        limit: query.limit,
        cursor: query.cursor,
    };
    respond(&app, (query.provider, query.model), part, &headers, &uri).await
}

async fn respond(
    app: &App,
    (provider, model): (String, String),
    query: HistoryQuery,
    headers: &HeaderMap,
    uri: &Uri,
) -> Result<Response<Body>, Problem> {
    const LIST: &str = "history";
    let names = ListQuery {
        provider: Some(provider),
        model: Some(model),
        region: query.region,
        fields: query.fields,
        limit: query.limit,
        cursor: query.cursor,
        ..ListQuery::default()
    };
    let filter = names.filter()?;
    let after = names.after::<PriceKey>(LIST)?;
    let page = PageRequest::new(app, LIST, names.limit, uri, headers);
    let mut page = page.of_fields(names.fields.as_deref());
    page.piece = SHEETS_AT_A_TIME;
    let prices = Prices {
        store: &app.store,
        of: PricesOf {
            provider: filter.provider.as_deref().unwrap_or_default(),
            model: filter.model.as_deref().unwrap_or_default(),
            region: filter.region.as_deref(),
            as_of: query.as_of.map(|moment| moment.0.into()),
        },
    };
    let body = async {
        let mut before = prices.at(after.as_ref()).await?;
        let items = move |rows: Vec<HistoryRow>| {
            let item = |row| {
                let entry = Entry::read(row)?;
                let item = entry.item(before.as_ref());
                before = Some(entry);
                Ok(item)
            };
            rows.into_iter().map(item).collect()
        };
        let rows = |after, limit| prices.after(after, limit);
        let written = page.write_rows(after.clone(), key, rows, items).await?;
        if written.last.is_none() {
            return Err(no_price());
        }
        page.end_with_cursor(written).await
    };
    // The link to the next page has the path that was asked for.
    let path = uri.path();
    let question = format!("{LIST} {path} {:?} {names:?}", prices.of.as_of);
    app.polled(question, headers, Box::pin(body)).await
}

fn no_price() -> Problem {
    Problem::not_found("price of this provider and model")
        .hint("GET /search finds names; in a path, write `/` in a model's name as `%2F`")
}

/// Size of a price sheet: at most that of a body.
const SHEETS_AT_A_TIME: u32 = 16;

/// Region, start, sequence and part of a price.
type PriceKey = (String, Timestamp, i64, i64);

fn key(row: &HistoryRow) -> PriceKey {
    (
        row.region.clone(),
        row.starts_at.into(),
        row.sequence,
        row.part,
    )
}

/// The prices of a model.
struct Prices<'a> {
    store: &'a Store,
    of: PricesOf<'a>,
}

impl Prices<'_> {
    async fn from(
        &self,
        from: Option<&PriceKey>,
        limit: u32,
    ) -> Result<Vec<HistoryRow>, StoreError> {
        let from = from.map(|(region, starts_at, sequence, part)| HistoryKey {
            region: region.replace('\0', ""),
            starts_at: (*starts_at).into(),
            sequence: *sequence,
            part: *part,
        });
        self.store.history(self.of, from.as_ref(), limit).await
    }

    /// The last row of the previous page, with which the first row of this page is compared.
    async fn at(&self, key: Option<&PriceKey>) -> Result<Option<Entry>, Problem> {
        let Some(key) = key else { return Ok(None) };
        let row = self.from(Some(key), 1).await?.pop().ok_or_else(no_price)?;
        Entry::read(row).map(Some)
    }

    async fn after(
        &self,
        after: Option<PriceKey>,
        limit: u32,
    ) -> Result<Vec<HistoryRow>, StoreError> {
        let overlap = usize::from(after.is_some());
        let mut rows = self
            .from(after.as_ref(), limit + u32::from(after.is_some()))
            .await?;
        rows.drain(..overlap.min(rows.len()));
        Ok(rows)
    }
}

/// Which disagreements.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(super) struct DisagreementsQuery {
    /// Billing provider; several separated by commas.
    #[param(nullable = false, inline, value_type = Option<FilterText>)]
    provider: Option<String>,
    /// Model name as the provider spells it; several separated by commas.
    #[param(nullable = false, inline, value_type = Option<FilterText>)]
    model: Option<String>,
    /// Region in which the model is served; several separated by commas.
    #[param(nullable = false, inline, value_type = Option<FilterText>)]
    region: Option<String>,
    /// Beginning of the provider, the model or the canonical name, with or without what is before the last `/`, in any case.
    #[param(nullable = false, inline, value_type = Option<FilterText>)]
    q: Option<String>,
    /// State at this time instead of now: RFC 3339, or milliseconds since 1970.
    #[param(nullable = false, inline, value_type = Option<Moment>)]
    as_of: Option<Moment>,
    /// Fields of a row, separated by commas; all if left out.
    #[param(nullable = false, inline, value_type = Option<FilterText>)]
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
/// beats one that was merely seen, and a sighting that is a day fresher beats an older one. What the others state is listed
/// here until they agree.
#[utoipa::path(
    get,
    path = "/disagreements",
    tag = "price sheets",
    params(DisagreementsQuery, ("if-none-match" = Option<String>, Header, description = "ETag of the body the client has")),
    responses(
        (status = 200, description = "A page of disagreements", content((Page<DisagreementRow> = "application/json"), (String = "text/csv")),
            headers(("etag" = String), ("link" = String, description = "The next page"))),
        (status = 304, description = "The client's copy is current"),
        (status = 400, description = "The query is wrong", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "The database is unreachable", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn list_disagreements(
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
    let body = page.write::<_, DisagreementRow, _, _>(after, |row| row.id, rows);
    app.polled(
        format!("{LIST} {as_of:?} {names:?}"),
        &headers,
        Box::pin(body),
    )
    .await
}

/// Reason for the withdrawal of a price.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WithdrawRequest {
    /// Reason, shown in the price history.
    #[schema(value_type = unroof_core::input::schema::Text, example = "the rise announced for January was called off")]
    reason: String,
}

impl WithdrawRequest {
    fn read(text: &[u8]) -> Result<Self, Problem> {
        let request = input::read(text, |body| {
            let fields = body.fields()?;
            let reason = fields.required("reason", "state the reason; the price history shows it");
            let reason = reason.and_then(|reason| reason.text());
            fields.refuse_unknown();
            Some(Self { reason: reason? })
        });
        Ok(request?)
    }
}

/// A price that is withdrawn.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct WithdrawnSheet {
    /// The sheet.
    sheet_id: Uuid,
    /// Time of the withdrawal.
    #[schema(value_type = String, format = DateTime)]
    withdrawn_at: DbTime,
    /// Reason for the withdrawal.
    reason: String,
}

/// Withdraw a price
///
/// A price in force ends now, an announced one is cancelled, and what held before holds again: another source's price, or
/// the one before. The sheet and its estimates stay stored, and the history shows the reason. A repeated request changes
/// nothing. The price is in force again when it is sent again, when its catalog is read again and still lists it, or when
/// the withdrawal is undone: `DELETE /price-sheets/{id}/withdrawal`.
#[utoipa::path(
    post,
    path = "/price-sheets/{id}/withdraw",
    tag = "price sheets",
    params(("id" = Uuid, Path, description = "Id of the pricing content")),
    request_body(content = WithdrawRequest, content_type = "application/json",
        example = json!({"reason": "the output price lacked a digit"})),
    responses(
        (status = 200, description = "It is withdrawn", body = WithdrawnSheet),
        (status = 400, description = "The body is not JSON, or the query is wrong", body = Problem, content_type = "application/problem+json"),
        (status = 404, description = "No such sheet", body = Problem, content_type = "application/problem+json"),
        (status = 408, description = "The body did not arrive in time", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "The price is neither in force nor announced", body = Problem, content_type = "application/problem+json"),
        (status = 413, description = "Larger than 1 MiB", body = Problem, content_type = "application/problem+json"),
        (status = 415, description = "Not JSON in UTF-8", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "The body is JSON but not a valid request", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "The database is unreachable", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn withdraw_price_sheet(
    State(app): State<App>,
    Path(id): Path<Uuid>,
    _: NoQuery,
    JsonBody(body): JsonBody,
) -> Result<Response<Body>, Problem> {
    let request = WithdrawRequest::read(&body)?;
    let now = app.store.not_ahead(app.now());
    match app.store.withdraw(id, &request.reason, now).await? {
        Withdrawn::Unknown => Err(Problem::not_found("price sheet")),
        Withdrawn::Over => Err(Problem::new(
            CONFLICT,
            "the sheet is neither in force nor announced",
        )
        .hint("GET /models/{provider}/{model}/history lists every price with its period")),
        Withdrawn::Done(withdrawal) => {
            let answer = WithdrawnSheet {
                sheet_id: id,
                withdrawn_at: withdrawal.withdrawn_at,
                reason: withdrawal.withdrawn_because,
            };
            let text = serde_json::to_string(&answer).map_err(Problem::not_serialised)?;
            Ok(([(header::CONTENT_TYPE, "application/json")], text).into_response())
        }
    }
}

/// Undo a withdrawal
///
/// Restores the price as if it had not been withdrawn. A repeated request changes nothing; for a sheet that is not
/// withdrawn, the request has no effect.
#[utoipa::path(
    delete,
    path = "/price-sheets/{id}/withdrawal",
    tag = "price sheets",
    params(("id" = Uuid, Path, description = "Id of the pricing content")),
    responses(
        (status = 204, description = "It is not withdrawn"),
        (status = 400, description = "The query is wrong", body = Problem, content_type = "application/problem+json"),
        (status = 404, description = "No such sheet", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "The database is unreachable", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn reinstate_price_sheet(
    State(app): State<App>,
    Path(id): Path<Uuid>,
    _: NoQuery,
) -> Result<StatusCode, Problem> {
    let now = app.store.not_ahead(app.now());
    match app.store.reinstate(id, now).await? {
        Reinstated::Done => Ok(StatusCode::NO_CONTENT),
        Reinstated::Unknown => Err(Problem::not_found("price sheet")),
    }
}
