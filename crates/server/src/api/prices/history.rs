//! `/history`: the prices of an offer, each with its period.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::answers::Answers;
use crate::list::page::{
    FilterText, Moment, Page, PagePart, PageRequest, fields, read_cursor, without_nul,
};
use crate::query::query;
use crate::service::extract::{Path, Query, refused_query};
use unroof_base::units::Decimal;
use unroof_edge::{KnownTag, NOT_FOUND, NoModel, Problem, Reply, StoreRefusals, Unchanged};
use unroof_infer::estimate::StoredRow;
use unroof_infer::estimate::quantities::JointQuantity;
use unroof_price_sheet::history::UNKNOWN_START;
use unroof_price_sheet::sheet::compare::difference::{first_words, in_words};
use unroof_price_sheet::sheet::compare::new_source::new_source_in_words;
use unroof_price_sheet::sheet::{OfferStatus, PriceSheet, RateCell};
use unroof_store::{
    DbTime, HistoryKey, HistoryRow, PriceEnd, PriceStart, PricesOf, Store, StoreError,
};

query! {
    /// The part of a history to return.
    HistoryQuery {
        /// Region that serves the model.
        text region,
        /// Up to the price in force at this time: RFC 3339, milliseconds since 1970, or `now`.
        as_of: Moment,
        page,
    }
}

query! {
    /// Names of an offer, and the part of its history to return.
    NamedHistoryQuery {
        /// Provider, as it bills.
        #[param(required, inline, value_type = FilterText, example = "google")]
        provider: Option<String>,
        /// The model as the provider spells it.
        #[param(required, inline, value_type = FilterText, example = "gemini-2.5-pro")]
        model: Option<String>,
        /// Region that serves the model.
        text region,
        /// Up to the price in force at this time: RFC 3339, milliseconds since 1970, or `now`.
        as_of: Moment,
        page,
    }
}

/// A price of an offer with its period, and the changes since the previous price in its region.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HistoryItem {
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
    /// Id of the sheet.
    sheet_id: Uuid,
    /// Id of the listed estimate.
    estimate_id: Option<Uuid>,
    /// The estimated sheet, if it is not the listed one.
    duplicate_of: Option<Uuid>,
    /// Currency, an ISO 4217 code.
    currency: String,
    /// Price of fresh prompt tokens, in `currency` per million.
    input_per_mtok: Option<f64>,
    /// Price of generated tokens, in `currency` per million.
    output_per_mtok: Option<f64>,
    /// Price of prompt tokens found in the cache, in `currency` per million.
    cache_read_per_mtok: Option<f64>,
    /// Time from which the offer is no longer sold, as announced.
    #[schema(value_type = Option<String>, format = DateTime)]
    retires_at: Option<DbTime>,
    /// `deprecated` where the offer is to be retired, at `retires_at` or at a time that is not stated.
    status: Option<String>,
    /// Source of the start: `stated` by a source, `observed`, the time at which the price was first seen, or `source_added`,
    /// the time at which another source stated the offer for the first time.
    #[schema(value_type = Option<PriceStart>)]
    start_basis: Option<String>,
    /// Time at which the price before was last seen; null where none was, or where it is not known.
    #[schema(value_type = Option<String>, format = DateTime)]
    not_before: Option<DbTime>,
    /// Time at which a source last stated the price; before `valid_from` where the price holds again because another was
    /// withdrawn or ended, null where sources stated it only after its end.
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
        // A price of the past that a source stated only afterwards was never seen while it held.
        let is_time = |time: &DbTime| Timestamp::from(*time) != UNKNOWN_START;
        let is_known = is_time(&row.starts_at);
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
            start_basis: Some(row.start_basis.clone()).filter(|_| is_known),
            not_before: row.not_before.filter(is_time),
            last_seen_at: Some(row.last_seen_at).filter(is_time),
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
        let prices = if self.row.start_basis == "source_added" {
            new_source_in_words(&before.sheet, &self.sheet)
        } else {
            in_words(&before.sheet, &self.sheet)
        };
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

/// Price history of an offer
///
/// Every price of one seller's model, region by region, each with its interval of validity (the start is included, the end
/// is not; within a region they do not overlap) and the changes since the previous one in words: prices, limits and
/// estimates. Write `/` in a model's name as `%2F`.
#[utoipa::path(
    get,
    path = "/offers/{provider}/{model}/history",
    tag = "price sheets",
    params(
        ("provider" = String, Path, description = "Provider, as it bills", example = "google"),
        ("model" = String, Path, description = "The model as the provider spells it", example = "gemini-2.5-pro"),
        HistoryQuery,
    ),
    responses(
        (status = 200, description = "A page of prices", content((Page<HistoryItem> = "application/json"), (String = "text/csv")),
            headers(("etag" = String), ("link" = String, description = "The next page"))),
        Unchanged, StoreRefusals, NoModel,
    )
)]
pub(crate) async fn show_history(
    State(answers): State<Arc<Answers>>,
    Path((provider, model)): Path<(String, String)>,
    Query(query): Query<HistoryQuery>,
    headers: HeaderMap,
    uri: Uri,
) -> Reply {
    let names = [Some(provider), Some(model), query.region.clone()];
    respond(&answers, names, query.as_of, query.part(), (&headers, &uri)).await
}

/// Price history of an offer, by parameters
///
/// The same as `/offers/{provider}/{model}/history`, with the names as parameters: `/` in a model's name needs no escape.
#[utoipa::path(
    get,
    path = "/history",
    tag = "price sheets",
    params(NamedHistoryQuery, KnownTag),
    responses(
        (status = 200, description = "A page of prices", content((Page<HistoryItem> = "application/json"), (String = "text/csv")),
            headers(("etag" = String), ("link" = String, description = "The next page"))),
        Unchanged, StoreRefusals, NoModel,
    )
)]
pub(crate) async fn find_history(
    State(answers): State<Arc<Answers>>,
    Query(query): Query<NamedHistoryQuery>,
    headers: HeaderMap,
    uri: Uri,
) -> Reply {
    let offer = [("provider", &query.provider), ("model", &query.model)];
    if let Some((name, _)) = offer.iter().find(|(_, stated)| stated.is_none()) {
        return Err(refused_query(&format!("missing field `{name}`")));
    }
    let names = [
        query.provider.clone(),
        query.model.clone(),
        query.region.clone(),
    ];
    respond(&answers, names, query.as_of, query.part(), (&headers, &uri)).await
}

async fn respond(
    answers: &Answers,
    asked: [Option<String>; 3],
    as_of: Option<Moment>,
    part: PagePart<'_>,
    (headers, uri): (&HeaderMap, &Uri),
) -> Reply {
    const LIST: &str = "history";
    asked
        .iter()
        .flatten()
        .try_for_each(|name| without_nul(name))?;
    let [provider, model, region] = &asked;
    let after = read_cursor::<PriceKey>(LIST, part.cursor)?;
    let mut page = PageRequest::new(answers, LIST, fields::<HistoryItem>, part, uri, headers);
    page.piece = SHEETS_AT_A_TIME;
    let prices = Prices {
        store: &answers.store,
        of: PricesOf {
            provider: provider.as_deref().unwrap_or_default(),
            model: model.as_deref().unwrap_or_default(),
            region: region.as_deref(),
            as_of: Moment::as_of(as_of, answers.now().into()),
        },
    };
    let body = async || {
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
        let end = |last: Option<&PriceKey>, has_more| match last {
            Some(_) => Ok(page.with_cursor(last, has_more)),
            None => Err(no_price()),
        };
        let after = after.clone();
        page.write(after, key, rows, items, end).await
    };
    // The link to the next page has the path that was asked for.
    let path = uri.path();
    let question = format!("{LIST} {path} {asked:?} {as_of:?} {part:?}");
    answers.polled(question, headers, body).await
}

fn no_price() -> Problem {
    Problem::new(NOT_FOUND, "there is no price of this provider and model")
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
            region: region.clone(),
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
