//! `/price-sheets`: stored price sheets.

use std::borrow::Cow;
use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use serde::Deserialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::answers::Answers;
use crate::list::page::{AsOfQuery, Direction};
use crate::list::{List, Piece, Rows, list, name_in_order};
use crate::service::extract::{Path, Query};
use unroof_edge::{Problem, Reply, StoreRefusals, Unchanged};
use unroof_price_sheet::sheet::PriceSheet;
use unroof_store::{Order, Place, PriceSheetRow, SortKey, Store};

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

impl From<SheetSort> for SortKey {
    fn from(sort: SheetSort) -> Self {
        match sort {
            SheetSort::ObservedAt => Self::Stored,
            SheetSort::Provider => Self::Provider,
            SheetSort::Model => Self::Model,
            SheetSort::InputPerMtok => Self::InputPrice,
            SheetSort::OutputPerMtok => Self::OutputPrice,
        }
    }
}

list! {
    /// List price sheets as flat rows, newest first
    ///
    /// `Accept: text/csv` gives CSV.
    list_price_sheets: "/price-sheets" in "price sheets",
    "A page of sheets" of PriceSheetRow,
    /// Filter, order and page of the price sheets.
    SheetsQuery {
        offers,
        times,
        /// Sort key; `observed_at` if left out. Sorted by a price, the list has only sheets with this price.
        sort: SheetSort,
        /// Direction of the sort: `desc` by default for `observed_at`, else `asc`.
        order: Direction,
    }
}

impl SheetsQuery {
    /// The order of the rows: by time, the newest first, where none is asked for.
    fn sorted(&self) -> Order {
        Direction::of(self.order, self.sort.map_or(SortKey::Stored, Into::into))
    }
}

impl List for SheetsQuery {
    const NAME: &'static str = "price-sheets";
    type Row = PriceSheetRow;
    type Key = Place;

    fn name(&self) -> Cow<'static, str> {
        name_in_order(Self::NAME, &self.sorted(), &Order::NEWEST)
    }

    fn has(&self, place: &Place) -> bool {
        place.is_in(self.sorted())
    }

    fn key(&self, row: &PriceSheetRow) -> Place {
        row.place(self.sorted())
    }

    async fn rows(&self, store: &Store, piece: Piece<'_, Place>) -> Rows<PriceSheetRow> {
        let (selection, times) = (self.selection()?, self.times((piece.now)()));
        let (order, after) = (self.sorted(), piece.after.as_ref());
        let rows = store.price_sheets(&selection, &times, order, after, piece.limit);
        Ok(rows.await?)
    }
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
    State(answers): State<Arc<Answers>>,
    Path(id): Path<Uuid>,
    Query(query): Query<AsOfQuery>,
    headers: HeaderMap,
) -> Reply {
    let as_of = query.as_of(answers.now());
    let document = || answers.store.price_sheet_document(id, as_of);
    answers
        .polled_document("price sheet", id, as_of, &headers, document)
        .await
}
