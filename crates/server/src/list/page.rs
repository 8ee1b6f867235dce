//! Pages of lists: length, position, format.

use std::borrow::Cow;
use std::fmt::Debug;

use axum::http::{HeaderMap, Uri};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{IntoParams, PartialSchema, ToSchema};

use crate::app::App;
use super::list_text::ListText;
pub(crate) use super::list_text::{FieldNames, ListItem, fields};
pub(crate) use unroof_edge::answer::names::FilterText;
use unroof_edge::answer::names::Names;
use unroof_edge::answer::problem::{Problem, UNREADABLE};
use unroof_edge::answer::response_cache::CachedBody;
use unroof_edge::limit::workers::Workers;
use unroof_store::clock::Clock;
use unroof_store::{DbTime, NamePrefix, Order, Place, Selection, SortKey, StoreError, Times};

const MOST_ROWS: u32 = 2_000;
const ROWS: u32 = 100;
/// Rows above which a page counts as long.
const LONG_PAGE: u32 = 250;

/// Rows per page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit(pub(crate) u32);

impl Default for Limit {
    fn default() -> Self {
        Self(ROWS)
    }
}

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let limit = text
            .parse()
            .ok()
            .filter(|limit| (1..=MOST_ROWS).contains(limit));
        limit.map(Self).ok_or_else(|| {
            D::Error::custom(format!("`{text}` is not a number from 1 to {MOST_ROWS}"))
        })
    }
}

/// A point in time: RFC 3339, milliseconds since 1970 as dashboards send them, or `now`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment(pub(crate) Timestamp);

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text == "now" {
            return Ok(Self(Clock::system().now()));
        }
        let milliseconds = text.parse().ok().map(Timestamp::from_millisecond);
        let read = milliseconds.unwrap_or_else(|| text.parse());
        // Databases store years of four digits.
        let is_kept = |moment: &Timestamp| *moment >= Timestamp::UNIX_EPOCH;
        read.ok().filter(is_kept).map(Self).ok_or_else(|| {
            let day = text.parse::<jiff::civil::Date>().ok();
            let example = day.map_or_else(
                || "such as 2026-11-21T00:00:00Z".to_owned(),
                |day| format!("{day}T00:00:00Z for the beginning of that day"),
            );
            D::Error::custom(format!(
                "`{text}` is not a time: write RFC 3339, {example}, milliseconds since 1970, or `now`"
            ))
        })
    }
}

impl Moment {
    /// A time of observation.
    ///
    /// # Errors
    /// The time is in the future.
    pub(crate) fn not_after(self, now: Timestamp) -> Result<Timestamp, Problem> {
        if self.0 > now {
            return Err(Problem::new(
                UNREADABLE,
                "invalid query string: `observed_at` is in the future",
            )
            .hint("write the time at which the price was seen; a future price states its `valid_from`"));
        }
        Ok(self.0)
    }
}

impl PartialSchema for Moment {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .pattern(Some(
                r"^(now|[0-9]{1,13}|(19[7-9]|[2-9][0-9]{2})[0-9]-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z)$",
            ))
            .examples(["2026-11-21T00:00:00Z", "1795219200000"])
            .into()
    }
}

impl ToSchema for Moment {}

/// Query of a single document.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct AsOfQuery {
    /// Time at which it must be in force: RFC 3339, milliseconds since 1970, or `now`.
    #[param(nullable = false, inline, value_type = Option<Moment>)]
    as_of: Option<Moment>,
}

impl AsOfQuery {
    pub(crate) fn as_of(&self) -> Option<DbTime> {
        self.as_of.map(|moment| moment.0.into())
    }
}

/// Direction of a sort.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Direction {
    /// From the least to the greatest.
    Asc,
    /// From the greatest to the least.
    Desc,
}

impl Direction {
    /// The order of a sort, descending by default where it is by time.
    pub(crate) fn of(direction: Option<Self>, by: SortKey) -> Order {
        let default = by == SortKey::Stored;
        Order {
            by,
            is_descending: direction.map_or(default, |direction| direction == Self::Desc),
        }
    }
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

/// Filter and page of a list.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListQuery {
    /// Billing provider; several separated by commas.
    #[param(nullable = false, inline)]
    pub(crate) provider: Option<Names>,
    /// Model name as the provider spells it; several separated by commas.
    #[param(nullable = false, inline)]
    pub(crate) model: Option<Names>,
    /// Canonical name, `author/model`; several separated by commas.
    #[param(nullable = false, inline)]
    pub(crate) canonical_model: Option<Names>,
    /// Region in which the model is served; several separated by commas.
    #[param(nullable = false, inline)]
    pub(crate) region: Option<Names>,
    /// Currency as an ISO 4217 code; several separated by commas.
    #[param(nullable = false, inline)]
    pub(crate) currency: Option<Names>,
    /// Beginning of the provider, the model or the canonical name, with or without what is before the last `/`, in any case.
    #[param(nullable = false, inline, value_type = Option<FilterText>)]
    pub(crate) q: Option<String>,
    /// Earliest time of storing, inclusive: RFC 3339, milliseconds since 1970, or `now`.
    #[param(nullable = false, inline, value_type = Option<Moment>)]
    pub(crate) from: Option<Moment>,
    /// Latest time of storing, exclusive.
    #[param(nullable = false, inline, value_type = Option<Moment>)]
    pub(crate) to: Option<Moment>,
    /// Time at which the price is in force.
    #[param(nullable = false, inline, value_type = Option<Moment>)]
    pub(crate) as_of: Option<Moment>,
    /// Sort key; `observed_at` if left out.
    #[param(nullable = false, inline)]
    pub(crate) sort: Option<EstimateSort>,
    /// Direction of the sort: `desc` by default for `observed_at`, else `asc`.
    #[param(nullable = false, inline)]
    pub(crate) order: Option<Direction>,
    /// Fields of a row, separated by commas; all if left out.
    #[param(nullable = false, inline, value_type = Option<FieldNames>)]
    pub(crate) fields: Option<String>,
    /// Rows per page.
    #[param(value_type = u32, minimum = 1, maximum = 2000, default = 100)]
    pub(crate) limit: Limit,
    /// `next_cursor` of the previous page.
    #[param(nullable = false, min_length = 10, pattern = "^[A-Za-z0-9_-]+$")]
    pub(crate) cursor: Option<String>,
}

impl ListQuery {
    /// The offers.
    ///
    /// # Errors
    /// The beginning of a name contains NUL.
    pub(crate) fn selection(&self) -> Result<Selection, Problem> {
        let names = |names: &Option<Names>| Names::list(names.clone());
        Ok(Selection {
            provider: names(&self.provider),
            model: names(&self.model),
            canonical_model: names(&self.canonical_model),
            region: names(&self.region),
            currency: names(&self.currency),
            prefix: prefix(self.q.as_deref())?,
        })
    }

    /// The order of estimates.
    pub(crate) fn order(&self) -> Order {
        let by = match self.sort {
            None | Some(EstimateSort::ObservedAt) => SortKey::Stored,
            Some(EstimateSort::Provider) => SortKey::Provider,
            Some(EstimateSort::Model) => SortKey::Model,
        };
        Direction::of(self.order, by)
    }

    /// Times to which the list is restricted.
    pub(crate) fn times(&self) -> Times {
        let time = |moment: Option<Moment>| moment.map(|moment| moment.0.into());
        Times {
            from: time(self.from),
            to: time(self.to),
            as_of: time(self.as_of),
        }
    }

    /// The place after which the page of a sorted list begins.
    ///
    /// # Errors
    /// The cursor is not from this list.
    pub(crate) fn place(&self, list: &str, order: Order) -> Result<Option<Place>, Problem> {
        let place = self.after::<Place>(list)?;
        // A forged cursor may contain NUL, which PostgreSQL rejects.
        let is_right = |place: &Place| {
            let has_nul = matches!(place, Place::Named(name, _) if name.contains('\0'));
            place.is_in(order) && !has_nul
        };
        if place.as_ref().is_some_and(|place| !is_right(place)) {
            return Err(bad_cursor());
        }
        Ok(place)
    }

    /// The key after which the page begins.
    ///
    /// # Errors
    /// The cursor is not from this list.
    pub(crate) fn after<Key: DeserializeOwned>(&self, list: &str) -> Result<Option<Key>, Problem> {
        let decode = |cursor: &String| {
            let bytes = URL_SAFE_NO_PAD.decode(cursor).ok()?;
            let (key, seal) = bytes.split_at_checked(bytes.len().checked_sub(SEAL_BYTES)?)?;
            (seal == cursor_seal(list, key)).then(|| serde_json::from_slice(key).ok())?
        };
        self.cursor
            .as_ref()
            .map(|cursor| decode(cursor).ok_or_else(bad_cursor))
            .transpose()
    }
}

/// The beginning of a name, unless it is empty.
///
/// # Errors
/// It contains NUL.
pub(crate) fn prefix(text: Option<&str>) -> Result<Option<NamePrefix>, Problem> {
    let text = text.filter(|text| !text.is_empty());
    text.map(without_nul).transpose()?;
    Ok(text.map(NamePrefix::new))
}

/// Refuses NUL: PostgreSQL does, and no stored text contains it.
///
/// # Errors
/// The text contains it.
pub(crate) fn without_nul(text: &str) -> Result<(), Problem> {
    if text.contains('\0') {
        return Err(Problem::new(
            UNREADABLE,
            "invalid query string: a value contains the NUL character",
        )
        .hint("GET /search finds names; none contains it"));
    }
    Ok(())
}

/// Name of a list in an order: a cursor belongs to both.
pub(crate) fn list_in_order<Order: Copy + Debug + PartialEq>(
    list: &'static str,
    order: Order,
    default: Order,
) -> Cow<'static, str> {
    if order == default {
        return list.into();
    }
    format!("{list} {order:?}").into()
}

pub(crate) fn bad_cursor() -> Problem {
    Problem::new(
        UNREADABLE,
        "invalid query string: `cursor` is not from this list",
    )
    .hint("send `next_cursor` of the previous page unchanged, or leave it out for the first page")
}

const SEAL_BYTES: usize = 6;

/// Checksum that detects an edited cursor and the cursor of another list.
fn cursor_seal(list: &str, key: &[u8]) -> [u8; SEAL_BYTES] {
    let digest = Sha256::new()
        .chain_update(list)
        .chain_update([0])
        .chain_update(key)
        .finalize();
    let mut seal = [0; SEAL_BYTES];
    seal.copy_from_slice(&digest[..SEAL_BYTES]);
    seal
}

fn cursor<Key: Serialize>(list: &str, key: &Key) -> String {
    let mut bytes = serde_json::to_vec(key).unwrap_or_default();
    bytes.extend(cursor_seal(list, &bytes));
    URL_SAFE_NO_PAD.encode(bytes)
}

/// A page of rows.
#[derive(Serialize, utoipa::ToSchema)]
pub(crate) struct Page<Row> {
    /// Rows of the page.
    data: Vec<Row>,
    /// Cursor of the next page; null on the last page.
    #[schema(required)]
    next_cursor: Option<String>,
}

/// A request for a page of a list.
pub(crate) struct PageRequest<'a> {
    app: &'a App,
    list: Cow<'static, str>,
    limit: Limit,
    uri: &'a Uri,
    headers: &'a HeaderMap,
    /// Fields of a row, separated by commas.
    fields: Option<&'a str>,
    /// Rows read and serialised at a time.
    pub(crate) piece: u32,
}

impl<'a> PageRequest<'a> {
    pub(crate) fn new(
        app: &'a App,
        list: impl Into<Cow<'static, str>>,
        limit: Limit,
        uri: &'a Uri,
        headers: &'a HeaderMap,
    ) -> Self {
        Self {
            app,
            list: list.into(),
            limit,
            uri,
            headers,
            fields: None,
            piece: 250,
        }
    }

    /// Page with these fields of a row alone, where they are stated.
    pub(crate) fn of_fields(self, fields: Option<&'a str>) -> Self {
        Self { fields, ..self }
    }

    /// Workers for this page: long pages have their own queue, so that short ones do not wait for them.
    fn workers(&self) -> &Workers {
        if self.limit.0 > LONG_PAGE {
            &self.app.long_pages
        } else {
            &self.app.writing
        }
    }

    /// The page of rows after a key.
    pub(crate) async fn write<Row, Item, Key, Rows>(
        &self,
        after: Option<Key>,
        key: impl Fn(&Row) -> Key,
        rows: impl Fn(Option<Key>, u32) -> Rows,
    ) -> Result<CachedBody, Problem>
    where
        Row: Send + 'static,
        Item: ListItem + From<Row>,
        Key: Serialize + Clone,
        Rows: Future<Output = Result<Vec<Row>, StoreError>>,
    {
        let items = |rows: Vec<Row>| Ok(rows.into_iter().map(Item::from).collect());
        let end = |last: Option<&Key>, has_more| Ok(self.with_cursor(last, has_more));
        self.write_rows(after, key, rows, items, end).await
    }

    /// The rows after a key, and what `end` says after the last of them. Each piece is serialised, on a worker thread where it is
    /// long, before the next one is read.
    pub(crate) async fn write_rows<Row, Item, Key, Rows>(
        &self,
        mut after: Option<Key>,
        key: impl Fn(&Row) -> Key,
        rows: impl Fn(Option<Key>, u32) -> Rows,
        mut items: impl FnMut(Vec<Row>) -> Result<Vec<Item>, Problem> + Send + 'static,
        end: impl FnOnce(Option<&Key>, bool) -> Result<PageEnd, Problem>,
    ) -> Result<CachedBody, Problem>
    where
        Row: Send + 'static,
        Item: ListItem,
        Key: Clone,
        Rows: Future<Output = Result<Vec<Row>, StoreError>>,
    {
        let _place = self.app.turn_of(self.workers()).await?;
        let mut text = ListText::begin::<Item>(self.app, self.headers, self.fields)?;
        // One extra row shows whether another page follows.
        let mut missing = self.limit.0 + 1;
        loop {
            let wanted = missing.min(self.piece);
            let mut piece = rows(after.clone(), wanted).await?;
            let came = u32::try_from(piece.len()).unwrap_or(wanted);
            missing -= came.min(missing);
            let has_more = missing == 0;
            if has_more {
                piece.pop();
            }
            after = piece.last().map(&key).or(after);
            if has_more || came < wanted {
                let PageEnd { tail, link } = end(after.as_ref(), has_more)?;
                let finish = move || {
                    text.add(&items(piece)?)?;
                    text.end(&tail, link)
                };
                // Serialising a few rows takes less time than the way to another thread and back.
                if came <= self.piece / 16 {
                    return finish();
                }
                return self.workers().run(finish).await?;
            }
            let write = move || {
                let written = items(piece).and_then(|items| text.add(&items));
                (written, text, items)
            };
            let written;
            (written, text, items) = self.workers().run(write).await?;
            written?;
        }
    }

    /// The end of a page, with a cursor if another one follows.
    pub(crate) fn with_cursor<Key: Serialize>(
        &self,
        last: Option<&Key>,
        has_more: bool,
    ) -> PageEnd {
        let last = last.filter(|_| has_more);
        let next_cursor = last.map(|key| cursor(&self.list, key));
        let link = next_cursor
            .as_ref()
            .map(|cursor| next_link(self.uri, "cursor", cursor));
        PageEnd {
            tail: json!({"next_cursor": next_cursor}),
            link,
        }
    }
}

/// The end of a page, after its rows.
pub(crate) struct PageEnd {
    /// The fields after the rows.
    pub(crate) tail: Value,
    /// A link to the next page.
    pub(crate) link: Option<String>,
}

/// A link to the same list with another cursor or position.
pub(crate) fn next_link(uri: &Uri, parameter: &str, place: &str) -> String {
    format!("<{}>; rel=\"next\"", link_with(uri, parameter, place))
}

/// Address with another value of a parameter.
pub(crate) fn link_with(uri: &Uri, parameter: &str, place: &str) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    for (name, value) in url::form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()) {
        if name != parameter {
            query.append_pair(&name, &value);
        }
    }
    query.append_pair(parameter, place);
    format!("{}?{}", uri.path(), query.finish())
}
