//! `/estimates`: stored estimates, for dashboards and scripts.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::answers::Answers;
use crate::list::page::{AsOfQuery, Direction, Moment, fields};
use crate::list::{List, Piece, Rows, list, name_in_order};
use crate::service::access::Sender;
use crate::service::extract::{NoQuery, Path, Query};
use unroof_edge::{Bill, CONFLICT, Problem, Reply, StoreRefusals, Unchanged};
use unroof_infer::estimate::model::ModelEstimate;
use unroof_infer::estimate::{Answer, row_columns};
use unroof_store::{AsOf, Deletion, EstimateRow, Latest, LatestKey, Order, Place, SortKey, Store};

/// The columns of estimates: fields, then quantities and readings.
fn columns() -> Vec<String> {
    let values = row_columns().map(str::to_owned);
    fields::<EstimateRow>().into_iter().chain(values).collect()
}

/// Sort key of estimates.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EstimateSort {
    /// Order of storing.
    ObservedAt,
    /// Provider, then order of storing.
    Provider,
    /// Model, then order of storing.
    Model,
}

impl From<EstimateSort> for SortKey {
    fn from(sort: EstimateSort) -> Self {
        match sort {
            EstimateSort::ObservedAt => Self::Stored,
            EstimateSort::Provider => Self::Provider,
            EstimateSort::Model => Self::Model,
        }
    }
}

list! {
    /// List estimates as flat rows, newest first
    ///
    /// Per quantity the median, the 90 % interval and whether it is identified; one number per scalar reading, null if it is
    /// undefined. `Accept: text/csv` gives CSV. The ETag changes only with the body; polling costs no query while nothing is
    /// stored.
    list_estimates: "/estimates" in "estimates",
    "A page of estimates" of EstimateRow,
    /// Filter and page of the estimates.
    EstimatesQuery {
        offers,
        times,
        /// Sort key; `observed_at` if left out.
        sort: EstimateSort,
        /// Direction of the sort: `desc` by default for `observed_at`, else `asc`.
        order: Direction,
    }
}

impl EstimatesQuery {
    /// The order of the rows: by time, the newest first, where none is asked for.
    fn sorted(&self) -> Order {
        Direction::of(self.order, self.sort.map_or(SortKey::Stored, Into::into))
    }
}

impl List for EstimatesQuery {
    const NAME: &'static str = "estimates";
    type Row = EstimateRow;
    type Key = Place;

    fn columns() -> Vec<String> {
        columns()
    }

    fn name(&self) -> Cow<'static, str> {
        name_in_order(Self::NAME, &self.sorted(), &Order::NEWEST)
    }

    fn has(&self, place: &Place) -> bool {
        place.is_in(self.sorted())
    }

    fn key(&self, row: &EstimateRow) -> Place {
        row.place(self.sorted())
    }

    async fn rows(&self, store: &Store, piece: Piece<'_, Place>) -> Rows<EstimateRow> {
        let (selection, times) = (self.selection()?, self.times((piece.now)()));
        let (order, after) = (self.sorted(), piece.after.as_ref());
        let rows = store.estimates(&selection, &times, order, after, piece.limit);
        Ok(rows.await?)
    }
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

list! {
    /// List the latest estimate of every offer
    ///
    /// One row per (provider, model, region) with a price in force: its newest estimate without stated assumptions; and one row
    /// per canonical model, of the provider `model`: the estimate from all its sheets. `of` says which of the two a row is.
    list_latest_estimates: "/estimates/latest" in "estimates",
    "A page of estimates" of EstimateRow,
    /// Filter of the latest estimates.
    LatestQuery {
        offers,
        /// Time at which the price is in force, now if left out: RFC 3339, milliseconds since 1970, or `now`.
        as_of: Moment,
        /// Sort key; `provider` if left out.
        sort: LatestSort,
        /// Direction of the sort; `asc` if left out.
        order: Direction,
    }
}

impl LatestQuery {
    /// The order of the rows: by provider where none is asked for.
    fn sorted(&self) -> Order {
        let by = match self.sort {
            None | Some(LatestSort::Provider) => SortKey::Provider,
            Some(LatestSort::Model) => SortKey::Model,
        };
        Direction::of(self.order, by)
    }
}

impl List for LatestQuery {
    const NAME: &'static str = "estimates/latest";
    type Row = EstimateRow;
    /// Provider, model and region.
    type Key = (String, String, String);

    fn columns() -> Vec<String> {
        columns()
    }

    fn name(&self) -> Cow<'static, str> {
        let by_provider = Direction::of(None, SortKey::Provider);
        name_in_order(Self::NAME, &self.sorted(), &by_provider)
    }

    fn key(&self, row: &EstimateRow) -> Self::Key {
        (row.provider.clone(), row.model.clone(), row.region.clone())
    }

    async fn rows(&self, store: &Store, piece: Piece<'_, Self::Key>) -> Rows<EstimateRow> {
        let now = (piece.now)();
        let latest = Latest {
            selection: &self.selection()?,
            as_of: Moment::as_of(self.as_of, now).unwrap_or(AsOf::Now(now)),
            order: self.sorted(),
        };
        let after = piece.after.map(|(provider, model, region)| LatestKey {
            provider,
            model,
            region,
        });
        let rows = store.latest_estimates(latest, after.as_ref(), piece.limit);
        Ok(rows.await?)
    }
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
/// The answer of `/infer`, byte for byte, or the estimate of a model as it was then. It never changes; the answer to a question,
/// which is no price, is deleted when it expires.
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
    State(answers): State<Arc<Answers>>,
    Path(id): Path<Uuid>,
    Query(query): Query<AsOfQuery>,
    headers: HeaderMap,
) -> Reply {
    let as_of = query.as_of(answers.now());
    let document = || answers.store.estimate_document(id, as_of);
    answers
        .polled_document("estimate", id, as_of, &headers, document)
        .await
}

/// Time that the database takes to look an estimate up in every table that may name it.
const DELETION: Duration = Duration::from_millis(10);

/// Delete the answer to a question
///
/// With its sheets, where nothing else refers to them. The estimate of a price or of a model stays: 409. The same question, asked
/// again, has the same id.
#[utoipa::path(
    delete,
    path = "/estimates/{id}",
    tag = "estimates",
    params(("id" = Uuid, Path, description = "Id of the estimate")),
    responses(
        (status = 204, description = "Deleted"),
        StoreRefusals,
        (status = 404, description = "No such estimate", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "A price, a model or a change refers to it", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(crate) async fn delete_estimate(
    State(answers): State<Arc<Answers>>,
    Path(id): Path<Uuid>,
    _: NoQuery,
    sender: Sender,
) -> Result<StatusCode, Problem> {
    let now = answers.store.not_ahead(answers.now());
    if let Some(bill) = Bill::current() {
        bill.spend(DELETION);
    }
    let deletion = answers.store.delete_estimate(id, now, &sender.actor);
    match deletion.await? {
        Deletion::Done => Ok(StatusCode::NO_CONTENT),
        Deletion::Unknown => Err(Problem::not_found("estimate")),
        Deletion::Linked(reason) => {
            let detail = format!("the estimate is not only the answer to a question: {reason}");
            let hint = "a price that is wrong is withdrawn: POST /price-sheets/{id}/withdraw";
            Err(Problem::new(CONFLICT, detail).hint(hint))
        }
    }
}
