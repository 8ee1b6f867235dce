//! Lists of rows in pages: each is declared once, with its route, its query and its rows.

pub(crate) mod list_text;
pub(crate) mod page;

use std::borrow::Cow;
use std::fmt::Debug;

use axum::http::{HeaderMap, Uri};
use serde::Serialize;
use serde::de::DeserializeOwned;
use utoipa::ToSchema;

use super::answers::Answers;
use crate::list::page::{PagePart, PageRequest, bad_cursor, fields, read_cursor};
use unroof_edge::{Problem, Reply};
use unroof_store::{DbTime, Store};

/// Rows of a list, or the reason why there are none.
pub(super) type Rows<Row> = Result<Vec<Row>, Problem>;

/// A piece of a list, which is read at once.
pub(super) struct Piece<'a, Key> {
    /// Key of the row before it; none before the first row.
    pub(super) after: Option<Key>,
    /// Most rows of the piece.
    pub(super) limit: u32,
    /// Time at which the page was asked for: a function, since most lists do not need the clock.
    pub(super) now: &'a (dyn Fn() -> DbTime + Sync),
}

/// A list that a route shows page by page: mostly the query itself, which says what is listed, and in which order.
pub(super) trait List {
    /// Name of the list; no two lists have the same one.
    const NAME: &'static str;
    /// Whether the rows depend on the store's version alone: then a page is kept while the version is the same.
    const IS_KEPT: bool = true;
    /// A row, as it is stored and sent.
    type Row: Serialize + ToSchema + Send + 'static;
    /// The values by which the rows are ordered.
    type Key: Serialize + DeserializeOwned + Clone;

    /// Name of the list in this order: a cursor belongs to both.
    fn name(&self) -> Cow<'static, str> {
        Self::NAME.into()
    }

    /// Whether a key is one of this order.
    fn has(&self, _key: &Self::Key) -> bool {
        true
    }

    /// Field names in the order of the CSV columns.
    fn columns() -> Vec<String> {
        fields::<Self::Row>()
    }

    /// Key of a row.
    fn key(&self, row: &Self::Row) -> Self::Key;

    /// The rows of a piece.
    ///
    /// # Errors
    /// The query is refused, or fails.
    async fn rows(&self, store: &Store, piece: Piece<'_, Self::Key>) -> Rows<Self::Row>;
}

/// The page of a list that a query asks for.
///
/// # Errors
/// The cursor is not from this list, the rows have no such field, or the database is unreachable.
pub(super) async fn respond<L: List>(
    answers: &Answers,
    list: &L,
    (query, part): (&impl Debug, PagePart<'_>),
    headers: &HeaderMap,
    uri: &Uri,
) -> Reply {
    let name = list.name();
    let after = read_cursor::<L::Key>(&name, part.cursor)?;
    if after.as_ref().is_some_and(|key| !list.has(key)) {
        return Err(bad_cursor());
    }
    let page = PageRequest::new(answers, name, L::columns, part, uri, headers);
    let now = || answers.now().into();
    let now = &now;
    let rows = |after, limit| list.rows(&answers.store, Piece { after, limit, now });
    let end = |last: Option<&L::Key>, has_more| Ok(page.with_cursor(last, has_more));
    let body = || page.write(after, |row| list.key(row), rows, Ok, end);
    if !L::IS_KEPT {
        return Ok(body().await?.respond(headers));
    }
    let question = match uri.query() {
        // What clients poll most is found without a description of every filter.
        None => L::NAME.to_owned(),
        Some(_) => format!("{} {query:?}", L::NAME),
    };
    answers.polled(question, headers, body).await
}

/// Name of a list in an order, where it is not the default one.
pub(super) fn name_in_order<Order: Debug + PartialEq>(
    list: &'static str,
    order: &Order,
    default: &Order,
) -> Cow<'static, str> {
    if order == default {
        return list.into();
    }
    format!("{list} {order:?}").into()
}

/// Declares the route of a list: its handler, path and tag, its owner where the path has one, what a page is and its rows as they
/// are sent, and the filters of its query, which is the list where it has no owner.
macro_rules! list {
    (@shown $query:expr) => { $query };
    (@shown $query:expr, $owned:expr) => { $owned };
    (
        $(#[doc = $about:literal])+
        $handler:ident: $path:literal in $tag:literal,
        $(of $List:ident($parameter:literal: $Owner:ty, $owner:literal, or $missing:literal),)?
        $page:literal of $Item:ident,
        $(#[doc = $about_query:literal])+
        $Query:ident { $($filters:tt)* }
    ) => {
        $crate::query::query! {
            $(#[doc = $about_query])+
            $Query { $($filters)* page, }
        }

        $(#[doc = $about])+
        #[utoipa::path(
            get,
            path = $path,
            tag = $tag,
            params($(($parameter = $Owner, Path, description = $owner),)? $Query, unroof_edge::KnownTag),
            responses(
                (status = 200, description = $page,
                    content(($crate::list::page::Page<$Item> = "application/json"), (String = "text/csv")),
                    headers(("etag" = String), ("link" = String, description = "The next page"))),
                unroof_edge::Unchanged, unroof_edge::StoreRefusals,
                $((status = 404, description = $missing, body = unroof_edge::Problem,
                    content_type = "application/problem+json"),)?
            )
        )]
        pub(crate) async fn $handler(
            axum::extract::State(answers): axum::extract::State<std::sync::Arc<$crate::answers::Answers>>,
            $(crate::service::extract::Path(owner): crate::service::extract::Path<$Owner>,)?
            crate::service::extract::Query(query): crate::service::extract::Query<$Query>,
            headers: axum::http::HeaderMap,
            uri: axum::http::Uri,
        ) -> unroof_edge::Reply {
            let list = $crate::list::list!(@shown &query $(, &$List(owner))?);
            $crate::list::respond(&answers, list, (&query, query.part()), &headers, &uri).await
        }
    };
}

pub(super) use list;
