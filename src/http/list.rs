//! Lists of rows in pages: each is declared once, with its route, its query and its rows.

use std::borrow::Cow;
use std::fmt::Debug;

use axum::body::Body;
use axum::http::{HeaderMap, Response, Uri};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::app::App;
use super::page::{ListItem, PagePart, PageRequest, bad_cursor, read_cursor};
use super::problem::Problem;
use crate::storage::{DbTime, Store};

/// Rows of a list, or the reason why there are none.
pub(super) type Rows<Row> = Result<Vec<Row>, Problem>;

/// A piece of a list, which is read at once.
pub(super) struct Piece<Key> {
    /// Key of the row before it; none before the first row.
    pub(super) after: Option<Key>,
    /// Most rows of the piece.
    pub(super) limit: u32,
    /// The time at which the page was asked for.
    pub(super) now: DbTime,
}

/// A list that a route shows page by page: mostly the query itself, which says what is listed, and in which order.
pub(super) trait List {
    /// Name of the list; no two lists have the same one.
    const NAME: &'static str;
    /// Whether the rows depend on the store's version alone: then a page is kept while the version is the same.
    const IS_KEPT: bool = true;
    /// A row as it is stored.
    type Row: Send + 'static;
    /// A row as it is sent.
    type Item: ListItem + From<Self::Row>;
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

    /// Key of a row.
    fn key(&self, row: &Self::Row) -> Self::Key;

    /// The rows of a piece.
    ///
    /// # Errors
    /// The query is refused, or fails.
    async fn rows(&self, store: &Store, piece: Piece<Self::Key>) -> Rows<Self::Row>;
}

/// A query that asks for a page of a list.
pub(super) trait PageQuery: Debug {
    /// The fields, the length and the place of the page.
    fn part(&self) -> PagePart<'_>;
}

/// The page of a list that a query asks for.
///
/// # Errors
/// The cursor is not from this list, the rows have no such field, or the database is unreachable.
pub(super) async fn respond<L: List>(
    app: &App,
    list: &L,
    query: &impl PageQuery,
    headers: &HeaderMap,
    uri: &Uri,
) -> Result<Response<Body>, Problem> {
    let part = query.part();
    let name = list.name();
    let after = read_cursor::<L::Key>(&name, part.cursor)?;
    if after.as_ref().is_some_and(|key| !list.has(key)) {
        return Err(bad_cursor());
    }
    let page = PageRequest::new(app, name, part, uri, headers);
    let now = app.now().into();
    let rows = |after, limit| list.rows(&app.store, Piece { after, limit, now });
    let body = || page.write::<_, L::Item, _, _, _>(after, |row| list.key(row), rows);
    if !L::IS_KEPT {
        return Ok(body().await?.respond(headers));
    }
    let question = match uri.query() {
        // What clients poll most is found without a description of every filter.
        None => L::NAME.to_owned(),
        Some(_) => format!("{} {query:?}", L::NAME),
    };
    app.polled(question, headers, body).await
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

/// Declares the query of a list: the struct with its filters, then the fields of a row, the rows per page and the cursor. A
/// filter that several lists have is its name alone, as are `offers` and `times`, which are several; every other one has a
/// description and the type of its value, or `text` before its name.
macro_rules! list_query {
    ($(#[doc = $about:literal])+ $Query:ident { $($filters:tt)* }) => {
        $crate::http::list::list_query! { @next [$(#[doc = $about])+ $Query] [] [] $($filters)* }
    };
    (@next $head:tt $filters:tt [$($made:item)*] offers, $($rest:tt)*) => {
        $crate::http::list::list_query! { @next $head $filters [
            $($made)*
            /// The offers that are asked for.
            ///
            /// # Errors
            /// The beginning of a name contains NUL.
            fn selection(&self) -> Result<$crate::storage::Selection, $crate::http::problem::Problem> {
                let names = |names: &Option<_>| $crate::http::names::Names::list(names.clone());
                Ok($crate::storage::Selection {
                    provider: names(&self.provider),
                    model: names(&self.model),
                    canonical_model: names(&self.canonical_model),
                    region: names(&self.region),
                    currency: names(&self.currency),
                    prefix: $crate::http::page::prefix(self.q.as_deref())?,
                })
            }
        ] provider, model, canonical_model, region,
            /// Currency as an ISO 4217 code; several separated by commas.
            currency: $crate::http::names::Names,
            q, $($rest)* }
    };
    (@next $head:tt $filters:tt [$($made:item)*] times, $($rest:tt)*) => {
        $crate::http::list::list_query! { @next $head $filters [
            $($made)*
            /// The times that are asked for.
            fn times(&self) -> $crate::storage::Times {
                let time = $crate::http::page::Moment::time;
                $crate::storage::Times {
                    from: time(self.from),
                    to: time(self.to),
                    as_of: time(self.as_of),
                }
            }
        ]
            /// Earliest time of storing, inclusive: RFC 3339, milliseconds since 1970, or `now`.
            from: $crate::http::page::Moment,
            /// Latest time of storing, exclusive.
            to: $crate::http::page::Moment,
            /// Time at which the price is in force.
            as_of: $crate::http::page::Moment, $($rest)* }
    };
    (@next $head:tt $filters:tt $made:tt provider, $($rest:tt)*) => {
        $crate::http::list::list_query! { @next $head $filters $made
            /// Billing provider; several separated by commas.
            provider: $crate::http::names::Names, $($rest)* }
    };
    (@next $head:tt $filters:tt $made:tt model, $($rest:tt)*) => {
        $crate::http::list::list_query! { @next $head $filters $made
            /// Model name as the provider spells it; several separated by commas.
            model: $crate::http::names::Names, $($rest)* }
    };
    (@next $head:tt $filters:tt $made:tt canonical_model, $($rest:tt)*) => {
        $crate::http::list::list_query! { @next $head $filters $made
            /// Canonical name, `author/model`; several separated by commas.
            canonical_model: $crate::http::names::Names, $($rest)* }
    };
    (@next $head:tt $filters:tt $made:tt region, $($rest:tt)*) => {
        $crate::http::list::list_query! { @next $head $filters $made
            /// Region in which the model is served; several separated by commas.
            region: $crate::http::names::Names, $($rest)* }
    };
    (@next $head:tt $filters:tt $made:tt q, $($rest:tt)*) => {
        $crate::http::list::list_query! { @next $head $filters $made
            /// Beginning of the provider, the model or the canonical name, with or without what is before the last `/`, in any case.
            text q, $($rest)* }
    };
    (@next $head:tt [$($filter:tt)*] $made:tt $(#[doc = $about:literal])+ text $name:ident, $($rest:tt)*) => {
        $crate::http::list::list_query! { @next $head [$($filter)*
            $(#[doc = $about])+
            #[param(nullable = false, inline, value_type = Option<$crate::http::names::FilterText>)]
            $name: Option<String>,] $made $($rest)* }
    };
    (@next $head:tt [$($filter:tt)*] $made:tt $(#[doc = $about:literal])+ $name:ident: $Value:ty, $($rest:tt)*) => {
        $crate::http::list::list_query! { @next $head [$($filter)*
            $(#[doc = $about])+
            #[param(nullable = false, inline)]
            $name: Option<$Value>,] $made $($rest)* }
    };
    (@next [$(#[doc = $about:literal])+ $Query:ident] [$($filter:tt)*] [$($made:item)*]) => {
        $(#[doc = $about])+
        #[derive(Debug, Default, serde::Deserialize, utoipa::IntoParams)]
        #[serde(deny_unknown_fields, default)]
        #[into_params(parameter_in = Query)]
        pub(super) struct $Query {
            $($filter)*
            /// Fields of a row, separated by commas; all if left out.
            #[param(nullable = false, inline, value_type = Option<$crate::http::page::FieldNames>)]
            fields: Option<String>,
            /// Rows per page.
            #[param(value_type = u32, minimum = 1, maximum = 2000, default = 100)]
            limit: $crate::http::page::Limit,
            /// `next_cursor` of the previous page.
            #[param(nullable = false, min_length = 10, pattern = "^[A-Za-z0-9_-]+$")]
            cursor: Option<String>,
        }

        impl $Query {
            $($made)*
        }

        impl $crate::http::list::PageQuery for $Query {
            fn part(&self) -> $crate::http::page::PagePart<'_> {
                $crate::http::page::PagePart {
                    fields: self.fields.as_deref(),
                    limit: self.limit,
                    cursor: self.cursor.as_deref(),
                }
            }
        }
    };
}

pub(super) use list_query;

/// Declares the route of a list: its handler, path and tag, its owner where the path has one, what a page is and its rows as they
/// are sent, and its query, which is the list where it has no owner.
macro_rules! list {
    (@shown $query:expr) => { $query };
    (@shown $query:expr, $owned:expr) => { $owned };
    (without_if_none_match $($list:tt)+) => {
        $crate::http::list::list! { @route [] $($list)+ }
    };
    (@route [$($header:tt)*]
        $(#[doc = $about:literal])+
        $handler:ident: $path:literal in $tag:literal,
        $(of $List:ident($parameter:literal: $Owner:ty, $owner:literal, or $missing:literal),)?
        $page:literal of $Item:ident,
        $(#[doc = $about_query:literal])+
        $Query:ident { $($filters:tt)* }
    ) => {
        $crate::http::list::list_query! {
            $(#[doc = $about_query])+
            $Query { $($filters)* }
        }

        $(#[doc = $about])+
        #[utoipa::path(
            get,
            path = $path,
            tag = $tag,
            params($(($parameter = $Owner, Path, description = $owner),)? $Query, $($header)*),
            responses(
                (status = 200, description = $page,
                    content(($crate::http::page::Page<$Item> = "application/json"), (String = "text/csv")),
                    headers(("etag" = String), ("link" = String, description = "The next page"))),
                $crate::http::described::Unchanged, $crate::http::described::StoreRefusals,
                $((status = 404, description = $missing, body = $crate::http::problem::Problem,
                    content_type = "application/problem+json"),)?
            )
        )]
        pub(super) async fn $handler(
            axum::extract::State(app): axum::extract::State<$crate::http::App>,
            $($crate::http::extract::Path(owner): $crate::http::extract::Path<$Owner>,)?
            $crate::http::extract::Query(query): $crate::http::extract::Query<$Query>,
            headers: axum::http::HeaderMap,
            uri: axum::http::Uri,
        ) -> Result<axum::http::Response<axum::body::Body>, $crate::http::problem::Problem> {
            let list = $crate::http::list::list!(@shown &query $(, &$List(owner))?);
            $crate::http::list::respond(&app, list, &query, &headers, &uri).await
        }
    };
    ($($list:tt)+) => {
        $crate::http::list::list! {
            @route [("if-none-match" = Option<String>, Header, description = "ETag of the body the client has")]
            $($list)+
        }
    };
}

pub(super) use list;
